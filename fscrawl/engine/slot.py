"""One worker process of a machine and what it has to do, as the pool knows it. The process may be replaced."""

from __future__ import annotations

import math
import time
from collections import deque
from concurrent.futures import Executor
from multiprocessing.connection import Connection

from fscrawl.engine import frames
from fscrawl.frontier.task import PageTask, RobotsTask, Task


def name_of(task: Task) -> str:
    """Name a task among those in flight: a host has at most one RobotsTask and one ProbeTask at a time."""
    if isinstance(task, PageTask):
        return task.key
    return f"robots {task.host}" if isinstance(task, RobotsTask) else f"probe {task.host}"


def to_check(task: Task) -> Task:
    """Give a task that looks into the tree first: a worker that died may have stored its page."""
    return task._replace(check=True) if isinstance(task, PageTask) else task


class Slot:
    """One place for a process, with its tasks in flight.

    start_at    when a process is to be started, since the system has given none; infinite: the slot is spare (see
                `spare`); None: there is one
    has_begun   the process has threads that work. If it ends before, that is no task's deed
    """

    def __init__(self) -> None:
        self.connection: Connection
        self.incoming: frames.Incoming
        self.outgoing: frames.Outgoing
        self.executor: Executor
        self.start_at: float | None = math.inf
        self.failed_starts = 0  # in a row
        self.has_begun = False
        self.in_flight: dict[str, Task] = {}
        self.stalled_from: dict[str, float] = {}  # task → when it begins to count as stalled
        self.parked: set[str] = set()  # tasks whose pages wait to be read or rendered: they are no load, either
        self.stalled = 0  # tasks that wait for slow hosts: they are no load
        self.unsent: list[Task] = []
        self.suspects: deque[tuple[float, Task]] = deque()  # each with when its host may be asked again
        self.alone: Task | None = None  # the suspect that is being tried
        self.deaths_alone = 0  # of processes while they tried it
        self.was_hung = False  # the process was killed for it
        self.last_answer_at = time.monotonic()
        self.deaths_at_start = 0  # processes in a row that have begun, and died without an answer
        self._is_busy = False
        self._since = time.monotonic()

    @property
    def load(self) -> int:
        return len(self.in_flight) - self.stalled - len(self.parked)

    def count_stalled(self, now: float, most: int) -> None:
        stalled = sum(now > at for at in self.stalled_from.values())
        self.stalled = min(stalled, most)

    def note_busy(self, now: float, threads: int) -> None:
        """Note since when all threads have a task, or some have none."""
        busy = self.load >= threads
        if busy != self._is_busy:
            self._is_busy, self._since = busy, now

    def busy_s(self, now: float) -> float:
        return now - self._since if self._is_busy else 0.0

    def spare_s(self, now: float) -> float:
        return 0.0 if self._is_busy else now - self._since

    @property
    def is_open(self) -> bool:
        """It takes tasks: it has a process, and no suspect waits or is being tried."""
        return self.start_at is None and not self.suspects and self.alone is None

    def take_undone(self) -> list[Task]:
        """Give what was in flight in a process that is gone, and forget it."""
        undone = list(self.in_flight.values())
        self.in_flight, self.stalled_from, self.parked, self.unsent = {}, {}, set(), []
        return undone

    def kill(self) -> None:
        """End the process at once. A thread cannot be ended."""
        processes = getattr(self.executor, "_processes", None) or {}
        for process in list(processes.values()):
            process.kill()
