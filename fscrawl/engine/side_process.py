"""The process beside a worker, or beside a machine, that does what may take long: it reads pages, and runs users' code.

A parser that hangs holds the interpreter's lock, so no thread of its process can go on. Here it holds nobody else up: a
page, with what the user's code makes of it, has a time in which it must be read, and then the kernel ends the process.
The next page gets another one. Time by the clock hardly matters: on a busy computer, a process waits for a processor.

How it begins:
  Forker     a worker has threads, and a process with threads must not be forked: a copied lock may be held for ever. So
             the worker is forked once before it has threads. The copy waits, and forks itself, in a millisecond
             each, whenever the worker needs a process
  by_server  for the machine, and a worker in the machine's own process: the server of multiprocessing forks it

What is asked of it is a function of this module with an argument. `SideProcess` asks it to read pages, one after the
other; `describe` and `Seeds` ask it for what a site file says, before the machine begins, and beside its main loop.

Promise: whatever is done there, nobody waits for it any longer than its time, and it ends with the process that asked
for it, where the kernel is Linux. It keeps no file of that process open but the pipe: whoever waits for the end of a
worker does not wait for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from fscrawl import interrupts, urls
from fscrawl.sites.rules import SiteFault, SiteFile
from fscrawl.sites.seeds import Labelled
from fscrawl.util.processes import SIGNALS

if TYPE_CHECKING:  # they load the parsers, which a machine does not need
    from fscrawl.handlers.reading import Reading
    from fscrawl.parse.links import ParsedPage
    from fscrawl.sites.code import Code
    from fscrawl.sites.rules import SiteRules

MOST_WAIT_S = 30.0  # for a site file to be loaded, and for its next seeds
_MEMORY_BYTES = 2 * 1024**3  # of a page: its tree may take a hundred times its size
_WAITS = 60.0  # times its processor time: so long a page may sleep, or wait for a processor
_STANDS_BACK = 10  # `nice`: beside one process that computes, it gets a tenth of a processor
_PR_SET_PDEATHSIG = 1  # sys/prctl.h
_FIRST_FD, _MOST_FDS = 3, 65_536  # after stdin, stdout and stderr
_LONG_S = 0.25
_TRIES = 2  # with a process that has ended before it got the page
_PAUSES_S = (0.1, 0.5, 2.0)  # before the system is asked again for a process


class Started(NamedTuple):
    """A process that runs. `end`: ends it, or lets it end if it has its time to keep to."""

    connection: Connection
    end: Callable[[], None]


Start = Callable[[], Started]  # raises OSError if the system gives no process now, and ForkerGoneError


class ForkerGoneError(Exception):
    """What forks the processes of a worker has been ended. Only a new worker can have another one."""


# -- how it begins


class Forker:
    """Forks this process for `start` as it is now, before it has threads; those that it has later may share this."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._control, theirs = multiprocessing.Pipe()
        if os.fork() == 0:
            _fork_on_demand(theirs)
        theirs.close()

    def start(self) -> Started:
        """See `Start`."""
        with self._asking:
            ours, theirs = multiprocessing.Pipe()
            try:
                with theirs:
                    send_handle(self._control, theirs.fileno(), 0)  # without descriptors, it sends nothing at all
                number: int = self._control.recv()
            except (EOFError, ConnectionError) as error:
                raise ForkerGoneError from error
        if number:
            raise OSError(number, os.strerror(number))
        return Started(ours, ours.close)

    def close(self) -> None:
        """Let no process go on."""
        self._control.close()


def _fork_on_demand(control: Connection) -> NoReturn:
    """Do what `Forker` says, until the worker is gone."""
    for number in SIGNALS:  # the machine decides
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they have ended
    _close_all_but(control)
    try:
        while True:
            theirs = Connection(recv_handle(control))
            try:
                if os.fork() == 0:
                    break
            except OSError as error:
                control.send(error.errno)
            else:
                control.send(0)
            theirs.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _close_all_but(theirs)
        _serve(theirs)
    finally:
        os._exit(0)  # whatever happens: a copy must not go on as the worker


