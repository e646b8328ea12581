"""One schedule: an adversary's part, then a fair part in which the crawl must end, three times, with two changes."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from tests.component.schedules import faults
from tests.component.schedules.member import Member
from tests.component.schedules.patches import installed
from tests.component.schedules.share import C
from tests.component.schedules.world import Violation, World

_LONGEST_S = 2500.0  # of a fair part
_SHOWN = 40


class Schedule:
    """`focus`: the only faults, by name; none: they are chosen at random."""

    def __init__(
        self, seed: int, *, focus: str = "", stale: bool | None = None, trace: Callable[[str], None] | None = None
    ) -> None:
        is_stale = seed % 3 > 0 if stale is None else stale
        self.world = World(seed, stale=is_stale, trace=trace)
        self.focus = faults.named(focus)
        world = self.world
        world.round = self._round
        world.during_exchange = self._during_exchange
        self._depth = 0

    def run(self) -> int:
        """Run it; return the number of steps. Raise Violation, with the last steps."""
        world = self.world
        with installed(world):
            try:
                self._run()
            except Violation as violation:
                raise Violation(self._told(str(violation))) from violation
            except Exception as error:
                text = f"7 errors have a reason: {type(error).__name__}: {error}\n{traceback.format_exc()}"
                raise Violation(self._told(text)) from error
            finally:
                for engine in world.engines:
                    engine._frontier.close()
        return world.share.step

    def _told(self, text: str) -> str:
        return "\n".join([text, f"the last steps of seed {self.world.seed}:", *list(self.world.lines)[-_SHOWN:]])

    def _run(self) -> None:
        world = self.world
        world.make()
        kinds, rate = faults.plan(world)
        if self.focus:
            kinds, rate = self.focus, world.rng.choice([0.05, 0.1, 0.2])
        world.note(f"{world.config} {world.limits} {world.shards}")
        for page in world.web.urls:
            world.note(f"{page} → {world.web.links[page]} {world.web.failures[page] or ''}")
        for _ in range(world.rng.randint(1, 3)):
            world.join()
        for _ in range(world.rng.choice([40, 100, 250])):
            self._step()
            if kinds and world.rng.random() < rate:
                world.rng.choice(kinds)(world)
        for turn in range(3):
            self._change(turn)
            self._end()

    # -- steps

    def _step(self) -> None:
        """Let a bit of time pass, and one machine do something."""
        world = self.world
        world.share.step += 1
        world.now += world.rng.choice([0.0, 0.1, 0.3, 1.0, 3.0])
        self._wake()
        up = world.up()
        if not up:
            return
        for member in up:
            if world.rng.random() < 0.8:
                member.beat()
        for _ in range(world.rng.choice([1, 1, 3])):
            member = world.rng.choice(up)
            what = world.rng.random()
            if what < 0.55:
                member.turn()
            elif what < 0.9:
                member.work()
            else:
                self._do_jobs()

    def _round(self) -> None:
        """Let each machine do a bit."""
        world = self.world
        world.share.step += 1
        self._wake()
        for member in world.up():
            member.beat()
            member.turn()
            member.work()
        if world.rng.random() < 0.3:
            self._do_jobs()

    def _wake(self) -> None:
        for member in self.world.waiting():
            member.wake()

    def _do_jobs(self) -> None:
        jobs, self.world.jobs = self.world.jobs, []
        for job in jobs:
            job.run()

    def _during_exchange(self) -> None:
        """Between request and answer others may do something, and the own main loop, too."""
        world = self.world
        if self._depth or world.is_fair or world.rng.random() < 0.6:
            return
        self._depth += 1
        try:
            for _ in range(world.rng.choice([1, 3, 8])):
                self._step()
        finally:
            self._depth -= 1

    # -- the fair part

    def _change(self, turn: int) -> None:
        """Change what is asked for between two fair parts."""
        world = self.world
        if turn == 1:
            faults.change(world, world.config._replace(wide=True))
        elif turn == 2:
            what = world.rng.random()
            if what < 0.5:
                faults.change(world, world.config._replace(max_depth=None, nofollow=True))
            elif what < 0.8:
                faults.retry(world)
            else:
                faults.refresh(world)

    def _end(self) -> None:
        """Let all machines do all they can, without faults, until they have left."""
        world = self.world
        world.is_fair = True
        faults.resume(world)
        for member in world.members:
            member.view.on_call = lambda call, path: ""
        began = world.now
        while True:
            if not world.up() and not world.waiting():
                if world.now - world.edited_at > C + 1 and not world.missing():
                    break
                if world.now - world.edited_at <= C + 1:
                    world.now += C + 2  # the last edit may not have been seen: a person starts a machine
                world.join()
            self._fair_round()
            if world.now - began > _LONGEST_S:
                raise Violation(f"2 it ends: it does not; {[self._state(member) for member in world.up()]}")
        world.is_fair = False

    def _state(self, member: Member) -> str:
        membership = member.engine._membership
        frontier = member.engine._frontier
        intake = membership._intake
        return (
            f"{member.name} pending {frontier.pending} in flight {frontier.in_flight} held {membership.fleet.held}"
            f" fenced {membership.fenced} intake {intake.is_done}"
            f" generation {membership.rules.generation} damaged {membership.ledger.damaged}"
            f" needed {membership.ledger.needed} releasing {membership._handover.releasing} {membership._state}"
            f" ends {membership.ledger.ends()}"
        )

    def _fair_round(self) -> None:
        world = self.world
        asked = world.asked.total()
        self._round()
        for member in world.up():
            while member.work():
                pass
        self._do_jobs()
        world.now += 0.3 if world.asked.total() > asked else 4.0


def run(seed: int, *, focus: str = "") -> int:
    return Schedule(seed, focus=focus).run()
