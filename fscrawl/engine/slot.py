"""One worker process of a machine and what it has to do, as the pool knows it. The process may be replaced."""

from __future__ import annotations

import contextlib
import math
import os
import signal
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
    pid         of the process, once it has threads that work; None before that: if it ends then, that is no task's deed
    """

    def __init__(self) -> None:
        self.connection: Connection
        self.incoming: frames.Incoming
        self.outgoing: frames.Outgoing
        self.executor: Executor
        self.start_at: float | None = math.inf
        self.failed_starts = 0  # in a row
        self.pid: int | None = None
        self.in_flight: dict[str, Task] = {}
        self.slow: set[str] = set()  # of these, tasks of hosts that are not known to answer soon
        self.parked: set[str] = set()  # tasks whose pages wait to be read or rendered: they are no load
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
        return len(self.in_flight) - len(self.parked)

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
        self.in_flight, self.slow, self.parked, self.unsent = {}, set(), set(), []
        return undone

    def kill(self) -> None:
        """End the process at once. One that has not begun ends when its pipe is closed; a thread cannot be ended."""
        if self.pid is not None and self.pid != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
