"""What the tests of one HTTP exchange share: servers that send a little at a time, or nothing, for ever."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Callable

from tests.support.raw import head

HTML = {"Content-Type": "text/html"}
ENDS_S = 10.0  # an exchange with a limit of a second, on a busy machine; without the limit these take 30 s and more


def _dripping(data: bytes) -> Callable[[socket.socket], None]:
    """Answer with a byte every 0.3 s."""

    def behave(connection: socket.socket) -> None:
        head(connection)
        for n in itertools.count():
            connection.sendall(data[n % len(data) : n % len(data) + 1])
            time.sleep(0.3)

    return behave


def _after_head(behave: Callable[[socket.socket], None], answer_head: bytes) -> Callable[[socket.socket], None]:
    def both(connection: socket.socket) -> None:
        head(connection)
        connection.sendall(answer_head)
        for _ in range(100):
            behave(connection)

    return both


def silence(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def _slow_byte(connection: socket.socket) -> None:
    connection.sendall(b".")
    time.sleep(0.3)


def _slow_chunk(connection: socket.socket) -> None:
    connection.sendall(b"1\r\n.\r\n")
    time.sleep(0.3)


SLOW = {
    "silence": silence,
    "status line": _dripping(b"HTTP/1.1 200 OK and so on and so on"),
    "headers": _dripping(b"HTTP/1.1 200 OK\r\nA: b\r\n" + b"X" * 50),
    "body": _after_head(_slow_byte, b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
    "chunks": _after_head(_slow_chunk, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "to the end": _after_head(_slow_byte, b"HTTP/1.1 200 OK\r\n\r\n"),
}
