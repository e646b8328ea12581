"""Segments of logs and old snapshots go when no machine needs them any more, and never before."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl.fleet import snapshot_merge
from fscrawl.fleet.lines import Surveyed
from fscrawl.fleet.log_writer import LogWriter, Place
from fscrawl.fleet.removal_notes import Note, RemovalNotes
from fscrawl.fleet.snapshot_file import SnapshotHead
from fscrawl.fleet.snapshot_removal import Removal, removable_segments
from fscrawl.storage.layout import removal_path, snapshot_path
from tests.support.effort import tries
from tests.support.log_files import LogsInMemory, found
from tests.support.snapshot_files import FilesInMemory, named_terms


def head(shard, **at):
    return SnapshotHead(
        shard, 1, 1, "f" * 16, False, 0, {machine: Place(segment, 9) for machine, segment in at.items()}
    )


def nothing(machine, segment):
    raise AssertionError("no segment needs to be looked at")


@pytest.mark.parametrize(
    ("heads", "removable"),
    [
        ([head(0, a=3, b=3), head(1, a=3, b=3)], {"a": 2, "b": 2}),
        ([head(0, a=1, b=3), head(1, a=3, b=0)], {"a": 0}),
        ([head(0, a=9, b=1), head(1, a=9, b=2)], {"a": 3, "b": 0}),
        ([head(0, a=3), head(1, a=3, b=3)], {"a": 2}),
        ([head(0, a=3, b=3), head(1)], {}),
    ],
)
def test_every_shard_is_beyond(heads, removable):
    """A segment may go if all shards' places are in later ones, and if it is not the last of its log."""
    assert removable_segments(heads, 2, {"a": [0, 1, 2, 3, 4], "b": [0, 1, 2, 3]}, nothing) == removable


def test_a_shard_without_a_snapshot():
    """It needs the segments that have lines of it."""
    named = {0: set(), 1: {0, 7}, 2: {1}, 3: set()}
    logs = {"a": [0, 1, 2, 3, 4]}
    assert removable_segments([head(0, a=4)], 2, logs, lambda machine, segment: named[segment]) == {"a": 1}
    assert removable_segments([], 2, logs, lambda machine, segment: named[segment]) == {"a": 0}


def test_logs_that_begin_later():
    """What was removed before is no matter."""
    assert removable_segments([head(0, a=7)], 1, {"a": [5, 6, 7], "b": [], "c": [3]}, nothing) == {"a": 6}


places = st.dictionaries(st.sampled_from("abc"), st.integers(0, 5), max_size=3)


@given(st.dictionaries(st.integers(0, 3), places, max_size=4), st.sets(st.tuples(st.integers(0, 3), st.integers(0, 5))))
@settings(deadline=None, max_examples=tries(150))
def test_nothing_is_removed_that_is_needed(snapshots, named):
    """Whatever the snapshots are: no shard needs a segment that may go, and each other one is the last or needed."""
    logs = {"a": [0, 1, 2, 3, 4], "b": [2, 3]}

    def names(machine, segment):
        return {shard for shard, its in named if its == segment}

    def needs(shard, machine, segment):
        if shard not in snapshots:
            return shard in names(machine, segment)
        return snapshots[shard].get(machine, 0) <= segment

    heads = (head(shard, **at) for shard, at in snapshots.items())
    removable = removable_segments(heads, 4, logs, names)
    for machine, segments in logs.items():
        last = removable.get(machine, -1)
        assert not any(needs(shard, machine, each) for shard in range(4) for each in segments if each <= last)
        following = next(each for each in segments if each > last)
        assert following == segments[-1] or any(needs(shard, machine, following) for shard in range(4))


# -- on a tree


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Crawl:
    """Two shards, a log of some small segments, and what removes them."""

    def __init__(self):
        self.files, self.logs, self.clock = FilesInMemory(), LogsInMemory(), Clock()
        self.writer = LogWriter(self.logs, "m", segment_bytes=40)  # one block each
        self.writer.open()
        self.notes = RemovalNotes(self.files)
        self.removal = self.another()

    def note(self):
        numbers = self.notes.numbers()
        return self.notes.read(numbers[-1]) if numbers else None

    def another(self):
        return Removal(self.files, self.logs, self.notes, 2, self.clock)

    def say(self, *shards):
        for shard in shards:
            self.writer.add(found(shard), own=True)
            self.writer.flush()

    def snapshot(self, shard, number=1):
        at = {"m": self.writer.place}
        terms = named_terms(deep=False)
        snapshot_merge.write(self.files, None, [], shard=shard, epoch=1, number=number, terms=terms, at=at)

    def remove_later(self):
        """Look as often as is needed: to see the snapshots, to make a note, and to remove what it names."""
        for _ in range(3):
            self.removal.remove(["m"], 60)
            self.clock.now += 61
        return self.logs.log_segments("m")


@pytest.fixture
def crawl():
    return Crawl()


def test_snapshots_must_be_old(crawl):
    """What snapshots have is removed when the snapshots have been seen for long enough, and not before."""
    crawl.say(0, 1, 0, 1)
    crawl.snapshot(0)
    crawl.snapshot(1)
    crawl.removal.remove(["m"], 60)
    crawl.clock.now += 59
    crawl.removal.remove(["m"], 60)
    assert crawl.logs.log_segments("m") == [0, 1, 2, 3]
    crawl.clock.now += 1
    crawl.removal.remove(["m"], 60)
    assert crawl.logs.log_segments("m") == [0, 1, 2, 3], "the note of it is new"
    crawl.clock.now += 60
    crawl.removal.remove(["m"], 60)
    assert crawl.logs.log_segments("m") == [3]


