"""What machines without work cost on the share: they look often, so each call of theirs counts."""

from contextlib import contextmanager

import pytest

from benchmarks.scale.tally import BEATS, LOGS
from benchmarks.scale.web import SmallWeb
from benchmarks.scale.world import World
from fscrawl.fleet.hearing import Hearing

_MINUTE_S = 60.0
_ROUNDS = 60 + 2
_LISTING = 5  # calls
_LOOK = 3  # calls, if there is nothing new: to open, to ask for the size, to close


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


def _calls_of_a_minute(world, machine):
    before = machine.tally.copy()
    world.run(_MINUTE_S)
    return machine.tally.minus(before).calls


@pytest.mark.gate
def test_beats_of_idle_machines_are_read_when_they_are_due():
    """A machine without work looks at a busy one in each round, and at those without work once for each heartbeat."""
    with _waiting(12) as (world, machine):
        calls = _calls_of_a_minute(world, machine)
    own = 100
    of_the_busy_one, of_the_others = _ROUNDS * (_LOOK + 1), 10 * 7 * 2 * (_LOOK + 1)
    assert calls[BEATS] <= _ROUNDS * _LISTING + own + of_the_busy_one + of_the_others


@pytest.mark.gate
def test_logs_that_have_not_grown():
    """To see that a log has not grown takes a look at the file, and no listing."""
    with _waiting(4) as (world, machine):
        calls = _calls_of_a_minute(world, machine)
    own = 50
    assert calls[LOGS] <= own + _ROUNDS * 3 * _LOOK


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
