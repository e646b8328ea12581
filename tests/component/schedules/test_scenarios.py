"""What schedules have found, step by step."""

from __future__ import annotations

from tests.component.schedules.patches import installed
from tests.component.schedules.schedule import Schedule


def test_a_fence_takes_back_what_no_worker_has_begun() -> None:
    """While the fence is up others take the shards. A worker that is slow must not ask their hosts afterwards."""
    schedule = Schedule(0, stale=False)
    world = schedule.world
    with installed(world):
        world.make()
        world.join()
        member = world.members[0]
        pool = member.pool
        assert pool is not None
        while not pool.inbox:
            world.now += 1
            member.beat()
            member.turn()
        world.now += 31  # half of dead_after
        member.beat()
        member.turn()
        assert member.engine._membership.fenced
        assert not pool.inbox
        assert not world.asked
        member.engine._frontier.close()
