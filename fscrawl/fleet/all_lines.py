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

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import chain

from fscrawl.errors import RecordError
from fscrawl.fleet.generations import Generations, cut_of
from fscrawl.fleet.lines import Line
from fscrawl.fleet.log_reader import Cut, LogReader
from fscrawl.fleet.log_walk import Walk
from fscrawl.fleet.log_writer import Place, without_blocks
from fscrawl.fleet.logs import TreeLogs
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
    ) -> None:
        """`shards`: only what is said of these; None: of all. `said`: by machine, the end of its log by its beats."""
        self.cuts: dict[str, Cut] = {}
        self.damaged: dict[str, str] = {}
        self.named: set[int] = set()
        self._tree = tree
        self._files = tree.files
        self._logs = TreeLogs(tree)
        self._shards = range(tree.record.shards) if shards is None else shards
        self._said = dict(said or {})
        self._least: dict[str, Place] | None = None  # by machine, the least place of all snapshots

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
        if self._least is None:
            self._least = dict(head.at)
        else:
            self._least = {m: min(place, head.at[m]) for m, place in self._least.items() if m in head.at}

    # -- logs

    def lines(self, machines: Iterable[str] | None = None) -> Iterator[tuple[str, Line]]:
        """Give all lines of logs, each with its machine. `machines`: only theirs."""
        forgiven = self._forgiven()
        for machine in self._machines() if machines is None else sorted(machines):
            for line in self._lines_of(machine, forgiven.get(machine, _BEGINNING)):
                yield machine, line

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
        begin = Place(segments[0], 0) if segments else _BEGINNING
        end = max(LogReader(self._logs, machine).end_of(machine), said)
        if end == without_blocks(machine):  # it need not be there
            return
        walk = Walk(self._logs, machine, self._shards, self.named, begin, end, forgiven=forgiven, skips=True)
        if begin < end:
            yield from chain.from_iterable(walk.blocks())
        cut = self._missing_before(machine, begin) or _cut_of(walk, machine, said, end)
        if cut is not None and cut.expected > forgiven:
            self.cuts[machine] = cut

    def _missing_before(self, machine: str, begin: Place) -> Cut | None:
        """Tell whether segments were removed of which a snapshot does not have all."""
        if not begin.segment or self._least is None:
            return None
        least = self._least.get(machine, _BEGINNING)
        return Cut(machine, begin, least) if least.segment < begin.segment else None


def _cut_of(walk: Walk, machine: str, said: Place, end: Place) -> Cut | None:
    """Give what is missing of a log that was read to its end, if it is more than a tail."""
    cut = walk.cut
    if cut is None:
        return Cut(machine, said, walk.place) if walk.place < said else None
    is_tail = cut.expected >= end and cut.found is not None and cut.found >= said
    return None if is_tail else cut
