"""Crawls that wait or die: pauses between requests, limits of a host, signals, and workers that are killed."""

from __future__ import annotations

import os
import resource
import signal
import time
import zlib
from pathlib import Path

import pytest

from tests.support.crawling import (
    Running,
    check_tree,
    command,
    crawl,
    errors,
    lines_of,
    pages,
    temporaries,
)
from tests.support.web import HTML, Pages, Request, Response, Web, linked_site, site, slowly

HOSTS = [f"127.0.5.{n}" for n in range(1, 7)]
A, B = HOSTS[:2]


def paths(root: Path, web: Web, host: str = A) -> set[str]:
    """Give the paths of a host's stored pages."""
    start = web.url(host, "")
    return {url.removeprefix(start) for url in pages(root) if url.startswith(start + "/")}


# -- politeness


def test_delay_is_kept(root: Path) -> None:
    """Requests to one host are at least politeness.delay apart, robots.txt included, and one at a time."""
    with Web(linked_site(6, 5), HOSTS) as web:
        assert crawl(root, seeds=[web.url(A), web.url(B)], settings={"politeness.delay": 0.15}).code == 0
        for host in (A, B):
            assert web.count(host) == 8
            assert web.smallest_gap_s(host) >= 0.15
            assert web.most_in_flight(host) == 1


def test_crawl_delay_is_kept(root: Path) -> None:
    """A longer delay that robots.txt asks for holds."""
    answers: dict[str, str | Response] = {"/": '<a href="/1"><a href="/2">', "/1": "", "/2": ""}
    answers["/robots.txt"] = Response(200, {}, b"User-agent: *\nCrawl-delay: 0.3")
    with Web(site(answers), HOSTS) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        assert web.count(A) == 4
        assert web.smallest_gap_s(A) >= 0.3


@pytest.mark.parametrize("per_host", [1, 3])
def test_per_host(root: Path, per_host: int) -> None:
    """No more requests than politeness.per_host are unanswered by one host at a time, and so many are used."""
    with Web(slowly(linked_site(24, 8), 0.03), HOSTS) as web:
        assert crawl(root, seeds=[web.url(A)], settings={"politeness.per_host": per_host}).code == 0
        assert web.duplicates() == {}
        assert web.most_in_flight(A) == per_host


def test_hosts_take_turns(root: Path) -> None:
    """A host of two hundred pages does not hold up five hosts of five."""
    small = linked_site(5, 4)
    large = linked_site(200, 199)
    with Web(lambda request: (large if request.host == A else small)(request), HOSTS) as web:
        assert crawl(root, seeds=[web.url(host) for host in HOSTS], workers=1, threads=1).code == 0
        order = [exchange.host for exchange in web.requests()]
    assert len(order) == 202 + 5 * 7
    last_of_small = max(index for index, host in enumerate(order) if host != A)
    assert last_of_small < 90


def test_new_host_is_begun_at_once(root: Path) -> None:
    """On a machine alone, a host that a page leads to is asked at once: no heartbeat is waited for."""

    def serve(request: Request) -> Response:
        to = HOSTS.index(request.host) + 1
        port = request.headers["host"].rpartition(":")[2]
        link = f'<a href="http://{HOSTS[to]}:{port}/">' if to < len(HOSTS) else ""
        return Response(404 if request.path == "/robots.txt" else 200, HTML, link.encode())

    with Web(serve, HOSTS) as web:
        assert crawl(root, seeds=[web.url(A)]).code == 0
        first = [web.requests(host, "/")[0].arrived for host in HOSTS]
    assert first[-1] - first[0] < 10, "of five that followed, each would have waited for a heartbeat, every 10 s"


def failing_first(status: int, headers: dict[str, str] | None = None, times: int = 1) -> Pages:
    """Serve / and /1 … /3; /1 fails the first `times` times."""
    asked: list[str] = []

    def serve(request: Request) -> Response:
        if request.path == "/1":
            asked.append(request.path)
            if len(asked) <= times:
                return Response(status, headers or {})
        return site({"/": '<a href="/1"><a href="/2"><a href="/3">', "/1": "", "/2": "", "/3": ""})(request)

    return serve


def test_retry_heals(root: Path) -> None:
    """A page that fails for a moment is asked for again after a pause, and stored."""
    with Web(failing_first(503), HOSTS) as web:
        done = crawl(root, seeds=[web.url(A)])
        assert done.code == 0, done
        first, second = web.requests(A, "/1")
        assert 0.45 <= second.arrived - first.arrived < 5
        assert paths(root, web) == {"/", "/1", "/2", "/3"}
        assert web.requests(A, "/3")[0].arrived < second.arrived  # the others did not wait for it
    assert errors(root) == {}


def test_retries_end(root: Path) -> None:
    """A page that keeps failing is tried 1 + fetch.retries times and becomes an error record."""
    with Web(failing_first(503, times=99), HOSTS) as web:
        assert crawl(root, seeds=[web.url(A)], settings={"fetch.retries": 1}).code == 0
        assert web.count(A, "/1") == 2
        assert errors(root)[web.url(A, "/1")].attempts == 2


def test_dead_host_holds_up_nobody(root: Path) -> None:
    """A host that is not there costs itself only."""
    with Web(linked_site(5, 4), [A]) as web:
        dead = web.url(B)
        done = crawl(root, seeds=[dead, web.url(A)], settings={"fetch.retries": 1})
        assert done.code == 0, done
        assert len(paths(root, web)) == 6
    assert errors(root)[dead].class_ == "connect"


