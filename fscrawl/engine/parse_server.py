"""Starts the processes that read pages for one worker process, each in a millisecond.

A worker process has threads, and a process with threads must not be forked: a copied lock may be held for ever. So the
worker is forked once before it has threads. The copy waits here, and forks itself whenever the worker needs a process.
A worker in the machine's own process comes too late for that: its server is a new interpreter, begun when it is needed.

Promise: nothing that the server starts outlives the worker, where the kernel is Linux. A server and its processes
keep no file open but the pipe to the worker: whoever waits for the worker's end does not wait for them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import NamedTuple

from fscrawl.util.processes import SIGNALS

_FIRST_FD = 3  # after stdin, stdout and stderr
_MOST_FDS = 65_536


class Started(NamedTuple):
    """A process that runs, and the pipe to it."""

    pid: int
    connection: Connection


class NotStartedError(Exception):
    """The system gives no process or no file descriptor now; it may do so in a moment."""


class ServerGoneError(Exception):
    """The server has been ended. Only a new worker process can have another one."""


class ParseServer:
    """The worker's end. Its threads share it."""

    def __init__(self, serve: Callable[[Connection, int], None], *, has_threads: bool = False) -> None:
        """`serve`: what the processes do, given their pipe and how far they stand back (`nice`).

        `has_threads`: this process may have some. Else the server is forked now.
        """
        self._asking = threading.Lock()  # one thread asks the server at a time
        self._ended: list[int] = []
        self._serve = serve
        self._is_spawned = has_threads
        self._connection = None if has_threads else _forked_server(serve)

    def start(self, nice: int) -> Started:
        """Start a process. Raises NotStartedError or ServerGoneError."""
        with self._asking:
            try:
                ours, theirs = multiprocessing.Pipe()
            except OSError as error:
                raise NotStartedError(error.strerror) from error
            try:
                return Started(self._ask_for(theirs, nice), ours)
            except BaseException:
                ours.close()
                raise
            finally:
                theirs.close()

    def _ask_for(self, theirs: Connection, nice: int) -> int:
        """Let the server fork; if it is a new interpreter that has ended, the next call begins another one."""
        if self._connection is None:
            self._connection = _spawned_server(self._serve)
        try:
            return self._ask(self._connection, theirs, nice)
        except ServerGoneError as error:
            if not self._is_spawned:
                raise
            self.close()
            self._connection = None
            raise NotStartedError("what starts it has ended") from error

    def _ask(self, server: Connection, theirs: Connection, nice: int) -> int:
        """Let the server fork for one end of a pipe; give the id of the process."""
        try:
            send_handle(server, theirs.fileno(), 0)  # it fails before a byte is sent: both ends stay in step
        except ConnectionError as error:
            raise ServerGoneError from error
        except OSError as error:
            raise NotStartedError(error.strerror) from error
        try:
            server.send((nice, self._ended))
            answer: int | str = server.recv()
        except (EOFError, OSError) as error:
            raise ServerGoneError from error
        self._ended = []
        if isinstance(answer, str):
            raise NotStartedError(answer)
        return answer

    def end(self, process: Started) -> None:
        """End a process, whatever it does. Until then nobody else gets its id: the server does not ask how it ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.connection.close()
        with self._asking:
            self._ended.append(process.pid)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _forked_server(serve: Callable[[Connection, int], None]) -> Connection:
    """Fork this process, which has no threads yet, into a server; give the pipe to it."""
    ours, theirs = multiprocessing.Pipe()
    if os.fork() == 0:
        _run_until_closed(theirs, serve)
        os._exit(0)
    theirs.close()
    return ours


def _spawned_server(serve: Callable[[Connection, int], None]) -> Connection:
    """Begin a new interpreter as the server; give the pipe to it. NotStartedError if there is none."""
    try:
        ours, theirs = multiprocessing.Pipe()
        with theirs:
            context = multiprocessing.get_context("spawn")
            context.Process(target=_run_until_closed, args=(theirs, serve), daemon=True).start()
    except OSError as error:
        raise NotStartedError(error.strerror) from error
    return ours


def _run_until_closed(connection: Connection, serve: Callable[[Connection, int], None]) -> None:
    with contextlib.suppress(EOFError, OSError):
        _run(connection, serve)


def _run(connection: Connection, serve: Callable[[Connection, int], None]) -> None:
    for number in SIGNALS:  # the machine decides
        signal.signal(number, signal.SIG_IGN)
    _close_all_but(connection)
    ended: set[int] = set()
    while True:
        theirs = _received(connection)
        nice, more = connection.recv()
        ended = {pid for pid in ended | set(more) if _goes_on(pid)}
        connection.send("too many open files" if theirs is None else _forked(theirs, serve, nice))
        if theirs is not None:
            theirs.close()


def _received(connection: Connection) -> Connection | None:
    """Take in a pipe; None if this process, or the system, has no descriptor for it."""
    try:
        return Connection(recv_handle(connection))
    except RuntimeError:  # the message came without it
        return None


def _goes_on(pid: int) -> bool:
    """Tell whether a child that was ended is still there; if it is not, its id is free from now on."""
    try:
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return False


def _forked(theirs: Connection, serve: Callable[[Connection, int], None], nice: int) -> int | str:
    """Give the id of a copy that serves; or why the system gives none."""
    try:
        pid = os.fork()
    except OSError as error:
        return str(error.strerror)
    if pid == 0:
        _close_all_but(theirs)
        with contextlib.suppress(BaseException):  # for example MemoryError: this copy must not go on as the worker
            serve(theirs, nice)
        os._exit(0)
    return pid


def _close_all_but(connection: Connection) -> None:
    kept = connection.fileno()
    os.closerange(_FIRST_FD, kept)
    os.closerange(kept + 1, _MOST_FDS)
