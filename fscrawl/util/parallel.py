"""Run many jobs at the same time, and yield their results in order.

On a network file system nearly all time is waiting, so reading files one after the other would be far too slow.
Where threads are of use only if files are slow, see `waiting`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future
from typing import TypeVar

READERS = 8  # threads; on NFS each file waits for three calls

T = TypeVar("T")


def in_turn(pool: Executor, jobs: Iterable[Callable[[], T]], window: int = 8 * READERS) -> Generator[T]:
    """Yield the results of the jobs in order. At most `window` jobs are submitted ahead.

    If the caller stops early, the jobs that have not begun are cancelled.
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
