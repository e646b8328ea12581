"""Whatever views show late and appends do, all that was flushed is read, in order, and nothing else.

The steps are drawn: lines, flushes of which some fail, views that show old sizes and names, and looks at the log.
"""

import contextlib
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl.errors import TreeError
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import LogWriter, Place
from tests.support.effort import tries
from tests.support.log_files import ALL, LogsInMemory, Store, found

BEGINNING = Place(0, 0)
MINE = {1, 2}

faults = st.lists(st.sampled_from([None, None, -1, 0, 1, 30, 90]), max_size=5)
steps = st.lists(
    st.tuples(st.just("add"), st.integers(1, 4), st.booleans())
    | st.tuples(st.just("flush"), faults)
    | st.tuples(st.just("view"), st.lists(st.integers(0, 120), max_size=6))
    | st.tuples(st.just("read"), st.booleans()),
    max_size=40,
)


class Fleet:
    """A writer, a reader with a view that is out of date, and what must come of it."""

    def __init__(self, segment_bytes):
        self.store = Store()
        self.own, self.view = LogsInMemory(self.store), LogsInMemory(self.store)
        self.writer = LogWriter(self.own, "a", segment_bytes=segment_bytes)
        self.writer.open()
        self.reader = LogReader(self.view, "me")
        self.added, self.flushed = [], 0
        self.places, self.got = [self.writer.place], []

    def add(self, shard, own):
        self.added.append(found(shard, len(self.added)))
        self.writer.add(self.added[-1], own=own)

    def flush(self, faults):
        self.own.faults = list(faults)
        with contextlib.suppress(TreeError):
            self.writer.flush()
            self.flushed = len(self.added)
        self.own.faults = []
        self.writer.check()
        self.places.append(self.writer.place)

    def show(self, lags):
        """Let the view show less of the newest segments: fewer bytes, or not even the names."""
        self.view.thaw()
        newest = self.store.segments["a"][::-1]
        for segment, lag in zip(newest, lags, strict=False):
            size = len(self.store.files["a", segment]) - lag
            self.view.sizes["a", segment] = size if size > 0 else None
            if size <= 0:
                self.view.hidden.add(("a", segment))

    def read(self, *, asks):
        before = self.reader.places.get("a", BEGINNING)
        self.got += self.reader.read("a", MINE, until=self.writer.place if asks else None)
        assert self.reader.places.get("a", BEGINNING) >= before


def numbers(lines, shard):
    return [int(line.url.rpartition("/")[2]) for line in lines if line.shard == shard]


@given(steps, st.sampled_from([1, 150, 400, 1 << 20]))
@settings(deadline=None, max_examples=tries(300))
def test_nothing_is_lost(drawn, segment_bytes):
    fleet = Fleet(segment_bytes)
    for name, *arguments in drawn:
        if name == "add":
            fleet.add(*arguments)
        elif name == "flush":
            fleet.flush(*arguments)
        elif name == "view":
            fleet.show(*arguments)
        else:
            fleet.read(asks=arguments[0])
        assert set(fleet.got) <= set(fleet.added)
    fleet.flush([])
    fleet.view.thaw()
    fleet.read(asks=True)
    assert fleet.reader.cuts == {}
    assert fleet.flushed == len(fleet.added)
    taken = list(fleet.reader.read_shards("a", MINE, BEGINNING, fleet.writer.place))
    assert fleet.reader.cuts == {}
    for got in (fleet.got, taken):
        assert set(got) == {line for line in fleet.added if line.shard in MINE}
        for shard in MINE:
            first = list(dict.fromkeys(numbers(got, shard)))
            assert first == sorted(first), "in the order in which they were added"
    for begin, end in pairwise(sorted(set(fleet.places))):
        assert set(fleet.reader.read_shards("a", ALL, begin, end)) <= set(fleet.added)
    assert fleet.reader.cuts == {}
