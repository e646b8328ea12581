"""A run that has said nothing of URLs leaves no log, and nobody takes it for one that was lost."""

import pytest

from fscrawl.admin.audit import audit
from fscrawl.fleet.log_writer import without_blocks
from fscrawl.monitor.snapshot import Observer
from fscrawl.store import Tree
from tests.support.members import MINE, stored, url


@pytest.fixture
def over(world):
    """Give a world in which all was fetched and told by a run that has left."""
    stored(world, ())
    return world


def logs(world):
    return sorted(path.name for path in (world.root / ".fscrawl/log").iterdir())


def generations(world):
    return list((world.root / ".fscrawl/again").iterdir())


def check(world):
    """Let those who only look find nothing wrong."""
    report = audit(Tree(world.root, "auditor"), world.settings(), frozenset(world.seeds), sleep=lambda _: None)
    assert "damaged_logs" not in report.found
    assert not Observer(Tree(world.root, "observer")).look().unheard


@pytest.mark.gate
def test_it_leaves_no_log(over):
    """Its heartbeats stay: they count what the tree has."""
    member = over.join("night")
    member.crawl()
    assert logs(over) == ["first", "night"]
    member.leave(finished=True)
    assert logs(over) == ["first"]
    assert (over.root / ".fscrawl/machines/night.log").exists()
    check(over)


@pytest.mark.gate
@pytest.mark.parametrize("end", ["goodbye", "killed"])
def test_who_has_met_it_and_who_comes_later(over, end):
    """They agree on where all logs end, and leave; no generation is made. `killed`: it could not even say goodbye."""
    witness = over.join("a")
    quiet = over.join("quiet")
    over.rounds(5)
    assert witness.membership.ledger.read_to("quiet") == without_blocks("quiet")
    if end == "goodbye":
        quiet.leave()
    else:
        quiet.kill()
        quiet.membership.ledger.close()
        quiet.membership.ledger.remove_if_empty()
    assert "quiet" not in logs(over)
    late = over.join("late")
    over.pass_time(600, witness, late)
    for member in (witness, late):
        assert not member.membership.ledger.has_doubts
        assert member.membership.ledger.read_to("quiet") == without_blocks("quiet")
    assert witness.membership.ledger.vector_hash() == late.membership.ledger.vector_hash()
    assert witness.is_over()
    witness.leave(finished=True)
    over.rounds(5)
    assert late.is_over()
    late.leave(finished=True)
    assert logs(over) == ["first"]
    assert generations(over) == []
    check(over)


def test_one_that_has_said_something_keeps_its_log(over):
    """So it does if its heart hangs: nobody knows that it has left."""
    talker = over.join("a")
    talker.settle()
    talker.membership.discover([url(MINE[0], "new")], 1, "")
    talker.leave()
    hanging = over.join("b")
    hanging.heart.stop = lambda *, finished: False
    hanging.leave()
    assert logs(over) == ["a", "b", "first"]


def test_a_log_that_says_something_and_is_missing_is_cut(over):
    """Only one in which nothing was said may be missing."""
    talker = over.join("a")
    talker.settle()
    talker.membership.discover([url(MINE[0], "new")], 1, "")
    talker.leave()
    assert talker.membership.ledger.place > without_blocks("a")
    for path in (over.root / ".fscrawl/log/a").iterdir():
        path.unlink()
    late = over.join("late")
    over.pass_time(300, late)
    assert len(generations(over)) == 1
