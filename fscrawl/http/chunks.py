"""Bodies that come in chunks (RFC 9112 7.1): reading one. Pure: no disk, no socket.

`http.client` takes for the size of a chunk whatever `int` reads, such as `0x5`, `-1` and `5_0`, and any two bytes for
its end. Another reader, such as a proxy, then sees the body end elsewhere, and the rest of it as the next answer.

Promise: what is no chunk is an HTTPException. A line that ends in a line feed alone is taken, as browsers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.client import HTTPException, LineTooLong
from typing import Protocol

_LINE_BYTES = 65536
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LINE_ENDS = (b"\r\n", b"\n")


class Readable(Protocol):
    """A file whose `read` gives fewer bytes than it was asked for only at its end."""

    def read(self, size: int, /) -> bytes: ...
    def readline(self, limit: int, /) -> bytes: ...


def pieces(file: Readable, size: int) -> Iterator[bytes]:
    """Read a body, and give it in pieces of `size` bytes, the last of which may have fewer.

    >>> import io
    >>> list(pieces(io.BytesIO(b"3\\r\\nabc\\r\\n2;x=y\\r\\nde\\r\\n0\\r\\nTrailer: z\\r\\n\\r\\n"), 4))
    [b'abcd', b'e']
    """
    parts: list[bytes] = []
    room = size
    while left := _size(_line(file)):
        while left:
            part = file.read(min(left, room))
            if not part:
                raise HTTPException(f"the connection ended {left} bytes before a chunk of the body did")
            parts.append(part)
            left -= len(part)
            room -= len(part)
            if not room:
                yield b"".join(parts)
                parts, room = [], size
        if file.readline(2) not in _LINE_ENDS:
            raise HTTPException("a chunk of the body does not end where its size says")
    while _line(file) not in (*_LINE_ENDS, b""):  # the trailer; some servers end the connection in place of it
        pass
    if parts:
        yield b"".join(parts)


def _line(file: Readable) -> bytes:
    line = file.readline(_LINE_BYTES + 1)
    if len(line) > _LINE_BYTES:
        raise LineTooLong("chunk or trailer line")
    return line


def _size(line: bytes) -> int:
    """Read the size of a chunk.

    >>> _size(b"1F\\r\\n"), _size(b"0005 \\r\\n"), _size(b"a;name=value\\n")
    (31, 5, 10)
    """
    found = _SIZE.fullmatch(line)
    if found is None:
        what = f"the size of a chunk of the body is {line[:40]!a}"
        raise HTTPException(what if line else "the connection ended before the last chunk of the body")
    return int(found[1], 16)
