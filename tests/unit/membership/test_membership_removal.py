"""What is removed of logs and snapshots: nobody misses it, and what somebody else removes is missed."""

import pytest

from fscrawl.fleet import log_writer
from fscrawl.fleet.logs import TreeLogs
from tests.support.members import MINE, shard, url

HOME = url(MINE[0])
SHARD, LATER = shard(MINE[0]), shard(MINE[1])


@pytest.fixture(autouse=True)
def short_segments(monkeypatch):
    sizes = {**log_writer.LogWriter.__init__.__kwdefaults__, "segment_bytes": 300}
    monkeypatch.setattr(log_writer.LogWriter.__init__, "__kwdefaults__", sizes)


def segments(world, name):
    return sorted(path.name for path in (world.root / ".fscrawl/log" / name).glob("*.log"))


def generations(world):
    return sorted(path.name for path in (world.root / ".fscrawl/again").iterdir())


def make_snapshot(member, number=SHARD):
    """Make a snapshot of what the machine has read and flushed, as its housekeeping does."""
    ledger = member.membership.ledger
    ledger.flush()
    epoch = member.membership.fleet.held[number]
    return member.membership._snapshots.make(number, epoch, ledger.ends(), ledger.rules.term)


def remove_old(member):
    """Let housekeeping look as often as it must, with the time between two looks that caches need."""
    for _ in range(3):
        member.membership._snapshots.remove_old(120)
        member.world.pass_time(130, member)


def long_log(world, name="a"):
    """Let a machine say so much of one shard that its log has several segments."""
    member = world.join(name)
    member.settle()
    for number in range(4):
        member.membership.discover([url(MINE[0], f"{name}/{number}/{n}") for n in range(9)], 1, "")
        member.membership.ledger.flush()
    return member


@pytest.fixture
def removed(world):
    """Give a world in which the first segments of a log were removed."""
    world.create(HOME)
    a = long_log(world)
    assert len(segments(world, "a")) > 1
    make_snapshot(a)
    remove_old(a)
    a.leave()
    assert len(segments(world, "a")) == 1
    return world


def test_a_shard_that_came_later(removed):
    """A shard without a snapshot has no lines in what was removed, so nothing is missing there.

    It was taken for a cut log: all records of the crawl were read again.
    """
    b = removed.join("b")
    b.settle()
    b.membership.discover([url(MINE[1], "x")], 1, "")
    removed.pass_time(80, b)
    assert LATER in b.held
    b.leave()
    c = removed.join("c")
    removed.pass_time(200, c)
    c.settle()
    assert c.held == {SHARD, LATER}
    assert c.frontier.pending == 38
    assert generations(removed) == []
    assert make_snapshot(c, LATER).waiting == 1


def all_is_told_anew(world, member):
    """Let the machine find that something is missing; all records are read then."""
    world.pass_time(200, member)
    member.settle()
    assert generations(world) == ["1"]


@pytest.mark.parametrize("lost", ["removed", "torn"])
def test_a_snapshot_that_is_lost(removed, lost):
    """What was removed is missing then. It is noticed as a cut."""
    (path,) = (removed.root / ".fscrawl/snap").glob(f"{SHARD}.*")
    if lost == "removed":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-9])
    all_is_told_anew(removed, removed.join("b"))


def test_a_segment_that_somebody_removed(world):
    """A shard without a snapshot misses it."""
    world.create(HOME)
    a = long_log(world)
    a.leave()
    (world.root / ".fscrawl/log/a/0.log").unlink()
    all_is_told_anew(world, world.join("b"))


def test_a_note_that_is_lost(removed):
    """Without it nobody knows that something was removed: that is a cut."""
    for path in (removed.root / ".fscrawl/snap").glob("removed.*"):
        path.unlink()
    b = removed.join("b")
    b.membership.discover([url(MINE[1], "x")], 1, "")
    removed.pass_time(80, b)
    b.leave()
    all_is_told_anew(removed, removed.join("c"))


def test_an_old_listing_of_a_log(removed, monkeypatch):
    """It still shows a segment that was removed. Its log begins with the first one that is there."""
    listed = TreeLogs.log_segments
    monkeypatch.setattr(TreeLogs, "log_segments", lambda logs, name: sorted({0, *listed(logs, name)}))
    b = removed.join("b")
    removed.pass_time(80, b)
    b.settle()
    b.membership.discover([url(MINE[1], "x")], 1, "")
    removed.pass_time(200, b)
    assert b.held == {SHARD, LATER}
    assert generations(removed) == []
