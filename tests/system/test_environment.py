"""What a crawl reads of its environment."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.crawling import crawl, pages
from tests.support.web import Web, linked_site

HOST = "127.0.7.33"
HEADERS = {"fetch.headers": '{X-Key = "$FSCRAWL_TEST_KEY$OTHER_TEST_KEY"}'}


def test_only_what_is_meant_for_the_crawl(root: Path) -> None:
    """Settings get FSCRAWL_… and what --allow-env names, in all processes; another variable ends the crawl at once."""
    env = {**os.environ, "FSCRAWL_TEST_KEY": "one", "OTHER_TEST_KEY": "hunter2"}
    with Web(linked_site(2, 2), [HOST]) as web:
        refused = crawl(root, seeds=[web.url(HOST)], settings=HEADERS, env=env)
        assert (refused.code, web.requests()) == (2, [])
        assert "OTHER_TEST_KEY may not be used in settings" in refused.err
        assert "hunter2" not in refused.err + refused.out
        assert crawl(root, "--allow-env", "OTHER_TEST_KEY", env=env).code == 0
        assert {exchange.headers.get("x-key") for exchange in web.requests()} == {"onehunter2"}
    assert len(pages(root)) > 1
    assert not [path for path in root.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
