"""The worker's end: it sends a page to whichever keeper has room, and answers what the browser asks for meanwhile.

A page may wait for long until there is room: then all browsers of the machine are busy. That is no failure, and its
time begins when a keeper has taken it.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from fscrawl.render.messages import Answer, Ask, Job, Rendered, Trouble, is_ours, packed, receive

WAITS_S = 3600.0  # for a free browser
_LOOK_S = 0.25
_AT_A_TIME = 6  # requests of one page
_AFTER_S = 30.0  # that a keeper may take beside the page's own time: its browser may have to start

Fetch = Callable[[Ask], Answer]


class GivenUpError(Exception):
    """The page has waited in vain: the crawl ends, or is held."""


def render(
    address: str,
    job: Job,
    fetch: Fetch,
    is_over: Callable[[], bool] = lambda: False,
    waits_s: float = WAITS_S,
) -> Rendered | Trouble:
    """Render a page; never raises for what a browser or a keeper does.

    `address`: of the keepers' socket, an abstract one. `fetch`: called in threads, for each request of the page.
    `is_over`: asked while the page waits; if it says so, GivenUpError. `waits_s`: for a free browser.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        try:
            wait = _Wait(time.monotonic() + waits_s, is_over)
            _connect(sock, address, wait)
            if not is_ours(sock):
                return Trouble("the socket of the browsers belongs to another user", retry=False)
            sock.sendall(packed(job))
            _wait_for_room(sock, wait)
        except TimeoutError:
            return Trouble(f"no browser was free for {waits_s:g} s", retry=True)
        except (EOFError, OSError) as error:
            return _has_ended(error)
        try:
            return _attend(sock, fetch, time.monotonic() + job.options.timeout_s + _AFTER_S)
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


def _wait_for_room(sock: socket.socket, wait: _Wait) -> None:
    """Wait until a keeper has taken the page: it says `Begun`."""
    sock.settimeout(_LOOK_S)
    while True:
        with contextlib.suppress(TimeoutError):
            sock.recv(1, socket.MSG_PEEK)
            receive(sock, time.monotonic() + _AFTER_S)
            return
        wait.look()


def _attend(sock: socket.socket, fetch: Fetch, until: float) -> Rendered | Trouble:
    sending = threading.Lock()

    def answer(ask: Ask) -> None:
        data = packed(fetch(ask))
        with sending, contextlib.suppress(OSError):  # the page is over
            sock.sendall(data)

    with contextlib.ExitStack() as stack:
        pool: ThreadPoolExecutor | None = None
        while True:
            message = receive(sock, until)
            if not isinstance(message, Ask):
                result: Rendered | Trouble = message
                return result
            if pool is None:
                pool = ThreadPoolExecutor(_AT_A_TIME)
                stack.callback(pool.shutdown, wait=False, cancel_futures=True)
            pool.submit(answer, message)
