"""Many hosts of which some are dead, slow or overwhelmed, and a network that goes away: the others are crawled on."""

from __future__ import annotations

import contextlib
import itertools
import socket
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crawling import Done, Running, check_tree, command, errors, pages
from tests.web import Request, Response, Web, linked_site

DELAY_S = 0.2
PAGES = 80  # of each healthy host
RETRY_AFTER_S = 5.0
SLOW_S = 5.0
JITTER_S = 0.02  # between a request's arrival at the host and what this one notes, on a busy machine
HEALTHY = [f"127.3.1.{n}" for n in range(1, 41)]
SLOW = [f"127.3.2.{n}" for n in range(1, 21)]
BUSY = [f"127.3.3.{n}" for n in range(1, 11)]
REFUSING = [f"127.3.4.{n}" for n in range(1, 11)]
SILENT = [f"127.3.5.{n}" for n in range(1, 11)]
FULL = [f"127.3.6.{n}" for n in range(1, 11)]
SETTINGS = {
    "politeness.delay": DELAY_S,
    "politeness.adaptive": "false",
    "politeness.give_up_after": 15,
    "fetch.timeout": 8,
    "fetch.connect_timeout": 4,
    "fetch.retries": 2,
}

_HEALTHY_SITE = linked_site(PAGES, 5)


def ward(request: Request) -> Response:
    """Serve the site on every host, each in its way."""
    if request.host in SLOW:
        answer = linked_site(3, 2)(request)
        return Response(answer.status, answer.headers, answer.body, SLOW_S)
    if request.host in BUSY and request.path != "/robots.txt":
        return Response(429, {"Retry-After": f"{RETRY_AFTER_S:g}"})
    return _HEALTHY_SITE(request)


@contextlib.contextmanager
def silent(hosts: list[str], port: int) -> Iterator[None]:
    """Take connections on these addresses, and never say a word."""
    with contextlib.ExitStack() as stack:
        for host in hosts:
            stack.enter_context(socket.create_server((host, port), backlog=256))
        yield


@contextlib.contextmanager
def full(hosts: list[str], port: int) -> Iterator[None]:
    """Let connecting to these addresses take for ever: the queue of who waits to be let in is full."""
    with contextlib.ExitStack() as stack:
        for host in hosts:
            stack.enter_context(socket.create_server((host, port), backlog=0))
            for _ in range(4):
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    waiting.connect((host, port))
        yield


@dataclass(frozen=True, slots=True)
class Crawled:
    """A crawl that is over. `served_s`: when healthy hosts' pages were served, since the first request, sorted."""

    root: Path
    web: Web
    done: Done
    served_s: list[float]


def crawl(root: Path, web: Web, hosts: list[str], timeout_s: float) -> Crawled:
    seeds = root.parent / f"{root.name}-seeds"
    seeds.write_text("".join(f"{web.url(host, '/')}\n" for host in hosts))
    words = command(root, "--seeds", str(seeds), settings=SETTINGS, workers=2, threads=16)
    with Running(words) as running:
        done = running.wait(timeout_s)
    began = min(each.arrived for each in web.requests())
    served_s = sorted(each.answered - began for each in web.requests() if each.host in HEALTHY)
    return Crawled(root, web, done, served_s)


