"""The documentation as a site, opened from the disk as a reader opens it who has no network."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.system.browser.conftest import Open
from tools.site.__main__ import main

CHECKOUT = Path(__file__).resolve().parents[3]


def test_the_site_can_be_searched_from_the_disk(tmp_path: Path, open_page: Open) -> None:
    """The search finds pages without a server, a link leads there, and nothing is asked of any other host."""
    for file in ("mkdocs.yml", *(path.name for path in CHECKOUT.glob("*.md"))):
        shutil.copy(CHECKOUT / file, tmp_path)
    for directory in ("deploy", "docs", "examples", "benchmarks"):
        shutil.copytree(CHECKOUT / directory, tmp_path / directory, ignore=shutil.ignore_patterns("*.py", "tree"))
    assert main(["--checkout", str(tmp_path)]) == 0
    page, asked = open_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "build/site/index.html").as_uri())
    page.fill("input[name=query]", "max_pages_per_host")
    page.wait_for_selector(".md-search-result__item")
    assert "Settings" in page.inner_text(".md-search-result__list")
    page.goto((tmp_path / "build/site/docs/recipes.html").as_uri() + "#use-a-proxy")
    assert page.locator("#use-a-proxy").bounding_box()["y"] < 400
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
