"""What a machine keeps in memory, how often it writes and reads, and how it goes when all is lost."""

import re
import shutil

import pytest

from fscrawl.config.watcher import EditWatcher
from fscrawl.errors import TreeError
from fscrawl.fleet import intake, ledger
from fscrawl.fleet.lines import Found
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.fleet.membership import Membership
from fscrawl.fleet.url_logs import UrlLogs
from fscrawl.frontier.hosts import Hosts
from fscrawl.frontier.shards import StoredOnTree
from fscrawl.store import Tree
from tests.support.members import ABANDONED, HERS, MINE, SHARDS, slow_down, url


def test_bounded_memory_of_what_was_sent(world, monkeypatch):
    """What was sent is remembered for a while; a repeat after that is harmless."""
    monkeypatch.setattr(ledger, "_SENT_MEMORY", 2)
    world.create(url(MINE[0]), url(HERS[0]))
    a, _ = world.join("a"), world.join("b")
    world.rounds()
    for number in (1, 1, 2, 1, 3, 4, 3, 5, 6, 1):
        a.membership.discover([url(HERS[0], str(number))], 1, "")
    world.rounds()
    assert re.findall(rb"/(\d)\n", world.log("a")) == [b"1", b"2", b"3", b"4", b"5", b"6", b"1"]


def test_flush_while_there_is_work(world):
    """While all are busy, what is found is flushed every few seconds."""
    world.create(url(MINE[0]), url(MINE[0], "x"))
    a = world.join("a")
    a.tick(starved=False)
    a.membership.ledger.flush()
    a.membership.discover([url(MINE[0], "y")], 1, "")
    for flushed in (False, False, True):
        a.tick(starved=False)
        assert a.membership.ledger.is_flushed is flushed


