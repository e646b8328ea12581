"""What is removed of logs and snapshots: nobody misses it, and what somebody else removes is missed."""

import pytest

from fscrawl.fleet import housekeeping, log_walk, log_writer, snapshots
from fscrawl.fleet.log_window import Window
from fscrawl.fleet.logs import TreeLogs
from tests.support.members import HERS, MINE, Member, shard, url

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
        member.membership._snapshots.remove_old(["a"], 120)
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
    assert len(segments(world, "a")) == 1
    a.leave()
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


# -- many short runs


@pytest.fixture
def nightly(world, monkeypatch):
    """Give a world in which a little is much: for segments, snapshots, and what logs may grow by."""
    monkeypatch.setattr(snapshots, "SEGMENT_BYTES", 3200)
    sizes = {**log_writer.LogWriter.__init__.__kwdefaults__, "segment_bytes": 3200}
    monkeypatch.setattr(log_writer.LogWriter.__init__, "__kwdefaults__", sizes)
    monkeypatch.setattr(housekeeping, "_QUIET_BYTES", 4 * 3200)
    monkeypatch.setattr(housekeeping, "_FEWEST_LINES", 40)
    world.create(HOME)
    return world


def night(world, number):
    """Let a machine find some pages in a run of a few minutes, and end."""
    member = world.join(f"night-{number:02}")
    member.settle()
    yield
    member.membership.discover([url(host, f"{number:02}/{n}") for host in MINE[:2] for n in range(10)], 1, "")
    world.pass_time(160, member)
    member.leave(finished=False)


@pytest.mark.gate
def test_many_short_runs(nightly, monkeypatch):
    """What they say is kept for a while. After that each leaves one line, and costs a start one look at that."""
    open_segment, opened, read = TreeLogs.open_segment, [], []

    class Noted(Window):
        def get(self, begin, end, ahead=0):
            before = len(self._data)
            data = super().get(begin, end, ahead)
            read.append(max(0, len(self._data) - before))
            return data

    monkeypatch.setattr(log_walk, "Window", Noted)
    monkeypatch.setattr(TreeLogs, "open_segment", lambda *which: opened.append(which) or open_segment(*which))
    long, kept, opens, reads = [], [], [], []
    for number in range(24):
        opened.clear()
        read.clear()
        run = night(nightly, number)
        next(run)
        opens.append(len(opened) - number)
        reads.append(sum(read) - 20 * number)
        assert next(run, None) is None
        sizes = [path.stat().st_size for path in (nightly.root / ".fscrawl/log").rglob("*.log")]
        long.append(sum(size for size in sizes if size > 40))
        kept.append(len(list((nightly.root / ".fscrawl/snap").iterdir())))
    for values in (long, kept, opens, reads):
        assert max(values[12:]) <= max(values[:12]), values
    assert len(segments(nightly, "night-00")) == 1
    assert generations(nightly) == []


def test_machines_that_leave_together(world):
    """Their logs are long, and end where all agreed that they end: the last one need not take the others' shards."""
    world.web = {HOME: [url(host, f"{n}") for host in (*MINE, *HERS) for n in range(5)]}
    world.create(HOME)
    members = [world.join(name) for name in ("a", "b", "c")]
    for _ in range(60):
        for member in members:
            member.crawl()
        world.rounds(1)
        if all(list(map(Member.is_over, members))):
            break
    a, b, c = members
    assert all(member.is_over() for member in members)
    held = c.held
    a.leave(finished=True)
    b.leave(finished=True)
    world.rounds(3)
    assert c.is_over()
    assert c.held == held
    c.leave(finished=True)
    for name in "abc":
        assert (world.root / f".fscrawl/log/{name}" / segments(world, name)[-1]).stat().st_size < 40


def test_the_main_loop_stands_still_when_all_is_done(world):
    """The heart beats on. Others go by it and leave, so the log must not get another end then.

    It got one, nothing matched their goodbyes, and this machine took all of their shards.
    """
    links = [url(MINE[0], f"{n}") for n in range(9)]
    world.web = {HOME: [url(HERS[0])], url(HERS[0]): links}
    world.create(HOME)
    a, b = world.join("a"), world.join("b")
    for _ in range(99):
        for member in (a, b):
            task = member.take()
            if task is not None:
                member.finish(task)
            elif member is b or a.membership.snapshot().read != b.membership.ledger.vector_hash():
                member.tick()
            member.beat()
            member.beat()
        if b.is_over():
            break
    assert b.is_over()
    assert world.fetched.total() == 11
    held = a.held
    b.leave(finished=True)
    world.rounds(3)
    assert a.held == held
    assert a.is_over()
    assert (world.root / f".fscrawl/log/a/{segments(world, 'a')[-1]}").stat().st_size < 40
