"""A process that reads pages, one after the other, for the worker process that started it.

A parser that hangs holds the interpreter's lock, so no thread of its process can go on. Here it holds nobody else up:
the worker ends the process when a page has used up its processor time, and starts another one for the next page.

Promise: `ParseProcess.read` gives back the page, or None after the time that it allows; the process that hung is gone.
If the worker dies, its process ends: at once if it is idle, else when its page is read or has used up its time, which
the kernel looks after. Pages that need more memory than `_MEMORY_BYTES` end the process.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import resource
import signal
import threading
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from fscrawl.handlers.reading import Reading, read_here
from fscrawl.parse.links import ParsedPage
from fscrawl.urls import Joiner
from fscrawl.util.memory import keep_freed_memory

_MEMORY_BYTES = 2 * 1024**3  # a page's tree may take a hundred times its size
_LOOK_S = 0.05  # how often the worker looks at the time that was used
_WAITS = 30.0  # times the processor time: on a busy machine it takes longer by the clock
_Read = tuple[ParsedPage | None, float]


class ParseProcess:
    """One process, started when it is first needed. Threads share it: one page is read at a time.

    `waiting`: how many threads wait for their page, or for their turn.
    """

    def __init__(self, nice: int) -> None:
        """`nice`: how far it stands back when others want the processor, 0 to 19."""
        self.waiting = 0
        self._nice = nice
        self._context = multiprocessing.get_context("forkserver")
        self._process: BaseProcess | None = None
        self._connection: Connection
        self._lock = threading.Lock()
        self._count = threading.Lock()

    def read(self, reading: Reading, limit_s: float) -> _Read:
        """Read a page in at most `limit_s` of processor time; give it (None: it took longer), and the time it took."""
        with self._count:
            self.waiting += 1
        try:
            with self._lock:
                return self._read(reading, limit_s)
        finally:
            with self._count:
                self.waiting -= 1

    def _read(self, reading: Reading, limit_s: float) -> _Read:
        if self._process is None or not self._process.is_alive():
            self._start()
        try:
            before_s = self._used_s()
            self._connection.send((reading, limit_s))
            wait_until = time.monotonic() + _WAITS * limit_s
            while not self._connection.poll(_LOOK_S):
                if self._used_s() - before_s > limit_s or time.monotonic() > wait_until:
                    self.end()
                    return None, limit_s
            answer: _Read = self._connection.recv()
            return answer
        except (EOFError, OSError):  # it has died: of this page, or was ended by the kernel
            self.end()
            return None, limit_s

    def _start(self) -> None:
        self._connection, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs, self._nice), daemon=True)
        self._process.start()
        theirs.close()

    def _used_s(self) -> float:
        """Give the processor time that the process has used so far: the clock of another process (Linux)."""
        assert self._process is not None
        assert self._process.pid is not None
        with contextlib.suppress(OSError):
            return time.clock_gettime((~self._process.pid << 3) | 2)
        return time.monotonic()

    def end(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def _serve(connection: Connection, nice: int) -> None:
    """Read pages until the worker is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the machine decides
    keep_freed_memory()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    os.nice(nice)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    joiners = {each: Joiner(drop_query=each) for each in (False, True)}
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            reading, limit_s = connection.recv()
            began_s = time.process_time()
            most_s = int(began_s + limit_s) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (most_s, resource.RLIM_INFINITY))
            page = read_here(reading, joiners[reading.drop_query])
            connection.send((page, time.process_time() - began_s))
