"""Bodies in chunks: what is read of them, and what is refused."""

from __future__ import annotations

import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.http import framing
from fscrawl.http.answers import ProtocolError, TooLargeError


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.integers(1, 50), st.binary(max_size=20))
def test_chunks(chunks: list[bytes], size: int, behind: bytes) -> None:
    """A body comes in pieces of one size, whatever its chunks are, and nothing behind it is read."""
    data = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in chunks)
    file = io.BytesIO(data + b"0\r\n\r\n" + behind)
    found = list(framing.chunks(file, size))
    assert b"".join(found) == b"".join(chunks)
    assert all(len(piece) == size for piece in found[:-1])
    assert file.read() == behind


@pytest.mark.parametrize(
    "data",
    [
        b"3\r\nabc\r\n0\r\n\r\n",
        b"3  \r\nabc\r\n000\r\n\r\n",
        b"3;name=value\r\nabc\r\n0;last\r\n\r\n",
        b"3 ; name\r\nabc\r\n0\r\n\r\n",
        b"3\nabc\n0\n\n",
        b"3\r\nabc\r\n0\r\nA: b\r\nC: d\r\n\r\n",
        b"3\r\nabc\r\n0\r\n",  # some servers end the connection in place of the trailer
        b"3\r\nabc\r\n0\r\nA: b",
    ],
)
def test_what_is_usual(data: bytes) -> None:
    """White space behind a size, extensions, trailers and bare line feeds are read over."""
    assert list(framing.chunks(io.BytesIO(data), 100)) == [b"abc"]


@pytest.mark.parametrize(
    "size", ["0x3", "-3", "+3", "0_3", " 3", "3\x0b", "", "x", ";a", "3 3", "3\r4", "3;\r4", "0" * 17]
)
def test_sizes_that_are_none(size: str) -> None:
    """What Python reads as a number, and others do not, is no size."""
    with pytest.raises(ProtocolError, match="the size of a chunk"):
        list(framing.chunks(io.BytesIO(f"{size}\r\nabc\r\n0\r\n\r\n".encode()), 100))


@pytest.mark.parametrize("end", [b"XX", b"d\r\n", b"\r\r\n", b"\rX", b"0\r\n"])
def test_a_chunk_that_does_not_end(end: bytes) -> None:
    """A chunk ends where its size says."""
    with pytest.raises(ProtocolError, match="does not end where its size says"):
        list(framing.chunks(io.BytesIO(b"3\r\nabc" + end + b"0\r\n\r\n"), 100))


@pytest.mark.parametrize(
    "data", [b"", b"3\r\n", b"3\r\nab", b"3\r\nabc", b"3\r\nabc\r\n", b"3\r\nabc\r\n3", b"3\r\nabc\r"]
)
def test_cut_short(data: bytes) -> None:
    """A body that ends before its last chunk is none."""
    with pytest.raises(ProtocolError):
        list(framing.chunks(io.BytesIO(data), 100))


@pytest.mark.parametrize("data", [b"3;" + b"x" * 70_000 + b"\r\n", b"0\r\nA: " + b"x" * 70_000 + b"\r\n"])
def test_lines_that_are_too_long(data: bytes) -> None:
    """A line of a body in chunks has a limit, as one of a head."""
    with pytest.raises(ProtocolError, match="more than 65536 bytes"):
        list(framing.chunks(io.BytesIO(data), 100))


@pytest.mark.parametrize("data", [b"1\r\nx\r\n" * 2_000_000, b"0\r\n" + b"a:b\r\n" * 2_000_000])
def test_millions_of_lines(data: bytes) -> None:
    """A body of one byte a chunk, or an endless trailer, ends before its reader has held up others for long."""
    began_s = time.thread_time()
    with pytest.raises(TooLargeError, match="too small"):
        list(framing.chunks(io.BytesIO(data), 65536))
    assert time.thread_time() - began_s < 1


@pytest.mark.gate
def test_small_chunks() -> None:
    """A page that comes in small pieces is read: some servers send each as they make it."""
    assert len(b"".join(framing.chunks(io.BytesIO(b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n"), 65536))) == 50_000
    large = b"40\r\n" + b"x" * 64 + b"\r\n"
    assert len(b"".join(framing.chunks(io.BytesIO(large * 160_000 + b"0\r\n\r\n"), 65536))) == 10_240_000
