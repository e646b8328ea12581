"""A part of `.fscrawl` is missing: what a crawl says, and whether its advice helps."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.crawling import check_tree, crawl, fscrawl, pages
from tests.support.web import Request, Response, Web, linked_site

HOST = "127.0.1.1"


@pytest.mark.parametrize("directory", ["leases", "machines", "generations"])
def test_the_advice_helps(root: Path, directory: str) -> None:
    """The crawl names what is missing. Without all of `.fscrawl`, it goes on, and fetches nothing twice."""
    with Web(linked_site(8, 2), hosts=[HOST]) as web:
        assert crawl(root, seeds=[web.url(HOST)], settings={"fleet.beat": 0.5, "fleet.dead_after": 60}).code == 0
        shutil.rmtree(root / ".fscrawl" / directory)
        done = crawl(root)
        assert done.code == 75, done
        assert f"fscrawl: {root}/.fscrawl/{directory} is missing; when no machine runs" in done.err
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
    status = json.loads(fscrawl("status", "--root", root, "--json").out)
    assert (status["pages"], status["exact"]) == (9, True), "the machine has counted what no heartbeat says any more"


def test_a_deleted_machinery_asks_no_host(root: Path) -> None:
    """All is stored: no host is asked for its robots.txt, while its pages are told from their records."""
    hosts = [f"127.0.1.{n}" for n in range(1, 6)]

    def pages_of(request: Request) -> Response:
        links = "".join(f'<a href="http://{host}:{web.port}/{n}">x</a>' for host in hosts for n in range(100))
        return Response(200, {"Content-Type": "text/html"}, f"<title>{request.path}</title>{links}".encode())

    with Web(pages_of, hosts=hosts) as web:
        settings = {"fleet.beat": 0.5, "fleet.dead_after": 2}
        assert crawl(root, seeds=[web.url(hosts[0])], settings=settings).code == 0
        asked = web.count()
        shutil.rmtree(root / ".fscrawl")
        done = crawl(root)
        assert done.code == 0, done
        assert web.requests()[asked:] == []
    check_tree(root)
