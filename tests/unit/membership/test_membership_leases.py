"""Somebody removes leases by hand while machines run: they look like locks that were left behind."""

import shutil

import pytest

from fscrawl.errors import MemoryGone, NotATreeError
from tests.support.members import HERS, MINE, shard, url


@pytest.mark.parametrize("with_directory", [True, False])
def test_whoever_knows_them_ends(world, with_directory):
    """The next round of each machine says which lease is gone, whoever held it. What is stored is fetched once."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    b = world.join("b")
    world.rounds()
    a.crawl()
    directory = world.root / ".fscrawl" / "leases"
    shutil.rmtree(directory)
    if not with_directory:
        directory.mkdir()
    for member in (a, b):
        with pytest.raises(MemoryGone, match=r"^\.fscrawl/leases/\d+\.\d: it was deleted while") as raised:
            member.tick()
        assert member.membership.cause_of(raised.value) is raised.value
        member.kill()
    directory.mkdir(exist_ok=True)
    c = world.join("c")
    world.pass_time(80, c)
    c.crawl()
    assert world.fetched == {url(MINE[0]): 1, url(HERS[0]): 1}


def test_a_lease_that_a_listing_hides(world, monkeypatch):
    """On some file systems a listing is old, and the name is found: nothing is gone."""
    world.create(url(MINE[0]))
    a = world.join("a")
    monkeypatch.setattr(a.membership._machinery, "leases", list)
    a.tick()
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


def test_a_share_that_is_gone(world):
    """Where there is no tree, that is said, and nothing is made."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    world.root.rename(world.root.parent / "elsewhere")
    world.root.mkdir()
    with pytest.raises(MemoryGone) as raised:
        world.pass_time(20, a)
    with pytest.raises(NotATreeError, match="is the share mounted"):
        raise a.membership.cause_of(raised.value)
    assert list(world.root.iterdir()) == []
    world.root.rmdir()
    (world.root.parent / "elsewhere").rename(world.root)
