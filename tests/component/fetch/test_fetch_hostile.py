"""One HTTP exchange against servers that flood, lie and stall: it ends, in bounded memory, with a class."""

from __future__ import annotations

import gzip
import random
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable
from functools import cache

import brotli
import pytest

from fscrawl.http.answers import Failed, Fetched
from fscrawl.http.bodies import zstd
from tests.support.raw import Make, Raw, answering, failed, fetched, head, ok

OK = b"HTTP/1.1 200 OK\r\n"


def flooding(first: bytes, then: bytes) -> Callable[[socket.socket], None]:
    """Answer with `first`, then with `then` for ever."""

    def behave(connection: socket.socket) -> None:
        head(connection)
        connection.sendall(first)
        while True:
            connection.sendall(then)

    return behave


FLOODS = {
    "status line": flooding(b"HTTP/1.1 200 ", b"x" * 10_000),
    "no line at all": flooding(b"", b"x" * 10_000),
    "header line": flooding(OK + b"X: ", b"y" * 10_000),
    "header lines": flooding(OK, b"X: y\r\n" * 1000),
    "long header lines": flooding(OK, b"X: " + b"y" * 60_000 + b"\r\n"),
    "100 Continue": flooding(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "103 Early Hints": flooding(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100),
    "chunks": flooding(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000),
    "chunk of -1": flooding(OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", b"x" * 10_000),
    "chunk of 1 TB": flooding(OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n", b"x" * 10_000),
    "chunk extensions": flooding(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"e" * 60_000 + b"\r\nx\r\n"),
    "chunk size line": flooding(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 10_000),
    "trailer": flooding(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 1000),
    "chunks with a length": flooding(
        OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", b"2710\r\n" + b"x" * 10_000 + b"\r\n"
    ),
    "deflate without output": flooding(OK + b"Content-Encoding: deflate\r\n\r\n", b"\0\0\0\xff\xff" * 2000),
    "gzip file name": flooding(OK + b"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\0\0\0\0\0\0", b"x" * 10_000),
    "length of 5000 digits": flooding(OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", b"x" * 10_000),
}


@pytest.mark.gate
@pytest.mark.parametrize("flood", FLOODS)
def test_flood(make: Make, flood: str) -> None:
    """A flood of anything is cut long before the deadline, and its connection closed."""
    with Raw(FLOODS[flood]) as server:
        answer = failed(make(max_bytes=1_000_000, timeout=30.0).get(server.url()))
        assert server.over.wait(10)
    assert answer.class_ in ("protocol", "too-large")
    assert "\n" not in answer.message


def test_head_of_ten_megabytes(make: Make) -> None:
    """A head that is larger than any should be is too large, though each of its lines is not."""
    lines = b"".join(b"X-%d: " % n + b"y" * 60_000 + b"\r\n" for n in range(90))
    with Raw(answering(OK + lines + b"\r\n", times=1)) as server:
        assert failed(make().get(server.url())).class_ == "too-large"


def test_large_head(make: Make) -> None:
    """A head of 100 KB is an answer: its size does not count as the body's."""
    lines = b"".join(b"X-%d: " % n + b"y" * 10_000 + b"\r\n" for n in range(10))
    with Raw(answering(OK + lines + b"Content-Length: 3\r\n\r\n<p>")) as server:
        fetcher = make(max_bytes=3)
        assert [fetched(fetcher.get(server.url())).body for _ in range(9)] == [b"<p>"] * 9
        assert server.accepted == 1


def test_informational_answers_are_passed_over(make: Make) -> None:
    """What comes before the answer (100, 102, 103) is not the answer, nor are its headers."""
    hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-Hint: 1\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
    with Raw(answering(hints + ok(b"<p>"))) as server:
        fetcher = make()
        answers = [fetched(fetcher.get(server.url())) for _ in range(2)]
        assert [(a.status, a.body, a.headers) for a in answers] == [(200, b"<p>", {"content-length": "3"})] * 2
        assert server.accepted == 1


def test_switching_protocols(make: Make) -> None:
    """A server that changes to another protocol unasked is an answer without a body, and its connection is closed."""
    with Raw(answering(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")) as server:
        answer = fetched(make().get(server.url()))
        assert (answer.status, answer.body) == (101, b"")
        assert server.over.wait(5)


@pytest.mark.parametrize(("status", "body"), [(204, b""), (304, None)])
@pytest.mark.parametrize("lie", ["", "Content-Length: 500\r\n", "Transfer-Encoding: chunked\r\n"])
def test_no_body(make: Make, status: int, body: bytes | None, lie: str) -> None:
    """An answer that has no body by its status is not waited for, whatever its headers announce."""
    with Raw(answering(f"HTTP/1.1 {status} X\r\n{lie}\r\n".encode())) as server:
        fetcher = make(timeout=30.0)
        answers = [fetched(fetcher.get(server.url())) for _ in range(2)]
        assert [(a.status, a.body) for a in answers] == [(status, body)] * 2
        assert lie or server.accepted == 1


@pytest.mark.parametrize(
    ("lines", "sent", "class_"),
    [
        ("Content-Length: 5\r\nContent-Length: 6\r\n", b"<p>..", "protocol"),
        ("Content-Length: 500\r\n", b"<p>..", "protocol"),
        ("Content-Length: 99999999999999999999\r\n", b"<p>..", "too-large"),
        ("Transfer-Encoding: chunked\r\n", b"5\r\n<p>..\r\n", "protocol"),
        ("Transfer-Encoding: chunked\r\n", b"0x5\r\n<p>..\r\n0\r\n\r\n", "protocol"),
        ("Transfer-Encoding: chunked\r\n", b"5\r\n<p>..XX0\r\n\r\n", "protocol"),
        ("Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n", "protocol"),
        ("Content-Encoding: compress\r\nContent-Length: 5\r\n", b"<p>..", "decode"),
        ("Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip\r\nContent-Length: 5\r\n", b"<p>..", "decode"),
        ("Content-Encoding: gzip\r\n", gzip.compress(b"<p>" * 99, mtime=0)[:-20], "protocol"),
    ],
)
def test_lie(make: Make, lines: str, sent: bytes, class_: str) -> None:
    """A body that is not what its headers say is a failure, and no part of it a page."""
    with Raw(answering(OK + f"{lines}\r\n".encode() + sent, times=1)) as server:
        assert failed(make().get(server.url())).class_ == class_


@pytest.mark.parametrize("length", ["-5", "abc", "\u0665", ""])
def test_length_that_is_none(make: Make, length: str) -> None:
    """A Content-Length that is no number is passed over, and the body goes to the connection's end."""
    with Raw(answering(OK + f"Content-Length: {length}\r\n\r\n<p>..".encode(), times=1)) as server:
        assert fetched(make().get(server.url())).body == b"<p>.."


@pytest.mark.parametrize(
    ("answer", "class_"),
    [
        (b"<html><p>HTTP/0.9", "protocol"),
        (b"\0\1\2\3garbage\r\n" + ok(b"<p>"), "protocol"),
        (b"\r\n\r\n" + ok(b"<p>"), "protocol"),
        (b"HTTP/2.0 200 OK\r\n\r\n", "protocol"),
        (b"HTTP/1.1 abc\r\n\r\n", "protocol"),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "protocol"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "protocol"),  # what a TLS port answers to plain HTTP
        (b"", "connect"),
    ],
)
def test_no_http(make: Make, answer: bytes, class_: str) -> None:
    """What is not HTTP/1 is a failure worth another try."""
    with Raw(answering(answer, times=1)) as server:
        outcome = failed(make().get(server.url()))
    assert (outcome.class_, outcome.retry) == (class_, True)


def test_half_closed(make: Make) -> None:
    """A server that stops sending in the middle and keeps the connection open has cut the body short."""

    def half(connection: socket.socket) -> None:
        head(connection)
        connection.sendall(OK + b"Content-Length: 50\r\n\r\n<p>")
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)

    with Raw(half) as server:
        assert failed(make(timeout=30.0).get(server.url())).class_ == "protocol"


@pytest.mark.gate
def test_mutations(make: Make) -> None:
    """Whatever becomes of the bytes of good answers, the outcome is an answer or a failure, never an exception."""
    good = [
        ok(b"<p>", "Set-Cookie: a=b; Path=/"),
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n<p>..\r\n0\r\n\r\n",
        b"HTTP/1.1 103 Early\r\nA: b\r\n\r\n" + ok(gzip.compress(b"<p>", mtime=0), "Content-Encoding: gzip"),
    ]
    chance = random.Random(7)
    answers: list[bytes] = []
    for _ in range(300):
        data = bytearray(chance.choice(good))
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(data))
            data[place : place + chance.randint(0, 3)] = chance.choice(
                [b"", b"\r\n", b"\0", b"-1", b"\xff", b": ", b"9"]
            )
        answers.append(bytes(data))

    def behave(connection: socket.socket) -> None:
        head(connection)
        connection.sendall(answers.pop())

    with Raw(behave) as server:
        fetcher = make()
        while answers:
            assert isinstance(fetcher.get(server.url()), Fetched | Failed)


# -- memory, as the operating system counts it: zlib, brotli and zstd do not ask Python for theirs

MAX_BYTES = 20_000_000
_MEASURE = """
import resource, sys
from fscrawl.http.fetch import Fetcher
from fscrawl.config.settings import FetchSettings, PolitenessSettings
url, limit = sys.argv[1], int(sys.argv[2])
settings = FetchSettings(allow_addresses=("127.0.0.0/8",), timeout=60.0, max_bytes=limit)
fetcher = Fetcher(settings, PolitenessSettings(), 1)
fetcher.get(url + "warm")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
answer = fetcher.get(url)
print(getattr(answer, "class_", "fetched"), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def measured(behave: Callable[[socket.socket], None]) -> tuple[str, int]:
    """Fetch in a process of its own; give the class and by how many bytes its memory grew at the most."""

    def first_small(connection: socket.socket) -> None:
        if server.accepted == 1:
            answering(OK + b"Connection: close\r\nContent-Length: 3\r\n\r\n<p>", times=1)(connection)
        else:
            behave(connection)

    with Raw(first_small) as server:
        words = [sys.executable, "-c", _MEASURE, server.url(), str(MAX_BYTES)]
        printed = subprocess.run(words, capture_output=True, text=True, timeout=100, check=True).stdout.split()
    return printed[0], int(printed[1])


@cache
def _zeros(coding: str, size: int) -> bytes:
    """Compress zeros. Of gzip and deflate one megabyte is compressed, and its blocks are there again and again."""
    if coding == "br":
        return brotli.compress(bytes(size), quality=1)
    if coding == "zstd":
        return zstd.compress(bytes(size))
    packer = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
    head = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    megabyte = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + megabyte * (size // 1_000_000 - 1) + packer.flush()  # with a checksum that nobody gets to


@pytest.mark.gate
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "gzip, br", "gzip, gzip, zstd"])
def test_memory_of_bombs(coding: str) -> None:
    """A body that inflates to 300 MB takes no more memory than its limit, the window, and a little."""
    first, *others = coding.split(", ")
    bomb = _zeros(first, 300_000_000)
    for name in others:
        bomb = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstd.compress}[name](bomb)
    class_, grown = measured(answering(ok(bomb, f"Content-Encoding: {coding}"), times=1))
    assert class_ == "too-large"
    assert grown < 1.25 * MAX_BYTES + 20_000_000


@pytest.mark.gate
@pytest.mark.parametrize(
    "flood", ["chunk of -1", "chunks with a length", "deflate without output", "long header lines"]
)
def test_memory_of_floods(flood: str) -> None:
    """A flood takes no more memory than the limit of a body and a little."""
    class_, grown = measured(FLOODS[flood])
    assert class_ in ("protocol", "too-large")
    assert grown < 1.25 * MAX_BYTES + 20_000_000


@pytest.mark.gate
def test_memory_of_a_page() -> None:
    """A page as large as the limit is held once while it is read, decoded and given back."""
    body = random.Random(7).randbytes(MAX_BYTES - 20_000)
    class_, grown = measured(answering(ok(gzip.compress(body, 0, mtime=0), "Content-Encoding: gzip"), times=1))
    assert class_ == "fetched"
    assert grown < 1.25 * MAX_BYTES + 20_000_000
