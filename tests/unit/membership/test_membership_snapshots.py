"""Snapshots of shards: when they are worth their cost, and what the next holder learns from them."""

import hashlib

import pytest

from fscrawl.errors import RecordError
from fscrawl.fleet import housekeeping
from fscrawl.fleet.snapshot_file import SnapshotHead
from tests.support.members import HERS, MINE, shard, url

HOME = url(MINE[0])
SHARD = shard(MINE[0])


def snapshot(member):
    """Make a snapshot of what the machine has read and flushed, as its housekeeping does; give the head."""
    member.membership.ledger.flush()
    return make(member, 1)


def make(member, epoch):
    ledger = member.membership.ledger
    return ledger.snapshots.make(SHARD, epoch, ledger.ends())


def lines_since(member):
    return member.membership.ledger.lines_since[SHARD]


def test_what_is_not_flushed_is_not_counted(world):
    """A snapshot is made of what stands in logs, so lines count when they do."""
    world.create(HOME)
    a = world.join("a")
    a.tick()
    a.membership.ledger.flush()
    before = lines_since(a)
    a.finish(a.take(), [url(MINE[0], str(n)) for n in range(3)])
    assert lines_since(a) == before
    a.membership.ledger.flush()
    assert lines_since(a) == before + 4, "the links, and the mark of the page"


def test_what_the_last_snapshot_has_is_not_counted(world):
    """A taker counts the lines since the newest snapshot, and not what waits in that one."""
    world.create(HOME)
    a = world.join("a")
    a.tick()
    a.finish(a.take(), [url(MINE[0], str(n)) for n in range(9)])
    assert snapshot(a).waiting == 9
    world.clock.now += 10
    a.finish(a.take(), [url(MINE[0], "x")])
    a.membership.ledger.flush()
    a.leave()
    b = world.join("b")
    b.settle()
    b.membership.ledger.flush()
    assert lines_since(b) == 2


def test_a_snapshot_has_nothing_that_is_not_flushed(world):
    """A machine may be killed before it flushes: then nobody must find in a snapshot what stands in no log."""
    world.create(HOME)
    a = world.join("a")
    a.tick()
    snapshot(a)
    a.finish(a.take(), [url(MINE[0], "x")])
    head = make(a, 1)
    assert (head.told, head.waiting) == (0, 0)


def test_a_snapshot_has_what_is_outside_the_settings(world):
    """What a narrower scope leaves out waits in a snapshot that is made then, and is fetched when the scope is wide."""
    page = url(HERS[0])
    world.create(page)
    a = world.join("a")
    a.tick()
    a.finish(a.take(), [url(MINE[0], "x")])
    a.membership.ledger.flush()
    a.kill()
    world.set('crawl.deny=["/x"]')
    b = world.join("b")
    world.pass_time(80, b)
    b.settle()
    assert b.membership.rules.own.deny
    assert make(b, 2).waiting == 1
    b.kill()
    world.set("crawl.deny=[]")
    c = world.join("c")
    world.pass_time(80, c)
    c.crawl()
    assert world.fetched == {page: 1, url(MINE[0], "x"): 1}


@pytest.mark.parametrize(
    "text",
    [b"garbage\n", b"\n", b"0" * 16 + b" x 1 -\n", b"0" * 16 + b" u 1 - http://a.example?\n", b"0" * 16 + b" f -1\n"],
)
def test_snapshot_that_somebody_made_up(world, text):
    """A snapshot with a right digest, and lines that are none, is passed over, and costs no machine its life."""
    world.create(url(MINE[0]))
    b = world.join("b")
    b.tick()
    b.leave()
    head = SnapshotHead(1, SHARD, 1, 7, deep=False, surveyed=False, at={}, text_bytes=len(text), waiting=1)
    data = head.to_json() + text
    (world.root / head.path).write_bytes(data + hashlib.sha256(data).hexdigest().encode() + b"\n")
    a = world.join("a")
    world.pass_time(80, a)
    assert a.held == {shard(MINE[0])}
    assert a.take().url == url(MINE[0])
    assert made_by(a).epoch == 2


def made_by(member):
    """Make a snapshot, again if the one before cannot be read."""
    for _ in range(3):
        try:
            member.membership.ledger.flush()
            return make(member, 2)
        except RecordError:
            pass
    return None


def test_quiet_shards_of_a_new_run(world, monkeypatch):
    """A shard of which nothing new was said gets a snapshot once logs have grown by much, and not in each run."""
    monkeypatch.setattr(housekeeping, "_QUIET_BYTES", 500)
    world.create(HOME)
    a = world.join("a")
    a.finish(a.take(), [url(MINE[0], str(n)) for n in range(20)])
    a.membership.ledger.flush()
    a.leave()
    made = world.root / ".fscrawl/generations/1/snap"
    for name in ("b", "c", "d"):
        member = world.join(name)
        for _ in range(40):
            member.tick()
        member.leave()
    assert len(list(made.iterdir())) == 1
    member = world.join("e")
    member.membership.discover([url(MINE[0], f"new/{n}") for n in range(20)], 1, "")
    member.leave()
    member = world.join("f")
    for _ in range(40):
        member.tick()
    assert len(list(made.iterdir())) == 2


def test_snapshots_do_not_name_runs_that_said_nothing(world):
    """The head of a snapshot grows with the machines that have said something, and not with all that ever ran."""
    world.create(HOME)
    a = world.join("a")
    a.finish(a.take(), [url(MINE[0], "x")])
    a.leave()
    world.join("idle").leave()
    b = world.join("b")
    world.pass_time(80, b)
    b.finish(b.take(), [url(MINE[0], "y")])
    assert snapshot(b).at.keys() == {"a", "b"}
    b.leave()
    c = world.join("c")
    c.settle()
    assert c.frontier.pending == 1


def test_all_snapshots_are_deleted(world):
    """They are only a cache: who takes the shard reads the logs."""
    world.create(HOME)
    a = world.join("a")
    a.tick()
    a.finish(a.take(), [url(MINE[0], str(n)) for n in range(9)])
    for _ in range(2):
        last = world.root / snapshot(a).path
    a.leave()
    for path in last.parent.iterdir():
        path.unlink()
    b = world.join("b")
    b.settle()
    assert b.frontier.pending == 9
    assert world.generations().keys() == {1}
