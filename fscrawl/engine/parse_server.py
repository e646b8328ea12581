"""Starts the processes that read pages for one worker process, each in a millisecond.

A worker process has threads, and a process with threads must not be forked: a copied lock may be held for ever. So the
worker is forked once before it has threads. The copy waits here, and forks itself whenever the worker needs a process.

Promise: nothing that the server starts outlives the worker, where the kernel is Linux. A server and its processes
keep no file open but the pipe to the worker: whoever waits for the worker's end does not wait for them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import NamedTuple

from fscrawl.util.children import SIGNALS

_FIRST_FD = 3  # after stdin, stdout and stderr
_MOST_FDS = 65_536


class Started(NamedTuple):
    """A process that runs, and the pipe to it."""

    pid: int
    connection: Connection


class ParseServer:
    """The worker's end."""

    def __init__(self, serve: Callable[[Connection, int], None]) -> None:
        """`serve`: what the processes do, given their pipe and how far they stand back (`nice`).

        Call this before the process has threads.
        """
        self._connection, theirs = multiprocessing.Pipe()
        if os.fork() == 0:
            with contextlib.suppress(EOFError, OSError):
                _run(theirs, serve)
            os._exit(0)
        theirs.close()

    def start(self, nice: int) -> Started:
        """Start a process. One thread at a time may call this."""
        self._connection.send((nice, os.getpid()))
        connection = Connection(recv_handle(self._connection))
        return Started(self._connection.recv(), connection)

    def close(self) -> None:
        self._connection.close()


def _run(connection: Connection, serve: Callable[[Connection, int], None]) -> None:
    for number in SIGNALS:  # the machine decides
        signal.signal(number, signal.SIG_IGN)
    _close_all_but(connection)
    while True:
        nice, worker = connection.recv()
        with contextlib.suppress(ChildProcessError):  # what has ended since; not before, so that its id was not reused
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        ours, theirs = multiprocessing.Pipe()
        pid = os.fork()
        if pid == 0:
            _close_all_but(theirs)
            with contextlib.suppress(BaseException):  # for example MemoryError: this copy must not go on as the worker
                serve(theirs, nice)
            os._exit(0)
        theirs.close()
        send_handle(connection, ours.fileno(), worker)
        ours.close()
        connection.send(pid)


def _close_all_but(connection: Connection) -> None:
    kept = connection.fileno()
    os.closerange(_FIRST_FD, kept)
    os.closerange(kept + 1, _MOST_FDS)
