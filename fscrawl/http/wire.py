"""What goes over a connection: a request, and the answer that is read behind it, within the limits of their exchange.

Vocabulary:
  exchange    one request and its answer; a thread works on one exchange at a time
  deadline    monotonic time at which the whole exchange must be over: name, connection, TLS, head and body together

Promise: nothing waits beyond the deadline; only the system's resolver may take longer. A connection with an unread rest
of an answer, or with bytes behind one, is never used again.
"""

from __future__ import annotations

import io
import math
import re
import select
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from fscrawl.config import addresses
from fscrawl.http.answers import ProtocolError
from fscrawl.http.framing import begins_with_chunk, chunks, content_length, ends_connection, read_head
from fscrawl.parse.headers import listed
from fscrawl.parse.media_types import begins_like_html

_WITHOUT_BODY = frozenset({101, 204, 304})
_OTHER_VERSION = re.compile(rb"\AHTTP/[23](?:\.0)?(?= )")  # some archives have the version that was spoken


class Exchange:
    """What connections must know of an exchange, and what they note of it.

    public_only   it may go to public addresses only, whatever the settings permit
    address       IP address of the host; "" before it is connected to, and if a proxy is asked
    is_sent       some of the request may have left
    """

    __slots__ = ("_deadline", "address", "is_sent", "public_only")

    def __init__(self, seconds: float, *, public_only: bool = False) -> None:
        """`seconds`: that it may take from now on."""
        self._deadline = time.monotonic() + seconds
        self.public_only = public_only
        self.address = ""
        self.is_sent = False

    def left_s(self) -> float:
        """Give the seconds until the deadline; TimeoutError if it is over."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the exchange took longer than fetch.timeout")
        return left

    def may_reach(self, address: str) -> bool:
        """Tell whether it may go to an address that the settings permit."""
        return not self.public_only or addresses.is_public(address)


class Connection:
    """A connected socket. `address`: of the host that it leads to; "" behind a proxy."""

    def __init__(
        self, sock: Any, address: str = "", *, on_close: Callable[[Any], None] | None = None, is_kept: bool = True
    ) -> None:
        """`on_close`: called with the socket before it is closed. `is_kept`: it may be used for another exchange."""
        sock.setblocking(False)  # a timeout of the socket itself would cost two more calls of the system at each read
        self.sock = sock
        self.address = address
        self._on_close = on_close
        self._is_kept = is_kept
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def ask(self, method: str, request: bytes, exchange: Exchange, done: Callable[[Reply], None]) -> Reply:
        """Send a request, and read the head of the answer. `done`: as for `Reply`."""
        self._send(request, exchange)
        self._wait(exchange)
        return Reply(self, method, exchange, done)

    def _send(self, data: bytes, exchange: Exchange) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[self.sock.send(left) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._wait(exchange, select.POLLOUT)
            except ssl.SSLWantReadError:
                self._wait(exchange)
            except BrokenPipeError:  # the server may have answered before it had read all
                return

    def receive_into(self, buffer: Any, exchange: Exchange) -> int:
        """Read what comes; 0 at the end of the connection."""
        while True:
            try:
                received: int = self.sock.recv_into(buffer)
            except (BlockingIOError, ssl.SSLWantReadError):
                self._wait(exchange)
            except ssl.SSLWantWriteError:
                self._wait(exchange, select.POLLOUT)
            else:
                exchange.left_s()
                return received

    def _wait(self, exchange: Exchange, event: int = select.POLLIN) -> None:
        poll = self._poll
        if event != select.POLLIN:
            poll = select.poll()
            poll.register(self.sock, event)
        if not poll.poll(math.ceil(1000 * exchange.left_s())):
            raise TimeoutError("the exchange took longer than fetch.timeout")

    @property
    def is_quiet(self) -> bool:
        """Tell whether the host has neither closed it nor sent anything that nobody wants."""
        return not self._poll.poll(0)

    @property
    def may_wait(self) -> bool:
        """Tell whether it may be used again: what is left in its TLS layer would be taken for the next answer."""
        return self._is_kept and not (isinstance(self.sock, ssl.SSLSocket) and self.sock.pending())

    def close(self) -> None:
        if self._on_close is not None:
            self._on_close(self.sock)
        self.sock.close()


class Source(Protocol):
    """Where an answer comes from: a connection, or an archive."""

    def receive_into(self, buffer: Any, exchange: Exchange, /) -> int:
        """Read what comes; 0 at the end."""
        ...


class _Incoming(io.RawIOBase):
    """What comes in over a connection, as a file. After `end`, nothing is read any more."""

    def __init__(self, connection: Source, exchange: Exchange) -> None:
        self._connection: Source | None = connection
        self._exchange = exchange

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return 0 if self._connection is None else self._connection.receive_into(buffer, self._exchange)

    def end(self) -> None:
        self._connection = None


class Reply:
    """An answer as it comes in. Its connection is given back when the body was read, or closed.

    raw, headers   as of `Head`, and as all others read them
    length         of the body; None: it ends with its last chunk, or with the connection
    """

    def __init__(self, connection: Source, method: str, exchange: Exchange, done: Callable[[Reply], None]) -> None:
        """Read the head. Raises ExchangeError, or what a connection raises.

        `done`: called once, when the answer is not needed any more.
        """
        self._incoming = _Incoming(connection, exchange)
        self._file: io.BufferedReader[Any] = io.BufferedReader(self._incoming)
        self._done: Callable[[Reply], None] | None = done
        head = read_head(self._file)
        minor, self.status, self.raw = head
        self.headers = head.texts()
        coding = self.raw.get("transfer-encoding")
        self._is_chunked = coding is not None and listed(coding)[-1:] == ["chunked"]
        self.length = None if self._is_chunked else content_length(self.raw)
        if self.status in _WITHOUT_BODY or method == "HEAD":
            self._is_chunked, self.length = False, 0
        self._left = self.length
        has_end = self._is_chunked or self.length is not None
        self._may_go_on = has_end and self.status != 101 and not ends_connection(minor, self.raw)

    @property
    def is_whole(self) -> bool:
        """Tell whether the body was read, and the connection can be used again.

        What has come behind it is nobody's answer, so then it cannot (RFC 9112 9.2).
        """
        self._incoming.end()
        return self._may_go_on and self._left == 0 and not self._file.peek()

    def whole(self) -> bytes:
        """Read a body whose length is known."""
        length, self._left = self._left or 0, 0
        body = self._file.read(length)
        if len(body) < length:
            raise ProtocolError(f"the connection ended {length - len(body)} bytes before the body did")
        return body

    def pieces(self, size: int) -> Iterator[bytes]:
        """Read the body in pieces of at most `size` bytes."""
        if self._is_chunked:
            yield from chunks(self._file, size)
            self._left = 0
            return
        while piece := self._file.read(size if self._left is None else min(size, self._left)):
            if self._left is not None:
                self._left -= len(piece)
            yield piece
        if self._left:
            raise ProtocolError(f"the connection ended {self._left} bytes before the body did")

    def release(self) -> None:
        """Give the connection back, or close it if it cannot be used again."""
        done, self._done = self._done, None
        if done is not None:
            done(self)

    def close(self) -> None:
        """Close the connection: an unread rest of a body must not be taken for the next answer."""
        self._may_go_on = False
        self.release()


class ArchivedReply(Reply):
    """An answer as an archive has it: it ends where its record ends, whatever its head says of its length.

    Some programs keep the head as it came, and the body without its codings. Such a body begins otherwise than the
    head says.
    """

    def __init__(self, block: bytes) -> None:
        """Read the head; raises as `Reply` does. `block`: of the record, as far as the answer's limits need it."""
        super().__init__(_Block(block), "GET", Exchange(math.inf), lambda _: None)
        rest = self._file.read()
        self._file = io.BufferedReader(io.BytesIO(rest))
        self._is_chunked = self._is_chunked and begins_with_chunk(rest)
        self.length = self._left = None
        if not self._is_chunked and begins_like_html(rest):
            self.headers.pop("content-encoding", None)


class _Block:
    def __init__(self, block: bytes) -> None:
        self._file = io.BytesIO(_OTHER_VERSION.sub(b"HTTP/1.1", block, count=1))

    def receive_into(self, buffer: Any, _: Exchange) -> int:
        return self._file.readinto(buffer)