@pytest.mark.fleet
@pytest.mark.timeout(300)
def test_sick_hosts(tmp_path: Path) -> None:
    """Of 100 hosts 60 are dead, slow or overwhelmed: the others are crawled at nine tenths of their pace, at least."""
    with Web(ward, HEALTHY) as web:
        alone = crawl(tmp_path / "alone", web, HEALTHY, 60)
    with Web(ward, HEALTHY + SLOW + BUSY, deadline_s=250) as web, silent(SILENT, web.port), full(FULL, web.port):
        dead = REFUSING + SILENT + FULL
        among = crawl(tmp_path / "among", web, HEALTHY + SLOW + BUSY + dead, 200)
    share = sum(s <= alone.served_s[-1] for s in among.served_s) / len(alone.served_s)
    print(f"\n{len(alone.served_s)} answers: alone {alone.served_s[-1]:.1f} s, among sick {among.served_s[-1]:.1f} s;")
    print(f"{share:.1%} of them in the time that they take alone\n{among.done.out.split(chr(10) + 'pages')[0]}")
    assert (alone.done.code, among.done.code) == (0, 0), among.done
    for each in (alone, among):
        check_tree(each.root)
        stored = Counter(url.split("/")[2].partition(":")[0] for url in pages(each.root))
        assert {host: stored[host] for host in HEALTHY} == dict.fromkeys(HEALTHY, PAGES + 1)
    assert {host: stored[host] for host in SLOW} == dict.fromkeys(SLOW, 4)
    found = {(url.split("/")[2].partition(":")[0], error.class_) for url, error in errors(among.root).items()}
    classes = dict.fromkeys(REFUSING, "connect") | dict.fromkeys(SILENT + FULL, "timeout")
    assert found == {*classes.items(), *((host, "http-4xx") for host in BUSY)}
    for host in HEALTHY + SLOW + BUSY:
        gaps = [b.arrived - a.arrived for a, b in itertools.pairwise(among.web.requests(host))]
        assert min(gaps) >= DELAY_S - JITTER_S, host
    for host in BUSY:
        asked = among.web.requests(host)
        assert [e.status for e in asked if e.path != "/robots.txt"] == [429, 429, 429], host
        rests = [b.arrived - a.answered for a, b in itertools.pairwise(asked) if a.status == 429]
        assert min(rests) >= RETRY_AFTER_S, (host, [(e.path, e.status, e.arrived - asked[0].arrived) for e in asked])
    assert share >= 0.9


# -- outages


@pytest.mark.fleet
def test_outage(tmp_path: Path) -> None:
    """When all hosts vanish and come back no page is lost: it is said once, and the crawl goes on by itself."""
    root = tmp_path / "tree"
    hosts = HEALTHY[:10]
    settings = {**SETTINGS, "politeness.delay": 0.05}
    with Web(_HEALTHY_SITE, hosts) as web:
        seeds = [web.url(host, "/") for host in hosts]
        with Running(command(root, seeds=seeds, settings=settings)) as running:
            running.until(lambda: len(web.exchanges) > 100, "pages were served")
            web.stop()
            gone_at = time.monotonic()
            running.until(lambda: time.monotonic() - gone_at > 8, "the hosts were gone for a while")
            with Web(_HEALTHY_SITE, hosts, web.port) as back:
                done = running.wait(60)
    assert done.code == 0, done
    assert errors(root) == {}
    assert len(pages(root)) == len(hosts) * (PAGES + 1)
    assert back.exchanges
    check_tree(root)
    assert done.err.count("is the network gone?") == 1, done.err
    assert done.err.count("the network is back") == 1, done.err


def nobody(root: Path, hosts: list[str], timeout_s: float) -> Done:
    """Crawl from seeds on hosts that refuse; every seed ends as a failure."""
    with socket.create_server((hosts[0], 0)) as taken:
        port = taken.getsockname()[1]
    seeds = [f"http://{host}:{port}/" for host in hosts]
    with Running(command(root, seeds=seeds, settings={**SETTINGS, "politeness.give_up_after": 3})) as running:
        done = running.wait(timeout_s)
    assert done.code == 1, done
    assert {url: error.class_ for url, error in errors(root).items()} == dict.fromkeys(seeds, "connect")
    check_tree(root)
    return done


def test_nobody_of_few_is_there(tmp_path: Path) -> None:
    """Where none of a few hosts answers the crawl ends, after a few tries, with an error for each."""
    done = nobody(tmp_path / "tree", REFUSING[:4], 40)
    assert "is the network gone?" not in done.err


@pytest.mark.fleet
@pytest.mark.timeout(500)
def test_nobody_of_many_is_there(tmp_path: Path) -> None:
    """Where none of many hosts ever answered the network is waited for, a minute; then it ends as with few."""
    done = nobody(tmp_path / "tree", REFUSING, 420)
    assert done.err.count("is the network gone?") == 1, done.err
    assert done.err.count("no host has ever answered") == 1, done.err
    assert done.elapsed_s >= 60
