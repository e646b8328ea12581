"""The soak's web: a process of its own, whose site grows as long as the chaos lasts and then comes to an end.

Vocabulary:
  chain   page n of a host leads to page n + CHAINS: of the same host in even chains, of another one in odd ones, so
          that half of all links travel from machine to machine
  last    a page that was first asked for after `close`: it leads nowhere further

Promise: a page, once asked for, is the same for ever; so what the tree must hold when all is over follows from the
seeds and the pages that are last (`closure`), whoever asked for what, and how often.

    python -m tests.support.soak.site HOSTS LOG LASTS DEADLINE_S
        prints its port; the line `close` on its standard input ends the growth, the end of the input ends it all
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from demo.server import Exchange, Request, Response, Server

CHAINS = 6
BODY_BYTES = 3000
Page = tuple[int, int]  # host, number

HTML = {"Content-Type": "text/html; charset=utf-8"}
_MISSING = Response(404, {"Content-Type": "text/plain"}, b"no such page\n")


def host_name(number: int) -> str:
    return f"127.0.{60 + number // 200}.{number % 200 + 1}"


def after(page: Page, hosts: int) -> Page:
    """Give the page that comes next in a chain; each page has one that comes before it, or is one of the first."""
    host, number = page
    hop = 0 if number % CHAINS % 2 == 0 else 1 + number // CHAINS % 7
    return (host + hop) % hosts, number + CHAINS


def is_redirect(page: Page) -> bool:
    return page[1] % 40 == 13


def has_missing(page: Page) -> bool:
    """Tell whether the page links to one that is not there."""
    return page[1] % 25 == 3


@dataclass(frozen=True, slots=True)
class Closure:
    """All URLs that a crawl from some seeds must end with: as pages, as redirects, as failures."""

    pages: frozenset[str]
    redirects: frozenset[str]
    failures: frozenset[str]


def closure(seeded: Iterable[int], lasts: frozenset[Page], hosts: int, port: int) -> Closure:
    """Follow all links from the hosts that are seeds.

    A chain that nobody has crawled has no last page: it is followed as far as the longest that has one.
    """
    pages: set[str] = set()
    redirects: set[str] = set()
    failures: set[str] = set()
    waiting: list[Page] = []
    longest = max((number for _, number in lasts), default=0)
    for host in seeded:
        pages.add(_url(host, "/", port))
        waiting += [(host, number) for number in range(CHAINS)]
    seen = set(waiting)
    while waiting:
        page = waiting.pop()
        is_last = page in lasts
        redirected = is_redirect(page) and not is_last
        (redirects if redirected else pages).add(_url(page[0], f"/p{page[1]}", port))
        if has_missing(page) and not redirected:
            failures.add(_url(page[0], f"/gone{page[1]}", port))
        following = after(page, hosts)
        if not is_last and following[1] <= longest and following not in seen:
            seen.add(following)
            waiting.append(following)
    return Closure(frozenset(pages), frozenset(redirects), frozenset(failures))


def _url(host: int, path: str, port: int) -> str:
    return f"http://{host_name(host)}:{port}{path}"


class Site:
    """What the web consists of; `closing` is set from another thread."""

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.port = 0
        self.closing = False
        self.lasts: set[Page] = set()
        self._settled: set[Page] = set()
        self._numbers = {host_name(number): number for number in range(hosts)}

    def __call__(self, request: Request) -> Response:
        host, path = self._numbers[request.host], request.path
        if path == "/":
            return _html([f"/p{number}" for number in range(CHAINS)])
        if not path.startswith("/p") or not path[2:].isdecimal():
            return _MISSING
        page = (host, int(path[2:]))
        if page not in self._settled:
            self._settled.add(page)
            if self.closing:
                self.lasts.add(page)
        return self._answer(page)

    def _answer(self, page: Page) -> Response:
        is_last = page in self.lasts
        host, number = after(page, self.hosts)
        following = _url(host, f"/p{number}", self.port)
        if is_redirect(page) and not is_last:
            return Response(302, {"Location": following})
        links = [] if is_last else [following]
        if has_missing(page):
            links.append(f"/gone{page[1]}")
        return _html(links)


def _html(links: Iterable[str]) -> Response:
    anchors = "\n".join(f'<a href="{link}">{link}</a>' for link in links)
    html = f"<!DOCTYPE html><meta charset=utf-8><title>A page</title>\n{anchors}\n"
    return Response(200, HTML, (html + "." * (BODY_BYTES - len(html))).encode())


@dataclass(frozen=True, slots=True)
class Hit:
    """A line of the web's log."""

    host: str
    path: str
    machine: str
    arrived: float
    answered: float
    status: int


def read_log(log: Path) -> Iterator[Hit]:
    """Read what was asked for, in the order of the answers."""
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            host, path, machine, arrived, answered, status = line.rstrip("\n").split("\t")
            yield Hit(host, path, machine, float(arrived), float(answered), int(status))


class Web:
    """The process, as context manager."""

    def __init__(self, hosts: int, folder: Path, deadline_s: float) -> None:
        self.hosts = hosts
        self.log, self._lasts = folder / "web.log", folder / "web.lasts"
        words = [sys.executable, "-m", "tests.support.soak.site", hosts, self.log, self._lasts, deadline_s]
        self._words = [str(word) for word in words]
        self.port = 0

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end()
        finally:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()

    def seed(self, host: int) -> str:
        return _url(host, "/", self.port)

    def close(self) -> None:
        """End the growth."""
        assert self._process.stdin is not None
        self._process.stdin.write("close\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """Serve no more; afterwards log and closure can be read."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.wait(20)

    def closure(self, seeded: Iterable[int]) -> Closure:
        lasts = frozenset((host, number) for host, number in json.loads(self._lasts.read_text(encoding="utf-8")))
        return closure(seeded, lasts, self.hosts, self.port)


def main() -> int:
    hosts, log, lasts, deadline_s = sys.argv[1:]
    site = Site(int(hosts))
    with Path(log).open("w", encoding="utf-8", buffering=1) as file:

        def note(exchange: Exchange) -> None:
            machine = exchange.headers.get("x-machine", "")
            times = f"{exchange.arrived:.4f}\t{exchange.answered:.4f}"
            file.write(f"{exchange.host}\t{exchange.path}\t{machine}\t{times}\t{exchange.status}\n")

        names = [host_name(number) for number in range(site.hosts)]
        with Server(site, names, deadline_s=float(deadline_s), log=note) as server:
            site.port = server.port
            print(server.port, flush=True)
            for line in sys.stdin:
                site.closing = site.closing or line == "close\n"
    Path(lasts).write_text(json.dumps(sorted(site.lasts)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
