"""A small web server for loopback: many addresses, one port, one thread. The demo and the tests use it.

Vocabulary:
  host      a loopback address (127.x.y.z); all hosts of a server share its port
  pages     a function from Request to Response: the content of the web
  exchange  one request and its answer, with the times of both, as given to `log`

Promise: it listens only on the given addresses, answers GET, HEAD, POST, PUT and PATCH over HTTP/1.1 with keep-alive,
and always stops after `deadline_s`. Times are `time.monotonic()`, which all processes of a machine share.

    with Server(lambda request: Response(body=b"hello"), hosts=["127.0.0.11", "127.0.0.12"]) as server:
        print(server.url("127.0.0.12", "/"))
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Self

MAX_HEAD_BYTES = 65536  # a longer request head is not one of ours
MAX_BODY_BYTES = 65536
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH")
_PORT_TRIES = 50  # a free port of one address may be taken on another
_BACKLOG = 256
_REASONS = {int(status): status.phrase for status in HTTPStatus}
_BODILESS = frozenset({204, 304})


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `host`: the address it reached; `path`: with query, as sent; `headers`: names in lower case."""

    method: str
    host: str
    path: str
    headers: Mapping[str, str]
    arrived: float
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer.

    `delay_s` passes before the status line; `drip` are (seconds, bytes) sent after `body`, each after its wait.
    Content-Length counts both, unless `headers` give another one (a lie is possible) or a Transfer-Encoding.
    `close`: close the connection afterwards, which with too large a Content-Length cuts the body.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay_s: float = 0.0
    drip: Sequence[tuple[float, bytes]] = ()
    close: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. `answered`: when its last byte went to the kernel, or the client left."""

    host: str
    path: str
    headers: Mapping[str, str]
    arrived: float
    answered: float
    status: int
    method: str = "GET"
    body: bytes = b""  # of the request


Pages = Callable[[Request], Response]


class Server:
    """Serves `pages` in its own thread: as a context manager, or between `start` and `stop`."""

    def __init__(
        self,
        pages: Pages,
        hosts: Sequence[str] = ("127.0.0.1",),
        port: int = 0,
        *,
        deadline_s: float = 120.0,
        log: Callable[[Exchange], None] | None = None,
    ) -> None:
        """`port` 0: one that is free on all hosts. `log` is called in the server's thread, once per answer."""
        for host in hosts:
            if not host.startswith("127."):
                raise ValueError(f"{host}: this server is for loopback addresses, 127.x.y.z")
        self.pages = pages
        self.hosts = tuple(hosts)
        self.port = port
        self.deadline_s = deadline_s
        self.log = log
        self.failure: BaseException | None = None  # the first error that `pages` raised; the client got a 500
        self.connections: set[_Connection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self.port}{path}"

    def start(self) -> None:
        """Listen and serve; OSError with EADDRINUSE if `port` is taken on one of the hosts."""
        sockets = _listen(self.hosts, self.port)
        self.port = sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._run, args=(sockets,), name="web", daemon=True)
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Cut every connection and free the port. It may be called more than once."""
        if self._loop is not None and self._over is not None:
            with contextlib.suppress(RuntimeError):  # the deadline has passed: the loop is closed
                self._loop.call_soon_threadsafe(self._over.set)
        self.wait()

    def wait(self, timeout_s: float | None = None) -> None:
        """Return when the deadline has passed or somebody called `stop`."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self, sockets: list[socket.socket]) -> None:
        try:
            asyncio.run(self._serve(sockets))
        finally:
            self._ready.set()  # also after an error: `start` must not wait for ever

    async def _serve(self, sockets: list[socket.socket]) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        listeners = [
            await self._loop.create_server(lambda: _Connection(self), sock=s, backlog=_BACKLOG) for s in sockets
        ]
        self._ready.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), self.deadline_s)
        for listener in listeners:
            listener.close()
        for connection in list(self.connections):
            connection.abort()
        await asyncio.sleep(0)  # lets the transports close their sockets


def _listen(hosts: Sequence[str], port: int) -> list[socket.socket]:
    for tries_left in reversed(range(_PORT_TRIES)):
        sockets: list[socket.socket] = []
        try:
            wanted = port
            for host in hosts:
                sockets.append(_bound(host, wanted))
                wanted = sockets[0].getsockname()[1]
            return sockets
        except OSError as error:
            for taken in sockets:
                taken.close()
            if port or error.errno != errno.EADDRINUSE or not tries_left:
                raise
    raise AssertionError("unreachable: the last try raises")


