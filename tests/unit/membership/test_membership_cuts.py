"""Logs that hold less than they did: nothing is lost, and the crawl ends.

A feed that had shrunk, as a power loss leaves it where the server did not flush, was not noticed by anybody: readers
went on at their old places, the writer counted from memory, and machines whose sums could never agree idled for ever.
"""

import json

import pytest

from fscrawl.errors import MemoryGone
from fscrawl.fleet import log_writer
from fscrawl.fleet.logs import TreeLogs
from tests.support.members import HERS, MINE, shard, url

PAGES = {
    url(MINE[0]): [url(HERS[0]), url(HERS[1]), url(MINE[1])],
    url(HERS[0]): [url(MINE[0], "x"), url(HERS[0], "x")],
    url(HERS[1]): [url(HERS[2])],
    url(HERS[2]): [url(MINE[2])],
}
ALL = {url(MINE[0]), *(link for links in PAGES.values() for link in links)}
percents = pytest.mark.parametrize("left", [0, 2, 15, 33, 50, 66, 85, 98, 99.9])  # of the log


def begin(world):
    world.web = PAGES
    world.create(url(MINE[0]))


def generations(world):
    return sorted(path.name for path in (world.root / ".fscrawl" / "again").glob("[0-9]*"))


def cut(world, machine, left):
    """Lose the end of a log; `left`: percent of it."""
    path = world.root / ".fscrawl" / "log" / machine / "0.log"
    with path.open("r+b") as file:
        file.truncate(int(path.stat().st_size * left / 100))


def finish(world):
    """Let all machines go on to the end; those that find the memory of the fleet changed are started again."""
    for n in range(40):
        for member in list(world.members):
            try:
                member.crawl()
            except MemoryGone:
                member.heart.trouble = True
        world.rounds(1)
        for member in [each for each in world.members if each.heart.trouble is not None]:
            member.kill()
            world.join(f"{member.name}-again-{n}")
        if all(member.is_over() for member in world.members):
            return
    raise AssertionError("no end")


def all_is_there(world):
    assert world.fetched == dict.fromkeys(ALL, 1)


@pytest.mark.gate
@percents
def test_cut_after_its_machine_had_left(world, left):
    """A log that is cut between two runs: the next one finds that by the goodbye, and tells all from the records."""
    begin(world)
    a = world.join("a")
    for _ in range(3):
        a.finish(a.take())
        a.membership.ledger.flush()
        a.tick()
    a.leave()
    cut(world, "a", left)
    world.join("b")
    finish(world)
    all_is_there(world)
    assert generations(world) == ["1"]


@pytest.mark.gate
@percents
def test_cut_after_its_machine_was_killed(world, left):
    """The log of a machine that was killed: what others had read of it is more than there is."""
    begin(world)
    a, _ = world.join("a"), world.join("b")
    world.rounds()
    for _ in range(2):
        a.finish(a.take())
        world.rounds(2)
    a.kill()
    cut(world, "a", left)
    world.pass_time(80, *world.members)
    finish(world)
    all_is_there(world)


@pytest.mark.gate
@percents
def test_cut_while_its_machine_runs(world, left):
    """The log of a machine that runs: it ends, and is started again; all that it has told is told by somebody."""
    begin(world)
    a, _ = world.join("a"), world.join("b")
    world.rounds()
    for _ in range(2):
        a.finish(a.take())
        world.rounds(2)
    cut(world, "a", left)
    a.beat()
    assert isinstance(a.heart.trouble, MemoryGone), "the next beat finds it"
    finish(world)
    all_is_there(world)
    assert "a" not in [member.name for member in world.members]


@pytest.mark.gate
@percents
def test_cut_just_before_a_join(world, left):
    """A machine that joins has not read the log before: it believes what the beat says, and what others do."""
    begin(world)
    a, _ = world.join("a"), world.join("b")
    world.rounds()
    a.finish(a.take())
    world.rounds(2)
    a.kill()
    cut(world, "a", left)
    world.join("c")
    world.pass_time(80, *world.members)
    finish(world)
    all_is_there(world)


