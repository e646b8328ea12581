"""Many waits at a time, answers in their order: what makes reading a network file system bearable."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future
from typing import TypeVar

READERS = 8  # on NFS each file is a wait for three calls

T = TypeVar("T")


def in_turn(pool: Executor, jobs: Iterable[Callable[[], T]], window: int = 8 * READERS) -> Generator[T]:
    """Give the jobs' answers in their order; only `window` of them are begun before their turn.

    Whoever stops early leaves nothing waiting: what has not begun is cancelled.
    """
    waiting: deque[Future[T]] = deque()
    try:
        for job in jobs:
            waiting.append(pool.submit(job))
            if len(waiting) >= window:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
