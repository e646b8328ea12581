"""A distant server, made of a near one: a relay on loopback that hands on what it gets some milliseconds later.

    with Distance(sshd.port, 0.0025) as port: …        # a round trip takes 5 ms

Vocabulary:
  way     one direction of a connection: a thread that takes what is sent, and a thread that hands it on

Promise: nothing else is slower. Bytes keep their order, any number may be on the way at once up to `_MOST_PIECES`, and
each is handed on its time after it came, however much is behind it. So it is a longer cable, and not a thinner one.
`tc netem` would do the same, with root, and where the kernel has it; many have not.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable

_PIECE = 1 << 18
_MOST_PIECES = 4096  # on the way, in each direction


class Distance:
    """The relay, as context manager that gives its port. All its connections end with it."""

    def __init__(self, port: int, seconds: float) -> None:
        """`port`: of the server, on loopback; `seconds`: that each direction takes."""
        self._server = port
        self._seconds = seconds
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> int:
        self._begin(self._accept)
        return int(self._listening.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()  # no connection is added any more
        for end in self._ends:
            with contextlib.suppress(OSError):  # its other side has closed it
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in [self._listening, *self._ends]:
            end.close()

    def _begin(self, what: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=what, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it has been shut down
            while True:
                near, _ = self._listening.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._server))
                except OSError:
                    near.close()
                    continue
                self._join(near, far)

    def _join(self, near: socket.socket, far: socket.socket) -> None:
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._ends.append(end)
        for source, target in ((near, far), (far, near)):
            on_the_way: queue.Queue[tuple[float, bytes]] = queue.Queue(_MOST_PIECES)
            self._begin(self._take, source, on_the_way)
            self._begin(_hand_on, target, on_the_way)

    def _take(self, source: socket.socket, on_the_way: queue.Queue[tuple[float, bytes]]) -> None:
        data = b"more"
        while data:
            try:
                data = source.recv(_PIECE)
            except OSError:
                data = b""
            on_the_way.put((time.monotonic() + self._seconds, data))


def _hand_on(target: socket.socket, on_the_way: queue.Queue[tuple[float, bytes]]) -> None:
    is_there = True
    while True:
        due, data = on_the_way.get()
        time.sleep(max(0.0, due - time.monotonic()))
        if not data:
            break
        try:
            if is_there:
                target.sendall(data)
        except OSError:
            is_there = False  # what still comes is taken, so that nobody waits
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
