"""A directory, a clock and machines that take turns: the order of events is the same in each run with the same seed."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from benchmarks.scale.machines import TURN_S, Done, Extra, Heart, Machine, Worker
from benchmarks.scale.memory_os import MemoryOs
from benchmarks.scale.web import ZipfWeb
from fscrawl.config.settings import Settings, apply, render
from fscrawl.fleet import assignment, housekeeping, membership, ownership
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.rules import Rules
from fscrawl.storage.layout import MACHINERY_DIRECTORIES, PAGE_DIRECTORIES, SEEDS, SETTINGS, TREE_RECORD
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.store import TreeFiles

_ROOT = "/simulated"
_SEEDS = 40


class World:
    """One crawl. Times are seconds of its clock."""

    def __init__(self, web: ZipfWeb, shards: int, *, seeds: int = _SEEDS, caches_s: float = 0.0) -> None:
        self.web, self.caches_s = web, caches_s
        self.root = Path(_ROOT)
        self.os = MemoryOs(_ROOT)
        self.now = 1000.0
        self.seeds = frozenset(web.front_pages(seeds))
        self.settings = apply(
            Settings(),
            ["politeness.robots=false", "politeness.delay=0", "crawl.scope=any", f"fleet.shards={shards}"],
        )
        self.record = TreeRecord(
            format=FORMAT, machinery="0" * 32, crawl="c", created_at="t", shards=shards, partition="host"
        )
        self.warnings: list[str] = []
        self.fetched: Counter[str] = Counter()  # key of a page → how often
        self.machines: list[Machine] = []
        self.extras: list[Extra] = []
        self.fleet_size = 1  # as extras believe
        self.holders: dict[int, str] = {}  # of extras' shards
        self._names = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._event = itertools.count()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make the tree. Inside, `fscrawl.storage` uses this world's files; each assignment is worked out once."""
        with self.os.installed():
            files = TreeFiles(self.root, "maker")
            for directory in (*PAGE_DIRECTORIES, *MACHINERY_DIRECTORIES):
                files.make_directory(directory)
            files.publish(SETTINGS, render(self.settings).encode())
            files.publish(SEEDS, "".join(f"{seed}\n" for seed in sorted(self.seeds)).encode())
            files.publish(TREE_RECORD, self.record.to_json())
            with (
                patch.object(ownership, "assign", lru_cache(4)(assignment.assign)),
                patch.object(membership, "Heartbeat", partial(Heart, clock=lambda: self.now)),
                patch.object(housekeeping, "in_thread", Done),
            ):
                yield
            for machine in self.machines:
                machine.frontier.close()

    def begin_generation(self) -> Rules:
        """Begin the first generation; give the rules of a machine that works in it."""
        watch: Any = SimpleNamespace(settings=self.settings, seeds=self.seeds)
        links = Rules.of(watch, 0).own
        generations = Generations(TreeFiles(self.root, "maker"))
        return Rules.of(watch, generations.begin_next(links, "", "settings").number, links)

    # -- machines

    def new_name(self) -> str:
        """Give a name as long as a real one."""
        return f"crawler-node-{next(self._names):04}-31337-{0x123456789ABCDEF0:016x}"

    def join(self, rate: float, name: str | None = None) -> Machine:
        """Let a machine join now."""
        machine = Machine(self, name or self.new_name(), rate)
        self.machines.append(machine)
        self.start(machine)
        return machine

    def start(self, worker: Worker) -> None:
        """Give a machine its turns from now on. Not all at the same moment."""
        offset = TURN_S * (next(self._event) * 0.618 % 1)
        self._at(self.now + offset, lambda: self._turn(worker))
        self._at(self.now + offset + worker.heart.beat_s * (offset / TURN_S), lambda: self._beat(worker))

    def kill(self, machine: Machine) -> None:
        """Let a machine do nothing more."""
        machine.is_over = True

    def live(self) -> list[Machine]:
        return [machine for machine in self.machines if not machine.is_over]

    # -- time

    def _at(self, at: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at, next(self._event), what))

    def _turn(self, worker: Machine | Extra) -> None:
        if worker.is_over:
            return
        worker.turn()
        if worker.heart.is_asked and not worker.is_over:
            worker.act(worker.heart.beat)
        self._at(self.now + TURN_S, lambda: self._turn(worker))

    def _beat(self, worker: Worker) -> None:
        if worker.is_over:
            return
        worker.act(worker.heart.beat)
        self._at(self.now + worker.heart.beat_s, lambda: self._beat(worker))

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> float:
        """Let time pass, at most until a condition holds, which is asked twice a second. Give how long that took."""
        began, asked_at = self.now, self.now
        while self._events and self._events[0][0] <= began + seconds:
            self.now, _, what = heapq.heappop(self._events)
            what()
            if self.now - asked_at >= 2 * TURN_S:
                asked_at = self.now
                if until():
                    return self.now - began
        self.now = began + seconds if self._events else self.now
        return self.now - began
