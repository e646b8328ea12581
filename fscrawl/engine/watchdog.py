"""Threads beside the main loop that do not touch the tree, and so work while a call to it hangs.

A file server that stops answering can hold every call to a hard mount for any time, also a call of the main loop. Then
no signal handler runs (Python runs them in the main thread) and no line is printed. So one thread here receives SIGINT,
SIGTERM and SIGHUP, and another warns when the main loop has not called `alive` for long.

Promise: the first signal asks the crawl to stop, a second one ends the process at once, whatever hangs. Before and
after this, signals end the process at once (`interrupts`).
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing import resource_tracker
from typing import Self

from fscrawl.util.processes import SIGNALS

_CHECK_EVERY_S = 1.0
_SILENT_S = 15.0  # the main loop calls `alive` several times a second


def _do_nothing(*_: object) -> None:
    """Handle a signal: with a handler set, Python writes its number into the pipe that `_listen` reads."""


class Watchdog:
    """A context manager for the main thread. Inside, `alive` must be called often."""

    def __init__(self, on_signal: Callable[[int], None], warn: Callable[[str], None], where: str) -> None:
        """`on_signal`: called with the number of each signal. `where`: what the main loop probably waits for.

        `warn`: called when the main loop has been silent for long, and when it goes on.
        """
        self._on_signal = on_signal
        self._warn = warn
        self._where = where
        self._over = threading.Event()
        self._warned = False
        self._alive_at = time.monotonic()
        self._listener = threading.Thread(target=self._listen, name="signals", daemon=True)
        self._watcher = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> Self:
        resource_tracker.ensure_running()  # when it starts, it unblocks these signals
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._fd_before = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        hangs_up = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN  # as nohup has it
        handled = SIGNALS if hangs_up else [each for each in SIGNALS if each != signal.SIGHUP]
        self._handlers = {number: signal.signal(number, _do_nothing) for number in handled}
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # else the system would choose this thread
        self._alive_at = time.monotonic()
        self._listener.start()
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        os.write(self._write_end, b"\0")
        self._listener.join()
        self._watcher.join()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd_before)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        os.close(self._read_end)
        os.close(self._write_end)

    def alive(self) -> None:
        """Say that the main loop goes on."""
        silent_s = time.monotonic() - self._alive_at
        self._alive_at = time.monotonic()
        if self._warned:
            self._warned = False
            self._warn(f"{self._where} answers again, after {silent_s:.0f} s")

    def _listen(self) -> None:
        """Learn of signals by the byte that CPython writes for each, whichever thread receives it.

        Not by sigtimedwait: after SIGSTOP and SIGCONT, CPython's version reports a signal that was never sent.
        """
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        while number := os.read(self._read_end, 1)[0]:
            if number in SIGNALS:
                self._on_signal(number)

    def _watch(self) -> None:
        while not self._over.wait(_CHECK_EVERY_S):
            if not self._warned and time.monotonic() - self._alive_at > _SILENT_S:
                self._warned = True
                self._warn(
                    f"{self._where} has not answered for {_SILENT_S:.0f} s: nothing is fetched until it does. What is"
                    " stored is safe (Ctrl-C twice leaves at once)"
                )
