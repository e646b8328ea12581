"""Connections that wait for the next request to their host.

A connection is worth keeping if the host is asked again soon: it saves a handshake. Otherwise it costs memory here and
at the server, and a request that is sent just when the server closes it fails. So each is kept for `IDLE_S` at most,
and for less if the server says so (Keep-Alive: timeout=5). Hosts that are finished, or whose delay is long, have none.

Of all together there are `MOST`. When these wait, a further one is closed, not the oldest of them: hosts take turns, so
the oldest is the next to be used, and if each took the place of the oldest, none would ever be used again.

Promise: what is given up is closed, and a connection is given to one thread at a time.
"""

from __future__ import annotations

import re
import resource
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

IDLE_S = 15.0  # servers close those that were idle for 5 s (Apache) to 75 s (nginx)
MOST = 1000  # of a worker; over TLS each takes some 45 KB
_MARGIN_S = 1.0  # what is given up so long before the server gives it up
_DESCRIPTORS_SHARE = 4  # a process uses one of so many descriptors that it may have open for what waits

_TIMEOUT = re.compile(r"(?:^|[,;\s])timeout\s*=\s*\"?([0-9]{1,9})", re.IGNORECASE)


class Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)
H = TypeVar("H", bound=Hashable)


class Kept(Generic[H, C]):
    """Idle connections by host; threads share it. Each host has `per_host` of them at most."""

    def __init__(self, per_host: int, most: int | None = None) -> None:
        self._per_host = per_host
        self._most = most_kept() if most is None else most
        self._idle: OrderedDict[int, tuple[H, C, float]] = OrderedDict()  # those that wait for longest come first
        self._of_host: dict[H, list[int]] = {}
        self._next = 0
        self._is_closed = False
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._idle)

    def pop(self, host: H) -> C | None:
        """Give the connection to a host that was used last, None if there is none to use."""
        now = time.monotonic()
        given_up: list[C] = []
        with self._lock:
            self._expire(now, given_up)
            found = None
            while found is None and host in self._of_host:
                connection, until = self._remove(self._of_host[host][-1])
                if now < until:
                    found = connection
                else:
                    given_up.append(connection)
        _close(given_up)
        return found

    def put(self, host: H, connection: C, idle_s: float = IDLE_S) -> None:
        """Keep a connection for the next request to its host, for `idle_s` at most; or close it."""
        now = time.monotonic()
        given_up: list[C] = []
        with self._lock:
            self._expire(now, given_up)
            is_full = len(self._idle) >= self._most or len(self._of_host.get(host, ())) >= self._per_host
            if idle_s <= 0 or is_full or self._is_closed:
                given_up.append(connection)
            else:
                self._idle[self._next] = (host, connection, now + min(idle_s, IDLE_S))
                self._of_host.setdefault(host, []).append(self._next)
                self._next += 1
        _close(given_up)

    def expire(self) -> None:
        """Close what has waited for too long. `pop` and `put` do it, too."""
        given_up: list[C] = []
        with self._lock:
            self._expire(time.monotonic(), given_up)
        _close(given_up)

    def close(self) -> None:
        """Close all, and whatever is put here from now on."""
        self._is_closed = True
        self.clear()

    def clear(self) -> None:
        """Close all that wait."""
        with self._lock:
            given_up = [connection for _, connection, _ in self._idle.values()]
            self._idle.clear()
            self._of_host.clear()
        _close(given_up)

    def _expire(self, now: float, given_up: list[C]) -> None:
        """Take out those that wait for longest and whose time is over. (One that may wait for less may come behind.)"""
        while self._idle:
            number, (_, _, until) = next(iter(self._idle.items()))
            if now < until:
                return
            given_up.append(self._remove(number)[0])

    def _remove(self, number: int) -> tuple[C, float]:
        host, connection, until = self._idle.pop(number)
        numbers = self._of_host[host]
        numbers.remove(number)
        if not numbers:
            del self._of_host[host]
        return connection, until


def _close(given_up: list[C]) -> None:
    for connection in given_up:
        connection.close()


def most_kept() -> int:
    """Give how many idle connections this process may have, by its limit of open files."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if limit == resource.RLIM_INFINITY else max(1, min(MOST, limit // _DESCRIPTORS_SHARE))


def idle_s(keep_alive: str | None) -> float:
    """Give how long a connection may wait, by the header Keep-Alive of its last answer (RFC 2068, 19.7.1.1).

    >>> idle_s(None), idle_s("timeout=5, max=100"), idle_s("timeout=1"), idle_s("timeout=3600")
    (15.0, 4.0, 0.0, 15.0)
    """
    found = _TIMEOUT.search(keep_alive or "")
    return IDLE_S if found is None else max(0.0, min(IDLE_S, int(found[1]) - _MARGIN_S))
