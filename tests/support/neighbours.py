"""One healthy host beside many that mean harm, and crawls of them that are cut off after some seconds.

A mix is a set of seeds: the healthy host's, and those of its neighbours.
  bombs      40 hosts whose pages take a parser seconds, in four shapes, gzipped
  slow       a page with links to 1,000 hosts that answer after 20 s
  both       these two together
  wildcard   a page with links to 3,000 names of one domain, on 200 addresses; every second name answers after 20 s
"""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.crawling import Running, command
from tests.support.web import HTML, Request, Response, Web

HEALTHY = "127.5.1.1"
HUB = "127.5.1.2"
BOMBS = [f"127.5.2.{n}" for n in range(1, 41)]
SLOW = [f"127.5.{3 + n // 250}.{1 + n % 250}" for n in range(1000)]
WILD = [f"127.5.8.{n}" for n in range(1, 201)]
WILD_NAMES = [f"n{n}.wild.example" for n in range(3000)]
SLOW_S = 20.0
BOMB_PAGES = 200
BOMB_BYTES = 300_000

_SHAPES = (
    (b"<svg>", b"<g></q>"),
    (b"", b"<div></td>"),
    (b"<svg>", b"<g><link>"),
    (b"<table>", b"<a><div></p>"),
)
_PACKED = {**HTML, "Content-Encoding": "gzip"}
_BOMBS = [Response(200, _PACKED, gzip.compress(head + unit * (BOMB_BYTES // len(unit)))) for head, unit in _SHAPES]
# Put into sitecustomize.py: each name of the wildcard domain has one of 200 addresses.
_RESOLVER = """
import socket
_asked = socket.getaddrinfo
def _answer(host, *args, **more):
    if host and host.endswith(".wild.example"):
        host = f"127.5.8.{1 + int(host.partition('.')[0][1:]) % 200}"
    return _asked(host, *args, **more)
socket.getaddrinfo = _answer
"""
_NO_ROBOTS = Response(404, {"Content-Type": "text/plain"})


def _linking(*targets: str) -> Response:
    return Response(200, HTML, "".join(f'<a href="{target}">x</a>\n' for target in targets).encode())


def _healthy(request: Request) -> Response:
    """Serve pages without end; each has links to the next five."""
    number = int(request.path.lstrip("/") or 0)
    return _linking(*(f"/{number + n}" for n in range(1, 6)))


class Neighbourhood:
    """Serves them all. `port`: known when the web listens."""

    port = 0

    def __call__(self, request: Request) -> Response:
        host, path = request.host, request.path
        named = request.headers.get("host", "").partition(":")[0]
        if host in SLOW or (host in WILD and int(named[1:].partition(".")[0]) % 2):
            return Response(200, HTML, b"<p>late", SLOW_S)
        if path == "/robots.txt":
            return _NO_ROBOTS
        if host == HEALTHY:
            return _healthy(request)
        if host == HUB:
            names = SLOW if path == "/slow" else WILD_NAMES
            return _linking(*(f"http://{name}:{self.port}/" for name in names))
        if host in BOMBS:
            number = int(path.lstrip("/") or 0)
            return _BOMBS[number % 4] if number else _linking(*(f"/{n}" for n in range(1, BOMB_PAGES)))
        return _linking(*(f"/{n}" for n in range(20)))


def _seeds(mix: str, web: Web) -> list[str]:
    seeds = [web.url(host) for host in BOMBS if mix in ("bombs", "both")]
    if mix in ("slow", "both"):
        seeds.append(web.url(HUB, "/slow"))
    if mix == "wildcard":
        seeds.append(web.url(HUB, "/wild"))
    return [*seeds, web.url(HEALTHY)]


def crawl_until(place: Path, mix: str, over: Callable[[Web], object], timeout_s: float, delay_s: float) -> Web:
    """Crawl a mix ("alone" is one, too) at `place` until `over`, then kill it; give the web, with what was asked."""
    pages = Neighbourhood()
    with Web(pages, [HEALTHY, HUB, *BOMBS, *SLOW, *WILD], deadline_s=timeout_s + 60) as web:
        pages.port = web.port
        place.mkdir(parents=True, exist_ok=True)
        seeds = place / "seeds"
        seeds.write_text("\n".join(_seeds(mix, web)) + "\n")
        settings = {"politeness.delay": delay_s}
        words = command(place / "tree", "--seeds", str(seeds), settings=settings, workers=2, threads=8)
        with Running(words, env=customised(place, _RESOLVER)) as running:
            running.until(lambda: over(web), f"the end of {mix}", timeout_s)
    return web


def customised(place: Path, code: str) -> dict[str, str]:
    """Give an environment in which every Python process runs this code first."""
    names = place / "names"
    names.mkdir(parents=True, exist_ok=True)
    (names / "sitecustomize.py").write_text(code)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(names), os.environ.get("PYTHONPATH")]))}


def healthy_pages(place: Path, mix: str, seconds: float, delay_s: float) -> int:
    """Give how many pages of the healthy host are served in so many seconds from the first request on."""
    began: list[float] = []

    def over(web: Web) -> bool:
        if web.exchanges and not began:
            began.append(min(each.arrived for each in web.requests()))
        return bool(began) and time.monotonic() > began[0] + seconds

    web = crawl_until(place, mix, over, seconds + 30, delay_s)
    asked = web.requests(HEALTHY)
    return sum(each.path != "/robots.txt" and each.answered <= began[0] + seconds for each in asked)
