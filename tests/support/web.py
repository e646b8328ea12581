"""The tests' web: the demo's server, with a log of every exchange and the questions that tests ask of it.

    with Web(linked_site(100, 10), hosts=["127.0.1.1", "127.0.1.2"]) as web:
        crawl(web.url("127.0.1.1"))
    assert web.duplicates() == {}
    assert web.smallest_gap_s("127.0.1.1") >= 0.1

`pages` runs in the server's thread. If it raises, the client gets a 500 and leaving the `with` raises it again.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from demo.server import Exchange, Pages, Request, Response, Server

__all__ = ["Exchange", "Pages", "Request", "Response", "Web", "linked_site"]


class Web(Server):
    """A web that counts. `exchanges` is in the order of the answers; it stays after the end.

    `deadline_s`: longer than all tests of a module take on a slow computer. What ends a test is its own timeout.
    """

    def __init__(
        self, pages: Pages, hosts: Sequence[str] = ("127.0.0.1",), port: int = 0, *, deadline_s: float = 3600.0
    ) -> None:
        self.exchanges: list[Exchange] = []
        super().__init__(pages, hosts, port, deadline_s=deadline_s, log=self.exchanges.append)

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        if self.failure is not None and exception[0] is None:
            raise self.failure

    def requests(self, host: str | None = None, path: str | None = None) -> list[Exchange]:
        """Give the exchanges of a host, of a path, of both, or all, in the order of their arrival."""
        chosen = [e for e in list(self.exchanges) if host in (None, e.host) and path in (None, e.path)]
        return sorted(chosen, key=lambda e: e.arrived)

    def count(self, host: str | None = None, path: str | None = None) -> int:
        return len(self.requests(host, path))

    def counts(self) -> Counter[tuple[str, str]]:
        """Give how often each (host, path) was asked for."""
        return Counter((e.host, e.path) for e in list(self.exchanges))

    def duplicates(self) -> dict[tuple[str, str], int]:
        """Give the (host, path) asked for more than once, with how often; robots.txt excepted."""
        return {asked: n for asked, n in self.counts().items() if n > 1 and asked[1] != "/robots.txt"}

    def smallest_gap_s(self, host: str) -> float:
        """Seconds between the arrivals of two requests to a host, at their closest; infinite below two requests."""
        arrivals = [e.arrived for e in self.requests(host)]
        return min((b - a for a, b in itertools.pairwise(arrivals)), default=float("inf"))

    def most_in_flight(self, host: str) -> int:
        """Give how many requests to a host were unanswered at one time, at most."""
        steps = [(e.arrived, 1) for e in self.requests(host)] + [(e.answered, -1) for e in self.requests(host)]
        steps.sort()  # at the same instant the answer (-1) comes first
        return max(itertools.accumulate(step for _, step in steps), default=0)


def linked_site(n_pages: int, links_per_page: int, *, body_bytes: int = 0) -> Pages:
    """Give pages /0 … /<n_pages - 1> on every host; / is /0, and all are reached from it.

    Page i links to i * links_per_page + 1 … + links_per_page (a tree) and, where that ends, to the pages after it.
    `body_bytes`: pages are padded to about this length.
    """

    def body(number: int) -> bytes:
        first = number * links_per_page + 1
        linked = [first + n if first + n < n_pages else (number + 1 + n) % n_pages for n in range(links_per_page)]
        anchors = "\n".join(f'<a href="/{n}">page {n}</a>' for n in linked)
        html = f"<!DOCTYPE html><meta charset=utf-8><title>Page {number}</title>\n{anchors}\n"
        return (html + "." * (body_bytes - len(html))).encode()

    headers = {"Content-Type": "text/html; charset=utf-8"}
    answers = {f"/{n}": Response(200, headers, body(n)) for n in range(n_pages)}
    answers["/"] = answers["/0"]
    missing = Response(404, {"Content-Type": "text/plain"}, b"no such page\n")
    return lambda request: answers.get(request.path, missing)


HTML = {"Content-Type": "text/html; charset=utf-8"}


def site(answers: dict[str, str | Response]) -> Pages:
    """Serve these pages (or answers) by path, on every host; anything else is a 404."""

    def serve(request: Request) -> Response:
        answer = answers.get(request.path, Response(404, {"Content-Type": "text/plain"}))
        return Response(200, HTML, answer.encode()) if isinstance(answer, str) else answer

    return serve


def slowly(pages_: Pages, delay_s: float) -> Pages:
    """Serve the same, each page after a delay."""

    def serve(request: Request) -> Response:
        answer = pages_(request)
        return Response(answer.status, answer.headers, answer.body, 0.0 if request.path == "/robots.txt" else delay_s)

    return serve