def _bound(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sets NODELAY by this
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)  # here and not in the loop: Linux reports a port in use here, if not before
    except OSError:
        listener.close()
        raise
    return listener


class _Connection(asyncio.Protocol):
    """One client. Requests are answered in order; while one waits (delay, drip), later ones stay in the buffer."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.host = ""
        self.buffer = b""
        self.transport: asyncio.Transport | None = None
        self.answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.host = transport.get_extra_info("sockname")[0]
        self.server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio's signature
        self.server.connections.discard(self)
        self.transport = None
        if self.answering is not None:
            self.answering.cancel()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self._next()

    def _next(self) -> None:
        while self.answering is None and self.transport is not None and not self.transport.is_closing():
            head, end, rest = self.buffer.partition(b"\r\n\r\n")
            if not end:
                if len(self.buffer) > MAX_HEAD_BYTES:
                    self.transport.abort()
                return
            request, version = _parse(head, self.host)
            length = _length_of(request)
            if request is not None and length is not None and len(rest) < length:
                return
            self.buffer = rest[length or 0 :]
            if request is not None:
                request = replace(request, body=rest[: length or 0])
            self._answer(request if length is not None else None, version)

    def _answer(self, request: Request | None, version: str) -> None:
        assert self.transport is not None
        if request is None:
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.transport.close()
            return
        response = self._response(request)
        close = response.close or version != "HTTP/1.1" or request.headers.get("connection", "").lower() == "close"
        if response.delay_s or response.drip:
            self.answering = asyncio.ensure_future(self._slowly(request, response, close=close))
            return
        body = b"" if request.method == "HEAD" else response.body
        self._log(request, response)
        self._end(_head(response, close=close) + body, close=close)

    def _response(self, request: Request) -> Response:
        if request.method not in _METHODS:
            return Response(405, {"Allow": ", ".join(_METHODS)}, close=True)
        try:
            return self.server.pages(request)
        except Exception as error:  # noqa: BLE001  any error of `pages`: its author wants to see it
            self.server.failure = self.server.failure or error
            return Response(500, {"Content-Type": "text/plain"}, repr(error).encode())

    async def _slowly(self, request: Request, response: Response, *, close: bool) -> None:
        has_body = request.method != "HEAD"
        pieces = [(response.delay_s, _head(response, close=close) + (response.body if has_body else b""))]
        pieces += response.drip if has_body else ()
        try:
            for wait_s, piece in pieces[:-1]:
                await asyncio.sleep(wait_s)
                self._write(piece)
            await asyncio.sleep(pieces[-1][0])
        except asyncio.CancelledError:  # the client left; this is logged like an answer
            self._log(request, response)
            self._end(b"", close=True)
            raise
        self.answering = None
        self._log(request, response)
        self._end(pieces[-1][1], close=close)
        self._next()

    def _write(self, data: bytes) -> None:
        if data and self.transport is not None:
            self.transport.write(data)

    def _log(self, request: Request, response: Response) -> None:
        """Log an answer before its end is written, so that a client that has it finds it in the log."""
        if self.server.log is not None:
            self.server.log(
                Exchange(
                    request.host,
                    request.path,
                    request.headers,
                    request.arrived,
                    time.monotonic(),
                    response.status,
                    request.method,
                    request.body,
                )
            )

    def _end(self, last: bytes, *, close: bool) -> None:
        self._write(last)
        if close and self.transport is not None:
            self.transport.close()


def _parse(head: bytes, host: str) -> tuple[Request | None, str]:
    """Give the request and its HTTP version, or (None, "") if the head is not HTTP."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None, ""
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Request(words[0], host, words[1], headers, time.monotonic()), words[2]


def _length_of(request: Request | None) -> int | None:
    """Give the length of a request's body; None if it is none that this server reads."""
    length = "0" if request is None else request.headers.get("content-length", "0")
    is_sized = length.isdecimal() and (request is None or "transfer-encoding" not in request.headers)
    return int(length) if is_sized and int(length) <= MAX_BODY_BYTES else None


def _head(response: Response, *, close: bool) -> bytes:
    names = {name.lower() for name in response.headers}
    lines = [f"HTTP/1.1 {response.status} {_REASONS.get(response.status, '')}"]
    lines += [f"{name}: {value}" for name, value in response.headers.items()]
    if response.status not in _BODILESS and not names & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(response.body) + sum(len(chunk) for _, chunk in response.drip)}")
    if close and "connection" not in names:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
