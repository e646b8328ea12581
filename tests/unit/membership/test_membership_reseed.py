"""Surveys: what is stored and was not told, by anybody or in this generation, is told from the records."""

import msgspec
import pytest

from fscrawl import urls
from fscrawl.errors import MemoryGone, NotATreeError, TreeError
from tests.support.members import HERS, MINE, shard, stored, url


def test_goodbye_amid_a_reseed(world):
    """What a machine has not surveyed when it leaves is surveyed by the next one."""
    stored(world, [])
    a = world.join("a", reseed=True)
    assert not a.is_complete
    a.leave()
    c = world.join("c")
    c.settle()
    assert b"\ns\n" not in world.log("a")
    assert b"\ns\n" in world.log("c")


def test_no_hand_over_amid_a_reseed(world):
    """What is being put together is handed over when that is done."""
    stored(world, [], HERS[0])
    a = world.join("a", reseed=True)
    b = world.join("b")
    world.rounds()
    assert not a.is_complete
    assert a.held == {shard(HERS[0])}
    a.settle()
    world.rounds()
    assert (a.held, b.held) == (set(), {shard(HERS[0])})


def test_reseed_on_demand(world):
    """Asked for, every record is read again: links that no log tells of are found."""
    stored(world, [])
    record = world.made[0].tree.page(MINE[0], urls.key(url(MINE[0])))
    world.made[0].tree.put_record(MINE[0], msgspec.structs.replace(record, links=(url(MINE[1]), url(HERS[0]))))
    b = world.join("b")
    b.crawl()
    b.leave()
    assert len(world.fetched) == 1
    world.web.clear()
    c = world.join("c", reseed=True)
    c.crawl()
    assert world.fetched == dict.fromkeys([url(MINE[0]), url(MINE[1]), url(HERS[0])], 1)


def test_reseed_beside_machines_that_run(world):
    """Machines that run take part in a re-seed that another one begins, and each reads its own shards."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.crawl()
    for host in (MINE[0], HERS[0]):
        record = a.tree.page(host, urls.key(url(host)))
        a.tree.put_record(host, msgspec.structs.replace(record, links=(url(host, "x"),)))
    b = world.join("b", reseed=True)
    for _ in range(3):
        world.rounds()
        a.crawl()
        b.crawl()
    assert world.fetched == {url(host, path): 1 for host in (MINE[0], HERS[0]) for path in ("", "x")}
    assert (a.held, b.held) == ({shard(MINE[0])}, {shard(HERS[0])})


def test_share_that_vanishes_before_logs_are_read(world):
    """Where the tree has gone with the logs, a shard that was just taken is not taken for empty."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.finish(a.take(), [url(HERS[0], "x")])
    a.membership.ledger.flush()
    world.root.rename(world.root.parent / "elsewhere")
    with pytest.raises((TreeError, MemoryGone)) as raised:
        world.pass_time(200, a)
    assert isinstance(a.membership.cause_of(raised.value), NotATreeError)
    (world.root.parent / "elsewhere").rename(world.root)


def test_goodbye_before_a_dead_ones_shard_has_arrived(world):
    """What a killed machine had stored and not told is told by whoever puts the shard together, however late."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    task = a.take()
    b = world.join("b")
    world.rounds(1)
    assert b.membership.fleet._shared.claim_lease(shard(HERS[0]), 2, "b")
    world.rounds(1)
    b.settle()
    b.tick()
    b.store(b.take(), [url(MINE[0], "x")])
    b.kill()
    world.pass_time(80, a)
    assert a.held == {shard(HERS[0])}
    assert not a.is_complete, "the page that was in flight has not come back"
    a.leave()
    a.frontier.finish(task, None)
    c = world.join("c")
    world.pass_time(80, c)
    c.crawl()
    assert world.fetched == {url(HERS[0]): 1, url(MINE[0], "x"): 1}


def test_torn_record(world):
    """A record that cannot be read is told of and passed by."""
    stored(world, [])
    (world.root / "links" / MINE[0] / f"{urls.key(url(MINE[0]))}.json").write_bytes(b"{")
    a = world.join("a", reseed=True)
    a.settle()
    assert len(a.warnings) == 1
    assert urls.key(url(MINE[0])) in a.warnings[0]


def test_by_url(world):
    """With partition = "url" shards of one host are crawled by both, and a re-seed gives each its own."""
    pages = [url("one.example", str(n)) for n in range(12)]
    world.web = {url("one.example"): pages}
    world.create(url("one.example"), partition="url")
    a = world.join("a")
    a.tick()
    a.finish(a.take())
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
    c.settle()
    assert world.log("c").count(b"\nt ") == 13
    c.crawl()
    assert sum(world.fetched.values()) == 13
