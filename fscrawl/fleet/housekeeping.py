"""Housekeeping: snapshots bound what a taker must read, and old generations are removed.

A snapshot of a shard is made from files only: the one before, and the shard's lines in all logs since then. So it can
be made by a thread of its own, while the main loop goes on. Only the holder of a shard makes one; one that a machine
makes after it has lost the shard is harmless, because it is true.

Promise: all snapshots of a shard together cost no more than about twice the last one. A generation is removed when all
live machines work in a newer one. The main loop never waits for any of this.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from fscrawl.errors import FscrawlError
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.intake import Intake
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.ownership import Fleet

_FEWEST_LINES = 4096  # since the last snapshot of a shard: fewer are read in no time
_PART = 0.5  # of the URLs of a shard: so all snapshots together cost no more than twice the last one
_QUIET_BYTES = 256 * 1024 * 1024  # of all logs, which the taker of a quiet shard would read without a snapshot
_PAUSE_S = 1.0
_CLOSE_S = 5.0  # for a chunk that is being written
_REMOVAL_PAUSE_S = 60.0


def in_thread(work: Callable[[], None]) -> threading.Thread:
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
        generations: Generations,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fleet = fleet
        self._ledger = ledger
        self._intake = intake
        self._generations = generations
        self._warn = warn
        self._work: threading.Thread | None = None
        self._made_at: dict[int, int] = {}  # shard → bytes of all logs when its last snapshot was begun
        self._next_look = 0.0
        self._next_removal = clock() + _REMOVAL_PAUSE_S

    def restart(self) -> None:
        """The machine works in another generation."""
        self._made_at.clear()

    def step(self, now: float) -> None:
        """Begin a snapshot or a removal if one is due and nothing is under way."""
        if now < self._next_look or (self._work is not None and self._work.is_alive()):
            return
        self._next_look = now + _PAUSE_S
        if now >= self._next_removal:
            self._next_removal = now + _REMOVAL_PAUSE_S
            present = self._ledger.rules.generation
            if self._may_remove(present, now):
                self._start(lambda: self._generations.remove_before(present))
                return
        shard = self._most_worthwhile()
        if shard is not None:
            snapshots, epoch, ends = self._ledger.snapshots, self._fleet.held[shard], self._ledger.ends()
            self._ledger.lines_since[shard] = 0
            self._made_at[shard] = sum(ends.values())
            self._start(lambda: snapshots.make(shard, epoch, ends))

    def _may_remove(self, present: int, now: float) -> bool:
        """Tell whether the generations before this one may go, and this machine is the one that removes them."""
        is_first = min(self._ledger.needed, default=-1) in self._fleet.held
        return is_first and all(peer.last().generation >= present for peer in self._fleet.live_peers(now))

    def _most_worthwhile(self) -> int | None:
        """Give the shard with the most new lines, if they are many beside what its snapshot has."""
        held = [shard for shard in self._fleet.held if self._intake.is_complete(shard)]
        shard = max(held, key=lambda each: self._ledger.lines_since[each], default=None)
        if shard is None:
            return None
        if self._ledger.lines_since[shard] > max(_FEWEST_LINES, _PART * self._ledger.snapshots.size_of(shard)):
            return shard
        quiet_before = sum(self._ledger.ends().values()) - _QUIET_BYTES
        covered = self._ledger.snapshots.covered_bytes_of  # by this machine's last try, or by a snapshot of another
        return next((s for s in held if max(self._made_at.get(s, 0), covered(s)) < quiet_before), None)

    def _start(self, work: Callable[[], object]) -> None:
        def try_it() -> None:
            try:
                work()
            except FscrawlError as error:
                self._warn(f"{error}; the next try is made later")

        self._work = in_thread(try_it)

    def close(self) -> None:
        """Let a snapshot that is being made end at once. If the share hangs, its temporary stays, and does no harm."""
        self._ledger.snapshots.stop()
        if self._work is not None:
            self._work.join(_CLOSE_S)
