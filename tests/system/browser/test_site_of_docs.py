"""The documentation as a site, opened from the disk as a reader opens it who has no network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.browser.conftest import Open

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.mark.timeout(400)
def test_the_site_can_be_searched_from_the_disk(tmp_path: Path, open_page: Open) -> None:
    """The search finds pages without a server, a link leads there, and nothing is asked of any other host."""
    words = [sys.executable, "-m", "properdocs", "build", "--strict", "--site-dir", str(tmp_path), "-f", "mkdocs.yml"]
    assert subprocess.run(words, cwd=CHECKOUT, timeout=300, check=False).returncode == 0
    page, asked = open_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "index.html").as_uri())
    page.fill("input[name=query]", "max_pages_per_host")
    page.wait_for_selector(".md-search-result__item")
    assert "Settings" in page.inner_text(".md-search-result__list")
    page.goto((tmp_path / "docs/recipes.html").as_uri() + "#use-a-proxy")
    assert page.locator("#use-a-proxy").bounding_box()["y"] < 400
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
