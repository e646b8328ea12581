"""A hundred hosts of which sixty are dead, slow or overwhelmed, and a crawl of them."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.crawling import Done, Running, command
from tests.support.web import Request, Response, Web, linked_site

DELAY_S = 0.2
PAGES = 80  # of each healthy host
RETRY_AFTER_S = 5.0
SLOW_S = 5.0
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

HEALTHY_SITE = linked_site(PAGES, 5)


def ward(request: Request) -> Response:
    """Serve the site on every host, each in its way."""
    if request.host in SLOW:
        answer = linked_site(3, 2)(request)
        return Response(answer.status, answer.headers, answer.body, SLOW_S)
    if request.host in BUSY and request.path != "/robots.txt":
        return Response(429, {"Retry-After": f"{RETRY_AFTER_S:g}"})
    return HEALTHY_SITE(request)


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


def crawl_alone(root: Path) -> Crawled:
    """Crawl the healthy hosts."""
    with Web(ward, HEALTHY) as web:
        return crawl(root, web, HEALTHY, 60)


def crawl_among_sick(root: Path) -> Crawled:
    """Crawl them all."""
    with Web(ward, HEALTHY + SLOW + BUSY, deadline_s=250) as web, silent(SILENT, web.port), full(FULL, web.port):
        return crawl(root, web, HEALTHY + SLOW + BUSY + REFUSING + SILENT + FULL, 200)


def in_time(alone: Crawled, among: Crawled) -> float:
    """Give the share of the healthy hosts' pages that were served among the sick in the time that they take alone."""
    return sum(s <= alone.served_s[-1] for s in among.served_s) / len(alone.served_s)
