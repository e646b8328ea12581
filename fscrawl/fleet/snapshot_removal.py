"""What is not needed any more: old snapshots, and the segments of logs that every shard's snapshot has.

Vocabulary:
  settled   a snapshot or a note that this machine has seen for so long that no view of any machine can be without it
  beyond    a shard's snapshot is beyond a segment if its place in that log is in a later segment

Promise: a segment is removed only if the settled snapshots of all shards are beyond it, and a settled note says that it
may be gone (`removal_notes`). A shard without a snapshot counts as beyond a segment that does not name it. The last
segment of a log stays, because its writer may be at work. A snapshot is removed only if a later one of its shard is
settled and whole. Ages are times for which this machine has known a name: no clocks are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from fscrawl.errors import RecordError
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.logs import TreeLogs
from fscrawl.fleet.removal_notes import NO_NOTE, Note, RemovalNotes
from fscrawl.fleet.snapshot_file import SnapshotHead, list_snapshots, open_snapshot
from fscrawl.storage.layout import snapshot_path
from fscrawl.store import TreeFiles


def removable_segments(
    heads: Iterable[SnapshotHead],
    shards: int,
    logs: Mapping[str, Sequence[int]],
    names: Callable[[str, int], Container[int]],
) -> dict[str, int]:
    """Give, by machine, the highest segment that may be removed, with all before it.

    heads    one of each shard that has a settled snapshot; they are not kept, because all together are large
    logs     by machine, the segments of its log that are there, ascending
    names    machine, segment → the shards that it has lines of; asked only if some shard has no snapshot
    """
    without = set(range(shards))
    least: dict[str, int] | None = None  # machine → least segment in which a snapshot's place is
    for head in heads:
        without.discard(head.shard)
        places = {machine: place.segment for machine, place in head.at.items()}
        least = places if least is None else {m: min(at, places[m]) for m, at in least.items() if m in places}
    removable = {}
    for machine, segments in logs.items():
        for segment, _ in pairwise(segments):
            if least is not None and segment >= least.get(machine, 0):
                break
            if without and _names_any(names(machine, segment), without):
                break
            removable[machine] = segment
    return removable


def _names_any(named: Container[int], shards: Iterable[int]) -> bool:
    return any(shard in named for shard in shards)


class _All(Container[int]):
    """What a segment names that cannot be read: any shard."""

    def __contains__(self, shard: object) -> bool:
        return True


class Removal:
    """Removes what is not needed any more. One machine does so at a time: the holder of the first shard."""

    def __init__(
        self,
        files: TreeFiles,
        logs: TreeLogs,
        notes: RemovalNotes,
        shards: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`shards`: of the whole crawl."""
        self._files = files
        self._logs = logs
        self._notes = notes
        self._shards = shards
        self._clock = clock
        self._seen_at: dict[tuple[int, int, int], float] = {}
        self._notes_seen_at: dict[int, float] = {}

    def remove(self, machines: Iterable[str], wait_s: float) -> None:
        """Remove what may be removed.

        machines   whose logs may have more than one segment
        wait_s   a snapshot or a note is settled when it was seen so long ago: twice the time that a listing may be
                 old. So the first call removes nothing, and the second one may only make a note

        Segments of a log are removed from the first one on; if this ends early, the next call goes on.
        """
        settled = self._settled(wait_s)
        numbers = self._notes.numbers()
        now = self._clock()
        self._notes_seen_at = {number: self._notes_seen_at.get(number, now) for number in numbers}
        if not any(settled.values()):
            return
        logs = {machine: self._logs.log_segments(machine) for machine in machines}
        shards: set[int] = set()
        heads = self._heads(settled, shards)
        removable = removable_segments(heads, self._shards, logs, self._named)
        begins = {machine: last + 1 for machine, last in removable.items()}
        known = self._note(begins, logs, shards, numbers)
        settled_note = self._settled_note(wait_s)
        for machine, begin in begins.items():
            end = min(begin, settled_note.begins.get(machine, 0)) if machine in known else begin
            for segment in logs[machine]:
                if segment < end:
                    self._logs.remove_segment(machine, segment)

    def _note(
        self, begins: Mapping[str, int], logs: Mapping[str, Sequence[int]], shards: set[int], numbers: Sequence[int]
    ) -> set[str]:
        """Note where logs are to begin, if that is not noted yet; give the machines for whose logs that can be done.

        A version without notes may have removed the beginning of a log.

        shards   those that have a settled snapshot
        numbers  of the notes that are there
        """
        newest = self._notes.read(numbers[-1]) if numbers else NO_NOTE
        if newest is None:  # it said something, and nobody knows what
            newest = Note({}, frozenset(range(self._shards)))
        known = {machine for machine in begins if logs[machine][0] <= newest.begins.get(machine, 0)}
        more = {machine: begins[machine] for machine in known if begins[machine] > newest.begins.get(machine, 0)}
        number = max(numbers, default=0) + 1
        if more and self._notes.add(number, Note({**newest.begins, **more}, newest.shards | shards)):
            self._notes_seen_at[number] = self._clock()
        return known

    def _settled_note(self, wait_s: float) -> Note:
        """Give the newest settled note, and remove those before it."""
        now = self._clock()
        settled = [number for number, seen_at in self._notes_seen_at.items() if now - seen_at >= wait_s]
        if not settled:
            return NO_NOTE
        self._notes.remove(settled[:-1])
        return self._notes.read(settled[-1]) or NO_NOTE

    def _settled(self, wait_s: float) -> dict[int, list[tuple[int, int]]]:
        """List the settled snapshots of each shard, the newest first."""
        now = self._clock()
        listed = list_snapshots(self._files)
        names = [(shard, *name) for shard, of_shard in listed.items() for name in of_shard]
        self._seen_at = {name: self._seen_at.get(name, now) for name in names}
        return {
            shard: [name for name in of_shard if now - self._seen_at[shard, *name] >= wait_s]
            for shard, of_shard in listed.items()
        }

    def _heads(self, settled: Mapping[int, Sequence[tuple[int, int]]], shards: set[int]) -> Iterator[SnapshotHead]:
        """Give the head of each shard's newest settled snapshot that is whole, and remove those before it.

        Puts these shards into `shards`.
        """
        for shard, names in settled.items():
            for index, (epoch, number) in enumerate(names):
                try:
                    head = open_snapshot(self._files, shard, epoch, number).head
                except RecordError:  # who takes the shard says so
                    continue
                for old in names[index + 1 :]:
                    self._files.remove(snapshot_path(shard, *old))
                if shard < self._shards:
                    shards.add(shard)
                    yield head
                break

    def _named(self, machine: str, segment: int) -> Container[int]:
        """Give the shards that a segment has lines of."""
        reader = LogReader(self._logs, machine)
        size = self._logs.segment_size(machine, segment)
        if size is None:
            return _All()
        for _ in reader.read_shards(machine, (), Place(segment, 0), Place(segment, size)):
            pass
        return _All() if reader.cuts else reader.needed
