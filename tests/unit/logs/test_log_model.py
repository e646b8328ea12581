"""Whatever views show late and writes do, all that was flushed is read once, and nothing else.

The steps are drawn: lines, flushes of which some fail, views that show old sizes and names, and looks at the log.
"""

import contextlib
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl.errors import TreeError
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import LogWriter
from tests.support.effort import tries
from tests.support.log_files import ALL, LogsInMemory, found

MINE = {1, 2}

faults = st.lists(st.sampled_from([-1, 0, 1, 30, 90]), max_size=3)
lags = st.sampled_from([0, 0.3, 0.6, 1])
write = st.tuples(st.just("write"), st.lists(st.integers(1, 3), min_size=1, max_size=3), faults)
steps = st.lists(write | st.tuples(st.just("look"), lags, st.booleans()), min_size=3, max_size=30)


class Fleet:
    """A writer, a reader with a view that is out of date, and what must come of it."""

    def __init__(self):
        self.own = LogsInMemory()
        self.view = LogsInMemory(self.own.store)
        self.writer = LogWriter(self.own, "a")
        self.writer.open()
        self.reader = LogReader(self.view)
        self.added = []
        self.places, self.got = [self.writer.place], []

    def write(self, shards, faults):
        for shard in shards:
            self.added.append(found(shard, len(self.added)))
            self.writer.add(self.added[-1], own=shard % 2 == 0)
        self.own.faults = list(faults)
        with contextlib.suppress(TreeError):
            self.writer.flush()
        self.own.faults = []
        self.writer.check()
        self.places.append(self.writer.place)

    def look(self, lag, asks):
        """Read with a view that shows less: fewer bytes, or not even the name."""
        self.view.sizes["a"] = int(len(self.own.store["a"]) * (1 - lag)) if lag < 1 else None
        self.read(asks=asks)
        self.view.sizes.clear()

    def read(self, *, asks):
        before = self.reader.places.get("a", 0)
        self.got += self.reader.read("a", MINE, until=self.writer.place if asks else None)
        assert self.reader.places.get("a", 0) >= before


@given(steps)
@settings(deadline=None, max_examples=tries(200))
def test_nothing_is_lost(drawn):
    fleet = Fleet()
    for name, *arguments in drawn:
        getattr(fleet, name)(*arguments)
        assert set(fleet.got) <= set(fleet.added)
    fleet.writer.flush()
    fleet.read(asks=True)
    assert fleet.reader.damaged == {}
    assert fleet.writer.is_empty
    taken = list(fleet.reader.read_shards("a", MINE, 0, fleet.writer.place))
    assert fleet.reader.damaged == {}
    for shard in MINE:
        wanted = [line for line in fleet.added if line.shard == shard]
        for got in (fleet.got, taken):
            assert [line for line in got if line.shard == shard] == wanted, "each once, in order"
    for begin, end in pairwise(sorted(set(fleet.places))):
        assert set(fleet.reader.read_shards("a", ALL, begin, end)) <= set(fleet.added)
    assert fleet.reader.damaged == {}
