"""A run that has said nothing of URLs leaves no log, and nobody takes it for one that was lost."""

import pytest

from fscrawl.admin.audit import audit
from fscrawl.store import Tree
from tests.support.members import MINE, stored, url


@pytest.fixture
def over(world):
    """Give a world in which all was fetched and told by a run that has left."""
    stored(world, ())
    return world


def logs(world):
    return [path.stem for path in world.logs()]


def check(world):
    """Let those who only look find nothing wrong."""
    report = audit(Tree(world.root, "auditor"), world.settings(), frozenset(world.seeds), sleep=lambda _: None)
    assert "damaged_logs" not in report.found


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
    if end == "goodbye":
        quiet.leave()
    else:
        quiet.kill()
        quiet.membership.ledger.close()
    late = over.join("late")
    over.pass_time(600, witness, late)
    assert not witness.membership.ledger.damaged
    assert witness.membership.ledger.vector_hash() == late.membership.ledger.vector_hash()
    assert witness.is_over()
    witness.leave(finished=True)
    over.rounds(5)
    assert late.is_over()
    late.leave(finished=True)
    assert logs(over) == ["first"] + ["quiet"] * (end == "killed")
    assert over.generations().keys() == {1}
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