@pytest.mark.parametrize("beats", [True, False])
def test_cut_behind_a_snapshot(world, beats):
    """A log that has less than a snapshot was made of is cut, also where no beat has told of what is lost."""
    world.web = {url(MINE[0]): [url(HERS[0])]}
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    a.membership.ledger.flush()
    path = world.root / ".fscrawl" / "log" / "a" / "0.log"
    before = path.stat().st_size
    a.finish(a.take())
    a.membership.ledger.flush()
    a.membership._snapshots.make(shard(MINE[0]), 1, a.membership.ledger.ends(), a.membership.rules.term)
    if beats:
        a.tick()
        a.beat()
    a.kill()
    with path.open("r+b") as file:
        file.truncate(before)
    world.join("b")
    world.pass_time(100, *world.members)
    finish(world)
    assert world.fetched == {url(MINE[0]): 1, url(HERS[0]): 1}
    assert generations(world) == ["1"]


def test_a_damaged_log_is_read_from_records_once(world):
    """A damaged log makes one generation, by whichever machine, and no later start reads all records again.

    Each later start found the same damage, and read the whole tree again, for ever.
    """
    begin(world)
    a = world.join("a")
    a.crawl()
    a.leave()
    cut(world, "a", 50)
    for n in range(4):
        world.join(f"b{n}")
        finish(world)
        member = world.members[0]
        assert [text for text in member.warnings if "was cut" in text] == (
            ["the log of a was cut; all records are read again"] if n == 0 else []
        )
        assert (b"\nt " in world.log(member.name)) == (n == 0)
        member.leave(finished=True)
    assert generations(world) == ["1"]
    reason = json.loads((world.root / ".fscrawl" / "again" / "1").read_text())
    assert (reason["reason"], reason["log"]) == ("cut", "a")
    all_is_there(world)


def test_two_that_find_a_cut_make_one_generation(world):
    """Two machines that find the same cut at the same time make one generation."""
    begin(world)
    a = world.join("a")
    a.finish(a.take())
    a.leave()
    cut(world, "a", 10)
    world.join("b")
    world.join("c")
    finish(world)
    assert generations(world) == ["1"]
    all_is_there(world)


def test_an_old_view_is_no_cut(world, monkeypatch):
    """A file system that shows a log shorter than its machine has said, for less than a minute: nothing is believed."""
    begin(world)
    a, b = world.join("a"), world.join("b")
    world.rounds()
    a.finish(a.take())
    a.membership.ledger.flush()
    a.beat()
    with monkeypatch.context() as patch:
        seen = TreeLogs.open_segment
        patch.setattr(TreeLogs, "open_segment", lambda logs, name, n: None if name == "a" else seen(logs, name, n))
        for _ in range(20):
            b.beat()
            b.tick()
        assert not b.membership.snapshot().idle, "the machine does not end as long as it is in doubt"
    finish(world)
    assert generations(world) == []
    all_is_there(world)


def test_an_old_size_when_the_next_segment_appears(world, monkeypatch):
    """What stands in a segment behind the size that a file system still shows is read before the next segment is.

    A reader went on to the next segment as soon as it was there, and what came late of the one before was skipped.
    """
    sizes = {**log_writer.LogWriter.__init__.__kwdefaults__, "segment_bytes": 100}
    monkeypatch.setattr(log_writer.LogWriter.__init__, "__kwdefaults__", sizes)
    begin(world)
    a, b = world.join("a"), world.join("b")
    world.rounds()
    a.beat()
    b.tick()
    old = (world.root / ".fscrawl" / "log" / "a" / "0.log").stat().st_size
    for n in range(6):
        a.membership.discover([url(HERS[0], f"{n}")], 1, "")
        a.membership.ledger.flush()
    assert (world.root / ".fscrawl" / "log" / "a" / "2.log").exists()
    a.beat()
    open_segment = TreeLogs.open_segment

    class OldView:
        size = old

        def read(self, offset, length):
            return (world.root / ".fscrawl" / "log" / "a" / "0.log").read_bytes()[offset : min(offset + length, old)]

        def close(self):
            pass

    with monkeypatch.context() as patch:
        patch.setattr(
            TreeLogs,
            "open_segment",
            lambda logs, machine, segment: (
                OldView() if (machine, segment) == ("a", 0) else open_segment(logs, machine, segment)
            ),
        )
        b.tick()
        b.tick()
    for _ in range(3):
        a.beat()
        b.beat()
        b.tick()
    assert b.held >= {shard(HERS[0])}
    found = {task.url for task in b.take_all()}
    assert found >= {url(HERS[0], f"{n}") for n in range(6)}
    assert generations(world) == []
