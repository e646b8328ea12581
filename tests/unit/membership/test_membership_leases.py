"""Somebody removes leases by hand while machines run: they look like locks that were left behind."""

import shutil

import pytest

from fscrawl.errors import TreeError
from tests.support.members import HERS, MINE, shard, url


def leases(world):
    return sorted(path.name for path in (world.root / ".fscrawl" / "leases").iterdir())


def remove(world, *, with_directory):
    directory = world.root / ".fscrawl" / "leases"
    shutil.rmtree(directory)
    if not with_directory:
        directory.mkdir()


@pytest.mark.parametrize("with_directory", [True, False])
def test_each_machine_makes_its_leases_again(world, with_directory):
    """The next round makes them as they were, says so, and nothing else changes."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    b = world.join("b")
    world.rounds()
    before, held = leases(world), [dict(each.membership.fleet.held) for each in (a, b)]
    remove(world, with_directory=with_directory)
    world.rounds(1)
    assert [dict(each.membership.fleet.held) for each in (a, b)] == held
    assert set(leases(world)) <= set(before)
    assert {f"{number}.{epoch}" for each in held for number, epoch in each.items()} == set(leases(world))
    said = ".fscrawl/leases: somebody has removed 1 lease of this machine; made again"
    assert (a.warnings, b.warnings) == ([said], [said])
    world.rounds()
    a.crawl()
    b.crawl()
    assert world.fetched == {url(MINE[0]): 1, url(HERS[0]): 1}


def test_who_joins_meanwhile_claims_nothing(world):
    """No lease names a machine that says that it holds shards: it makes them again first."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    a.beat()
    remove(world, with_directory=False)
    b = world.join("b")
    b.beat()
    b.tick()
    assert a.held == {shard(MINE[0]), shard(HERS[0])}
    assert b.held == set()
    assert leases(world) == []
    world.rounds()
    assert (a.held, b.held) == ({shard(MINE[0])}, {shard(HERS[0])})
    b.crawl()
    a.crawl()
    assert world.fetched == {url(MINE[0]): 1, url(HERS[0]): 1}


def test_machine_that_dies_before_it_makes_them_again(world):
    """Who joins takes its shards when it is dead."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    a.beat()
    remove(world, with_directory=False)
    a.kill()
    b = world.join("b")
    world.pass_time(100, b)
    b.crawl()
    assert world.fetched == {url(MINE[0]): 1}


def test_a_lease_that_a_listing_hides(world, monkeypatch):
    """On some file systems a listing is old, and the name is found: nothing is made again."""
    world.create(url(MINE[0]))
    a = world.join("a")
    monkeypatch.setattr(a.membership._machinery, "leases", list)
    a.tick()
    assert a.warnings == []
    assert a.held == {shard(MINE[0])}


def test_it_costs_nothing(world, monkeypatch):
    """As long as leases are there, no call looks for them beside the listing of each round."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    asked = []
    monkeypatch.setattr(a.membership._machinery, "has_lease", lambda *lease: asked.append(lease))
    monkeypatch.setattr(a.membership._machinery, "lease", lambda *lease: asked.append(lease))
    world.rounds()
    assert asked == []


def test_a_lease_that_is_removed_before_its_holder_has_seen_it(world):
    """It was handed over, and each of the two believed for ever that the other one held the shard."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    b = world.join("b")
    b.beat()
    a.tick()
    assert a.held == {shard(MINE[0])}
    remove(world, with_directory=False)
    world.pass_time(200, a, b)
    assert (a.held, b.held) == ({shard(MINE[0])}, {shard(HERS[0])})


def test_a_share_that_is_gone(world):
    """Where there is no tree, no lease is made, and no directory."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    world.root.rename(world.root.parent / "elsewhere")
    world.root.mkdir()
    with pytest.raises(TreeError):
        world.pass_time(20, a)
    assert list(world.root.iterdir()) == []
    world.root.rmdir()
    (world.root.parent / "elsewhere").rename(world.root)
