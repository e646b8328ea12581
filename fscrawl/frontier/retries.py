"""Tasks that failed and are tried again later: each waits here for its time."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Collection

from fscrawl.frontier.task import PageTask


class Retries:
    """The tasks that wait, in the order of their times. Nothing here knows of hosts and shards."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, PageTask]] = []
        self._turn = itertools.count()  # of two with the same time, the one that was added first goes first

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, task: PageTask, at: float) -> None:
        """Keep a task as its next attempt, until `at`."""
        heapq.heappush(self._heap, (at, next(self._turn), task._replace(attempt=task.attempt + 1)))

    def pop_due(self, now: float) -> PageTask | None:
        """Take out the task that has been due longest; None if no task is due."""
        return heapq.heappop(self._heap)[2] if self._heap and self._heap[0][0] <= now else None

    def next_at(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def hosts(self) -> set[str]:
        """Give the hosts of the tasks that wait."""
        return {task.host for _, _, task in self._heap}

    def labels(self) -> Counter[str]:
        """Give how many tasks of each label wait."""
        return Counter(task.flags.label for _, _, task in self._heap if task.flags.label)

    def keep(self, wanted: Callable[[PageTask], bool]) -> None:
        """Forget all tasks except the wanted ones."""
        self._heap = [entry for entry in self._heap if wanted(entry[2])]
        heapq.heapify(self._heap)

    def forgive(self, hosts: Collection[str]) -> None:
        """The last failures of these hosts were not theirs: their tasks get that attempt back."""
        self._heap = [
            (at, turn, task._replace(attempt=max(task.attempt - 1, 1)) if task.host in hosts else task)
            for at, turn, task in self._heap
        ]
