"""A web that means harm, on loopback: one path for each case, and listeners that nobody should ever reach.

    with Hostile() as web:
        done = crawl(root, seeds=[web.index()], settings={"fetch.allow_addresses": ALLOWED, ...}, env=...)
    assert web.trapped == []

The vocabulary is in `cases`; the cases are in `answers`, `contents` and `sites`.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections.abc import Iterator
from typing import Self

from tests.support.hostile import answers, contents, sites, tricks  # noqa: F401 - each adds its cases
from tests.support.hostile.cases import (
    CASES,
    MISSING,
    PREFIXES,
    REFUSED,
    ROBOTS,
    SEED,
    WILD_ADDRESSES,
    Call,
    Serve,
    answer,
    page,
)
from tests.support.raw import Raw, head


class Hostile(Raw):
    """All cases on one port of all their addresses, and on the same port of REFUSED a count of who comes.

    `asked`: every request's address, and path with query. `trapped`: the address of each connection to a refused one.
    """

    def __init__(self) -> None:
        super().__init__(self._converse)
        self.asked: list[tuple[str, str]] = []
        self.trapped: list[str] = []
        self.addresses = sorted(
            {SEED, *(case.address for case in CASES.values())} | {f"127.1.7.{n + 1}" for n in range(WILD_ADDRESSES)}
        )
        self._listeners: dict[socket.socket, bool] = {}

    def __enter__(self) -> Self:
        self._listeners, self.port = _listen(self.addresses)
        self._selector = selectors.DefaultSelector()
        self._waker, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        for listener in self._listeners:
            self._selector.register(listener, selectors.EVENT_READ)
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._waker.send(b"x")
        self._threads[0].join(10)
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()
        for each in (*self._listeners, self._waker, self._woken, self._selector):
            each.close()

    def index(self) -> str:
        """Give the address of the page that links to every case."""
        return f"http://{SEED}:{self.port}/"

    def url(self, path: str = "/", scheme: str = "http") -> str:
        """Give a case's address."""
        return f"{scheme}://{CASES[path].address}:{self.port}{path}"

    def _accept(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    return
                assert isinstance(key.fileobj, socket.socket)
                connection, _ = key.fileobj.accept()
                self.accepted += 1
                if self._listeners[key.fileobj]:
                    self.trapped.append(key.fileobj.getsockname()[0])
                    connection.close()
                    continue
                self._open.append(connection)
                self._start(self._serve, connection)

    def _converse(self, connection: socket.socket) -> None:
        address = connection.getsockname()[0]
        going = True
        while going:
            lines = head(connection).decode("latin-1").split("\r\n")
            name = next((line[6:] for line in lines if line.lower().startswith("host: ")), "")
            call = Call(connection, address, name, lines[0].split(" ")[1], self.port)
            self.asked.append((address, call.path))
            going = self._serve_of(call)(call)

    def _serve_of(self, call: Call) -> Serve:
        if call.path.partition("?")[0] == "/robots.txt":
            return ROBOTS.get(call.address, answer(MISSING))
        if (call.address, call.path) == (SEED, "/"):
            return answer(page(self._index()))
        case = CASES.get(call.path)
        if case is not None and case.address == call.address:
            return case.serve
        endless = (serve for prefix, serve in PREFIXES.items() if call.path.startswith(prefix))
        return next(endless, answer(MISSING))

    def _index(self) -> str:
        linked = (self.url(path) for path, case in CASES.items() if case.linked)
        return "<title>index</title>" + "".join(f"<p><a href='{url}'>{url}</a>" for url in linked)


def _listen(addresses: list[str]) -> tuple[dict[socket.socket, bool], int]:
    """Listen on one port of all addresses, and of the refused ones; give whether each listener is of a refused one."""
    for tries_left in reversed(range(50)):
        listeners: dict[socket.socket, bool] = {}
        port = 0
        try:
            for address, refused in _everywhere(addresses):
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                listener = socket.create_server((address, port), family=family, backlog=256)
                listeners[listener] = refused
                port = listener.getsockname()[1]
            return listeners, port
        except OSError:
            for listener in listeners:
                listener.close()
            if not tries_left:
                raise
    raise AssertionError("unreachable: the last try raises")


def _everywhere(addresses: list[str]) -> Iterator[tuple[str, bool]]:
    yield from ((address, False) for address in addresses)
    yield from ((address, True) for address in REFUSED if ":" not in address or socket.has_dualstack_ipv6())
