"""One HTTP exchange within its limits of size and time."""

from __future__ import annotations

import contextlib
import gzip
import socket
import time
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fscrawl.http.answers import Limits
from tests.support.exchanges import ENDS_S, HTML, SLOW
from tests.support.raw import HOST, Make, Raw, failed, fetched, head, nothing
from tests.support.web import Response, Web

# -- limits of size


def test_content_length_over_the_limit(make: Make) -> None:
    """A body that announces to be too large is not read at all."""
    with Web(lambda _: Response(200, HTML, b"." * 2001), [HOST]) as web:
        fetcher = make(max_bytes=2000)
        answer = failed(fetcher.get(web.url(HOST)))
        assert (answer.class_, answer.retry) == ("too-large", False)
        assert "2001" in answer.message
        assert fetched(make(max_bytes=2001).get(web.url(HOST))).body == b"." * 2001


@pytest.mark.parametrize(("size", "read"), [(10, 10), (1000, 1000), (1001, 1000), (5000, 1000)])
@pytest.mark.parametrize("coding", ["", "gzip"])
def test_beginning(make: Make, size: int, read: int, coding: str) -> None:
    """Where the beginning of a body is enough no more of it is read, however long it is."""
    body, headers = b"." * size, HTML
    if coding:
        body, headers = gzip.compress(body, mtime=0), {**HTML, "Content-Encoding": coding}
    with Web(lambda _: Response(200, headers, body), [HOST]) as web:
        fetcher = make(max_bytes=2000)
        for _ in range(2):  # the connection of the first is not used again, or is whole
            assert fetched(fetcher.get(web.url(HOST), limits=Limits(5.0, 1000, cuts=True))).body == b"." * read


def _chunked(connection: socket.socket) -> None:
    head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b"." * 65536 + b"\r\n")


def _unbounded(connection: socket.socket) -> None:
    head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"." * 65536)


@pytest.mark.parametrize("behave", [_chunked, _unbounded])
def test_endless_body(make: Make, behave: Callable[[socket.socket], None]) -> None:
    """A body without an end is cut at the limit, and its connection closed."""
    with Raw(behave) as server:
        answer = failed(make(max_bytes=1_000_000).get(server.url()))
        assert (answer.class_, answer.retry) == ("too-large", False)
        assert server.over.wait(5)


# -- limits of time


@pytest.mark.gate
@pytest.mark.parametrize("part", SLOW)
def test_slow_drip(make: Make, part: str) -> None:
    """A server that keeps sending a little of anything does not outlast the deadline of the whole exchange."""
    with Raw(SLOW[part]) as server:
        fetcher = make(timeout=1.0)
        began = time.monotonic()
        answer = failed(fetcher.get(server.url()))
        elapsed_s = time.monotonic() - began
    assert (answer.class_, answer.retry) == ("timeout", True)
    assert 0.9 < elapsed_s < ENDS_S


def test_slow_unwanted_body(make: Make) -> None:
    """A small unwanted body that comes slowly does not outlast the deadline either."""
    with Raw(SLOW["body"]) as server:
        fetcher = make(timeout=1.0)
        began = time.monotonic()
        fetched(fetcher.get(server.url(), limits=replace(fetcher.limits, wants=nothing)))
        assert time.monotonic() - began < ENDS_S


def test_unwanted_body_without_a_beginning(make: Make) -> None:
    """An unwanted body that never inflates to anything does not fail its answer: nobody knows how it begins."""

    def empty(connection: socket.socket) -> None:
        head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Encoding: gzip\r\n\r\n")
        connection.sendall(gzip.compress(b"", mtime=0)[:10])
        while True:
            connection.sendall(b"\x00\x00\x00\xff\xff" * 10_000)

    with Raw(empty) as server:
        answer = fetched(make(max_bytes=2000).get(server.url(), limits=Limits(5.0, 2000, wants=nothing)))
    assert (answer.status, answer.body, answer.begins) == (200, None, b"")


def test_connect_timeout(make: Make) -> None:
    """A host that does not take the connection costs connect_timeout."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((HOST, 0))
        listener.listen(0)
        for _ in range(3):  # fill the backlog: from here on the kernel does not answer
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                filler.connect(listener.getsockname())
        began = time.monotonic()
        answer = failed(make(connect_timeout=0.4, timeout=60.0).get(f"http://{HOST}:{listener.getsockname()[1]}/"))
        elapsed_s = time.monotonic() - began
    assert (answer.class_, answer.retry) == ("timeout", True)
    assert 0.3 < elapsed_s < ENDS_S
