"""Housekeeping: snapshots bound what a taker must read, and let the oldest segments of logs be removed. Terms that
cannot count any more go, too.

A snapshot of a shard is made from files only: the one before, and the shard's lines in all logs since then. So it can
be made by a thread of its own, while the main loop goes on. Only the holder of a shard makes one; one that a machine
makes after it has lost the shard is harmless, because it is true.

Promise: all snapshots of a shard together cost no more than about twice the last one. The main loop never waits for
any of this.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from fscrawl.errors import FscrawlError
from fscrawl.fleet.intake import Intake
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.snapshots import Snapshots, said_bytes
from fscrawl.fleet.terms import OldTerms

_FEWEST_LINES = 4096  # since the last snapshot of a shard: fewer are read in no time
_PART = 0.5  # of the URLs of a shard: so all snapshots together cost no more than twice the last one
_QUIET_BYTES = 256 * 1024 * 1024  # of all logs: then a quiet shard gets a snapshot, too, or no segment could go
_PAUSE_S = 1.0
_CLOSE_S = 5.0  # for a chunk that is being written
_FIRST_REMOVAL_S = 10.0  # after the start, and more than caches live between two looks: many runs are short
_REMOVAL_PAUSE_S = 3600.0


class Aside(Protocol):
    """Work that goes on beside the main loop (`threading.Thread` has it)."""

    def is_alive(self) -> bool: ...
    def join(self, timeout: float | None = None) -> None: ...


def in_thread(work: Callable[[], None]) -> Aside:
    """Begin some work in a thread of its own."""
    thread = threading.Thread(target=work, name="housekeeping", daemon=True)
    thread.start()
    return thread


class Housekeeping:
    """Makes snapshots for one machine, one at a time. Only the main loop uses it."""

    def __init__(
        self,
        fleet: Fleet,
        ledger: Ledger,
        intake: Intake,
        snapshots: Snapshots,
        old_terms: OldTerms,
        warn: Callable[[str], None],
        *,
        caches_s: float,
        clock: Callable[[], float] = time.monotonic,
        aside: Callable[[Callable[[], None]], Aside] = in_thread,
    ) -> None:
        """`aside`: begins work that may take long, and returns at once."""
        self._fleet = fleet
        self._ledger = ledger
        self._intake = intake
        self._snapshots = snapshots
        self._old_terms = old_terms
        self._warn = warn
        self._clock = clock
        self._aside = aside
        self._work: Aside | None = None
        self._made_at: dict[int, int] = {}  # shard → bytes of all logs when its last snapshot was begun
        self._next_look = 0.0
        # The first look sees what is there; when that is old enough, the next one notes what may go, and then it goes.
        self._settled_s = 2 * caches_s + _FIRST_REMOVAL_S
        self._pauses = iter(2 * [min(self._settled_s, _REMOVAL_PAUSE_S)])
        self._next_removal = clock() + _FIRST_REMOVAL_S

    def step(self, now: float) -> None:
        """Begin a snapshot or a removal if one is due and nothing is under way."""
        if now < self._next_look or (self._work is not None and self._work.is_alive()):
            return
        self._next_look = now + _PAUSE_S
        if self._begin_removal(now):
            return
        shard = self._most_worthwhile()
        if shard is not None:
            epoch, ends, term = self._fleet.held[shard], self._ledger.ends(), self._ledger.rules.term
            self._ledger.lines_since[shard] = 0
            self._made_at[shard] = said_bytes(ends)
            self._start(lambda: self._snapshots.make(shard, epoch, ends, term))

    def _begin_removal(self, now: float) -> bool:
        """Begin to remove if that is due, and this machine is the one that does it; tell whether it is."""
        if now < self._next_removal or min(self._ledger.needed, default=-1) not in self._fleet.held:
            return False
        self._next_removal = now + next(self._pauses, _REMOVAL_PAUSE_S)
        # A log of one segment has none that may go: short runs leave many.
        machines = [machine for machine, place in self._ledger.ends().items() if place.segment]
        self._start(lambda: self._remove(machines))
        return True

    def _remove(self, machines: list[str]) -> None:
        self._try(lambda: self._old_terms.remove(self._ledger.rules.term))
        self._snapshots.remove_old(machines, self._settled_s)

    def _most_worthwhile(self) -> int | None:
        """Give the shard with the most new lines, if they are many beside what its snapshot has."""
        held = [shard for shard in self._fleet.held if self._intake.is_complete(shard)]
        shard = max(held, key=lambda each: self._ledger.lines_since[each], default=None)
        if shard is None:
            return None
        if self._ledger.lines_since[shard] > max(_FEWEST_LINES, _PART * self._snapshots.size_of(shard)):
            return shard
        quiet_before = said_bytes(self._ledger.ends()) - _QUIET_BYTES
        return next((shard for shard in held if self._tried_at(shard) < quiet_before), None)

    def _tried_at(self, shard: int) -> int:
        """Give how much all machines had said when a snapshot of a shard was begun last, by this machine or another."""
        return max(self._made_at.get(shard, 0), self._snapshots.covered_bytes_of(shard))

    def _start(self, work: Callable[[], object]) -> None:
        self._work = self._aside(lambda: self._try(work))

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except FscrawlError as error:
            self._warn(f"{error}; the next try is made later")

    def close(self) -> None:
        """Let a snapshot that is being made end at once. If the share hangs, its temporary stays, and does no harm."""
        self._snapshots.stop()
        if self._work is not None:
            self._work.join(_CLOSE_S)
