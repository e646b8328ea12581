"""A machine of a schedule: the engine's machine, of which each part makes a step when it is told to.

    turn    one round of the main loop; when there is no work left, it leaves
    beat    the heart beats, if it is time
    work    a worker does the first task of its inbox

If the memory of the fleet is lost under it, it ends, and a supervisor starts the same command again.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fscrawl.config.seeds import wait_for_seeds
from fscrawl.config.watcher import read_settings
from fscrawl.engine.machine import Machine, Options
from fscrawl.errors import FscrawlError, MemoryGone
from fscrawl.fleet.machinery import Machinery
from fscrawl.frontier.task import PageTask, Task
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import Returned
from fscrawl.store import Tree
from fscrawl.worker import Worker
from tests.component.schedules.share import ROOT, Crash, View

if TYPE_CHECKING:
    from tests.component.schedules.world import World

_CAPACITY = 3
_RESTART_S = 30.0  # that of deploy/systemd/fscrawl.service


class Killed(BaseException):
    """The worker was killed while it waited for an answer."""


class Pool:
    """Workers without processes. What is submitted waits in `inbox`, and answers in `outbox`."""

    def __init__(self, member: Member, config: CrawlConfig) -> None:
        self.inbox: deque[tuple[Task, Worker]] = deque()
        self.outbox: deque[Any] = deque()
        self.at_work: Task | None = None
        self.hosts_of_dead_workers: set[str] = set()
        self._member = member
        self.reconfigure(config)

    def reconfigure(self, config: CrawlConfig) -> None:
        member = self._member
        tree = Tree(Path(ROOT), member.name, record=member.engine._tree.record)
        self._worker = Worker(tree, config, 1, member.engine._membership.permit)

    @property
    def tasks(self) -> list[Task]:
        """All that is in flight."""
        here = [self.at_work] if self.at_work else []
        return [*here, *(task for task, _ in self.inbox), *(answer.task for answer in self.outbox)]

    @property
    def has_room(self) -> bool:
        return len(self.tasks) < _CAPACITY

    def submit(self, task: Task, *, slow: bool = False) -> None:
        self.inbox.append((task, self._worker))

    def work(self) -> bool:
        """Do one task, by the rules that the worker had when it was submitted, or by those of now."""
        if not self.inbox or self.at_work is not None:
            return False
        self.at_work, worker = self.inbox.popleft()
        if self._member.world.rng.random() < 0.5:
            worker = self._worker
        try:
            answer = worker.do(self.at_work)
        except Killed:
            return True
        self.at_work = None
        self.outbox.append(answer)
        may_be_undone = isinstance(answer, Returned) and answer.asked_at is not None
        if may_be_undone and isinstance(answer.task, PageTask) and not self._member.world.is_stored(answer.task.url):
            self._member.world.excuse(answer.task.url)
        return True

    def drain(self) -> None:
        self.outbox += [Returned(task) for task, _ in self.inbox]
        self.inbox.clear()

    def return_suspects(self) -> None:
        """No worker dies without its machine here, so there are none."""

    def wait(self, timeout_s: float, *, tree_stalled: bool = False) -> Iterator[Any]:
        while self.outbox and self._member.world.rng.random() < 0.8:
            yield self.outbox.popleft()

    def kill(self) -> None:
        for task in self.tasks:
            self._member.world.excuse(task.url)
        self.inbox.clear()
        self.outbox.clear()
        self.at_work = None


class Progress:
    """Notes warnings."""

    is_unread = False

    def __init__(self, member: Member) -> None:
        self._member = member

    def warn(self, text: str) -> None:
        self._member.note(f"warns: {text}")

    def note(self, text: str) -> None:
        self._member.note(f"notes: {text}")

    def show(self, counts: object) -> None: ...
    def close(self, counts: object) -> None: ...
    def event(self, url: str, what: str, **facts: object) -> None:
        self._member.note(f"{what} {url} {facts.get('status', '')}")


class Member:
    """A machine, through all its ids.

    name        the present id
    state       "up", "waits" (for a supervisor, or before it makes a tree where pages are stored), "left" or "dead"
    is_paused   nothing of it runs
    is_stuck    its main loop does not run, its heart and its workers do
    still_s     the longest time for which nothing of it ran
    """

    def __init__(self, world: World, *, reseed: bool = False, refresh_before: str = "") -> None:
        self.world = world
        self.state = "up"
        self.is_paused = self.is_stuck = False
        self.still_s = self._still_since = 0.0
        self.skew_s = world.rng.choice([0.0, 1e6, 12345.0]) + 5000
        self.rng = random.Random(world.rng.random())
        self.name = ""
        self.view = View("", stale=False)
        self._options = Options(1, 1, reseed=reseed, refresh_before=refresh_before)
        self.pool: Pool | None = None
        self._next_beat = 0.0
        self._waits_until, self._waits_for_tree = 0.0, False
        self.do(self._start)

    def note(self, text: str) -> None:
        self.world.note(f"{self.name} {text}")

    # -- turns

    def stand_still(self) -> None:
        self.is_paused = True
        self._still_since = self.world.now

    def go_on(self) -> None:
        if self.is_paused:
            self.still_s = max(self.still_s, self.world.now - self._still_since)
        self.is_paused = self.is_stuck = False

    def do(self, what: Any) -> Any:
        """Let it do something, with its own view and its own clock."""
        world = self.world
        if self.state != "up":
            return None
        before = world.turn_of(self)
        try:
            try:
                return what()
            except FscrawlError as error:
                self._fail(error)  # it may crash in that, too
        except Crash:
            self.die()
        finally:
            world.turn_back(before)
        return None

    def turn(self) -> None:
        if not self.is_paused and not self.is_stuck:
            self.do(self._turn)

    def _turn(self) -> None:
        if self.engine._has_work():
            self.engine._turn()
        else:
            self._leave()

    def beat(self) -> None:
        """Beat if it is time, or if the main loop has asked for it."""
        heart = self.heart
        if self.is_paused or self.state != "up" or heart is None:
            return
        if self.world.now >= self._next_beat or heart._wake.is_set():
            self.do(self._beat)

    def _beat(self) -> None:
        heart = self.heart
        if heart._over:
            return
        heart._wake.clear()
        self._next_beat = self.world.now + heart._beat()

    def work(self) -> bool:
        if self.is_paused or self.pool is None:
            return False
        return bool(self.do(self.pool.work))

    @property
    def heart(self) -> Any:
        return getattr(self.engine._membership, "_heart", None)

    @property
    def fleet(self) -> Any:
        return self.engine._membership.fleet

    # -- beginning and end

    def _start(self) -> None:
        if grace_s := self.world.grace_s():
            self._wait(grace_s, for_tree=True)
        else:
            self._join()

    def _wait(self, wait_s: float, *, for_tree: bool = False) -> None:
        self.note(f"waits {wait_s} s")
        self.state = "waits"
        self._waits_until, self._waits_for_tree = self.world.now + wait_s, for_tree

    def wake(self) -> None:
        """Go on after a wait. That for a tree is over when another machine has made it."""
        if self.world.now >= self._waits_until or (self._waits_for_tree and self.world.machinery()):
            self.state = "up"
            self.do(self._join if self._waits_for_tree else self._start)

    def _join(self) -> None:
        world = self.world
        self.name = world.new_name()
        self.view = View(self.name, stale=world.share.stale)
        world.use_view(self)
        world.make_tree_if_missing(self)
        tree = Tree(Path(ROOT), self.name)
        while not Machinery(tree).take_name():
            self.name = world.new_name()
            self.view.name = self.name
            tree = Tree(Path(ROOT), self.name)
        settings = read_settings(tree, self.note)
        seeds = wait_for_seeds(tree, self.note)
        self.engine = Machine(tree, settings, seeds, Progress(self), self._options, self.rng)  # type: ignore[arg-type]
        world.engines.append(self.engine)
        self.pool = self.engine._pool = Pool(self, self.engine._config())  # type: ignore[assignment]
        self.note("joins")
        self.engine._begin()
        self._next_beat = 0.0

    def _leave(self) -> None:
        finished = self.engine._finished
        self.engine._end()
        if self.engine._error is not None:
            self._fail(self.engine._error)
            return
        self.note("leaves" + (" as all is done" if finished else ""))
        self.state = "left"
        self._stop()
        if finished:
            self.world.check_done(self)

    def _stop(self) -> None:
        if self.pool is not None:
            self.pool.kill()

    def _fail(self, error: FscrawlError) -> None:
        """Do what the command does when a run ends by an error."""
        self._stop()
        if not hasattr(self, "engine"):
            self.note(f"cannot begin: {error}")
            self.state = "dead"
            return
        membership = self.engine._membership
        membership.abandon()
        cause = membership.cause_of(error)
        self.world.judge(self, cause)
        if not isinstance(cause, MemoryGone):
            self.note(f"ends: {cause}")
            self.state = "dead"
            return
        self.note(f"gone: {cause}")
        self._options = Options(1, 1, refresh_before=self._options.refresh_before)
        if self.world.were_leases_removed or self.rng.random() < 0.3:
            self._wait(_RESTART_S)
        else:
            self.do(self._start)

    def interrupt(self) -> None:
        """A person presses Ctrl-C."""
        self.note("is interrupted")
        self.engine._interrupts = 1

    def die(self) -> None:
        self.note("crashes")
        self.state = "dead"
        self._stop()
