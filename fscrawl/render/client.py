"""The worker's end: it sends a page to whichever keeper has a place, and answers what the browser asks for meanwhile.

A page may wait for long until there is a place: then all browsers of the machine are busy. That is no failure, and its
time begins when a keeper has accepted it.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from fscrawl import urls
from fscrawl.render.messages import (
    Answer,
    Ask,
    GaveWay,
    GivenUpError,
    Job,
    Lanes,
    Rendered,
    Trouble,
    address_of,
    is_ours,
    is_quick,
    packed,
    receive,
)

WAITS_S = 3600.0  # for a free browser
_LOOK_S = 0.25
_AT_A_TIME = 12  # requests of one page to other hosts
_AFTER_S = 30.0  # that a keeper may take beside the page's own time: its browser may have to start

Fetch = Callable[[Ask], Answer]


def render(
    address: str,
    job: Job,
    fetch: Fetch,
    lanes: Lanes,
    is_over: Callable[[], bool] = lambda: False,
    waits_s: float = WAITS_S,
) -> Rendered | Trouble | GaveWay:
    """Render a page; never raises for what a browser or a keeper does.

    `address`: of the keepers' sockets, abstract ones. `fetch`: called in threads, for each request of the page; what it
    raises is raised here when the page is over. `lanes`: of all hosts. `is_over`: asked while the page waits; if it
    says so, GivenUpError. `waits_s`: for a free browser.
    """
    host = urls.host(job.url)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        try:
            wait = _Wait(time.monotonic() + waits_s, is_over)
            _connect(sock, address_of(address, lanes.of(host)), wait)
            if not is_ours(sock):
                return Trouble("the socket of the browsers belongs to another user", retry=False)
            _wait_for_place(sock, wait)
        except TimeoutError:
            return Trouble(f"no browser was free for {waits_s:g} s", retry=True)
        except (EOFError, OSError) as error:
            return _has_ended(error)
        found = _rendered(sock, job, fetch)
        lanes.note(host, is_quick=isinstance(found, Rendered) and is_quick(found.seconds, found.processor_s))
        return found


def _rendered(sock: socket.socket, job: Job, fetch: Fetch) -> Rendered | Trouble | GaveWay:
    try:
        sock.settimeout(_AFTER_S)
        sock.sendall(packed(job))
        return _attend(sock, job, fetch, time.monotonic() + job.options.timeout_s + _AFTER_S)
    except TimeoutError:
        return Trouble("the process of the browser does not answer", retry=True)
    except (EOFError, OSError) as error:
        return _has_ended(error)


def _has_ended(error: Exception) -> Trouble:
    return Trouble(f"the process of the browser has ended: {error or 'without a word'}", retry=True)


class _Wait(NamedTuple):
    """For a free browser. `until`: monotonic time."""

    until: float
    is_over: Callable[[], bool]

    def look(self) -> None:
        """Raise if there is nothing to wait for any more."""
        if self.is_over():
            raise GivenUpError
        if time.monotonic() > self.until:
            raise TimeoutError


def _connect(sock: socket.socket, address: str, wait: _Wait) -> None:
    sock.settimeout(_LOOK_S)
    while True:
        try:
            return sock.connect(address)
        except BlockingIOError:  # as many wait there as the kernel takes
            time.sleep(_LOOK_S)
        wait.look()


def _wait_for_place(sock: socket.socket, wait: _Wait) -> None:
    """Wait until a keeper has accepted the page: it says `Begun`."""
    sock.settimeout(_LOOK_S)
    while True:
        with contextlib.suppress(TimeoutError):
            sock.recv(1, socket.MSG_PEEK)
            receive(sock, time.monotonic() + _AFTER_S)
            return
        wait.look()


def _attend(sock: socket.socket, job: Job, fetch: Fetch, until: float) -> Rendered | Trouble | GaveWay:
    answers = _Answers(sock, fetch, _origin(job.url))
    try:
        while True:
            message = receive(sock, until)
            if isinstance(message, Ask):
                answers.begin(message)
                continue
            answers.raise_what_was_raised()
            result: Rendered | Trouble | GaveWay = message
            return result
    finally:
        answers.close()


class _Answers:
    """Answers the requests of one page, in threads of its own.

    Those to one host wait for each other and for the host's delay. So each host has one of `_AT_A_TIME` threads, and
    the page's own host one for itself: others do not wait behind them.
    """

    def __init__(self, sock: socket.socket, fetch: Fetch, own: str) -> None:
        self._sock = sock
        self._fetch = fetch
        self._own = own
        self._pools: dict[int, ThreadPoolExecutor] = {}  # by host, of one thread each
        self._sending = threading.Lock()
        self._raised: list[Exception] = []

    def begin(self, ask: Ask) -> None:
        origin = _origin(ask.url)
        number = -1 if origin == self._own else hash(origin) % _AT_A_TIME
        if number not in self._pools:
            self._pools[number] = ThreadPoolExecutor(1)
        self._pools[number].submit(self._answer, ask)

    def _answer(self, ask: Ask) -> None:
        try:
            answer = self._fetch(ask)
        except Exception as error:  # noqa: BLE001 - it is raised in the thread of the page
            self._raised.append(error)
            answer = Answer(ask.number)
        data = packed(answer)
        with self._sending, contextlib.suppress(OSError):  # the page is over
            self._sock.sendall(data)

    def raise_what_was_raised(self) -> None:
        if self._raised:
            raise self._raised[0]

    def close(self) -> None:
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)


def _origin(url: str) -> str:
    """Give what stands before the path: as a browser writes it."""
    return "/".join(url.split("/", 3)[:3])
