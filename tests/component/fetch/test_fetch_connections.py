"""One HTTP exchange: which connections are kept, and when a body is left unread."""

from __future__ import annotations

import contextlib
import gc
import socket
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fscrawl.config.settings import FetchSettings, PolitenessSettings
from fscrawl.http import connections
from fscrawl.http.answers import Limits
from fscrawl.http.fetch import Fetcher
from tests.support.exchanges import HTML
from tests.support.raw import HOST, Make, Raw, answering, fetched, head, nothing, ok
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


@pytest.mark.parametrize("behind", [b"x", ok(b"smuggled"), ok(b"smuggled")[:10]], ids=["byte", "answer", "beginning"])
@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (ok(b"<p>"), b"<p>"),
        (ok(b""), b""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n<p>\r\n0\r\n\r\n", b"<p>"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n", b""),
        (b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", None),
        (ok(b"<p>", "Content-Type: image/png"), None),
    ],
    ids=["length", "empty", "chunked", "204", "304", "unwanted"],
)
def test_bytes_after_the_body_are_not_the_next_answer(
    make: Make, answer: bytes, body: bytes | None, behind: bytes
) -> None:
    """What a server sends behind an answer is never taken for the next one, and its connection is not used again."""
    with Raw(answering(answer + behind)) as server:
        fetcher = make()
        limits = Limits(5.0, 1000, wants=lambda _, headers: "content-type" not in headers)
        answers = [fetched(fetcher.get(server.url(), limits=limits)) for _ in "123"]
        assert [each.body for each in answers] == [body] * 3
        assert server.accepted == 3


def test_small_unwanted_body_keeps_the_connection(make: Make) -> None:
    """An unwanted body of a few bytes is passed over, and the connection used again."""
    with Raw(answering(ok(b"%PDF" * 100, "Content-Type: application/pdf"))) as server:
        fetcher = make()
        for _ in range(3):
            assert fetched(fetcher.get(server.url(), limits=Limits(5.0, 1000, wants=nothing))).body is None
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
        limits = Limits(5.0, 1000, wants=lambda status, headers: "html" in headers["content-type"])
        answer = fetched(make().get(server.url(), limits=limits))
        assert (answer.status, answer.body) == (200, None)
        assert server.over.wait(5)
    assert sum(sent) < 50_000_000  # what fits into the kernel's buffers


def test_wants_is_asked_with_status_and_headers(make: Make) -> None:
    """Whether a body is wanted is decided on status and headers, before it is read."""
    asked = []
    with Web(lambda _: Response(404, HTML, b"<p>"), [HOST]) as web:
        fetched(make().get(web.url(HOST), limits=Limits(5.0, 1000, wants=lambda *facts: not asked.append(facts))))
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


@pytest.mark.gate
def test_hosts_whose_connections_are_kept(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetcher keeps so many connections open, of hosts that take turns."""
    monkeypatch.setattr(connections, "MOST", 5)
    hosts = [f"127.0.48.{n + 1}" for n in range(12)]
    with Web(lambda request: Response(200, HTML, b"<p>"), hosts) as web:
        fetcher = make()
        for host in (*hosts, *hosts):
            fetched(fetcher.get(web.url(host)))
            assert len(open_to(web)) <= 5
        assert open_to(web) == set(hosts[:5])
        assert web.count() == 24


def test_connections_that_wait_for_long(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that has waited too long is closed, when another host is asked or when nobody is; not used again."""
    hosts = ["127.0.48.1", "127.0.48.2"]
    with Web(lambda request: Response(200, HTML, b"<p>"), hosts) as web:
        fetcher = make()
        fetched(fetcher.get(web.url(hosts[0])))
        fetcher.tidy()
        assert open_to(web) == {hosts[0]}
        monkeypatch.setattr(connections.time, "monotonic", _later(connections.IDLE_S + 1))
        fetched(fetcher.get(web.url(hosts[1])))
        assert open_to(web) == {hosts[1]}
        monkeypatch.setattr(connections.time, "monotonic", _later(connections.IDLE_S + 1))
        fetcher.tidy()
        assert open_to(web) == set()


@pytest.mark.parametrize(("keep_alive", "accepted"), [("timeout=1", 3), ("timeout=5, max=100", 1), ("max=1", 1)])
def test_what_the_server_says_of_its_connections(make: Make, keep_alive: str, accepted: int) -> None:
    """A connection that its server gives up in a moment is not used for another request, which could fail."""
    with Raw(answering(ok(b"<p>", f"Keep-Alive: {keep_alive}"))) as server:
        fetcher = make()
        assert [fetched(fetcher.get(server.url())).body for _ in range(3)] == [b"<p>"] * 3
        assert server.accepted == accepted


def test_connections_end_with_their_fetcher(make: Make) -> None:
    """When settings are edited, the fetcher of before goes, and its connections with it at once."""
    with Web(lambda request: Response(200, HTML, b"<p>"), [HOST]) as web:
        fetcher = Fetcher(FetchSettings(allow_addresses=("127.0.0.0/8",)), PolitenessSettings(), 4)
        gc.disable()
        try:
            fetched(fetcher.get(web.url(HOST)))
            assert open_to(web) == {HOST}
            del fetcher
            assert open_to(web) == set()
        finally:
            gc.enable()
        closed = make()
        fetched(closed.get(web.url(HOST)))
        closed.close()
        assert open_to(web) == set()


def open_to(web: Web) -> set[str]:
    return {host for host, port in peers() if port == web.port}


def _later(by_s: float) -> Callable[[], float]:
    now = time.monotonic
    return lambda: now() + by_s


def peers() -> Iterator[tuple[str, int]]:
    """Give where the sockets of all fetchers in this process lead to."""
    for each in gc.get_objects():
        if isinstance(each, socket.socket) and each.family == socket.AF_INET:
            with contextlib.suppress(OSError):  # it is closed
                yield each.getpeername()
