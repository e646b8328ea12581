"""When the records of a shard are read: if no log says that it was done in this generation."""

import pytest

from tests.support.members import MINE, shard, url

HOME = url(MINE[0])
SHARD = shard(MINE[0])


@pytest.fixture
def surveys(monkeypatch):
    """Give the list of the surveys that a member makes."""

    def surveys(member):
        made, run = [], member.membership.survey.run
        monkeypatch.setattr(member.membership.survey, "run", lambda shards: made.append(set(shards)) or run(shards))
        return made

    return surveys


def killed_before_it_said(world):
    """Let a machine store a page, and be killed before it could flush its log; give it, and one that has taken over."""
    world.create(HOME)
    a = world.join("a")
    a.tick(starved=False)
    a.store(a.take(), [])
    a.kill()
    assert not world.log("a")
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
        assert b"\ns\n" in world.log("a")
    world.pass_time(70, b)
    assert b.is_complete
    assert made == ([] if says else [{SHARD}])
