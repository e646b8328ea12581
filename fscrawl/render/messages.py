"""What a worker and a keeper send each other, and how it goes over a socket. Both ends are processes of one machine.

A page waits for a browser in one of two lanes, so that hosts whose pages cost much do not keep the others waiting. It
waits among the quick ones, unless the last page of its host took longer than `QUICK_S`, or more of the processor than
`QUICK_PROCESSOR_S`, or has failed. One that is not quick gives way while others wait that may be, and then waits among
the slow ones. The first browser of a machine takes quick pages only, if there is another one.

A message is a pickled value behind its length. Promise: `receive` raises EOFError when the other end is gone, and
TimeoutError at the deadline; a message is received whole, or not at all.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
import time
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from fscrawl.util.lru import Lru

LENGTH = struct.Struct("!Q")
_CRED = struct.Struct("3i")  # pid, uid, gid
Pairs = tuple[tuple[str, str], ...]
Listening = tuple[socket.socket, ...]  # one for each lane


MEMORY_BYTES = 1 << 30
MAX_BYTES = 20 << 20
QUICK_S = 3.0
QUICK_PROCESSOR_S = 1.5
_HOSTS = 10_000


class Lane(IntEnum):
    QUICK = 0
    SLOW = 1


class Lanes:
    """In which lane the next page of each host waits. Threads may share it."""

    def __init__(self) -> None:
        self._next: Lru[str, Lane] = Lru(_HOSTS)

    def of(self, host: str) -> Lane:
        return self._next.get(host) or Lane.QUICK

    def note(self, host: str, *, is_quick: bool) -> None:
        """Note whether a page was quick."""
        self._next.put(host, Lane.QUICK if is_quick else Lane.SLOW)


def is_quick(took_s: float, processor_s: float) -> bool:
    """Tell whether a page is quick that has been in its browser for so long, and has taken so much of the processor."""
    return took_s <= QUICK_S and processor_s <= QUICK_PROCESSOR_S


class Flag(Protocol):
    """A number that the machine and one keeper share."""

    value: int


class KeeperSetup(NamedTuple):
    """What a keeper is started with. `executable`: path of the browser. `memory_bytes`: that it may have.

    `max_bytes`: that a page may load beside itself, and its DOM may have.
    `quick_only`: it takes pages of the quick lane only. `has_started`: the keeper makes it 1 when a browser has
    started.
    """

    executable: str
    memory_bytes: int
    max_bytes: int
    quick_only: bool = False
    has_started: Flag | None = None


class Cookie(NamedTuple):
    """A cookie that the browser gets for a page. `domain`: begins with a dot if hosts below it get it, too.

    `http_only`: scripts do not see it.
    """

    name: str
    value: str
    domain: str
    path: str
    secure: bool
    http_only: bool


class Options(NamedTuple):
    """How one page is rendered; see `RenderSettings`. `max_bytes`: as in `KeeperSetup`.

    `user_agent`: as it is sent to servers.
    """

    wait: str
    timeout_s: float
    max_bytes: int
    block: frozenset[str]
    scroll: int
    screenshot: bool
    user_agent: str


class Job(NamedTuple):
    """A page that was fetched, and is to be rendered. `url`: with a fragment if it has one for scripts."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    cookies: tuple[Cookie, ...]
    options: Options


class Begun(NamedTuple):
    """A keeper has a place for a page, and waits for the `Job`."""


class Ask(NamedTuple):
    """The browser wants to load something. `kind`: as DevTools calls it, such as "Script" or "XHR"."""

    number: int
    url: str
    method: str
    headers: Mapping[str, str]
    body: bytes
    kind: str


class Answer(NamedTuple):
    """What the browser gets for an `Ask`. `status` 0: it was refused, or failed. Set-Cookie headers: one by one."""

    number: int
    status: int = 0
    headers: Pairs = ()
    body: bytes = b""


class Rendered(NamedTuple):
    """A page whose scripts have run.

    dom         HTML in UTF-8, shadow roots included (see `shadow`)
    ended       "done", or "timeout": it was still busy, and is as it was then
    seconds     that it took, without waiting for a free browser
    blocked     how many requests were not even asked for, by kind
    went_to     URLs that the page wanted to go to by itself
    errors      what its scripts complained of
    screenshot  PNG; b"" without one
    processor_s     that its browser has taken; the same in `Trouble` and in `GaveWay`
    """

    dom: bytes
    ended: str
    seconds: float
    blocked: Mapping[str, int]
    went_to: tuple[str, ...]
    errors: tuple[str, ...]
    screenshot: bytes = b""
    processor_s: float = 0.0


class Trouble(NamedTuple):
    """The page cannot be rendered. `retry`: another try may help."""

    message: str
    retry: bool
    processor_s: float = 0.0


class GaveWay(NamedTuple):
    """The page has taken long while others waited. It is rendered anew when it is its turn again."""

    processor_s: float = 0.0


class GivenUpError(Exception):
    """The page has waited for a browser in vain: the crawl ends, or is held."""


NO_BROWSER = 3  # exit code of a keeper whose browser has never started


def new_address() -> str:
    """Give the address of sockets that do not exist yet: abstract ones, which nobody can guess (Linux)."""
    return f"\0fscrawl-{os.urandom(16).hex()}"


def address_of(address: str, lane: Lane) -> str:
    """Give the address of the socket for the pages of a lane."""
    return f"{address}-{lane.value}"


def listen(address: str, waiting: int) -> Listening:
    """Listen at an address. `waiting`: how many may wait in each lane."""
    return tuple(_listen(address_of(address, lane), waiting) for lane in Lane)


def _listen(address: str, waiting: int) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.bind(address)
    sock.listen(waiting)
    return sock


def packed(message: Any) -> bytes:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def receive(sock: socket.socket, until: float) -> Any:
    """Wait for a message until a time (monotonic)."""
    (length,) = LENGTH.unpack(_exactly(sock, LENGTH.size, until))
    return pickle.loads(_exactly(sock, length, until))  # noqa: S301 - the other end is a process of ours


def _exactly(sock: socket.socket, count: int, until: float) -> bytes:
    data = bytearray(count)
    view, have = memoryview(data), 0
    while have < count:
        left_s = until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        sock.settimeout(left_s)
        received = sock.recv_into(view[have:])
        if not received:
            raise EOFError
        have += received
    return bytes(data)


def is_ours(connection: socket.socket) -> bool:
    """Tell whether the other end of a socket is a process of the same user (Linux)."""
    _, uid, _ = _CRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CRED.size))
    return bool(uid == os.geteuid())
