"""A server that answers with bytes, lies and silence, for the tests of one HTTP exchange; and fetchers to ask it.

with Raw(answering(ok(b"<p>"))) as server, fetchers() as make:
    answer = fetched(make().get(server.url()))
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any, Self

from fscrawl.config.settings import FetchSettings, PolitenessSettings
from fscrawl.http.answers import Failed, Fetched
from fscrawl.http.fetch import Fetcher

HOST = "127.0.2.1"
Make = Callable[..., Fetcher]


@contextlib.contextmanager
def fetchers() -> Iterator[Make]:
    """Make fetchers that may go to loopback, and close them."""
    made: list[Fetcher] = []

    def fetcher(politeness: PolitenessSettings | None = None, **settings: Any) -> Fetcher:
        limits = FetchSettings(**{"allow_addresses": ("0.0.0.0/0", "::/0"), "timeout": 5.0, **settings})
        made.append(Fetcher(limits, politeness or PolitenessSettings(), 4))
        return made[-1]

    try:
        yield fetcher
    finally:
        for each in made:
            each.close()


class Raw:
    """A server that does to each connection what `behave(connection)` does, bytes and all; it counts connections."""

    def __init__(
        self, behave: Callable[[socket.socket], None], context: ssl.SSLContext | None = None, host: str = HOST
    ) -> None:
        self.behave = behave
        self.host = host
        self.context = context
        self.accepted = 0
        self.over = threading.Event()  # set when a connection has been dealt with
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._listener = socket.create_server((self.host, 0))
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()
        self._listener.close()

    def url(self, path: str = "/", scheme: str = "http") -> str:
        return f"{scheme}://{self.host}:{self.port}{path}"

    def _start(self, target: Callable[..., None], *args: Any) -> None:
        self._threads.append(threading.Thread(target=target, args=args, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.accepted += 1
                self._open.append(connection)
                self._start(self._serve, connection)

    def _serve(self, plain: socket.socket) -> None:
        connection = plain
        with contextlib.suppress(OSError):
            if self.context is not None:
                connection = self.context.wrap_socket(plain, server_side=True)
                self._open.append(connection)
            self.behave(connection)
        connection.close()
        plain.close()
        self.over.set()


def head(connection: socket.socket) -> bytes:
    """Read a request's head."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            raise OSError("the client is gone")
        data += more
    return data


def answering(answer: bytes, times: int = 1000) -> Callable[[socket.socket], None]:
    """Answer `times` requests of a connection with these bytes, then close it."""

    def behave(connection: socket.socket) -> None:
        for _ in range(times):
            head(connection)
            connection.sendall(answer)

    return behave


def nothing(status: int, headers: dict[str, str]) -> bool:
    """Want no body."""
    return False


def ok(body: bytes, *lines: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *lines, "", ""]).encode() + body


def fetched(answer: Fetched | Failed) -> Fetched:
    assert isinstance(answer, Fetched), answer
    return answer


def failed(answer: Fetched | Failed) -> Failed:
    assert isinstance(answer, Failed), answer
    return answer
