"""The snapshots of a generation, as one machine uses them: it reads the newest, makes new ones, and removes old ones.

What is in a snapshot is told in `snapshot_file`, how it is made in `snapshot_merge`. A snapshot is only a cache of what
the logs say: nobody must wait for one, and all of them may be deleted at any time.

Promise: a snapshot that is torn or damaged is skipped, and the one before it is used, or the logs from their
beginnings. A snapshot is made only if the logs gave all that they should.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from fscrawl.errors import RecordError
from fscrawl.fleet import snapshot_merge
from fscrawl.fleet.lines import Line
from fscrawl.fleet.log_reader import Damage, LogReader
from fscrawl.fleet.snapshot_file import Snapshot, SnapshotHead, list_snapshots, open_snapshot
from fscrawl.fleet.url_logs import UrlLogs
from fscrawl.storage.layout import snapshot_path
from fscrawl.store import TreeFiles

_LISTING_S = 1.0  # so long a listing is used again: many shards are taken at once
_TRIES = 2  # of reading a snapshot that is whole by its digest


class Snapshots:
    """One machine's view of all snapshots. Two threads may use it: one that reads, and one that makes and removes."""

    def __init__(
        self,
        files: TreeFiles,
        logs: UrlLogs,
        machine: str,
        *,
        deep: bool,
        warn: Callable[[str], None] = lambda text: None,  # noqa: ARG005
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`deep`: the link rules have a limit of depth. `warn`: is told of snapshots that are damaged."""
        self._files = files
        self._generation = logs.generation
        self._deep = deep
        self._warn = warn
        self._clock = clock
        self._reader = LogReader(logs, machine)  # its own: a thread must not disturb the live reading
        self._listed: dict[int, list[tuple[int, int]]] = {}
        self._listed_at = float("-inf")
        self._made: dict[int, tuple[int, int]] = {}  # shard → the last one made here, which a listing may not show yet
        self._heads: dict[int, _Last] = {}
        self._stopped = False
        self._failures: Counter[tuple[int, int, int]] = Counter()  # snapshots that could not be read to their end

    # -- reading

    def newest(self, shard: int) -> Snapshot | None:
        """Open a shard's newest snapshot that is whole, and check all of it; None if there is none."""
        for epoch, number in self._names(shard):
            try:
                snapshot = open_snapshot(self._files, self._generation, shard, epoch, number)
                snapshot.check()
            except RecordError as error:
                self._warn(f"{error}; an older snapshot or the logs are read instead")
            else:
                self._heads[shard] = _Last.of(snapshot.head)
                return snapshot
        return None

    def _names(self, shard: int) -> list[tuple[int, int]]:
        """Give the (epoch, number) of a shard's snapshots, the newest first."""
        if self._clock() - self._listed_at >= _LISTING_S:
            self._listed = list_snapshots(self._files, self._generation)
            self._listed_at = self._clock()
        names = set(self._listed.get(shard, ()))
        if shard in self._made:
            names.add(self._made[shard])
        return sorted((name for name in names if self._failures[shard, *name] < _TRIES), reverse=True)

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
    def damaged(self) -> Mapping[str, Damage]:
        """By machine, the logs that are damaged: no snapshot is made of them."""
        return self._reader.missed

    def make(self, shard: int, epoch: int, ends: Mapping[str, int]) -> SnapshotHead | None:
        """Make a snapshot of all that logs say of a shard up to `ends`, and remove old ones; give its head.

        None if a log seems to be damaged, or `stop` was called.

        epoch   in which this machine holds the shard
        ends    by machine, how far this machine has read its log; of its own the flushed end
        """
        previous = self.newest(shard)
        numbers = [number for its_epoch, number in self._names(shard) if its_epoch == epoch]
        before = previous.head.at if previous else {}
        at = {machine: max(ends.get(machine, 0), before.get(machine, 0)) for machine in {*ends, *before}}
        try:
            head = snapshot_merge.write(
                self._files,
                previous,
                self._lines(shard, before, at),
                generation=self._generation,
                shard=shard,
                epoch=epoch,
                number=max(numbers, default=0) + 1,
                deep=self._deep,
                at={machine: place for machine, place in at.items() if place},
                go_on=self._go_on,
            )
        except (_DamageError, _StoppedError):
            return None
        except (RecordError, ValueError) as error:
            if previous is not None:
                self.could_not_read(previous.head)
            raise RecordError(f"no snapshot of shard {shard} was made: {error}") from error
        self._made[shard] = (epoch, head.number)
        self._remove_old(shard)
        self._heads[shard] = _Last.of(head)
        return head

    def stop(self) -> None:
        """Make no snapshot any more. One that another thread is making ends soon, and leaves nothing behind."""
        self._stopped = True

    def _go_on(self) -> None:
        if self._stopped:
            raise _StoppedError

    def _lines(self, shard: int, starts: Mapping[str, int], ends: Mapping[str, int]) -> Iterator[Line]:
        """Give the shard's lines in all logs from `starts` to `ends`."""
        for machine, end in ends.items():
            self._go_on()
            self._reader.missed.pop(machine, None)  # it may have been an old view, or in another part
            yield from self._reader.read_shards(machine, {shard}, starts.get(machine, 0), end)
            if machine in self._reader.missed:
                raise _DamageError

    def _remove_old(self, shard: int) -> None:
        """Remove the snapshots of a shard but the newest one, and the one before, which others may just be reading."""
        for old in self._names(shard)[2:]:
            self._files.remove(snapshot_path(self._generation, shard, *old))


class _Last(NamedTuple):
    """What is remembered of the snapshot of a shard that was read or made last. Its head may be large."""

    urls: int = 0
    covered_bytes: int = 0

    @classmethod
    def of(cls, head: SnapshotHead) -> _Last:
        return cls(head.urls, sum(head.at.values()))


_NO_LAST = _Last()


class _DamageError(Exception):
    """A log seems to be damaged."""


class _StoppedError(Exception):
    """The machine leaves."""
