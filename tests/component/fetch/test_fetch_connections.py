"""One HTTP exchange: which connections are kept, and when a body is left unread."""

from __future__ import annotations

import contextlib
import gc
import socket
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fscrawl.http import connections
from tests.support.exchanges import HTML
from tests.support.raw import HOST, Make, Raw, answering, fetched, head, ok
from tests.support.web import Response, Web


def test_connections_are_kept(make: Make) -> None:
    """Requests to one host one after the other go through one connection."""
    with Raw(answering(ok(b"<p>"))) as server:
        fetcher = make()
        assert [fetched(fetcher.get(server.url(f"/{n}"))).body for n in range(5)] == [b"<p>"] * 5
        assert server.accepted == 1


def test_connections_of_threads_are_kept(make: Make) -> None:
    """Threads that fetch from one host at the same time keep no more than a connection each."""
    with Raw(answering(ok(b"<p>"))) as server, ThreadPoolExecutor(4) as threads:
        fetcher = make()
        answers = list(threads.map(lambda n: fetcher.get(server.url(f"/{n}")), range(40)))
        assert all(fetched(answer).body == b"<p>" for answer in answers)
        assert server.accepted <= 4


def test_kept_connection_that_was_closed(make: Make) -> None:
    """A kept connection that the server has closed meanwhile is replaced, and nobody notices."""
    with Raw(answering(ok(b"<p>"), times=1)) as server:
        fetcher = make()
        for n in range(3):
            assert fetched(fetcher.get(server.url())).body == b"<p>"
            assert server.over.wait(5)
            server.over.clear()
            assert server.accepted == n + 1


def test_bytes_after_the_body_are_not_the_next_answer(make: Make) -> None:
    """What a server sends beyond its Content-Length is never taken for the answer to the next request."""
    with Raw(answering(ok(b"<p>") + ok(b"smuggled"))) as server:
        fetcher = make()
        assert [fetched(fetcher.get(server.url())).body for _ in range(3)] == [b"<p>"] * 3


def test_small_unwanted_body_keeps_the_connection(make: Make) -> None:
    """An unwanted body of a few bytes is passed over, and the connection used again."""
    with Raw(answering(ok(b"%PDF" * 100, "Content-Type: application/pdf"))) as server:
        fetcher = make()
        for _ in range(3):
            assert fetched(fetcher.get(server.url(), wants_body=lambda *_: False)).body is None
        assert server.accepted == 1


def test_large_unwanted_body_is_left(make: Make) -> None:
    """A large unwanted body is not read: the connection is closed under it."""
    sent = []

    def endless(connection: socket.socket) -> None:
        head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 99999999999\r\n\r\n")
        while True:
            sent.append(connection.send(b"%PDF" * 20_000))

    with Raw(endless) as server:
        answer = fetched(make().get(server.url(), wants_body=lambda status, headers: "html" in headers["content-type"]))
        assert (answer.status, answer.body) == (200, None)
        assert server.over.wait(5)
    assert sum(sent) < 50_000_000  # what fits into the kernel's buffers


def test_wants_is_asked_with_status_and_headers(make: Make) -> None:
    """Whether a body is wanted is decided on status and headers, before it is read."""
    asked = []
    with Web(lambda _: Response(404, HTML, b"<p>"), [HOST]) as web:
        fetched(make().get(web.url(HOST), wants_body=lambda *facts: not asked.append(facts)))
    ((status, headers),) = asked
    assert (status, headers["content-type"]) == (404, "text/html")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n%s\r\nx",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n%s\r\n1\r\nx\r\n0\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n%s\r\n",
        b"HTTP/1.1 304 Not Modified\r\n%s\r\n",
    ],
    ids=["length", "chunked", "empty", "no body"],
)
def test_heads_are_not_kept(make: Make, answer: bytes) -> None:
    """Connections that wait for their next request do not hold the head of the last answer."""
    heads = b"".join(b"x-%d: %s\r\n" % (n, b"v" * 60_000) for n in range(4))
    with Raw(answering(answer % heads)) as server:
        fetchers = [make() for _ in range(10)]
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for fetcher in fetchers:
            fetched(fetcher.get(server.url()))
        kept = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert server.accepted == len(fetchers)
        for fetcher in fetchers:
            fetched(fetcher.get(server.url()))
        assert server.accepted == len(fetchers)
    assert kept < 1_000_000


def test_hosts_whose_connections_are_kept(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetcher keeps the connections of so many hosts open, those that were asked last."""
    monkeypatch.setattr(connections, "_KEPT_HOSTS", 5)
    hosts = [f"127.0.48.{n + 1}" for n in range(12)]
    with Web(lambda request: Response(200, HTML, b"<p>"), hosts) as web:
        fetcher = make()
        for host in (*hosts, hosts[-1]):
            fetched(fetcher.get(web.url(host)))
        assert {host for host, port in peers() if port == web.port} == set(hosts[-5:])


def peers() -> Iterator[tuple[str, int]]:
    """Give where the sockets of all fetchers in this process lead to."""
    for each in gc.get_objects():
        if isinstance(each, connections._Socket):
            with contextlib.suppress(OSError):  # it is closed
                yield each.getpeername()
