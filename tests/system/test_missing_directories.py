"""A part of `.fscrawl` is missing: what a crawl says, and whether its advice helps; or machines that run go on."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.crawling import Running, check_tree, command, crawl, pages
from tests.support.web import Pages, Request, Response, Web, linked_site

HOST = "127.0.1.1"


@pytest.mark.parametrize("directory", ["leases", "log", "machines", "terms"])
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


def _slowly(site: Pages) -> Pages:
    """Let each page take so long that two machines that ask one host would do it at the same time."""
    return lambda request: replace(site(request), delay_s=0.3)


@pytest.mark.parametrize("with_directory", [True, False])
def test_leases_that_are_removed_while_machines_run(root: Path, with_directory: bool) -> None:
    """Somebody takes them for locks that were left behind: the machine makes them again, and who joins waits for that.

    Before, who joined took hosts that the other one was asking.
    """
    hosts = [f"127.0.1.{n}" for n in range(1, 9)]
    settings = {"fleet.beat": 1, "fleet.dead_after": 20}
    with Web(_slowly(linked_site(20, 2)), hosts=hosts) as web:
        seeds = [web.url(host) for host in hosts]
        leases = root / ".fscrawl" / "leases"
        with Running(command(root, seeds=seeds, settings=settings)) as first:
            first.until(lambda: all(web.count(host) > 2 for host in hosts), "all hosts are being asked")
            number = len(list(leases.iterdir()))  # two hosts may be in one shard
            shutil.rmtree(leases)
            if not with_directory:
                leases.mkdir()
            with Running(command(root)) as second:
                ends = [first.wait(), second.wait()]
        assert [done.code for done in ends] == [0, 0], ends
        assert f"leases: somebody has removed {number} leases of this machine; made again" in ends[0].err
        assert {host: web.most_in_flight(host) for host in hosts} == dict.fromkeys(hosts, 1)
        assert web.duplicates() == {}
    assert len(pages(root)) == 8 * 21
    check_tree(root)


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
