"""What all machines have said of URLs so far, for a process that takes no part in the crawl.

It stands in the logs; in snapshots, which have what was in segments that were removed; and, if the tree was once of
format 1, in its feeds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from fscrawl.errors import RecordError
from fscrawl.fleet.format1 import feed_lines
from fscrawl.fleet.lines import Found
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.logs import TreeLogs
from fscrawl.fleet.snapshot_file import list_snapshots, open_snapshot
from fscrawl.store import Tree

_BEGINNING = Place(0, 0)
SNAPSHOT = "snapshot"  # in place of a machine


class Said:
    """Reads it all, again at each call."""

    def __init__(self, tree: Tree) -> None:
        self._files = tree.files
        self._shards = tree.record.shards
        self._logs = TreeLogs(tree)
        self._reader = LogReader(self._logs, "")

    @property
    def cut(self) -> frozenset[str]:
        """Machines whose logs held less than they should when they were read last."""
        return frozenset(self._reader.cuts)

    def found(self, shards: Collection[int] | None = None) -> Iterator[tuple[str, Found]]:
        """Give all that was found of `shards` (None: all), with who said it. One URL may come many times."""
        wanted = range(self._shards) if shards is None else shards
        for machine in sorted(self._logs.log_machines()):
            end = self._reader.end_of(machine)
            for line in self._reader.read_shards(machine, wanted, _BEGINNING, end):
                if isinstance(line, Found):
                    yield machine, line
        for found in self._in_snapshots(wanted):
            yield SNAPSHOT, found
        for machine, found in feed_lines(self._files):
            if found.shard in wanted:
                yield machine, found

    def _in_snapshots(self, shards: Collection[int]) -> Iterator[Found]:
        """Give what waits by the newest snapshot of each shard that can be read."""
        for shard, names in list_snapshots(self._files).items():
            if shard in shards:
                yield from self._in_newest(shard, names)

    def _in_newest(self, shard: int, names: list[tuple[int, int]]) -> Iterator[Found]:
        for epoch, number in names:
            try:
                snapshot = open_snapshot(self._files, shard, epoch, number)
                snapshot.check()
                yield from snapshot.pending()
            except RecordError:  # machines use the one before, too
                continue
            return
