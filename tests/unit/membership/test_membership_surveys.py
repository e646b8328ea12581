"""When the records of a shard are read: if no log says that it was done, or if pages were told by other rules."""

import pytest

from fscrawl import urls
from fscrawl.fleet.lines import Told
from tests.support.members import MINE, shard, url

HOME = url(MINE[0])
SHARD = shard(MINE[0])


@pytest.fixture
def surveys(monkeypatch):
    """Give the list of the surveys that a member makes; `hears`: what it hears while it makes the first."""

    def surveys(member, hears=()):
        made = []
        run = member.membership.survey.run

        def noted(shards):
            made.append(set(shards))
            for line in hears if len(made) == 1 else ():
                member.membership.ledger.take_line(line)
            yield from run(shards)

        monkeypatch.setattr(member.membership.survey, "run", noted)
        return made

    return surveys


def killed_before_it_said(world):
    """Let a machine store a page, and be killed before it could flush its log; give it, and one that has taken over."""
    world.create(HOME)
    a = world.join("a")
    a.store(a.take(), [])
    a.kill()
    b = world.join("b")
    world.pass_time(70, b)
    assert b.held == {SHARD}
    return a, b


@pytest.mark.parametrize("says", [True, False])
def test_the_last_holder_says_late_that_it_made_the_survey(world, surveys, says):
    """A survey is planned for when caches are fresh. It is not made if a line of the last holder comes before that."""
    a, b = killed_before_it_said(world)
    made = surveys(b)
    assert not b.is_complete
    if says:
        a.membership.ledger.flush()
        a.beat()
        assert b"\ns 0\n" in world.log("a")
    world.pass_time(70, b)
    assert b.is_complete
    assert made == ([] if says else [{SHARD}])


@pytest.mark.parametrize("term", ["0123456789abcdef", ""])
def test_a_mark_of_other_rules_is_heard_during_a_survey(world, surveys, term):
    """What the survey has gone over already may be meant: so it is made once more. Marks that count change nothing."""
    _, b = killed_before_it_said(world)
    mark = Told(SHARD, urls.key(HOME), 0, term or b.membership.rules.term.digest)
    made = surveys(b, hears=[mark])
    world.pass_time(70, b)
    assert b.is_complete
    assert made == [{SHARD}] * (2 if term else 1)
