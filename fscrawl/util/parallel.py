"""Run many jobs at the same time, and yield their results in order.

On a network file system nearly all time is waiting, so reading files one after the other would be far too slow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import chain, islice
from time import perf_counter
from typing import TypeVar

READERS = 8  # threads; on NFS each file waits for three calls
_IN_A_ROW = 3  # slow jobs: less may be chance, such as another program that had the processor
_FIRST_STRETCH, _LONGEST_STRETCH = 64, 4096  # jobs that threads do, until one is done without them

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


def in_turn_if_slow(
    jobs: Iterable[Callable[[], T]],
    threads: int,
    slow_s: float,
    window: int | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Generator[T]:
    """Yield the results of the jobs in order: here, one by one, and by threads as soon as a few took `slow_s` each.

    On a local disk, threads would cost more than they bring; so now and then one job is done here again, and all are if
    it was fast. `window`: as for `in_turn`.
    """
    jobs = iter(jobs)
    stretch = _FIRST_STRETCH
    yield from _while_fast(jobs, slow_s, _IN_A_ROW, clock)
    for job in jobs:  # the first one that is left: there is something to do
        pool = ThreadPoolExecutor(threads, thread_name_prefix="reading")
        try:
            yield from in_turn(pool, chain([job], islice(jobs, stretch)), window or 2 * threads)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        stretch = min(2 * stretch, _LONGEST_STRETCH)
        yield from _while_fast(jobs, slow_s, 1, clock)


def _while_fast(jobs: Iterable[Callable[[], T]], slow_s: float, most: int, clock: Callable[[], float]) -> Generator[T]:
    """Yield the results of the jobs, until `most` of them in a row took longer than `slow_s`."""
    slow = 0
    for job in jobs:
        began = clock()
        result = job()
        slow = slow + 1 if clock() - began > slow_s else 0
        yield result
        if slow == most:
            return
