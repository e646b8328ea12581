"""A machine that has lost touch with the tree works on nothing that another may hold by now."""

import pytest

from fscrawl.errors import MemoryGone
from fscrawl.storage.records import PageRecord
from tests.support.members import HERS, MINE, shard, url


def test_fence(world):
    """Without beats nothing more is done with leases; after a beat's time of beating they are read, and it goes on."""
    world.create(url(MINE[0]), url(MINE[1]))
    a = world.join("a")
    a.tick()
    a.heart.age = 31
    a.tick()
    assert a.membership.fenced
    assert not a.membership.snapshot().idle
    a.membership._machinery.claim_lease(shard(MINE[0]), 2, "b")
    a.tick()
    assert a.held == {shard(MINE[0]), shard(MINE[1])}, "a fenced machine does no round"
    a.heart.age = 0
    a.tick()
    assert a.membership.fenced
    world.clock.now += 11
    a.tick()
    assert not a.membership.fenced
    assert a.heart.readmitted == 1
    assert a.held == {shard(MINE[1])}
    assert a.frontier.pending == 1
    assert len(a.warnings) == 2


def test_fence_after_a_pause(world):
    """A gap between two beats fences, though the last one is fresh; a new gap begins the wait anew."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.heart.pause()
    a.tick()
    assert a.membership.fenced
    a.heart.age = 31
    a.tick()
    a.heart.age = 0
    world.clock.now += 100
    a.tick()
    assert a.membership.fenced
    world.clock.now += 11
    a.tick()
    assert not a.membership.fenced


def test_a_second_pause_while_the_fence_is_up(world):
    """The heart may beat again before the main loop sees that the last beat was old: the wait begins anew."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.heart.pause()
    a.tick()
    world.clock.now += 100
    a.heart.pause()
    a.tick()
    assert a.membership.fenced, "others may be taking its shards just now"
    world.clock.now += 11
    a.tick()
    assert not a.membership.fenced


def test_a_pause_while_the_leases_are_read(world):
    """What was read is out of date by then, though the heart beats again: the machine waits, and reads once more."""
    world.create(url(MINE[0]), url(MINE[1]))
    a = world.join("a")
    a.tick()
    a.heart.pause()
    a.tick()
    read = a.membership.fleet.check_held

    def stand_still():
        read()
        a.membership.fleet.check_held = read
        a.heart.pause()
        a.membership._machinery.claim_lease(shard(MINE[0]), 2, "b")

    a.membership.fleet.check_held = stand_still
    world.clock.now += 11
    a.tick()
    assert a.membership.fenced
    assert a.heart.suspended
    a.tick()
    world.clock.now += 11
    a.tick()
    assert not a.membership.fenced
    assert a.held == {shard(MINE[1])}


def test_adopted_while_fenced(world):
    """What was handed to a machine while it was fenced is crawled by it."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    b = world.join("b")
    b.heart.pause()
    b.tick()
    a.heart.beat()
    a.tick()
    assert a.held == set()
    world.clock.now += 11
    b.tick()
    assert b.held == {shard(HERS[0])}
    b.crawl()
    assert world.fetched == {url(HERS[0]): 1}


def test_a_backup_without_the_lease(world):
    """A machine that stood still while a backup was put back ends: the leases there are not those that it had."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.heart.pause()
    a.tick()
    (world.root / ".fscrawl" / "leases" / f"{shard(MINE[0])}.1").unlink()
    world.clock.now += 11
    with pytest.raises(MemoryGone, match=r"leases/\d+\.1: it was deleted"):
        a.tick()


@pytest.mark.parametrize("is_listed", [True, False])
def test_away_and_back(world, is_listed):
    """A shard that another machine had for a while is taken anew: what was stored meanwhile is not fetched again."""
    world.web = {url(MINE[0]): [url(MINE[0], "x")]}
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    a.heart.pause()
    a.tick()
    task = next(iter(a.take_all()))
    a.frontier.add(task.url, 0, "")
    links = (url(MINE[0], "y"),)
    a.tree.put_page(task.host, PageRecord(task.url, task.key, 0, "", "t", "b", 200, {}, 4, "", 0.1, links), b"page")
    for epoch, holder in ((2, "b"), (3, "a")):
        a.membership._machinery.claim_lease(shard(MINE[0]), epoch, holder)
    if not is_listed:
        (world.root / ".fscrawl" / "leases" / f"{shard(MINE[0])}.2").unlink()
    world.clock.now += 11
    a.tick()
    a.settle()
    a.crawl()
    assert world.fetched == {url(MINE[0], "y"): 1}
