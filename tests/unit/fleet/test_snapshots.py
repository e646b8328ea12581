"""A machine reads the newest snapshot that is whole, and makes new ones of what logs say."""

import pytest

from fscrawl import urls
from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.fleet.lines import Found, Surveyed, Told
from fscrawl.fleet.log_writer import LogWriter, Place
from fscrawl.fleet.snapshots import Snapshots
from fscrawl.fleet.terms import Term
from fscrawl.storage.layout import snapshot_path
from fscrawl.storage.records import TreeRecord
from tests.support.log_files import LogsInMemory
from tests.support.snapshot_files import SHARD, FilesInMemory, content, url

TERM = Term.of(Settings(), [], TreeRecord(2, "c", "", 512, "host", "0" * 32), 0)


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
        return Snapshots(self.files, self.logs, "me", warn=self.warned.append, clock=self.clock)

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
        return (snapshots or self.snapshots).make(SHARD, epoch, {**self.ends(), **ends}, TERM)

    def kinds(self, snapshots=None):
        self.clock.now += 2
        return sorted(state.kind for state in content((snapshots or self.snapshots).newest(SHARD)).values())


@pytest.fixture
def crawl():
    return Crawl()


def found(number, shard=SHARD):
    return Found(shard, 1, "", url(number))


def told(number):
    return Told(SHARD, urls.key(url(number)), 1, TERM.digest)


def test_none(crawl):
    """A shard without a snapshot has none, and its size is nothing."""
    assert (crawl.snapshots.newest(SHARD), crawl.snapshots.size_of(SHARD)) == (None, 0)


def test_made_of_all_logs(crawl):
    """A snapshot has the lines of its shard in all logs, the own one too; the next one goes on from there."""
    crawl.say("me", found(0), Surveyed(SHARD, 0))
    crawl.say("n", found(1), found(2, shard=8), told(0))
    first = crawl.make()
    assert (crawl.kinds(), crawl.snapshots.size_of(SHARD)) == (["told", "waiting"], 2)
    assert (first.at, first.surveyed, first.number) == (crawl.ends(), 0, 1)
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
    assert (head.path, head.waiting) == (snapshot_path(SHARD, 2, 1), 2)
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


def test_a_cut_log(crawl):
    """Nothing is made of a log that holds less than it should, until a generation was made for it."""
    crawl.say("n", found(0))
    crawl.say("n", found(1))
    ends = crawl.ends()
    crawl.logs.store.cut("n", 0, ends["n"].bytes - 5)
    assert crawl.make() is None
    assert crawl.snapshots.newest(SHARD) is None
    cut = crawl.snapshots.cuts["n"]
    assert cut.expected == ends["n"]
    crawl.snapshots.forgive("n", cut.expected)
    assert crawl.make().waiting == 1


def test_a_cut_elsewhere(crawl):
    """A cut of which this snapshot's lines are not, does not hold it up."""
    crawl.say("n", found(0))
    crawl.make()
    later = crawl.another()
    before = crawl.ends()["n"]
    crawl.say("n", found(1))
    crawl.logs.freeze()
    crawl.logs.sizes["n", 0] = before.bytes
    assert later.make(SHARD, 1, crawl.ends(), TERM) is None
    assert later.make(SHARD, 1, {"n": before}, TERM).waiting == 1
    crawl.logs.thaw()
    assert later.make(SHARD, 1, crawl.ends(), TERM).waiting == 2


def test_places(crawl):
    """A snapshot keeps the places of the one before, where this machine has read less or knows of no log."""
    crawl.say("n", found(0))
    crawl.say("o", found(1))
    early = crawl.ends()
    crawl.say("n", found(2))
    first = crawl.make()
    second = crawl.snapshots.make(SHARD, 1, {"n": early["n"]}, TERM)
    assert (second.at, second.waiting) == (first.at, 3)


def test_places_in_a_cut_log(crawl):
    """No place lies behind the end of a log that was cut since then."""
    crawl.say("n", found(0))
    early = crawl.ends()
    crawl.say("n", found(1))
    crawl.make()
    crawl.logs.store.cut("n", 0, early["n"].bytes)
    assert crawl.make(n=early["n"]).at == early


def test_a_term_of_its_own(crawl):
    """The head's term is the one that was asked for, and what its file covers is read."""
    crawl.say("n", found(0), told(0))
    narrow = Term.of(Settings(CrawlSettings(deny=("x",))), [], TreeRecord(2, "c", "", 512, "host", "0" * 32), 0)
    crawl.make()
    assert crawl.snapshots.make(SHARD, 1, crawl.ends(), narrow).told == 1
    wide = Term.of(Settings(CrawlSettings(scope="any")), [], TreeRecord(2, "c", "", 512, "host", "0" * 32), 0)
    head = crawl.snapshots.make(SHARD, 1, crawl.ends(), wide)
    assert (head.term, head.told, head.untold) == (wide.digest, 0, 1)


def test_old_ones_are_removed(crawl):
    """The one before the newest stays: another machine may just be reading it."""
    crawl.say("n", found(0))
    for _ in range(4):
        crawl.make()
    assert crawl.files.names(".fscrawl/snap") == ["7.1.3", "7.1.4"]


def test_at_is_a_place(crawl):
    """Places are read back as places, so that they can be compared."""
    crawl.say("n", found(0))
    crawl.make()
    assert all(isinstance(place, Place) for place in crawl.another().newest(SHARD).head.at.values())


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