def _close_all_but(connection: Connection) -> None:
    kept = connection.fileno()
    os.closerange(_FIRST_FD, kept)
    os.closerange(kept + 1, _MOST_FDS)


def by_server() -> Started:
    """See `Start`."""
    context = multiprocessing.get_context("forkserver")
    ours, theirs = multiprocessing.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    try:
        with theirs, interrupts.later():  # one that is half started could not be ended
            process.start()
    except EOFError as error:
        raise OSError("what forks processes has ended") from error

    def end() -> None:
        process.kill()
        process.join()
        ours.close()

    return Started(ours, end)


# -- in the process


def _serve(connection: Connection) -> None:
    """Do what is asked until nobody is there any more."""
    for number in SIGNALS:  # they reach the whole process group
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # blocked until here
    with contextlib.suppress(OSError, AttributeError):  # Linux; elsewhere it sees the end of the pipe
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(_STANDS_BACK)
    with contextlib.suppress(EOFError, OSError, MemoryError):
        while True:
            do, what, limit_s = connection.recv()
            _limit_time(limit_s)
            do(connection, what)
            _limit_time(0.0)


def _limit_time(limit_s: float) -> None:
    """Let the kernel end this process when it has had so much of processors from now on; 0: any time."""
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    signal.setitimer(signal.ITIMER_REAL, _WAITS * limit_s)


def _limit(what: int, most: int) -> None:
    """Limit this process, to no more than its user may have (`ulimit -H`)."""
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _read(connection: Connection, reading: Reading) -> None:
    """Answer with a page, and the processor time that it took."""
    from fscrawl.handlers.reading import read_here  # noqa: PLC0415 - what is forked has it already

    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_DATA, _MEMORY_BYTES)
    began_s = time.process_time()
    page: ParsedPage | RuntimeError
    try:
        page = read_here(reading, _joiner(reading.spelling))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a defect; who asked says so
        page = RuntimeError(f"{type(error).__name__}: {error}")
    took_s = time.process_time() - began_s
    _limit_time(0.0)
    connection.send((page, took_s))


@functools.cache
def _joiner(spelling: urls.Spelling) -> urls.Joiner:
    return urls.Joiner(spelling)


def _describe(connection: Connection, file: SiteFile) -> None:
    """Answer with the sites of a file, or with what is wrong with it."""
    from fscrawl.sites.code import load  # noqa: PLC0415 - it loads the parsers

    try:
        connection.send(load(file))
    except SiteFault as fault:
        connection.send(fault)


def _give_seeds(connection: Connection, code: Code) -> None:
    """Answer with each seed, and at the end with None, or with what is wrong with the code."""
    try:
        for seed in code.seeds():
            connection.send(seed)
        connection.send(None)
    except SiteFault as fault:
        connection.send(fault)


# -- pages


