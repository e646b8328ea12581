"""A process that reads pages, one after the other, for the worker process that started it.

A parser that hangs holds the interpreter's lock, so no thread of its process can go on. Here it holds nobody else up:
the worker ends the process when a page has used up its processor time, and starts another one for the next page. How
long that takes by the clock does not matter: on a busy machine, a process that stands back waits long for a processor.

Promise: `ParseProcess.read` gives back the page, or None after the time that it allows; the process that hung is gone.
If the worker dies, its process ends, too. Pages that need more memory than `_MEMORY_BYTES` end the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from fscrawl.engine.parse_server import NotStartedError, ParseServer, Started
from fscrawl.handlers.reading import Reading, read_here
from fscrawl.parse.links import ParsedPage
from fscrawl.urls import Joiner

_MEMORY_BYTES = 2 * 1024**3  # a page's tree may take a hundred times its size
_PR_SET_PDEATHSIG = 1  # sys/prctl.h
_LONG_S = 0.25
_LOOK_S = 0.05  # how often the worker looks at the time that was used
_WAITS = 30.0  # times the processor time: so long it may sleep, such as for memory that was swapped out
_TRIES = 2  # with a process that has ended before it got the page
_PAUSES_S = (0.1, 0.5, 2.0)  # before the system is asked again for a process
_Read = tuple[ParsedPage | None, float]


class ParseProcess:
    """One process, started when it is first needed. Threads share it: one page is read at a time.

    `waiting`: how many threads wait for their page, or for their turn.
    """

    def __init__(self, server: ParseServer, nice: int) -> None:
        """`nice`: how far it stands back when others want the processor, 0 to 19."""
        self.waiting = 0
        self._server = server
        self._nice = nice
        self._started: Started | None = None
        self._lock = threading.Lock()
        self._count = threading.Lock()

    def read(self, reading: Reading, limit_s: float, on_wait: Callable[[], None] = lambda: None) -> _Read:
        """Read a page in at most `limit_s` of processor time; give it (None: it took longer), and the time it took.

        Raises NotStartedError or ServerGoneError.
        `on_wait`: called if this page must wait for others for more than `_LONG_S`.
        """
        with self._count:
            self.waiting += 1
        try:
            if not self._lock.acquire(timeout=_LONG_S):
                on_wait()
                self._lock.acquire()
            try:
                return self._read(reading, limit_s)
            finally:
                self._lock.release()
        finally:
            with self._count:
                self.waiting -= 1

    def _read(self, reading: Reading, limit_s: float) -> _Read:
        for _ in range(_TRIES):
            pid, connection = self._started or self._start()
            before_s = _used_s(pid)
            try:
                connection.send((reading, limit_s))
            except OSError:  # it has ended before it had this page; the kernel has done that, when memory was short
                self.end()
            else:
                return self._answer(limit_s, before_s)
        return None, limit_s

    def _start(self) -> Started:
        for pause_s in _PAUSES_S:
            with contextlib.suppress(NotStartedError):
                self._started = self._server.start(self._nice)
                return self._started
            time.sleep(pause_s)
        self._started = self._server.start(self._nice)
        return self._started

    def _answer(self, limit_s: float, before_s: float) -> _Read:
        """Wait for a page. `before_s`: the processor time that was used before it came."""
        assert self._started is not None
        pid, connection = self._started
        asleep_s = 0.0
        try:
            while not connection.poll(_LOOK_S):
                asleep_s += 0.0 if _wants_to_run(pid) else _LOOK_S
                if _used_s(pid) - before_s > limit_s or asleep_s > _WAITS * limit_s:
                    self.end()
                    return None, limit_s
            answer: _Read = connection.recv()
            return answer
        except (EOFError, OSError):  # it has died: of this page, or the kernel has ended it
            self.end()
            return None, limit_s

    def end(self) -> None:
        """End the process, whatever it does."""
        started, self._started = self._started, None
        if started is not None:
            self._server.end(started)


def _used_s(pid: int) -> float:
    """Give the processor time that a process has used so far (Linux; elsewhere the time by the clock)."""
    with contextlib.suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)
    return time.monotonic()


def _wants_to_run(pid: int) -> bool:
    """Tell whether a process computes, or would if it got a processor (Linux; elsewhere it counts as asleep)."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(") ")[2].startswith("R")
    return False


def serve(connection: Connection, nice: int) -> None:
    """Read pages until the worker is gone."""
    _end_with_parent()
    if nice:
        _stand_back(nice)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_DATA, _MEMORY_BYTES)
    joiners = {each: Joiner(drop_query=each) for each in (False, True)}
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            reading, limit_s = connection.recv()
            began_s = time.process_time()
            _limit(resource.RLIMIT_CPU, int(began_s + limit_s) + 2)
            page = read_here(reading, joiners[reading.drop_query])
            connection.send((page, time.process_time() - began_s))


def _limit(what: int, most: int) -> None:
    """Limit this process, to no more than its user may have (`ulimit -H`)."""
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _stand_back(nice: int) -> None:
    """Let others go first, in this session and in others: Linux divides the processor among sessions first."""
    os.nice(nice)
    os.setsid()
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(nice), encoding="ascii")


def _end_with_parent() -> None:
    """Let the kernel end this process when the one that started it has ended (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
