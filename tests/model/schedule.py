"""One schedule: an adversary's part, then a fair part in which the crawl must end, three times.

Each step has a generator of its own, so that a step can be left out and the rest stays as it is (`minimise`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container
from functools import partial

from tests.model import ending, faults, joining, keeping, leases, reading, sending, taking, working
from tests.model.machine import Machine
from tests.model.world import NOTHING, Violation, World

Action = Callable[[Machine], bool]
ACTIONS: list[Action] = [
    *[working.look_up] * 4, *[working.publish] * 4, *[sending.tell] * 4, *[sending.flush] * 3, *[reading.read] * 4,
    taking.look_at_settings, taking.survey, taking.survey, taking.survey, taking.arrive, taking.arrive, taking.arrive,
    ending.beat, ending.beat, leases.come_back, leases.look, leases.observe, leases.claim, leases.claim,
    leases.hand_over, leases.hand_over, keeping.write_snapshot, keeping.remove, ending.end, joining.start,
]  # fmt: skip
FAIR: list[Action] = [
    joining.start, partial(taking.look_at_settings, fresh=True), partial(leases.look, fresh=True), leases.observe,
    leases.claim, partial(reading.read, fresh=True), taking.arrive, taking.survey,
    working.look_up, working.publish, sending.tell, sending.flush, ending.beat, leases.come_back, ending.end,
]  # fmt: skip
TURNS = 400
TRIES = 4


class Schedule:
    """`without`: the rules that are left out. `focus`: the only faults, by name; else they are chosen at random."""

    def __init__(
        self,
        seed: int,
        without: frozenset[str] = NOTHING,
        focus: tuple[str, ...] = (),
        trace: list[str] | None = None,
    ) -> None:
        self.seed, self._rng, self._focus = seed, random.Random(seed), focus
        self.world = World(random.Random(seed), without, trace)
        self.steps = 0

    def _next(self) -> None:
        self.steps += 1
        self.world.now += 1
        self.world.rng.seed(self.seed << 24 | self.steps)

    def run(self, skip: Container[int] = ()) -> int:
        """Run it, without the steps in `skip`; return the number of steps. Raise Violation."""
        self._play(skip)
        for turn in range(3):
            self._change(turn)
            self._end()
            self.world.check_missing("the fleet")
            self.world.check_again()
        return self.steps

    def _play(self, skip: Container[int]) -> None:
        world, rng = self.world, self._rng
        if rng.random() < (0.08 if not self._focus else "old_works" in self._focus):
            world.old = joining.OldMachine(world)
            for _ in range(rng.randint(0, 15)):
                world.old.work()
        kinds, rate = faults.plan(rng, old=world.old is not None)
        if self._focus:
            kinds, rate = [getattr(faults, name) for name in self._focus], rng.choice([0.05, 0.1, 0.2, 0.3])
        world.machines = [Machine(world) for _ in range(rng.randint(1, 3))]
        for _ in range(rng.choice([60, 150, 400])):
            self._next()
            fault = rng.choice(kinds) if rng.random() < rate else None
            slot, actions = rng.random(), rng.choices(ACTIONS, k=TRIES)
            if self.steps in skip:
                continue
            if fault:
                fault(world)
            else:
                machine = world.machines[int(slot * len(world.machines))]
                any(action(machine) for action in actions)  # the first one that there is something to do for

    def _change(self, turn: int) -> None:
        """Change what is asked for between two fair parts."""
        world, rng = self.world, self._rng
        what = rng.random()
        if turn == 1 and what < 0.4:
            world.edit(world.config._replace(wide=True))
        elif turn == 2 and what < 0.4:
            world.edit(world.config._replace(max_depth=None, limit=None))
        elif turn and what < 0.6:
            faults.retry(world)
        elif turn and what < 0.8:
            faults.refresh(world)

    def _end(self) -> None:
        """Let all machines do all they can, without faults, until they have left."""
        world = self.world
        faults.resume(world)
        if world.old and world.old.alive:
            world.old.stop()
        for machine in world.machines:
            machine.append_fault = ""
        if not any(machine.alive and not machine.done for machine in world.machines):
            world.machines.append(Machine(world))
        for _ in range(TURNS):
            live = [machine for machine in world.machines if machine.alive and not machine.done]
            if not live:
                return
            for machine in live:
                self._turn(machine)
        raise Violation("2 it ends: it does not")

    def _turn(self, machine: Machine) -> None:
        if machine.is_stale():
            self._next()
            ending.beat(machine)
            if machine.is_stale():  # it does not look: its permit ends some time
                machine.permit = False
        for action in FAIR:
            self._next()
            action(machine)
        if machine.releasing:
            leases.hand_over(machine)


def run(seed: int) -> int:
    return Schedule(seed).run()
