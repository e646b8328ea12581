"""Machines that take turns in one process: everything of `fscrawl.fleet` and `fscrawl.frontier` is the real code.

Vocabulary:
  turn      what the main loop of a machine does in a quarter of a second
  machine   it has a real `Membership`: it reads what others say, takes and hands over shards, and finds the end
  extra     one of a fleet's other machines where there are too many for one process. It has a real `Frontier` and a
            real `Ledger`, so its log and its heartbeats are what a machine's are; but it reads nothing

A page takes no time, and its two files are written as a worker writes them. Only reading robots.txt, the network and
the parser are missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from benchmarks.scale.tally import Tally
from fscrawl.config.watcher import EditWatcher
from fscrawl.fleet.beat import Beat, Goodbye, Hello, Line, line_of
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.machinery import Machinery
from fscrawl.fleet.membership import Membership
from fscrawl.fleet.rules import Rules
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.shards import StoredOnTree
from fscrawl.frontier.task import End, PageTask, RobotsTask
from fscrawl.storage.append_log import Log
from fscrawl.storage.records import FORMAT, PageRecord
from fscrawl.store import Tree

if TYPE_CHECKING:
    from benchmarks.scale.world import World

TURN_S = 0.25
_BODY = b"page"


class Heart:
    """A heart without a thread: the world lets it beat when it is time."""

    def __init__(
        self,
        log: Log,
        machine: str,
        snapshot: Callable[[], Beat],
        *,
        beat_s: float,
        lease_s: float,
        clock: Callable[[], float],
        confirm: Callable[[], bool] = lambda: True,
        **_: Any,
    ) -> None:
        self.beat_s, self.lease_s = beat_s, lease_s
        self.trouble = None
        self.suspended = False
        self.gaps = 0
        self.written: list[Beat] = []
        self.is_asked = False  # to beat at once
        self._log, self._snapshot, self._confirm, self._clock = log, snapshot, confirm, clock
        self._number = 0
        self._write(Hello(machine, machine, "0" * 36, "pid:[4026531836]", 1, "1", 1.7e9, FORMAT))
        self._beaten_at = clock()

    def beat(self) -> None:
        self.is_asked = False
        self._beaten_at = self._clock()
        beat = replace(self._snapshot(), number=self._number, at=1.7e9 + self._beaten_at)
        self._write(beat)
        self._confirm()
        self._number += 1
        self.written = [*self.written[-1:], beat]

    def _write(self, line: Line) -> None:
        self._log.append(line_of(line))

    def age_s(self) -> float:
        return self._clock() - self._beaten_at

    def beat_now(self) -> None:
        self.is_asked = True

    def readmit(self) -> None:
        self.suspended = False

    def stop(self, *, finished: bool = False) -> bool:
        self._write(Goodbye(replace(self._snapshot(), at=1.7e9), finished))
        self._log.close()
        return True

    def abandon(self) -> None: ...


class Done:
    """Work that was done at once, in place of a thread."""

    def __init__(self, work: Callable[[], None]) -> None:
        work()

    def is_alive(self) -> bool:
        return False

    def join(self, timeout: float | None = None) -> None: ...


class Worker:
    """What machines and extras have in common: they take pages, store them, and say their links.

    tally         what it has done on the directory
    pages, told   how many it has stored; how many that were stored it has told from their records
    cpu_s         of all its turns, the making of the web left out
    most_calls    on the directory in one turn, those for the pages' own files left out
    """

    frontier: Frontier
    ledger: Ledger
    heart: Heart

    def __init__(self, world: World, name: str, rate: float) -> None:
        self.world, self.name, self.rate = world, name, rate
        self.tally = Tally()
        self.tree = Tree(world.root, name, record=world.record)
        self.pages = self.told = self.most_calls = 0
        self.cpu_s = 0.0
        self.is_over = False
        self._allowed = 0.0
        self._last_turn = world.now
        self._web_s = 0.0

    def act(self, what: Callable[[], None]) -> None:
        """Do something, and count what it costs."""
        self.world.os.tally = self.tally
        calls = self.tally.calls.total() - self.tally.calls["pages"]
        began, self._web_s = time.process_time(), 0.0
        what()
        self.cpu_s += time.process_time() - began - self._web_s
        self.most_calls = max(self.most_calls, self.tally.calls.total() - self.tally.calls["pages"] - calls)

    def counters(self) -> Beat:
        """Give what a heartbeat says besides."""
        return Beat(
            pages=self.pages,
            bytes=self.pages * 30_000,
            pending=self.frontier.pending,
            hosts=len(self.frontier.scheduler),
            memory=200_000_000,
            settings="0" * 12,
            settings_at="2024-01-01T00:00:00.000Z",
            resting=len(self.frontier.scheduler.rests(self.world.now)),
            gave_up=self.frontier.scheduler.gave_up,
        )

    def _work(self) -> None:
        """Store as many pages as time allows."""
        now = self.world.now
        self._allowed = min(self._allowed + self.rate * (now - self._last_turn), max(1.0, 2 * self.rate * TURN_S))
        self._last_turn = now
        while self._allowed >= 1 and (task := self.frontier.take(now)) is not None:
            assert not isinstance(task, RobotsTask)
            self._allowed -= self._do(task)

    def _do(self, task: PageTask) -> bool:
        """Do what a worker and the main loop do with a task; tell whether a page was fetched."""
        stored = not (task.check and self.tree.is_done(task.host, task.key))
        links = self._fetch(task) if stored else self.tree.page(task.host, task.key).links
        self.pages += stored
        self.told += not stored
        self._discover(links, task)
        self.ledger.tell(task)
        self.frontier.finish(task, self.world.now if stored else None, End.TOLD, stored=stored)
        return stored

    def _fetch(self, task: PageTask) -> tuple[str, ...]:
        began = time.process_time()
        links = self.world.web.links(task.url)
        self._web_s += time.process_time() - began
        self.world.fetched[task.key] += 1
        record = PageRecord(task.url, task.key, task.depth, task.referrer, "t", self.name, 200, {}, 4, "", 0.1, links)
        self._store(task, record)
        return links

    def _store(self, task: PageTask, record: PageRecord) -> None:
        self.tree.put_page(task.host, record, _BODY)

    def _discover(self, links: tuple[str, ...], task: PageTask) -> None:
        raise NotImplementedError


class Machine(Worker):
    """A machine with all that a real one has."""

    def __init__(self, world: World, name: str, rate: float) -> None:
        super().__init__(world, name, rate)
        self.act(self._join)

    def _join(self) -> None:
        world = self.world
        watch = EditWatcher(self.tree, world.settings, world.seeds, world.warnings.append)
        stored = StoredOnTree(self.tree)
        self.frontier = Frontier(world.settings, stored, shards=world.record.shards)
        self._settings = watch
        self.membership = Membership(
            self.tree,
            self.frontier,
            stored,
            watch,
            reseed=False,
            counters=self.counters,
            warn=world.warnings.append,
            clock=lambda: world.now,
            caches_s=world.caches_s,
        )
        self.ledger = self.membership.ledger
        Machinery(self.tree).take_name()
        self.membership.join()
        self.heart = self.membership._heart  # type: ignore[assignment]  # noqa: SLF001

    def turn(self) -> None:
        self.act(self._turn)

    def _turn(self) -> None:
        if self.membership.tick(starved=not self.frontier.pending):
            self.frontier.use(self._settings.settings)
        if not self.membership.fenced:
            self._work()
        if self.membership.is_over():
            self.is_over = True
            self.membership.leave(finished=True)
            self.frontier.close()

    def _discover(self, links: tuple[str, ...], task: PageTask) -> None:
        self.membership.discover(links, task.depth + 1, task.key)

    @property
    def held(self) -> set[int]:
        return set(self.membership.fleet.held)

    @property
    def is_complete(self) -> bool:
        """Everything that it should know of its shards is known."""
        return self.membership._intake.is_done  # noqa: SLF001


class Extra(Worker):
    """A machine that reads nothing. It begins with the front pages of its own shards' hosts."""

    def __init__(self, world: World, name: str, rate: float, shards: list[int], rules: Rules) -> None:
        super().__init__(world, name, rate)
        self.held = set(shards)
        self.act(lambda: self._join(rules))

    def _join(self, rules: Rules) -> None:
        world = self.world
        machinery = Machinery(self.tree)
        self.frontier = Frontier(world.settings, None, shards=world.record.shards)
        machinery.take_name()
        self.ledger = Ledger(
            self.tree.files,
            self.name,
            self.frontier,
            rules._replace(generation=0),
            shards=world.record.shards,
            caches_s=world.caches_s,
            holder_of=world.holders.__getitem__,
            warn=world.warnings.append,
            clock=lambda: world.now,
        )
        self.ledger.use(rules)
        self.heart = Heart(
            machinery.heartbeat_log(),
            self.name,
            self._beat,
            beat_s=world.settings.fleet.beat,
            lease_s=0.0,
            clock=lambda: world.now,
        )
        for shard in self.held:
            machinery.claim_lease(shard, 1, self.name)
            self.frontier.hold(shard)

    def begin(self, front_pages: list[str]) -> None:
        """Add what its shards begin with."""
        self.ledger.discover(front_pages, 0, "")

    def _beat(self) -> Beat:
        return replace(
            self.counters(),
            generation=self.ledger.rules.generation,
            log=self.ledger.place,
            rules=self.ledger.rules.digest,
            shards=len(self.held),
            dead_after=self.world.settings.fleet.dead_after,
        )

    def turn(self) -> None:
        self.act(self._turn)

    def _turn(self) -> None:
        self.frontier.forget_what_is_over(self.world.now)
        machines = self.world.fleet_size
        self.ledger.flush_if_due(self.world.now, machines=machines, somebody_is_hungry=False, starved=False)
        self._work()

    def hand_over(self, to: dict[int, str]) -> None:
        """Give shards to others."""
        machinery = Machinery(self.tree)
        self.ledger.flush()
        for shard in self.held & to.keys():
            self.frontier.let_go(shard)
            self.held.discard(shard)
            machinery.claim_lease(shard, 2, to[shard])

    def _store(self, task: PageTask, record: PageRecord) -> None:
        """Nobody reads its pages."""

    def _discover(self, links: tuple[str, ...], task: PageTask) -> None:
        self.ledger.discover(links, task.depth + 1, task.key)
