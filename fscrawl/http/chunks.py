"""Bodies that come in chunks (RFC 9112 7.1): reading one. Pure: no disk, no socket.

`http.client` takes for the size of a chunk whatever `int` reads, such as `0x5`, `-1` and `5_0`, and any two bytes for
its end. Another reader, such as a proxy, then sees the body end elsewhere, and the rest of it as the next answer.

Each chunk costs a microsecond, and a body of `fetch.max_bytes` may consist of millions of them, a byte each. To read it
would take seconds, in which the other threads of the process hardly get on. So their lines are bounded.

Promise: what is no chunk is an HTTPException. A line that ends in a line feed alone is accepted, as browsers do. Lines
that are too much for a body are a TooLargeError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.client import HTTPException, LineTooLong
from typing import Protocol

from fscrawl.http.bodies import TooLargeError

_LINE_BYTES = 65536
# Of all lines; and an eighth of the body, so chunks of 50 bytes may go on. Of one byte there may be 100,000.
_LINES_BYTES = 524_288
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
    space = size
    lines = _Lines(file)
    while left := _size(lines.next()):
        lines.may_have(left)
        while left:
            part = file.read(min(left, space))
            if not part:
                raise HTTPException(f"the connection ended {left} bytes before a chunk of the body did")
            parts.append(part)
            left -= len(part)
            space -= len(part)
            if not space:
                yield b"".join(parts)
                parts, space = [], size
        if file.readline(2) not in _LINE_ENDS:
            raise HTTPException("a chunk of the body does not end where its size says")
    while lines.next() not in (*_LINE_ENDS, b""):  # the trailer; some servers end the connection in place of it
        pass
    if parts:
        yield b"".join(parts)


class _Lines:
    """The lines of a body: sizes of chunks, and the trailer."""

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._left = 8 * _LINES_BYTES  # an eighth of it in bytes

    def may_have(self, body_bytes: int) -> None:
        """Allow for the lines of some more bytes of the body."""
        self._left += body_bytes

    def next(self) -> bytes:
        """Read a line."""
        line = self._file.readline(_LINE_BYTES + 1)
        if len(line) > _LINE_BYTES:
            raise LineTooLong("chunk or trailer line")
        self._left -= 8 * (len(line) + 2)  # a chunk has an end of line behind it, too
        if self._left < 0:
            raise TooLargeError("the body comes in chunks that are too small: their lines take an eighth of it")
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