def test_flush_when_somebody_waits(world):
    """If another machine has nothing to do, it is told at once what may be its own; what is not waits."""
    world.create(url(MINE[0]), url(MINE[0], "x"), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    b.crawl()
    b.beat()
    a.tick(starved=False)
    a.membership.ledger.flush()
    a.membership.discover([url(MINE[0], "y")], 1, "")
    a.tick(starved=False)
    assert not a.membership.ledger.is_flushed
    a.membership.discover([url(HERS[0], "y")], 1, "")
    a.tick(starved=False)
    assert a.membership.ledger.is_flushed


@pytest.fixture
def looks(monkeypatch):
    """The machines whose logs were opened, one by one."""
    opened, open_view = [], UrlLogs.open_view

    def noted(logs, machine):
        opened.append(machine)
        return open_view(logs, machine)

    monkeypatch.setattr(UrlLogs, "open_view", noted)
    return opened


def looks_in(member, looks, ticks):
    looks.clear()
    for _ in range(ticks):
        member.tick()
    return looks.count("b")


def test_logs_of_the_long_dead(world, looks):
    """Logs of machines that were killed are read for as long as caches live, and then more and more seldom."""
    world.create(url(MINE[0]))
    world.join("b").kill()
    a = world.join("a")
    a.membership.fleet._gone = lambda greeting: greeting.machine == "b"
    assert looks_in(a, looks, 25) == 25  # each takes 2 s
    looks_in(a, looks, 300)
    assert 0 < looks_in(a, looks, 60) < 6


def test_logs_of_machines_that_left(world, looks):
    """What said goodbye writes no more. Its log is read as far as it said, and then seldom: it may be cut."""
    world.create(url(MINE[0]))
    b = world.join("b")
    b.membership.discover([url(HERS[0], "y")], 1, "")
    b.leave()
    a = world.join("a")
    assert "b" in looks
    assert looks_in(a, looks, 28) == 0
    assert looks_in(a, looks, 5) == 1
    looks_in(a, looks, 300)
    assert 0 < looks_in(a, looks, 60) < 6


def test_logs_of_runs_that_said_nothing(world, looks):
    """A run that found nothing to do leaves no log that others must open."""
    world.create()
    world.join("b").leave()
    a = world.join("a")
    assert looks_in(a, looks, 60) == 0


def test_old_view_of_a_log_that_was_read(world, looks, monkeypatch):
    """A log that seems to be cut is looked at again before that is believed, though its machine left long ago."""
    world.create(url(MINE[0]))
    b = world.join("b")
    b.membership.discover([url(HERS[0], "y")], 1, "")
    b.leave()
    a = world.join("a")
    for _ in range(300):
        a.tick()
    (path,) = world.logs("b")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    while not a.membership.ledger.damaged:
        a.tick()
    path.write_bytes(whole)
    for _ in range(60):
        a.tick()
    assert a.membership.rules.generation == 1


def test_long_chores(world, monkeypatch):
    """Reading logs is done in slices, between which the workers are looked after."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.membership.discover([url(MINE[0], str(n)) for n in range(20)], 1, "")
    a.leave()
    slow_down(world, monkeypatch)
    b = world.join("b")
    assert b.membership.busy
    ticks = 0
    while b.membership.busy:
        b.tick()
        ticks += 1
    assert ticks >= 10
    assert b.frontier.pending == 21


def test_many_seeds(world, monkeypatch):
    """So are seeds: a machine that has many goes through some of them, and then looks after its workers."""
    world.create(*(url(MINE[0], str(n)) for n in range(300)))
    world.join("a").leave()
    slow_down(world, monkeypatch)
    b = world.join("b")
    ticks = 0
    while b.membership.busy:
        assert not b.is_complete, "the crawl may not end before all seeds are there"
        b.tick()
        ticks += 1
    assert ticks >= 3
    assert b.frontier.pending == 300


def test_abandon(world):
    """A machine that goes down says nothing more, whether it had begun or not."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.membership.abandon()
    assert a.heart.ended is ABANDONED
    tree = Tree(world.root, "z")
    watch = EditWatcher(tree, world.settings(), frozenset(), print)
    Membership(tree, a.frontier, StoredOnTree(tree), watch, reseed=False, counters=dict, warn=print).abandon()


def test_no_tree(world):
    """Where the machinery is gone, a machine cannot join."""
    world.create(url(MINE[0]))
    shutil.rmtree(world.root / ".fscrawl" / "machines")
    with pytest.raises(TreeError, match="it is not there"):
        world.join("a")


def test_a_command_that_was_killed_before_it_signed_its_log(world):
    """All machines read such a log, also those that were there before, and agree that the crawl is over."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.crawl()
    link = url(MINE[0], "x")
    writer = LogWriter(UrlLogs(Tree(world.root, "command-1-ab").files, 1), "command-1-ab")
    writer.add(Found(a.frontier.location(link).shard, 1, "", link), own=False)
    writer.flush()
    writer.close()
    b = world.join("b")
    for _ in range(60):
        a.crawl()
        b.crawl()
        if a.is_over() and b.is_over():
            break
    else:
        raise AssertionError("no end")
    assert world.fetched[link] == 1


@pytest.mark.parametrize("most", [50_000, 3])
@pytest.mark.parametrize("with_snapshots", [False, True])
def test_what_a_later_line_tells_is_not_handed_out(world, monkeypatch, with_snapshots, most):
    """A URL waits until all was read that may tell it, if there is room; else a worker looks into the tree.

    Each start of a crawl that was over asked most of its hosts for their robots.txt.
    """
    world.create(url(MINE[0]))
    first = world.join("first")
    first.membership.discover([url(host, f"{n}") for host in MINE for n in range(9)], 1, "")
    first.tick()
    if with_snapshots:
        said = first.membership.ledger
        said.flush()
        for number, epoch in first.membership.fleet.held.items():
            head = said.snapshots.make(number, epoch, said.ends())
            assert head.waiting
    first.crawl()
    first.membership.discover([url(MINE[0], "new")], 1, "")
    first.leave()
    slow_down(world, monkeypatch)
    monkeypatch.setattr(intake, "_MOST_WAITING", most)
    b = world.join("b")
    handed_out = set()
    while not b.is_complete:
        b.beat()
        b.tick()
        while (task := b.take()) is not None:
            handed_out.add(task.url)
            b.finish(task)
    assert bool(handed_out - {url(MINE[0], "new")}) == (most == 3)
    b.crawl()
    assert world.fetched.keys() == {url(MINE[0]), url(MINE[0], "new")} | {
        url(host, f"{n}") for host in MINE for n in range(9)
    }
    assert set(world.fetched.values()) == {1}


@pytest.mark.parametrize("what", ["newcomer", "edit"])
def test_shards_that_go_together(world, monkeypatch, what):
    """Shards that are let go at one time cost one way through what is pending, however many they are."""
    world.create(url(MINE[0]), partition="url")
    a = world.join("a")
    a.tick()
    a.membership.discover([url(MINE[0], str(n)) for n in range(100)], 1, "")
    a.tick()
    assert len(a.held) == SHARDS
    ways, keep = [], Hosts.keep
    monkeypatch.setattr(Hosts, "keep", lambda *given: ways.append(given) or keep(*given))
    if what == "edit":
        world.edit("crawl.deny=['/nowhere']")
        a.tick()
    else:
        world.join("b")
        world.rounds()
        assert len(a.held) < SHARDS - 1
    assert len(ways) == 1


def test_shards_that_arrive_one_after_the_other(world, monkeypatch):
    """After an edit, shards with pages in flight come back when those are over. The tree is not listed for each."""
    listings, list_hosts = [], StoredOnTree.list_hosts
    monkeypatch.setattr(StoredOnTree, "list_hosts", lambda self: listings.append(self) or list_hosts(self))
    hosts = [*MINE, *HERS]
    world.create(*map(url, hosts))
    a = world.join("a")
    a.tick()
    tasks = [a.take() for _ in hosts]
    world.edit("crawl.deny=['/nowhere']")
    a.tick()
    listings.clear()
    for task in tasks:
        a.finish(task)
        a.membership.tick(starved=False)
    assert len(listings) == 2, "of the first one, and of the others together"
    assert a.is_complete
    a.crawl()
    assert set(world.fetched.values()) == {1}
