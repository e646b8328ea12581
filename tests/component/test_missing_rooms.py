"""A part of `.fscrawl` is missing while no machine runs: what a crawl says, and whether its advice helps."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.crawling import check_tree, crawl, pages
from tests.support.web import Web, linked_site

HOST = "127.0.1.1"


@pytest.mark.parametrize("room", ["leases", "log", "machines", "terms"])
def test_the_advice_helps(root: Path, room: str) -> None:
    """The crawl names what is missing. Without all of `.fscrawl`, it goes on, and fetches nothing twice."""
    with Web(linked_site(8, 2), hosts=[HOST]) as web:
        assert crawl(root, seeds=[web.url(HOST)], settings={"fleet.beat": 0.5, "fleet.dead_after": 60}).code == 0
        shutil.rmtree(root / ".fscrawl" / room)
        done = crawl(root)
        assert done.code == 75, done
        assert f"fscrawl: {root}/.fscrawl/{room} is missing; when no machine runs" in done.err
        assert f"rm -r {root}/.fscrawl && " in done.err
        shutil.rmtree(root / ".fscrawl")
        # So long it waits. Before, a stall of half of it would have had a page asked for twice.
        settings = root / "crawl.toml"
        settings.write_text(settings.read_text().replace("dead_after = 60", "dead_after = 2"))
        done = crawl(root)
        assert done.code == 0, done
        assert web.duplicates() == {}
    assert len(pages(root)) == 9
    check_tree(root)
