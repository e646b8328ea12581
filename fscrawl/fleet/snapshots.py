"""The snapshots of a tree, as one machine uses them: it reads the newest, makes new ones, and removes old ones.

What is in a snapshot is told in `snapshot_file`, how it is made in `snapshot_merge`, what is removed in
`snapshot_removal`.

Promise: a snapshot that is torn or damaged is skipped, and the one before it is used. A snapshot is made only if the
logs gave all that they should.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from fscrawl.errors import RecordError
from fscrawl.fleet import snapshot_merge
from fscrawl.fleet.lines import Line
from fscrawl.fleet.log_reader import Cut, LogReader
from fscrawl.fleet.log_writer import SEGMENT_BYTES, Place, without_blocks
from fscrawl.fleet.logs import TreeLogs
from fscrawl.fleet.removal_notes import NO_NOTE, RemovalNotes, numbers_in
from fscrawl.fleet.snapshot_file import Snapshot, SnapshotHead, open_snapshot, snapshots_in
from fscrawl.fleet.snapshot_removal import Removal
from fscrawl.fleet.terms import Term, Terms
from fscrawl.storage.layout import SNAP
from fscrawl.store import TreeFiles

_BEGINNING = Place(0, 0)
_LISTING_S = 1.0  # so long a listing is used again: many shards are taken at once
_TRIES = 2  # of reading a snapshot that is whole by its digest


class Snapshots:
    """One machine's view of all snapshots. Two threads may use it: one that reads, and one that makes and removes."""

    def __init__(
        self,
        files: TreeFiles,
        logs: TreeLogs,
        machine: str,
        *,
        shards: int,
        warn: Callable[[str], None] = lambda text: None,  # noqa: ARG005
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`shards`: of the whole crawl. `warn`: is told of snapshots that are damaged."""
        self._files = files
        self._warn = warn
        self._clock = clock
        self._reader = LogReader(logs, machine)  # its own: a thread must not disturb the live reading
        self._notes = RemovalNotes(files)
        self._removal = Removal(files, logs, self._notes, shards, clock)
        self._listed: dict[int, list[tuple[int, int]]] = {}
        self._listed_at = float("-inf")
        self._note = (0, NO_NOTE)  # the newest one, with its number
        self._made: dict[int, tuple[int, int]] = {}  # shard → the last one made here, which a listing may not show yet
        self._heads: dict[int, _Last] = {}
        self._stopped = False
        self._failures: Counter[tuple[int, int, int]] = Counter()  # snapshots that could not be read to their end

    # -- reading

    def newest(self, shard: int) -> Snapshot | None:
        """Open a shard's newest snapshot that is whole, and check all of it; None if there is none."""
        for epoch, number in self._names(shard):
            try:
                snapshot = open_snapshot(self._files, shard, epoch, number)
                snapshot.check()
            except RecordError as error:
                self._warn(f"{error}; an older snapshot or the logs are read instead")
            else:
                self._heads[shard] = _Last.of(snapshot.head)
                return snapshot
        return None

    def _names(self, shard: int) -> list[tuple[int, int]]:
        """Give the (epoch, number) of a shard's snapshots, the newest first."""
        self._list()
        names = set(self._listed.get(shard, ()))
        if shard in self._made:
            names.add(self._made[shard])
        return sorted((name for name in names if self._failures[shard, *name] < _TRIES), reverse=True)

    def _list(self) -> None:
        if self._clock() - self._listed_at < _LISTING_S:
            return
        names = self._files.names(SNAP)
        number = max(numbers_in(names), default=0)
        if number != self._note[0]:
            note = self._notes.read(number) if number else NO_NOTE
            # If it cannot be read, nothing may be gone. It may be an old view of it, so it is read with each listing.
            self._note = (0, NO_NOTE) if note is None else (number, note)
        self._listed, self._listed_at = snapshots_in(names), self._clock()  # last: the other thread goes by it

    def begins_of(self, shard: int) -> dict[str, Place]:
        """Give where logs begin for a shard without a snapshot; a log that is not in it begins with its segment 0."""
        self._list()
        return {machine: Place(begin, 0) for machine, begin in self._note[1].begins_of(shard).items()}

    def could_not_read(self, head: SnapshotHead) -> None:
        """Take in that a snapshot was whole, and could not be read all the same.

        It may have been removed meanwhile. If that happens again, somebody has made it up, and it is passed over.
        """
        self._failures[head.shard, head.epoch, head.number] += 1

    def size_of(self, shard: int) -> int:
        """Give how many URLs are in the snapshot of a shard that was read or made last; 0 if there was none."""
        return self._heads.get(shard, _NO_LAST).urls

    def covered_bytes_of(self, shard: int) -> int:
        """Give how much all machines had said, in bytes, when that snapshot was made; 0 if there was none."""
        return self._heads.get(shard, _NO_LAST).covered_bytes

    # -- making

    @property
    def cuts(self) -> dict[str, Cut]:
        """The logs that hold less than they should, as `LogReader.cuts`: no snapshot is made of them.

        The caller waits before it believes, makes a generation, and calls `forgive`.
        """
        return self._reader.cuts

    def forgive(self, machine: str, expected: Place) -> None:
        """Report no cut of a log up to `expected`: a generation was made, so what is gone is said again."""
        self._reader.forgive(machine, expected)

    def make(self, shard: int, epoch: int, ends: Mapping[str, Place], term: Term) -> SnapshotHead | None:
        """Make a snapshot of all that logs say of a shard up to `ends`; give its head; None if a log seems to be cut,
        or `stop` was called.

        epoch   in which this machine holds the shard
        ends    by machine, how far this machine has read its log; of its own the flushed end
        term    of the head; read while the main loop may go on to another
        """
        previous = self.newest(shard)
        at = self._places(previous, ends)
        numbers = [number for its_epoch, number in self._names(shard) if its_epoch == epoch]
        try:
            head = snapshot_merge.write(
                self._files,
                previous,
                self._lines(shard, previous.head.at if previous else self.begins_of(shard), ends),
                shard=shard,
                epoch=epoch,
                number=max(numbers, default=0) + 1,
                terms=Terms(self._files, term),
                at=at,
                go_on=self._go_on,
            )
        except (_CutError, _StoppedError):
            return None
        except (RecordError, ValueError) as error:
            if previous is not None:
                self.could_not_read(previous.head)
            raise RecordError(f"no snapshot of shard {shard} was made: {error}") from error
        self._made[shard] = (epoch, head.number)
        self._heads[shard] = _Last.of(head)
        return head

    def stop(self) -> None:
        """Make no snapshot any more. One that another thread is making ends soon, and leaves nothing behind."""
        self._stopped = True

    def _go_on(self) -> None:
        if self._stopped:
            raise _StoppedError

    def _places(self, previous: Snapshot | None, ends: Mapping[str, Place]) -> dict[str, Place]:
        """Give up to where in each log the new snapshot goes.

        The one before may go further than this machine has read, since another machine made it. Its places count, but
        not where a log was cut since then: a place behind the end of a log would be taken for another cut. Logs in
        which nothing was said are left out: short runs may have left thousands, and each snapshot would name them all.
        """
        at = {machine: place for machine, place in ends.items() if place != without_blocks(machine)}
        for machine, place in (previous.head.at if previous else {}).items():
            end = ends.get(machine)
            if end is None or (place > end and self._reader.end_of(machine) >= place):
                at[machine] = place
        return at

    def _lines(self, shard: int, starts: Mapping[str, Place], ends: Mapping[str, Place]) -> Iterator[Line]:
        """Give the shard's lines in all logs from `starts` to `ends`."""
        for machine, end in ends.items():
            self._go_on()
            start = starts.get(machine, _BEGINNING)
            yield from self._reader.read_shards(machine, {shard}, start, end)
            cut = self._reader.cuts.get(machine)
            if cut is not None and cut.expected > start and (cut.found or start) < end:
                raise _CutError

    # -- removing

    def remove_old(self, machines: Iterable[str], wait_s: float) -> None:
        """Remove old snapshots, and the segments of logs that no shard needs any more (see `Removal.remove`)."""
        self._removal.remove(machines, wait_s)


def said_bytes(ends: Mapping[str, Place]) -> int:
    """Give how much machines have said up to these places in their logs, those segments included that were removed.

    It may be less: a segment need not be full when the next one begins.
    """
    return sum(place.segment * SEGMENT_BYTES + place.bytes for place in ends.values())


class _Last(NamedTuple):
    """What is remembered of the snapshot of a shard that was read or made last. Its head may be large."""

    urls: int = 0
    covered_bytes: int = 0

    @classmethod
    def of(cls, head: SnapshotHead) -> _Last:
        return cls(head.urls, said_bytes(head.at))


_NO_LAST = _Last()


class _CutError(Exception):
    """A log seems to be cut."""


class _StoppedError(Exception):
    """The machine leaves."""
