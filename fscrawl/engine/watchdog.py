"""Threads beside the main loop that touch nothing of the tree, and so work when that hangs.

A file server that stops answering holds every call of a hard mount, the main loop among them, for as long as it likes.
Then no signal handler runs (Python calls them in the main thread) and no line is printed. So one thread here takes
SIGINT and SIGTERM, and another says so when the main loop has not been heard of for long.

Promise: the first signal asks to stop, a second one leaves at once, whatever hangs.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing import resource_tracker
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GLANCE_S = 1.0
_SILENT_S = 15.0  # the main loop comes by several times a second


def _nothing(*_: object) -> None:
    """Be there, so that a signal does no more than write its byte."""


class Sentinel:
    """Inside the `with`, in the main thread: signals call `on_signal`, and `alive` is to be called again and again."""

    def __init__(self, on_signal: Callable[[], None], tell: Callable[[str], None], where: str) -> None:
        """`tell`: is told when nothing has been heard of the main loop for long, and when it goes on; `where` it is."""
        self._on_signal = on_signal
        self._tell = tell
        self._where = where
        self._over = threading.Event()
        self._told = False
        self._alive_at = time.monotonic()
        self._ear = threading.Thread(target=self._listen, name="signals", daemon=True)
        self._eye = threading.Thread(target=self._watch, name="sentinel", daemon=True)

    def __enter__(self) -> Self:
        resource_tracker.ensure_running()  # when it starts, it unblocks these signals
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._fd_before = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        self._handlers = {number: signal.signal(number, _nothing) for number in _SIGNALS}
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # for the system would choose this thread
        self._alive_at = time.monotonic()
        self._ear.start()
        self._eye.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        os.write(self._write_end, b"\0")
        self._ear.join()
        self._eye.join()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd_before)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        os.close(self._read_end)
        os.close(self._write_end)

    def alive(self) -> None:
        """The main loop goes round."""
        silent_s = time.monotonic() - self._alive_at
        self._alive_at = time.monotonic()
        if self._told:
            self._told = False
            self._tell(f"{self._where} answers again, after {silent_s:.0f} s")

    def _listen(self) -> None:
        """Hear of signals by the bytes that CPython writes for each, in whatever thread it comes.

        Not by sigtimedwait: after SIGSTOP and SIGCONT CPython's reports a signal that never was.
        """
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        while number := os.read(self._read_end, 1)[0]:
            if number in _SIGNALS:
                self._on_signal()

    def _watch(self) -> None:
        while not self._over.wait(_GLANCE_S):
            if not self._told and time.monotonic() - self._alive_at > _SILENT_S:
                self._told = True
                self._tell(
                    f"{self._where} has not answered for {_SILENT_S:.0f} s: nothing is fetched until it does; what is"
                    " stored is safe (Ctrl-C twice leaves at once)"
                )
