"""A machine reads the newest snapshot that is whole, and makes new ones of what logs say."""

import pytest

from fscrawl import urls
from fscrawl.fleet.lines import Found, Surveyed, Told
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.fleet.snapshots import Snapshots
from fscrawl.storage.layout import snapshot_directory, snapshot_path
from tests.support.log_files import LogsInMemory
from tests.support.snapshot_files import SHARD, FilesInMemory, content, url


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class Crawl:
    """The logs and snapshots of a few machines."""

    def __init__(self):
        self.files, self.logs, self.clock, self.warned = FilesInMemory(), LogsInMemory(), Clock(), []
        self.writers = {}
        self.snapshots = self.another()

    def another(self):
        return Snapshots(self.files, self.logs, deep=False, warn=self.warned.append, clock=self.clock)

    def say(self, machine, *lines):
        """Write lines into a machine's log, as one block."""
        if machine not in self.writers:
            self.writers[machine] = LogWriter(self.logs, machine)
            self.writers[machine].open()
        for line in lines:
            self.writers[machine].add(line, own=machine == "me")
        self.writers[machine].flush()

    def ends(self):
        return {machine: writer.place for machine, writer in self.writers.items()}

    def make(self, snapshots=None, epoch=1, **ends):
        return (snapshots or self.snapshots).make(SHARD, epoch, {**self.ends(), **ends})

    def kinds(self, snapshots=None):
        self.clock.now += 2
        return sorted(state.kind for state in content((snapshots or self.snapshots).newest(SHARD)).values())


@pytest.fixture
def crawl():
    return Crawl()


def found(number, shard=SHARD):
    return Found(shard, 1, "", url(number))


def told(number):
    return Told(SHARD, urls.key(url(number)), 1)


def test_none(crawl):
    """A shard without a snapshot has none, and its size is nothing."""
    assert (crawl.snapshots.newest(SHARD), crawl.snapshots.size_of(SHARD)) == (None, 0)


def test_made_of_all_logs(crawl):
    """A snapshot has the lines of its shard in all logs, the own one too; the next one goes on from there."""
    crawl.say("me", found(0), Surveyed(SHARD))
    crawl.say("n", found(1), found(2, shard=8), told(0))
    first = crawl.make()
    assert (crawl.kinds(), crawl.snapshots.size_of(SHARD)) == (["told", "waiting"], 2)
    assert (first.at, first.surveyed, first.number) == (crawl.ends(), True, 1)
    crawl.say("o", told(1), found(3))
    read = crawl.logs.read_bytes
    assert crawl.make().number == 2
    assert crawl.kinds() == ["told", "told", "waiting"]
    assert crawl.logs.read_bytes - read < 1000


def test_the_newest_counts(crawl):
    """A later epoch comes before a greater number; who makes one goes on from it."""
    crawl.say("n", found(0))
    for _ in range(2):
        crawl.make()
    crawl.say("n", found(1))
    head = crawl.make(crawl.another(), epoch=2)
    assert (head.path, head.waiting) == (snapshot_path(1, SHARD, 2, 1), 2)
    assert crawl.kinds(crawl.another()) == ["waiting", "waiting"]


def test_a_listing_that_is_old(crawl, monkeypatch):
    """A machine knows the snapshots that it has made itself, whatever a listing shows."""
    crawl.say("n", found(0))
    monkeypatch.setattr(crawl.files, "names", lambda path: [])
    assert [crawl.make().number for _ in range(3)] == [1, 2, 3]
    assert crawl.kinds() == ["waiting"]


def test_damaged_ones_are_skipped(crawl):
    """If the newest is torn or damaged, the one before is used, and that is said; the next one is made from that."""
    crawl.say("n", found(0))
    crawl.make()
    crawl.say("n", found(1))
    second = crawl.make()
    data = crawl.files.there[second.path]
    for damaged in (data[:-3], data[:40], data.replace(b"a.example", b"b.example")):
        crawl.files.there[second.path] = damaged
        assert crawl.kinds() == ["waiting"]
        assert second.path in crawl.warned.pop()
    third = crawl.make()
    assert (third.number, third.waiting) == (3, 2)
    crawl.files.there = dict.fromkeys(crawl.files.there, b"")
    assert crawl.snapshots.newest(SHARD) is None


def test_a_damaged_log(crawl):
    """Nothing is made of a log that holds less than it should, until it shows all again; others do not hold it up."""
    crawl.say("n", found(0))
    before = crawl.ends()["n"]
    crawl.make()
    crawl.say("n", found(1))
    crawl.logs.sizes["n"] = crawl.ends()["n"] - 5
    assert crawl.make() is None
    assert crawl.kinds() == ["waiting"]
    assert crawl.snapshots.damaged["n"][1:] == (before, crawl.ends()["n"])
    assert crawl.make(n=before).waiting == 1
    crawl.logs.sizes.clear()
    assert crawl.make().waiting == 2
    assert not crawl.snapshots.damaged


def test_places(crawl):
    """A snapshot keeps the places of the one before, where this machine has read less or knows of no log."""
    crawl.say("n", found(0))
    crawl.say("o", found(1))
    early = crawl.ends()
    crawl.say("n", found(2))
    first = crawl.make()
    second = crawl.snapshots.make(SHARD, 1, {"n": early["n"]})
    assert (second.at, second.waiting) == (first.at, 3)


def test_old_ones_are_removed(crawl):
    """The one before the newest stays: another machine may just be reading it."""
    crawl.say("n", found(0))
    for _ in range(4):
        crawl.make()
        crawl.clock.now += 2
    assert crawl.files.names(snapshot_directory(1)) == ["7.1.3", "7.1.4"]


def test_a_machine_that_leaves(crawl, monkeypatch):
    """A snapshot that is being made when its machine leaves ends there, and leaves nothing behind."""
    crawl.say("a", Found(SHARD, 1, "", url(0)))
    publish = crawl.files.publish_chunks

    def publish_chunks(path, make, **how):
        def interrupted():
            for chunk in make():
                crawl.snapshots.stop()
                yield chunk

        return publish(path, interrupted, **how)

    monkeypatch.setattr(crawl.files, "publish_chunks", publish_chunks)
    assert crawl.make() is None
    assert crawl.another().newest(SHARD) is None
    assert crawl.make() is None, "and no other is begun"
