"""A machine that takes a shard over unclean reads the pages that are stored for what is to be fetched."""

import pytest

from fscrawl import urls
from fscrawl.errors import NotATreeError
from tests.support.members import HERS, MINE, shard, stored, url


def test_goodbye_amid_a_reseed(world):
    """A machine that leaves before it has read all link files does not call its shards clean."""
    stored(world, [])
    a = world.join("a", reseed=True)
    assert a.membership.busy
    assert a.membership.reseeding == 1
    a.leave()
    assert a.heart.ended.clean is False


def test_no_hand_over_amid_a_reseed(world, monkeypatch):
    """What is being read from link files is handed over when that is done."""
    stored(world, [], HERS[0])
    a = world.join("a", reseed=True)
    work = a.membership._work_at_chores
    monkeypatch.setattr(a.membership, "_work_at_chores", lambda: None)
    b = world.join("b")
    world.rounds()
    assert a.held == {shard(HERS[0])}
    monkeypatch.setattr(a.membership, "_work_at_chores", work)
    world.rounds()
    assert (a.held, b.held) == (set(), {shard(HERS[0])})


def test_reseed_on_demand(world):
    """Asked for, every link file is read again: links that no feed tells of are found."""
    stored(world, [url(MINE[1])])
    for feed in (world.root / ".fscrawl" / "feed").iterdir():
        feed.write_bytes(b"")
    (world.root / ".fscrawl" / "machines").joinpath("first.log").write_bytes(b'{"bye":true,"clean":true}\n')
    world.fetched.clear()
    (world.root / "htmls" / MINE[1] / f"{urls.key(url(MINE[1]))}.html").unlink()
    (world.root / "links" / MINE[1] / f"{urls.key(url(MINE[1]))}.json").unlink()
    c = world.join("c", reseed=True)
    c.crawl()
    assert world.fetched == {url(MINE[1]): 1}


def test_damaged_feed(world):
    """A feed that is shorter than its machine said makes the link files speak."""
    world.create(url(MINE[0]))
    b = world.join("b")
    b.tick()
    task = b.take()
    b.finish(task, [url(MINE[0], "x"), url(MINE[0], "y")])
    b.tick()
    b.leave()
    (world.root / ".fscrawl" / "feed" / "b.log").write_bytes(b"")
    a = world.join("a")
    assert a.warnings == ["the feed of b is damaged or missing; the link files are read instead"]
    a.crawl()
    assert len(world.fetched) == 3


def test_own_feed_that_vanishes(world):
    """Where a machine's own feed has gone, what it had found for shards it takes is read from the link files."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.finish(a.take(), [url(HERS[0], "x")])
    a.membership._writer.flush()
    (world.root / ".fscrawl" / "feed" / "a.log").write_bytes(b"")
    a.crawl()
    a.tick()
    assert a.warnings == ["the feed of a is damaged or missing; the link files are read instead"]
    assert world.fetched == {url(MINE[0]): 1, url(HERS[0], "x"): 1}
    a.tick()
    assert a.is_over()


def test_share_that_vanishes_before_feeds_are_read(world):
    """Where the tree has gone with the feeds, a shard that was just taken is not taken for empty."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.finish(a.take(), [url(HERS[0], "x")])
    a.membership._writer.flush()
    world.root.rename(world.root.parent / "elsewhere")
    with pytest.raises(NotATreeError, match="is the share mounted"):
        list(a.membership._pass_over_feeds({shard(HERS[0])}))
    (world.root.parent / "elsewhere").rename(world.root)


def test_feed_that_grows_while_it_is_looked_at(world):
    """A feed that is behind what its machine has told meanwhile is not damaged: it is read once more."""
    world.create(url(MINE[0]))
    b = world.join("b")
    b.tick()
    a = world.join("a")
    b.finish(b.take(), [url(MINE[0], "x"), url(MINE[0], "y")])
    b.tick()
    b.leave()
    a.membership.fleet.observe(a.now)
    assert a.membership.fleet.peers["b"].last().sent > a.membership._reader.offsets.get("b", 0)
    a.membership._check_feeds()
    assert a.warnings == []
    assert a.membership.fleet.peers["b"].last().sent == a.membership._reader.offsets["b"]


def test_damaged_feed_of_another_shard(world):
    """Lines that only a damaged feed had are found again, though their shard is handed over later."""
    world.create(url(MINE[0]))
    first = world.join("first")
    first.tick()
    first.finish(first.take(), [url(HERS[0])])
    first.tick()
    first.leave()
    a = world.join("a")
    a.tick()
    assert a.frontier.pending == 1
    (world.root / ".fscrawl" / "feed" / "first.log").write_bytes(b"")
    b = world.join("b")
    world.rounds(4)
    assert (b.held, b.frontier.pending) == ({shard(HERS[0])}, 1)


def test_goodbye_before_an_unclean_shard_has_arrived(world):
    """A machine that leaves before it could take on what a dead one had held does not call it clean."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    task = a.take()
    b = world.join("b")
    world.rounds(1)
    assert a.membership._machinery.claim_lease(shard(HERS[0]), 2, "b")
    world.rounds(1)
    b.kill()
    world.pass_time(80, a)
    assert a.membership._arriving == [(shard(HERS[0]), False)]
    a.finish(task)
    a.leave()
    assert a.heart.ended.clean is False


def test_torn_record(world):
    """A record that cannot be read is told of and passed by."""
    stored(world, [])
    (world.root / "links" / MINE[0] / f"{urls.key(url(MINE[0]))}.json").write_bytes(b"{")
    a = world.join("a", reseed=True)
    a.crawl()
    assert len(a.warnings) == 1
    assert urls.key(url(MINE[0])) in a.warnings[0]


def test_by_url(world):
    """With partition = "url" shards of one host are crawled by both, and a re-seed gives each its own."""
    pages = [url("one.example", str(n)) for n in range(12)]
    world.web = {url("one.example"): pages}
    world.create(url("one.example"), partition="url")
    a = world.join("a")
    a.tick()
    task = a.take()
    a.finish(task, pages)
    a.tick()
    b = world.join("b")
    world.rounds()
    assert a.frontier.pending
    assert b.frontier.pending
    for _ in range(3):
        a.crawl()
        b.crawl()
        world.rounds()
    assert len(world.fetched) == 13
    assert set(world.fetched.values()) == {1}
    a.leave()
    b.leave()
    c = world.join("c", reseed=True)
    assert c.membership.reseeding
    c.crawl()
    assert sum(world.fetched.values()) == 13
