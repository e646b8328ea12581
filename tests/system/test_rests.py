"""Hosts that ask for a rest, or answer nothing, and machines that come and go meanwhile."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.support.crawling import check_tree, crawl, errors, pages
from tests.support.fleet import Fleet
from tests.support.web import Request, Response, Web, linked_site

A = "127.0.44.1"


def test_retry_after_for_all_machines(tmp_path: Path) -> None:
    """A host that says Retry-After is left alone by every machine until then, also by the one that takes it over."""
    site, said = linked_site(6, 5), []

    def serve(request: Request) -> Response:
        if request.path == "/3" and not said:
            said.append(request.path)
            return Response(429, {"Retry-After": "7"})
        return site(request)

    root = tmp_path / "t"
    with Web(serve, [A]) as web, Fleet(root, {"politeness.delay": 0.05}) as fleet:
        first = fleet.start(seeds=[web.url(A)])
        first.running.until(lambda: web.count(A, "/3"), "a 429")
        second = fleet.start()
        first.running.signal(signal.SIGINT)
        fleet.wait_for_all(40)
        assert [first.code, second.code] == [130, 0], [m.output() for m in fleet.members]
        busy, again = web.requests(A, "/3")
        assert [e for e in web.requests(A) if busy.answered < e.arrived < busy.answered + 6.9] == []
        assert web.requests(A, "/4")[0].arrived > busy.answered
        assert again.arrived - busy.answered < 20
    assert len(pages(root)) == 7
    assert errors(root) == {}
    check_tree(root)


def test_many_dead_hosts(root: Path) -> None:
    """Many dead hosts are no outage of the network for long: they are given up, and the crawl ends."""
    dead = [f"127.0.44.{n}" for n in range(10, 30)]
    with Web(linked_site(5, 4), [A]) as web:
        seeds = [web.url(host) for host in (A, *dead)]
        # the dead are asked for 4 s: on a busy machine, too, the last answer of A is then over a second old
        done = crawl(root, seeds=seeds, settings={"politeness.give_up_after": 4, "fetch.retries": 0})
        assert done.code == 0, done
        assert len(pages(root)) == 6
        assert {web.url(host): "connect" for host in dead} == {url: e.class_ for url, e in errors(root).items()}
    alarms = [line for line in done.err.splitlines() if "is the network gone?" in line]
    assert 1 <= len(alarms) <= 3
    check_tree(root)
