"""What a machine keeps in memory, how often it writes and reads, and how it goes when all is lost."""

import shutil
from types import SimpleNamespace

import pytest

from fscrawl.config.watcher import EditWatcher
from fscrawl.errors import TreeError
from fscrawl.fleet import membership as module
from fscrawl.fleet.membership import Membership
from fscrawl.frontier.stored import StoredOnTree
from fscrawl.store import Tree
from tests.support.members import ABANDONED, MINE, url


def test_bounded_memory_of_what_was_sent(world, monkeypatch):
    """What was sent is remembered for a while; a repeat after that is harmless."""
    monkeypatch.setattr(module, "_SENT_MEMORY", 2)
    world.create(url(MINE[0]))
    a = world.join("a")
    asked = [a.membership._send(number) for number in (1, 1, 2, 1, 3, 4, 3, 5, 6, 1)]
    assert asked == [True, False, True, False, True, True, False, True, True, True]


def test_flush_about_once_a_second(world):
    """While there is work, what is found is flushed once a second; when there is none, at once."""
    world.create(url(MINE[0]), url(MINE[0], "x"))
    a = world.join("a")
    a.tick(starved=False)
    flushed = a.membership._writer.sent
    a.membership.discover([url(MINE[0], "y")], 1, "")
    world.clock.now -= 1.9
    a.tick(starved=False)
    assert a.membership._writer.sent == flushed
    a.tick(starved=False)
    assert a.membership._writer.sent > flushed


def test_feeds_of_the_long_dead(world, monkeypatch):
    """Feeds of machines that are over are read for as long as caches live, starved or not, and then no more."""
    world.create(url(MINE[0]))
    b = world.join("b")
    b.membership.leave(finished=False)
    a = world.join("a")
    asked = []
    shared = a.membership._reader._shared
    monkeypatch.setattr(shared, "read_feed", lambda machine, segment, offset: asked.append(machine) or b"")
    ticks = round(2 * a.membership.fleet.stale_s / 2)  # each moves the clock by 2 s
    for _ in range(ticks - 2):
        a.tick()
    asked.clear()
    a.tick()
    assert "b" in asked
    for _ in range(3):
        a.tick()
    asked.clear()
    a.tick()
    assert "b" not in asked


def test_long_chores(world, monkeypatch):
    """Reading feeds is done in slices, between which the workers are looked after."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    a.membership.discover([url(MINE[0], str(n)) for n in range(5)], 1, "")
    a.tick()
    b = world.join("b")
    b.membership._chores.append(iter(range(3)))
    times = iter(range(1000))
    monkeypatch.setattr(module, "_SLICE_S", 0.5)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 2000 + 0.3 * next(times)))
    b.membership._work_at_chores()
    assert b.membership.busy
    for _ in range(10):
        b.membership._work_at_chores()
    assert not b.membership.busy


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
