"""Redirects without end, each to a new URL, over several hosts: whoever asks them, at most twenty come in a row."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

from fscrawl.handlers.meaning import MOST_REDIRECTS
from tests.support.crawling import Running, check_tree, command, crawl, errors, pages
from tests.support.fleet import Fleet, Place
from tests.support.web import Request, Response, Web

HOSTS = [f"127.0.45.{n}" for n in range(1, 21)]  # so many that two machines have some each
BUSY = [f"127.0.46.{n}" for n in range(1, 5)]
HELD = 3  # the number of the redirect that waits until the ring goes on
ENOUGH = 3 * MOST_REDIRECTS  # then the web gives up, so that a test that fails ends
HTML = {"Content-Type": "text/html; charset=utf-8"}


class Ring:
    """Each host redirects to the next one, to a URL that is new. Those in `BUSY` have pages, which take a while."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.delay_s = delay_s
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.web = Web(self.serve, [*HOSTS, *BUSY])

    def serve(self, request: Request) -> Response:
        if request.path == "/robots.txt":
            return Response(404)
        if request.host in BUSY:
            links = "".join(f"<a href=/{n}>x</a>" for n in range(60))
            return Response(200, HTML, links.encode(), delay_s=0.1)
        number = int(request.path.rpartition("?")[2])
        if number == HELD:
            self.goes_on.wait(20.0)
        to = self.web.url(HOSTS[(number + 1) % len(HOSTS)], f"/r?{number + 1}")
        status = 302 if number < ENOUGH else 200
        return Response(status, {"Location": to, **HTML}, delay_s=self.delay_s)

    def first(self) -> str:
        return self.web.url(HOSTS[0], "/r?0")

    def check(self, root: Path) -> None:
        """Twenty redirects are stored, and the next one is a failure."""
        stored = [page.depth for page in pages(root).values() if page.redirect is not None]
        assert sorted(stored) == list(range(MOST_REDIRECTS))
        assert [(error.depth, error.class_) for error in errors(root).values()] == [(MOST_REDIRECTS, "redirects")]
        check_tree(root)


def test_by_several_workers(root: Path) -> None:
    """A chain is counted as a whole, though each of its hosts may have another worker."""
    ring = Ring()
    with ring.web as web:
        done = crawl(root, seeds=[ring.first(), *(web.url(host, "/") for host in BUSY)])
    assert done.code == 0, done
    ring.check(root)


def test_in_two_runs(root: Path) -> None:
    """Who goes on with a crawl that was stopped knows how long the chain is already."""
    ring = Ring(delay_s=0.1)
    with ring.web as web:
        with Running(command(root, seeds=[ring.first()])) as running:
            running.until(lambda: web.count() > MOST_REDIRECTS, "some redirects")
            running.signal(signal.SIGTERM)
            running.wait()
        assert len(pages(root)) < MOST_REDIRECTS
        done = crawl(root)
    assert done.out.startswith("finished: "), done
    ring.check(root)


def test_by_several_machines(place: Place) -> None:
    """The count goes from machine to machine with the URL."""
    ring = Ring(delay_s=0.1)
    ring.goes_on.clear()
    machines = place.root / ".fscrawl" / "machines"
    with ring.web as web, Fleet(place, {"crawl.scope": "any", "fleet.beat": 0.5}) as fleet:
        fleet.start(seeds=[ring.first(), *(web.url(host, "/") for host in BUSY)])
        fleet.wait_for_tree()
        fleet.start().until(lambda: len(list(machines.glob("*.log"))) == 2, "the second machine")
        ring.goes_on.set()
        fleet.wait_for_all(60)
        assert [member.code for member in fleet.members] == [0, 0], [m.output() for m in fleet.members]
    ring.check(place.root)
    assert len({page.machine for page in pages(place.root).values() if page.redirect is not None}) == 2
