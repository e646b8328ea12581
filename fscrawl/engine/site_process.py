"""Processes that run a site file for a machine, so that a user's code never holds up its main loop.

    describe    load the file once, before the machine begins: is it right, and which sites does it have?
    Seeds       what `seeds` of a class gives, as it comes
    seeds_here  the same in this process, for `--workers 0`: there the user's code may take any time

Promise: neither process is waited for longer than `MOST_WAIT_S`. They end with the machine.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
import time
from collections.abc import Generator, Iterator
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Self

from fscrawl import interrupts
from fscrawl.sites.seeds import Labelled
from fscrawl.sites.site_file import SiteFault, SiteFile
from fscrawl.util.processes import SIGNALS, end_with_parent

if TYPE_CHECKING:  # it loads the parsers
    from fscrawl.sites.code import Code
    from fscrawl.sites.rules import SiteRules

MOST_WAIT_S = 30.0  # for the file to be loaded, and for the next seeds
_POLL_S = 0.002  # how long the main loop waits for seeds each time
_BATCH = 200  # seeds
_BATCH_S = 0.1  # that they are held back at most
_LONGEST_GAP_S = 1.0  # between two looks that counts as silence

_Message = tuple["SiteRules", ...] | list[Labelled] | SiteFault | None  # None: there are no more seeds


def describe(file: SiteFile) -> tuple[SiteRules, ...]:
    """Load a site file in a process of its own, and give its sites; SiteFault if it is wrong, or takes too long."""
    process = _Process(file, None)
    try:
        message = process.receive(MOST_WAIT_S)
    finally:
        process.end()
    if isinstance(message, SiteFault):
        raise message
    if not isinstance(message, tuple):
        raise SiteFault(f"{file.path}: loading it has not ended after {MOST_WAIT_S:g} s, or has ended its process")
    return message


def seeds_here(site: SiteRules) -> Generator[Labelled, None, None]:
    """Give the seeds of one site; SiteFault if its code is wrong."""
    if site.code is not None:
        yield from site.code.seeds()


class Seeds(Iterator[Labelled | None]):
    """The seeds of one site; None each time when there is none yet. SiteFault if its code is wrong."""

    def __init__(self, site: SiteRules) -> None:
        assert site.code is not None
        self._site, self._code = site, site.code
        self._process: _Process | None = None
        self._ready: Iterator[Labelled] = iter(())
        self._silent_s = 0.0
        self._looked_at = 0.0

    def __next__(self) -> Labelled | None:
        found = next(self._ready, None)
        if found is not None:
            return found
        if self._process is None:
            self._process = _Process(self._code.file, self._code)
        message = self._process.receive(_POLL_S)
        if isinstance(message, list):
            self._ready, self._silent_s = iter(message), 0.0
        elif message is not _NOTHING:
            self._end(message)
        elif self._silence_s() > MOST_WAIT_S:
            self._end(SiteFault(f"{self._of_class()}: seeds: gave nothing for {MOST_WAIT_S:g} s"))
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
        raise (
            message
            if isinstance(message, SiteFault)
            else SiteFault(f"{self._of_class()}: seeds: its process has ended")
        )

    def _of_class(self) -> str:
        return self._site.name

    def close(self) -> None:
        if self._process is not None:
            self._process.end()
        self._process = None


_NOTHING = object()
_GONE = object()


class _Process:
    def __init__(self, file: SiteFile, code: Code | None) -> None:
        """`code`: whose seeds are wanted; None: the sites of the file are."""
        context = multiprocessing.get_context("forkserver")
        self._connection, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(theirs, file, code), daemon=True)
        with interrupts.later():  # one that is half started could not be ended
            self._process.start()
        theirs.close()

    def receive(self, wait_s: float) -> object:
        """Give the next `_Message`; `_NOTHING` if none has come in time, `_GONE` if the process has died."""
        try:
            return self._connection.recv() if self._connection.poll(wait_s) else _NOTHING
        except (EOFError, OSError):
            return _GONE

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._connection.close()


# -- in the process


def _run(connection: Connection, file: SiteFile, code: Code | None) -> None:
    for each in SIGNALS:  # they reach the whole process group; the machine decides
        signal.signal(each, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # blocked until here
    end_with_parent(0)
    from fscrawl.sites.code import load  # noqa: PLC0415 - as above

    try:
        if code is None:
            connection.send(load(file))
            return
        with _Sender(connection) as sender:
            for seed in code.seeds():
                sender.add(seed)
        connection.send(None)
    except SiteFault as fault:
        connection.send(fault)
    except OSError:  # the machine wants no more
        pass


class _Sender:
    """Sends seeds some at a time, and what has waited for `_BATCH_S`, also while the next one does not come."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._seeds: list[Labelled] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send_in_time, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._send()

    def add(self, seed: Labelled) -> None:
        self._seeds.append(seed)
        if len(self._seeds) >= _BATCH:
            self._send()

    def _send_in_time(self) -> None:
        with contextlib.suppress(OSError):  # the machine wants no more
            while not self._over.wait(_BATCH_S):
                self._send()

    def _send(self) -> None:
        with self._lock:
            seeds, self._seeds = self._seeds, []
            if seeds:
                self._connection.send(seeds)