class SideProcess:
    """One process that reads pages, started when it is first needed. Threads share it: one page is read at a time."""

    def __init__(self, start: Start, on_wait: Callable[[], None]) -> None:
        """`on_wait`: called in a thread that waits for its page for more than `_LONG_S`."""
        self._start = start
        self._on_wait = on_wait
        self._process: Started | None = None
        self._turn = threading.Lock()

    def read(self, reading: Reading, limit_s: float) -> tuple[ParsedPage | None, float]:
        """Read a page in at most `limit_s` of processor time; give it (None: it took longer), and the time it took.

        Raises OSError if there is no process, and ForkerGoneError.
        """
        if not self._turn.acquire(timeout=_LONG_S):
            self._on_wait()
            self._turn.acquire()
        try:
            return self._read(reading, limit_s)
        finally:
            self._turn.release()

    def _read(self, reading: Reading, limit_s: float) -> tuple[ParsedPage | None, float]:
        for _ in range(_TRIES):
            self._process = process = self._process or self._started()
            began_at = time.monotonic()
            try:
                process.connection.send((_read, reading, limit_s))
            except OSError:  # it has ended before it had this page; the kernel has done that, when memory was short
                self.end()
                continue
            try:
                if not process.connection.poll(_LONG_S):
                    self._on_wait()
                page, took_s = process.connection.recv()
            except (EOFError, OSError):
                self.end()
                if time.monotonic() - began_at >= limit_s:  # it has died of this page
                    break  # else it may be the deed of somebody else, as of the kernel when memory is short
            except BaseException:
                self.end()  # a part of the answer may be in the pipe
                raise
            else:
                if isinstance(page, RuntimeError):
                    raise page
                return page, took_s
        return None, limit_s

    def _started(self) -> Started:
        for pause_s in _PAUSES_S:
            with contextlib.suppress(OSError):
                return self._start()
            time.sleep(pause_s)
        return self._start()

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.end()


# -- site files

_POLL_S = 0.002  # how long the main loop waits for the next seed, if the last look found none
_LONGEST_GAP_S = 1.0  # between two looks that counts as silence
_NOTHING, _GONE = object(), object()


def describe(file: SiteFile) -> tuple[SiteRules, ...]:
    """Load a site file in a process of its own, and give its sites; SiteFault if it is wrong, or takes too long."""
    process = _asked(_describe, file)
    try:
        message = _received(process, MOST_WAIT_S)
    finally:
        process.end()
    if isinstance(message, SiteFault):
        raise message
    if not isinstance(message, tuple):
        raise SiteFault(f"{file.path}: loading it has not ended after {MOST_WAIT_S:g} s, or has ended its process")
    return message


def seeds_here(site: SiteRules) -> Generator[Labelled, None, None]:
    """Give the seeds of one site, in this process; SiteFault if its code is wrong."""
    if site.code is not None:
        yield from site.code.seeds()


class Seeds(Iterator[Labelled | None]):
    """The seeds of one site; None each time when there is none yet. SiteFault if its code is wrong."""

    def __init__(self, site: SiteRules) -> None:
        assert site.code is not None
        self._site, self._code = site, site.code
        self._process: Started | None = None
        self._silent_s = 0.0
        self._looked_at = 0.0

    def __next__(self) -> Labelled | None:
        self._process = self._process or _asked(_give_seeds, self._code)
        message = _received(self._process, _POLL_S if self._silent_s else 0.0)
        if isinstance(message, tuple):
            self._silent_s = 0.0
            return message
        if message is not _NOTHING:
            self._end(message)
        elif self._silence_s() > MOST_WAIT_S:
            self._end(SiteFault(f"{self._site.name}: seeds: gave nothing for {MOST_WAIT_S:g} s"))
        return None

    def _silence_s(self) -> float:
        """Give how long nothing has come, as far as somebody looked: this machine may have stood still."""
        now = time.monotonic()
        self._silent_s += min(now - self._looked_at, _LONGEST_GAP_S)
        self._looked_at = now
        return self._silent_s

    def _end(self, message: object) -> None:
        """End the process, because there is no more, or because something is wrong."""
        self.close()
        if message is None:
            raise StopIteration
        if isinstance(message, SiteFault):
            raise message
        raise SiteFault(f"{self._site.name}: seeds: its process has ended")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end()
        self._process = None


def _asked(do: Callable[[Connection, SiteFile], None] | Callable[[Connection, Code], None], what: object) -> Started:
    process = by_server()
    process.connection.send((do, what, 0.0))
    return process


def _received(process: Started, wait_s: float) -> object:
    """Give the next message; `_NOTHING` if none has come in time, `_GONE` if the process has died."""
    try:
        return process.connection.recv() if process.connection.poll(wait_s) else _NOTHING
    except (EOFError, OSError):
        return _GONE
