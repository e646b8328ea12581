"""Which of several addresses of a host is connected to: the first that answers (RFC 8305, "Happy Eyeballs").

An address that is silent costs `STAGGER_S` in place of the whole time that a connection may take: then the next one is
tried beside it. What was learnt is remembered, so it costs that once.

Vocabulary:
  entry     what getaddrinfo gives: family, kind, protocol, name, address

Promise: one socket is returned, which is connected; all others are closed. No attempt outlives the call. Of a name,
`MOST_TRIED` addresses are tried: its owner may name thousands of them, also those of others.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import Any

from fscrawl.util.lru import Lru

STAGGER_S = 0.25  # RFC 8305, section 5: the recommended delay
MOST_TRIED = 8
_HOSTS = 1000

Entry = tuple[Any, ...]
Make = Callable[[int, int, int], socket.socket]  # of family, kind and protocol


class Learned:
    """The addresses at which hosts with several of them answered last; threads share it."""

    def __init__(self) -> None:
        self._best: Lru[tuple[str, int], Any] = Lru(_HOSTS)

    def in_order(self, host: tuple[str, int], found: Sequence[Entry]) -> list[Entry]:
        """Give the entries that are tried, in their order: what answered last, then both families in turn.

        `host`: name and port of the host that they belong to.
        """
        best = self._best.get(host)
        first = [entry for entry in found if entry[0] == found[0][0]]
        others = [entry for entry in found if entry[0] != found[0][0]]
        in_turn = [entry for entry in chain(*zip_longest(first, others)) if entry is not None]
        return sorted(in_turn, key=lambda entry: entry[4] != best)[:MOST_TRIED]  # stable

    def note(self, host: tuple[str, int], address: Any) -> None:
        """Remember the address at which a host has answered."""
        self._best.put(host, address)


def connected(entries: Sequence[Entry], make: Make, timeout_s: float) -> tuple[socket.socket, Any]:
    """Connect to one of the entries; give the socket, and its address as the entry has it.

    Raises TimeoutError after `timeout_s`, or the OSError of the last entry if none of them can be connected to.
    """
    with contextlib.closing(_Race(make)) as race:
        return race.run(list(entries), time.monotonic() + timeout_s)


class _Race:
    """Attempts to connect that run beside each other."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._attempts = selectors.DefaultSelector()  # each with its address
        self._error: OSError = TimeoutError("timed out")

    def run(self, ahead: list[Entry], until: float) -> tuple[socket.socket, Any]:
        next_at = 0.0
        while True:
            now = time.monotonic()
            if now >= until:
                raise TimeoutError("timed out")
            if ahead and (now >= next_at or not self._attempts.get_map()):
                begun = self._begin(ahead.pop(0))
                if begun is not None:
                    return begun
                next_at = now + STAGGER_S if self._attempts.get_map() else now
                continue
            if not self._attempts.get_map():
                raise self._error
            for sock, address in self._ended(min(until, next_at if ahead else until) - now):
                if sock is not None:
                    return sock, address
                next_at = 0.0  # what has failed makes room for the next one at once

    def _begin(self, entry: Entry) -> tuple[socket.socket, Any] | None:
        """Begin to connect; give the socket if it is connected at once."""
        family, kind, protocol, _, address = entry
        try:
            sock = self._make(family, kind, protocol)
        except OSError as error:  # the machine has no IPv6
            self._error = error
            return None
        try:
            sock.setblocking(False)
            sock.connect(address)
        except BlockingIOError:
            self._attempts.register(sock, selectors.EVENT_WRITE, address)
            return None
        except OSError as error:
            self._error = error
            sock.close()
            return None
        return sock, address

    def _ended(self, wait_s: float) -> Iterator[tuple[socket.socket | None, Any]]:
        """Wait for attempts to end; give the socket of each that has succeeded, None for one that has failed."""
        for key, _ in self._attempts.select(wait_s):
            sock: Any = key.fileobj
            self._attempts.unregister(sock)
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code == 0:
                yield sock, key.data
                continue
            self._error = OSError(code, os.strerror(code))
            sock.close()
            yield None, key.data

    def close(self) -> None:
        for key in list(self._attempts.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._attempts.close()
