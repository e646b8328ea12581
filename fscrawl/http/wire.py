"""What goes over a connection: the bytes of a request, and the answer that is read behind them.

`http.client` reads bodies, but not chunks (see `chunks`). Heads are written and read here: its own way, and those of
urllib3 and requests around it, cost more than all the rest of an exchange.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from http.client import HTTPException, HTTPResponse, UnknownProtocol
from typing import Any, NamedTuple

from fscrawl.http import chunks
from fscrawl.http.heads import BadHeadError, Head, HeadLines, check_framing

_MAX_INFORMATIONAL = 20  # a server may send 103 Early Hints a few times
_NAME = re.compile(rb"[^:\s][^:\r\n]*\Z")
_LINE_END = re.compile(rb"[\r\n]")
_WITHOUT_BODY = frozenset({204, 304})


class Headers(MutableMapping[str, "str | bytes"]):
    """The headers of a request by name, whatever its capitals. They are sent as they were written last.

    >>> headers = Headers({"accept": "a", "X": "b"})
    >>> headers["Accept"] = "c"
    >>> list(headers.items()), "x" in headers
    ([('Accept', 'c'), ('X', 'b')], True)
    """

    def __init__(self, given: Mapping[str, str | bytes] | None = None) -> None:
        self._values: dict[str, tuple[str, str | bytes]] = {}
        self.update(given or {})

    def __getitem__(self, name: str) -> str | bytes:
        return self._values[name.lower()][1]

    def __setitem__(self, name: str, value: str | bytes) -> None:
        self._values[name.lower()] = name, value

    def __delitem__(self, name: str) -> None:
        del self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._values.values())

    def __len__(self) -> int:
        return len(self._values)

    def copy(self) -> Headers:
        """Return the same headers, to be changed."""
        return Headers(self)


class Written(NamedTuple):
    """Headers as the lines of a request. `has_host`: one of them names its host."""

    lines: bytes
    has_host: bool


class Outgoing(NamedTuple):
    """A request to a normal form. `lines`: its headers, written already if many requests have the same ones."""

    url: str
    headers: Headers
    method: str = "GET"
    body: bytes | None = None
    lines: Written | None = None


def written(headers: Mapping[str, str | bytes]) -> Written:
    """Write headers as lines. Raises ValueError for one that is no line.

    >>> written({"Accept": "text/html"})
    Written(lines=b'Accept: text/html\\r\\n', has_host=False)
    """
    found = [(_bytes(name), _bytes(value)) for name, value in headers.items()]
    for name, value in found:
        if not _NAME.match(name) or _LINE_END.search(value):
            raise ValueError(f"the header {name[:40]!r} of the request cannot be sent")
    lines = b"".join(b"%b: %b\r\n" % each for each in found)
    return Written(lines, any(name.lower() == b"host" for name, _ in found))


def request_bytes(method: str, target: str, host: str, headers: Written, body: bytes | None) -> bytes:
    """Write a request. `target`: path and query, or a whole URL; `host`: with its port, if it is not the usual one."""
    to = "" if headers.has_host else f"Host: {host}\r\n"
    return b"%b%b\r\n%b" % (f"{method} {target} HTTP/1.1\r\n{to}".encode("ascii"), headers.lines, body or b"")


def host_and_port(authority: str, scheme: str) -> tuple[str, int]:
    """Split the authority of a normal form.

    >>> host_and_port("a.example", "https"), host_and_port("[::1]:80", "http")
    (('a.example', 443), ('[::1]', 80))
    """
    host, colon, port = authority.rpartition(":")
    if colon and port.isdecimal():
        return host, int(port)
    return authority, 443 if scheme == "https" else 80


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1")


class _Incoming(io.RawIOBase):
    """What comes in over a socket. It ends with `end`: then nothing is read any more."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock

    def makefile(self, _: str) -> io.BufferedReader:
        """Give a file to read from, as a socket does."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        received: int = 0 if self._sock is None else self._sock.recv_into(buffer)
        return received

    def end(self) -> None:
        self._sock = None


class Reply(HTTPResponse):
    """An answer as it comes in. Its connection is given back when the body was read, or closed.

    head        the headers
    is_whole    the body was read, and the connection can be used again
    """

    head: Head

    def __init__(self, sock: Any, method: str, done: Callable[[Reply], None]) -> None:
        """`done`: called once, when the answer is not needed any more."""
        self._incoming = _Incoming(sock)
        super().__init__(self._incoming, method=method)  # type: ignore[arg-type]  # it needs a file, no socket
        self._done: Callable[[Reply], None] | None = done

    def begin(self) -> None:
        """Read the head, and skip all informational answers: `http.client` takes 103 for the final one.

        Raises BadHeadError for a head that is not clear, or HTTPException.
        """
        if (plain := Head.read_plain(self.fp)) is not None:
            self._set("HTTP/1.1", *plain)
            return
        file = self.fp
        self.fp = lines = HeadLines(file)  # type: ignore[assignment]
        try:
            for _ in range(_MAX_INFORMATIONAL + 1):
                version, status, reason = self._read_status()  # type: ignore[attr-defined]
                head = Head.read(lines)
                if not 100 <= status < 200 or status == 101:
                    break
            else:
                raise BadHeadError("the server sent too many informational (1xx) answers")
        finally:
            if self.fp is not None:  # it is None when the connection was closed
                self.fp = file
        self._set(version, status, reason, head)

    def _set(self, version: str, status: int, reason: str, head: Head) -> None:
        """Set what the head says."""
        check_framing(head)
        self.code = self.status = status
        self.reason = reason.strip()
        self.version = _version(version)
        self.head = head
        self.headers = self.msg = head  # type: ignore[assignment]
        self._find_end()

    def _find_end(self) -> None:
        """Find out where the body ends, and whether the connection ends with it."""
        self.chunked = self.head.listed("transfer-encoding")[-1:] == ["chunked"]
        self.will_close = self._ends()
        self.length = None if self.chunked else _length(self.head)
        if self.status in _WITHOUT_BODY or 100 <= self.status < 200:
            self.length, self.chunked = 0, False
        if self.length is None and not self.chunked:
            self.will_close = True

    def _ends(self) -> bool:
        """Tell whether the server ends the connection with this answer (RFC 9112 9.3)."""
        options = self.head.listed("connection")
        if "close" in options or self.version == 11:
            return "close" in options
        is_kept = "keep-alive" in (*options, *self.head.listed("proxy-connection"))
        return not (is_kept or self.head.get("keep-alive"))

    @property
    def is_whole(self) -> bool:
        return self.isclosed() and not self.will_close

    def whole(self) -> bytes:
        """Read the body. IncompleteRead if it ends early."""
        return self.read()

    def pieces(self, size: int) -> Iterator[bytes]:
        """Read the body in pieces of at most `size` bytes. HTTPException if it ends early."""
        if self.chunked:
            if self.fp is not None:
                yield from chunks.pieces(self.fp, size)
                self._close_conn()
            return
        while piece := self.read(size):
            yield piece
        if self.length:
            raise HTTPException(f"the connection ended {self.length} bytes before the body did")

    def _close_conn(self) -> None:
        """End reading: `http.client` calls this when the body is over.

        What has come behind it is nobody's answer, so the connection cannot be used again (RFC 9112 9.2).
        """
        file = self.fp
        self.fp = None  # type: ignore[assignment]  # so `isclosed` knows
        self._incoming.end()
        if not self.will_close and file.peek():
            self.will_close = True
        file.close()

    def release(self) -> None:
        """Give the connection back, or close it if it cannot be used again."""
        done, self._done = self._done, None
        if done is not None:
            done(self)

    def close(self) -> None:
        """Close the connection: an unread rest of a body must not be taken for the next answer."""
        self.will_close = True
        super().close()
        self.release()


def _version(text: str) -> int:
    """Return the version as `http.client` counts it. Some servers say 0.9, and mean 1.0."""
    if text in ("HTTP/1.0", "HTTP/0.9"):
        return 10
    if text.startswith("HTTP/1."):
        return 11
    raise UnknownProtocol(text)


def _length(head: Head) -> int | None:
    """Return Content-Length; None if there is none, or it is no number: then the body ends with the connection."""
    try:
        length = int(head.get("content-length") or "")
    except ValueError:
        return None
    return length if length >= 0 else None