# -- limits


def test_max_pages_per_host(root: Path) -> None:
    """crawl.max_pages_per_host is the number of pages stored of each host, over all runs."""
    with Web(linked_site(60, 10), HOSTS) as web:
        options = {"crawl.max_pages_per_host": 5, "politeness.per_host": 2}
        for _ in range(2):
            assert crawl(root, seeds=[web.url(A), web.url(B)], settings=options).code == 0
            assert [len(paths(root, web, host)) for host in (A, B)] == [5, 5]


# -- signals


@pytest.mark.parametrize(
    ("number", "group"), [(signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGTERM, False)],
    ids=["SIGINT", "Ctrl-C", "SIGTERM"],
)  # fmt: skip
def test_interrupt_drains(root: Path, number: int, group: bool) -> None:
    """One signal: what is in flight is stored, the exit code says which, and a later run does the rest."""
    with Web(slowly(linked_site(25, 8), 0.03), HOSTS) as web:
        with Running(command(root, seeds=[web.url(host) for host in HOSTS])) as running:
            running.until(lambda: web.count() >= 40, "40 requests")
            running.signal(number, group=group)
            done = running.wait()
        assert done.code == 128 + number, done
        assert "stopped: interrupted" in done.out
        assert len(lines_of(done.err)) == 1
        assert done.err.startswith("stopping: ")
        assert done.err.endswith("; what is stored is kept; the same command goes on\n")
        asked = {(host, path) for host, path in web.counts() if path != "/robots.txt"}
        assert {(host, path) for host in HOSTS for path in paths(root, web, host)} == asked
        assert len(asked) < 26 * len(HOSTS)
        check_tree(root)
        rest = crawl(root)
        assert rest.code == 0, rest
        assert web.duplicates() == {}
        assert len(pages(root)) == 26 * len(HOSTS)
    check_tree(root)


@pytest.mark.parametrize("group", [False, True])
def test_second_interrupt_leaves_at_once(root: Path, group: bool) -> None:
    """A second signal does not wait for the slow page that the first one waits for."""
    slow = slowly(linked_site(5, 4), 30.0)
    asked: list[str] = []

    def serve(request: Request) -> Response:
        asked.append(request.path)
        return slow(request)

    with Web(serve, HOSTS) as web:
        with Running(command(root, seeds=[web.url(A)])) as running:
            running.until(lambda: "/" in asked, "the slow page")
            running.signal(signal.SIGINT, group=group)
            assert running.process.stderr is not None
            assert b"stopping: " in running.process.stderr.readline()
            time.sleep(0.2)  # within 0.1 s it would count as the first one, which `timeout` sends twice
            second_at = time.monotonic()
            running.signal(signal.SIGINT, group=group)
            done = running.wait()
            assert (done.code, time.monotonic() - second_at < 15) == (130, True), done  # half of what the page takes
            assert done.err == "leaving at once: 1 page in flight will be fetched again\n"
        assert pages(root) == {}
    assert temporaries(root) == []


# -- workers that die


def test_killed_worker_costs_nothing(root: Path) -> None:
    """A worker process killed in the middle of a crawl is replaced; every page is stored all the same."""
    with Web(slowly(linked_site(25, 8), 0.02), HOSTS) as web:
        with Running(command(root, seeds=[web.url(host) for host in HOSTS], threads=3)) as running:
            running.until(lambda: web.count() >= 40, "40 requests")
            workers = running.workers()
            assert len(workers) == 2
            os.kill(workers[0], signal.SIGKILL)
            done = running.wait()
        assert done.code == 0, done
        assert len(pages(root)) == 26 * len(HOSTS)
        assert set(web.duplicates().values()) <= {2}
        assert len(web.duplicates()) <= 3  # one for each thread
    assert errors(root) == {}
    check_tree(root)  # no temporary of the dead one either
    assert crawl(root).code == 0
    check_tree(root)


def _little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (640_000_000, 640_000_000))


def _zipped(piece: bytes, times: int) -> bytes:
    packer = zlib.compressobj(wbits=31)
    packed = b"".join(packer.compress(piece) for _ in range(times))
    return packed + packer.flush()


def test_page_that_exhausts_memory(root: Path) -> None:
    """A page that needs more memory than there is becomes an error of class worker-died; all others are stored."""
    greedy = Response(200, {**HTML, "Content-Encoding": "gzip"}, _zipped(b"." * 100_000, 3200))
    links = "".join(f'<a href="/{n}">' for n in range(8)) + '<a href="/greedy">'
    answers: dict[str, str | Response] = {"/": links, "/greedy": greedy, **{f"/{n}": "" for n in range(8)}}
    with Web(site(answers), HOSTS) as web:
        options = {"fetch.max_bytes": 2_000_000_000, "politeness.per_host": 4}
        done = crawl(root, seeds=[web.url(A)], settings=options, threads=2, preexec_fn=_little_memory)
        assert done.code == 0, done
        assert {url.removeprefix(web.url(A, "")): e.class_ for url, e in errors(root).items()} == {
            "/greedy": "worker-died"
        }
        assert paths(root, web) == {"/", *(f"/{n}" for n in range(8))}
        assert web.count(A, "/greedy") == 3
    check_tree(root)
