"""Sockets to hosts, and the limits of the exchange that they serve.

Vocabulary:
  exchange    one request and its answer; a thread works on one exchange at a time
  deadline    monotonic time at which the whole exchange must be over: name, connection, TLS, head and body together
  allowance   how many bytes may still be received: of the head, then of the body with the overhead of its chunks
  guard       decides about each address after the name has been resolved and before the socket connects. So a name that
              resolves to another address the next time cannot get around it

Promise: no read waits beyond the deadline or goes beyond the allowance, and no socket connects to an address that the
guard refuses. Only the system's resolver may take longer.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

from fscrawl.config import addresses
from fscrawl.http import racing, tls
from fscrawl.http.bodies import TooLargeError
from fscrawl.http.error_classes import private
from fscrawl.http.failures import BlockedAddressError
from fscrawl.http.heads import HEAD_BYTES
from fscrawl.http.keeping import IDLE_S
from fscrawl.http.names import Names

ALLOWED_HEAD_BYTES = HEAD_BYTES + 16384  # some of the body may come with it


class _Exchange(threading.local):
    """What the connection of this thread must know of its exchange."""

    deadline = float("inf")
    allowance_bytes = ALLOWED_HEAD_BYTES
    idle_s = IDLE_S  # that the connection may wait for its next exchange
    address = ""  # of the host; "" before it is connected to, and if a proxy is asked
    is_sent = False  # some of the request may have left
    public_only = False  # it may go to public addresses only, whatever the settings permit


exchange = _Exchange()


def may_reach(address: str) -> bool:
    """Tell whether the exchange of this thread may go to an address that the settings permit."""
    return not exchange.public_only or addresses.is_public(address)


def not_public(host: str, address: str) -> str:
    """Say why the exchange of this thread may not go to an address that is not public, and what would permit it."""
    if exchange.public_only:
        return f"{host} has the address {address}, which is not public: a rendered page of a public host may not ask it"
    return private(host, address)


def remaining_s() -> float:
    """Give the seconds until the deadline; TimeoutError if it is over."""
    left = exchange.deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the exchange took longer than fetch.timeout")
    return left


class LimitedReads:
    """A socket whose reads keep to the deadline and the allowance of the exchange."""

    def recv_into(self: Any, *args: Any) -> int:
        self.settimeout(remaining_s())
        received: int = super().recv_into(*args)  # type: ignore[misc]
        exchange.allowance_bytes -= received
        if exchange.allowance_bytes < 0:
            raise TooLargeError("the server sent more than fetch.max_bytes")
        return received


class PlainSocket(LimitedReads, socket.socket):
    """A socket to a host or a proxy."""


class _TlsSocket(LimitedReads, tls.ResumingSocket):
    pass


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Give the TLS context of all connections (see `tls.context_for`)."""
    return tls.context_for(ca_file, _TlsSocket)


def connect(sock: socket.socket, address: Any, timeout_s: float) -> socket.socket:
    """Connect a socket, or close it and raise OSError."""
    try:
        sock.settimeout(timeout_s)
        sock.connect(address)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        sock.close()
        raise
    return sock


class Dialler:
    """Resolves names, guards and connects, so that the address checked is the address connected to."""

    def __init__(self, permits: Callable[[str], bool]) -> None:
        """`permits`: the guard."""
        self._permits = permits
        self._names = Names()
        self._learned = racing.Learned()

    def dial(self, host: str, port: int, timeout_s: float) -> socket.socket:
        """Connect to a host. `host`: an IPv6 address has no brackets; `timeout_s`: that connecting may take.

        Raises socket.gaierror if the name cannot be resolved, BlockedAddressError, or another OSError.
        """
        try:
            found = self._names.look_up(host, port, remaining_s())
        except TimeoutError:
            raise
        except OSError as error:
            raise socket.gaierror(f"{host} cannot be resolved: {error}") from error
        permitted = [entry for entry in found if self._permits(str(entry[4][0]))]
        if not permitted:
            raise BlockedAddressError(not_public(host, str(found[0][4][0])))
        try:
            return self._connected(host, port, permitted, min(timeout_s, remaining_s()))
        except OSError:
            self.forget(host)
            raise

    def forget(self, host: str) -> None:
        """Look a host up anew for its next connection: its address may be another host's by now."""
        self._names.forget(host)

    def _connected(self, host: str, port: int, found: list[racing.Entry], timeout_s: float) -> socket.socket:
        if len(found) == 1:
            family, kind, protocol, _, address = found[0]
            return connect(PlainSocket(family, kind, protocol), address, timeout_s)
        sock, address = racing.connected(self._learned.in_order((host, port), found), PlainSocket, timeout_s)
        self._learned.note((host, port), address)
        sock.settimeout(timeout_s)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
