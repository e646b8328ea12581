"""From the name of a host to a connected socket: its addresses, the guard, and which of them is connected to.

A name is looked up once, and what was found is kept for a while. The system's resolver does not say how long an answer
holds. So each is kept for a fixed time: `KEPT_S`, which many hosts name themselves. A host that has moved refuses or is
silent at its old address; then it is forgotten, and looked up anew for the next connection. That there is no such name
is kept for `KEPT_WITHOUT_S` only: it may be new, and a resolver that has just lost its network may say the same. Other
failures are not kept.

Of several addresses, the first that answers is connected to (RFC 8305, "Happy Eyeballs"). One that is silent costs
`STAGGER_S` in place of the whole time that a connection may take: then the next one is tried beside it. The one that
has answered is tried first the next time.

Vocabulary:
  entry     what getaddrinfo gives: family, kind, protocol, name, address
  guard     decides about each address after the name has been resolved and before the socket connects. So a name that
            resolves to another address the next time cannot get around it

Promise: no socket connects to an address that the guard refuses: it is asked for each connection, whatever is kept. Of
the sockets of a race, the connected one is given, and all others are closed. Of a name, `MOST_TRIED` addresses are
tried: its owner may name thousands, also of others.
"""

from __future__ import annotations

import os
import selectors
import socket
import time
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from fscrawl.config import addresses
from fscrawl.config.settings import FetchSettings
from fscrawl.http.answers import BlockedAddressError, UnresolvedError, private
from fscrawl.http.wire import Exchange
from fscrawl.util.lru import Lru

KEPT_S = 300.0
KEPT_WITHOUT_S = 5.0
MOST_ADDRESSES = 16_000  # of all hosts together; each takes some 300 bytes
STAGGER_S = 0.25  # RFC 8305, section 5: the recommended delay
MOST_TRIED = 8

_NO_SUCH_NAME = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}

Entry = tuple[Any, ...]


def not_allowed(host: str, address: str, exchange: Exchange) -> str:
    """Say why an exchange may not go to an address, and what would permit it."""
    if exchange.public_only:
        return f"{host} has the address {address}, which is not public: a rendered page of a public host may not ask it"
    return private(host, address)


class _Answer(NamedTuple):
    """The answer of the resolver. `error`: of a failure. `until`: how long it holds, in seconds of `time.monotonic`."""

    entries: Sequence[Entry]
    error: OSError | None
    until: float


class Dialler:
    """Resolves names, guards and connects, so that the address checked is the address connected to."""

    def __init__(self, fetch: FetchSettings) -> None:
        self._permits = addresses.permits(fetch.allow_addresses)
        self._known: Lru[str, _Answer] = Lru(MOST_ADDRESSES)

    def dial(
        self, host: str, port: int, connect_s: float, exchange: Exchange, *, guarded: bool = True
    ) -> tuple[socket.socket, str]:
        """Connect to a host; give the socket, and its address.

        `host`: an IPv6 address has no brackets; `connect_s`: that connecting may take; `guarded`: ask the guard, which
        says nothing of proxies.

        Raises UnresolvedError, BlockedAddressError, or an OSError.
        """
        found = self.look_up(host)
        permitted = [each for each in found if not guarded or self.may_reach(str(each[4][0]), exchange)]
        if not permitted:
            raise BlockedAddressError(not_allowed(host, str(found[0][4][0]), exchange))
        tried = [(*each[:4], (each[4][0], port, *each[4][2:])) for each in in_turn(permitted)]
        try:
            sock, address = connected(tried, min(connect_s, exchange.left_s()))
        except OSError:
            self.forget(host)
            raise
        self._prefer(host, address)
        return sock, address

    def may_reach(self, address: str, exchange: Exchange) -> bool:
        """Ask the guard."""
        return self._permits(address) and exchange.may_reach(address)

    def forget(self, host: str) -> None:
        """Look a host up anew for its next connection: its address may be another host's by now."""
        self._known.pop(host)

    def look_up(self, host: str) -> Sequence[Entry]:
        """Give the addresses of a host, as getaddrinfo does, for no port. UnresolvedError if there are none."""
        answer = self._known.get(host)
        if answer is None or time.monotonic() >= answer.until:
            answer = _look_up(host)
            if answer.until:
                self._known.put(host, answer, max(1, len(answer.entries)))
        if answer.error is not None:
            raise UnresolvedError(f"{host} cannot be resolved: {answer.error}") from answer.error
        return answer.entries

    def _prefer(self, host: str, address: str) -> None:
        """Let an address of a host be the first one: it has answered."""
        answer = self._known.get(host)
        if answer is not None and answer.entries and answer.entries[0][4][0] != address:
            entries = sorted(answer.entries, key=lambda entry: entry[4][0] != address)  # stable
            self._known.put(host, answer._replace(entries=entries), len(entries))


def _look_up(host: str) -> _Answer:
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        socket.socket().close()  # without a descriptor, some resolvers say that there is no such name
        failure = error if isinstance(error, OSError) else socket.gaierror(socket.EAI_NONAME, str(error))
        is_kept = failure.errno in _NO_SUCH_NAME
        return _Answer((), failure.with_traceback(None), time.monotonic() + KEPT_WITHOUT_S if is_kept else 0.0)
    return _Answer(entries, None, time.monotonic() + KEPT_S)


def in_turn(found: Sequence[Entry]) -> list[Entry]:
    """Give the entries that are tried, in their order: both families in turn."""
    first = [entry for entry in found if entry[0] == found[0][0]]
    others = [entry for entry in found if entry[0] != found[0][0]]
    return [entry for entry in chain(*zip_longest(first, others)) if entry is not None][:MOST_TRIED]


def connected(
    entries: Sequence[Entry], connect_s: float, make: Callable[[int, int, int], socket.socket] = socket.socket
) -> tuple[socket.socket, str]:
    """Connect to one of the entries; give the socket, and the entry's address. `make`: of family, kind and protocol.

    Raises TimeoutError after `connect_s`, or the OSError of the last entry if none of them can be connected to.
    """
    ahead = list(entries)
    until, next_at = time.monotonic() + connect_s, 0.0
    error: OSError = TimeoutError("timed out")
    with selectors.PollSelector() as trying:
        try:
            while ahead or trying.get_map():
                now = time.monotonic()
                if now >= until:
                    raise TimeoutError("timed out")
                if ahead and (now >= next_at or not trying.get_map()):
                    try:
                        _begin(ahead.pop(0), trying, make)
                    except OSError as refused:  # such as by a machine that has no IPv6
                        error = refused
                        continue
                    next_at = now + STAGGER_S
                for key, _ in trying.select((min(until, next_at) if ahead else until) - now):
                    sock: Any = key.fileobj
                    trying.unregister(sock)
                    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    if not code:
                        return sock, key.data
                    sock.close()
                    error = OSError(code, os.strerror(code))
                    next_at = 0.0  # what has failed makes room for the next one at once
        finally:
            for key in trying.get_map().values():
                key.fileobj.close()  # type: ignore[union-attr]
    raise error


def _begin(entry: Entry, trying: selectors.BaseSelector, make: Callable[[int, int, int], socket.socket]) -> None:
    family, kind, protocol, _, address = entry
    sock = make(family, kind, protocol)
    sock.setblocking(False)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect(address)
    except BlockingIOError:
        pass
    except OSError:
        sock.close()
        raise
    trying.register(sock, selectors.EVENT_WRITE, address[0])
