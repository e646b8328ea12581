"""All that logs and snapshots say, for a process that only reads: the audit, and `show`.

Vocabulary:
  said    up to where a log must go: its machine's last beat says so, or a snapshot that was made of it
  cut     a log holds less than was said, or than its next segment says, or it is damaged in the middle
  tail    what stands behind all that was said, and is no whole block: a machine that is writing, or was killed then.
          It counts for nobody, and is no cut

Promise: nothing is written. Memory is bounded: one block of a log or one group of a snapshot at a time, and two places
for each machine. Cuts for which a generation was made already are not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from fscrawl.errors import RecordError
from fscrawl.fleet.generations import Generations, cut_of
from fscrawl.fleet.lines import Line
from fscrawl.fleet.log_reader import Cut, LogReader, cuts_of_packs
from fscrawl.fleet.log_walk import Walk
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.logs import TreeLogs
from fscrawl.fleet.past_runs import PastRuns
from fscrawl.fleet.snapshot_file import Snapshot, SnapshotHead, list_snapshots, open_snapshot
from fscrawl.storage.layout import snapshot_path
from fscrawl.store import Tree

_BEGINNING = Place(0, 0)
_TRIES = 3  # of reading a shard's snapshot, which a machine may remove meanwhile because it made a newer one


class AllLines:
    """Reads what there is now. First `read_snapshots`, then `lines`: snapshots say how far logs must go.

    cuts       by machine, logs that hold less than they should: the first place of each
    damaged    by path, what is wrong with snapshots
    named      shards that some head of a log named
    """

    def __init__(
        self,
        tree: Tree,
        shards: Container[int] | None = None,
        said: Mapping[str, Place] | None = None,
        packs: int = 0,
    ) -> None:
        """`shards`: only what is said of these; None: of all. `said`: by machine, the end of its log by its beats.

        `packs`: of past runs, so many as some beat knows.
        """
        self.cuts: dict[str, Cut] = {}
        self.damaged: dict[str, str] = {}
        self.named: set[int] = set()
        self._tree = tree
        self._files = tree.files
        past = PastRuns(tree.files)
        past.expect(packs)
        self._logs = TreeLogs(tree, past)
        self._shards = range(tree.record.shards) if shards is None else shards
        self._said = dict(said or {})
        self._with_beats = frozenset(self._said)

    # -- snapshots

    def read_snapshots(self, read: Callable[[Snapshot], None], *, check_old: bool = False) -> None:
        """Have `read` take in the newest whole snapshot of each shard; it may get a part of one twice.

        `check_old`: the older ones are checked, too.
        """
        for shard in sorted(list_snapshots(self._files)):
            if shard in self._shards:
                self._read_newest(shard, read, check_old=check_old)

    def _read_newest(self, shard: int, read: Callable[[Snapshot], None], *, check_old: bool) -> None:
        for tries_left in reversed(range(_TRIES)):
            damaged: dict[str, str] = {}
            whole = self._whole(shard, damaged)
            newest = next(whole, None)
            try:
                if newest is not None:
                    read(newest)
            except RecordError as error:
                damaged[newest.head.path if newest else ""] = str(error)
                if tries_left:
                    continue
            if newest is not None:
                self._note_places(newest.head)
            for _ in whole if check_old else ():
                pass
            self.damaged |= {path: how for path, how in damaged.items() if self._files.exists(path)}
            return

    def _whole(self, shard: int, damaged: dict[str, str]) -> Iterator[Snapshot]:
        """Give the snapshots of a shard that are whole, the newest first; put the others into `damaged`."""
        for epoch, number in list_snapshots(self._files).get(shard, ()):
            try:
                snapshot = open_snapshot(self._files, shard, epoch, number)
                snapshot.check()
            except RecordError as error:
                damaged[snapshot_path(shard, epoch, number)] = str(error)
            else:
                yield snapshot

    def _note_places(self, head: SnapshotHead) -> None:
        for machine, place in head.at.items():
            self._said[machine] = max(place, self._said.get(machine, _BEGINNING))

    # -- logs

    def lines(self, machines: Iterable[str] | None = None) -> Iterator[tuple[str, Line]]:
        """Give all lines of logs, each with its machine. `machines`: only theirs."""
        forgiven = self._forgiven()
        for machine in self._machines() if machines is None else sorted(machines):
            for line in self._lines_of(machine, forgiven.get(machine, _BEGINNING)):
                yield machine, line
        self.cuts |= cuts_of_packs(self._logs.lost_packs(), forgiven)

    def _machines(self) -> list[str]:
        return list(dict.fromkeys([*self._logs.log_machines(), *sorted(self._said)]))

    def _forgiven(self) -> dict[str, Place]:
        """Give, by machine, the place up to which a generation was made for what is missing of its log."""
        generations = Generations(self._files)
        forgiven: dict[str, Place] = {}
        generations.newest()
        generations.learn()
        for number in generations.after(0):
            machine, place = cut_of(generations.reason(number)) or ("", _BEGINNING)
            forgiven[machine] = max(place, forgiven.get(machine, _BEGINNING))
        return forgiven

    def _lines_of(self, machine: str, forgiven: Place) -> Iterator[Line]:
        said = self._said.get(machine, _BEGINNING)
        segments = self._logs.log_segments(machine)
        end = max(LogReader(self._logs, machine).end_of(machine), said)
        walk = Walk(self._logs, machine, self._shards, self.named, _BEGINNING, end, forgiven=forgiven, skips=True)
        yield from chain.from_iterable(walk.blocks())
        cut = _cut_of(walk, machine, said, end)
        if cut is not None and cut.expected > forgiven and not self._is_lost_with_a_pack(machine, segments):
            self.cuts[machine] = cut

    def _is_lost_with_a_pack(self, machine: str, segments: Sequence[int]) -> bool:
        """Tell whether nothing is there of a machine that a snapshot names, as of those whose pack is lost."""
        return not segments and machine not in self._with_beats and bool(self._logs.lost_packs())


def _cut_of(walk: Walk, machine: str, said: Place, end: Place) -> Cut | None:
    """Give what is missing of a log that was read to its end, if it is more than a tail."""
    cut = walk.cut
    if cut is None:
        return Cut(machine, said, walk.place) if walk.place < said else None
    is_tail = cut.expected >= end and cut.found is not None and cut.found >= said
    return None if is_tail else cut