def test_notes(crawl):
    """A note says where a log begins, and which shards have lines in what was removed; and so do later ones."""
    crawl.say(0, 0, 0)
    crawl.snapshot(0)
    assert crawl.remove_later() == [2]
    assert crawl.note() == Note({"m": 2}, frozenset({0}))
    crawl.say(1, 1)
    crawl.files.there.pop(snapshot_path(0, 1, 1))
    crawl.snapshot(1)
    crawl.snapshot(0, 2)
    crawl.files.there[snapshot_path(0, 1, 2)] = b"torn"
    assert crawl.remove_later() == [2, 3, 4], "what is there has lines of the shard whose snapshot is lost"
    crawl.snapshot(0, 3)
    assert crawl.remove_later() == [4]
    assert crawl.note() == Note({"m": 4}, frozenset({0, 1}))
    assert crawl.notes.numbers() == [2], "the one before is not needed any more"


def test_a_note_of_another_run(crawl):
    """A run that is too short to remove what it has noted leaves that to the next one."""
    crawl.say(0, 1, 0)
    for shard in (0, 1):
        crawl.snapshot(shard)
    for left in ([0, 1, 2], [2]):
        crawl.removal = crawl.another()
        crawl.removal.remove(["m"], 60)
        crawl.clock.now += 61
        crawl.removal.remove(["m"], 60)
        assert crawl.logs.log_segments("m") == left


def test_two_that_make_a_note(crawl, monkeypatch):
    """Who comes second leaves it, and goes by the other's."""
    crawl.say(0, 1, 0)
    for shard in (0, 1):
        crawl.snapshot(shard)
    other = crawl.another()
    for removal in (crawl.removal, other):
        removal.remove(["m"], 60)
    crawl.clock.now += 61
    other.remove(["m"], 60)
    with monkeypatch.context() as patch:
        patch.setattr(crawl.notes, "numbers", list)  # as an old listing shows it
        crawl.removal.remove(["m"], 60)
    assert crawl.notes.numbers() == [1]
    assert crawl.remove_later() == [2]


def test_what_a_version_without_notes_has_removed(crawl):
    """The rest of such a log is removed, too. No note can be made of it: nobody knows whose lines are gone."""
    crawl.say(0, 1, 0)
    for shard in (0, 1):
        crawl.snapshot(shard)
    crawl.logs.remove_segment("m", 0)
    assert crawl.remove_later() == [2]
    assert crawl.note() is None


@pytest.mark.parametrize("text", [b"", b"[]\n", b'{"logs":{"..":1},"shards":[]}', b'{"logs":{"m":true},"shards":[]}'])
def test_a_note_that_cannot_be_read(crawl, text):
    """Nothing may be gone by it; and each shard may have had lines in what it named."""
    crawl.say(0, 0, 0)
    crawl.snapshot(0)
    crawl.files.there[removal_path(1)] = text
    assert crawl.note() is None
    crawl.remove_later()
    assert crawl.note() == Note({"m": 2}, frozenset({0, 1}))


def test_new_snapshots_do_not_count(crawl):
    """A snapshot that is new is no reason to remove anything; the old one before it is."""
    crawl.say(0, 1)
    for shard in (0, 1):
        crawl.snapshot(shard)
    crawl.removal.remove(["m"], 60)
    crawl.clock.now += 61
    crawl.say(0, 1)
    for shard in (0, 1):
        crawl.snapshot(shard, 2)
    crawl.removal.remove(["m"], 60)
    assert crawl.note().begins == {"m": 1}
    assert crawl.files.removed == []


def test_a_shard_without_a_snapshot_on_a_tree(crawl):
    """The heads of segments say which of them it needs."""
    crawl.say(0, 0, 1, 0)
    crawl.snapshot(0)
    assert crawl.remove_later() == [2, 3]


def test_surveys_count(crawl):
    """A segment in which a shard was only surveyed has a line of it."""
    crawl.writer.add(Surveyed(1, 0), own=True)
    crawl.writer.flush()
    crawl.say(0, 0)
    crawl.snapshot(0)
    assert crawl.remove_later() == [0, 1]


@pytest.mark.parametrize("how", ["damaged", "gone"])
def test_a_segment_that_cannot_be_read(crawl, how):
    """It may have lines of any shard."""
    crawl.say(0, 0, 0)
    crawl.snapshot(0)
    if how == "damaged":
        data = crawl.logs.store.files["m", 0]
        data[data.index(b"\nB ") + 3] ^= 255
    else:
        crawl.logs.sizes["m", 0] = None
    assert crawl.remove_later() == [0, 1, 2]


def test_old_snapshots(crawl):
    """The snapshots before the newest old one are removed; if that one is torn, the one before it stays."""
    for number in range(1, 5):
        crawl.snapshot(0, number)
    torn = snapshot_path(0, 1, 4)
    crawl.files.there[torn] = crawl.files.there[torn][:-1]
    crawl.remove_later()
    assert crawl.files.removed == [snapshot_path(0, 1, number) for number in (2, 1)]


def test_a_shard_whose_snapshots_are_all_torn(crawl):
    """It counts as one without a snapshot, and nothing of it is removed."""
    crawl.say(1, 0)
    for shard in (0, 1):
        crawl.snapshot(shard)
    crawl.files.there[snapshot_path(1, 1, 1)] = b""
    assert crawl.remove_later() == [0, 1]
    assert crawl.files.removed == []


def test_snapshots_of_shards_that_do_not_exist(crawl):
    """Files that somebody has put there count for nothing."""
    crawl.say(0, 1, 0)
    for shard in (0, 1, 9):
        crawl.snapshot(shard)
    crawl.files.there[snapshot_path(9, 1, 1)] = crawl.files.there[snapshot_path(9, 1, 1)].replace(b"[2,", b"[0,")
    assert crawl.remove_later() == [2]
