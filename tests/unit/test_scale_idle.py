"""What machines without work cost on the share: they look often, so each call of theirs counts."""

from contextlib import contextmanager

import pytest

from benchmarks.scale.web import SmallWeb
from benchmarks.scale.world import World
from fscrawl.fleet.hearing import Hearing

_MINUTE_S = 60.0


@contextmanager
def _waiting(machines):
    """Let one machine have the only host, and fetch nothing; the others wait. Give the world, and one that waits."""
    world = World(SmallWeb(hosts=1), 16, seeds=1)
    with world.open():
        for _ in range(machines):
            world.join(0.0)
            world.run(2.0)
        world.run(60.0)
        idle = [machine for machine in world.machines if machine.frontier.idle]
        assert len(idle) == machines - 1
        yield world, idle[0]


@pytest.mark.parametrize("pause_s", [4.0, 15.0])
def test_pause_of_many_machines(monkeypatch, pause_s):
    """Where machines are many, also one without work makes its rounds less often: a pass over all takes its time."""
    with _waiting(2) as (world, machine):
        monkeypatch.setattr(Hearing, "least_pause_s", pause_s)
        world.run(pause_s)
        rounds = []
        look = machine.membership.fleet.look
        machine.membership.fleet.look = lambda now: rounds.append(now) or look(now)
        world.run(_MINUTE_S)
    assert len(rounds) <= _MINUTE_S / pause_s + 1
