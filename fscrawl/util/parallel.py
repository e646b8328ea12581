"""Run many jobs at the same time, and yield their results in order.

On a network file system nearly all time is waiting, so reading files one after the other would be far too slow.
Where threads are of use only if files are slow, see `waiting`. Where the system starts no more threads, jobs are done
one after the other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from fscrawl.util.at_limit import is_at_limit

READERS = 8  # threads; on NFS each file waits for three calls

T = TypeVar("T")


def in_turn(pool: Executor, jobs: Iterable[Callable[[], T]], window: int = 8 * READERS) -> Generator[T]:
    """Yield the results of the jobs in order. At most `window` jobs are submitted ahead.

    If the caller stops early, the jobs that have not begun are cancelled.
    """
    waiting: deque[Future[T]] = deque()
    jobs = iter(jobs)
    try:
        for job in jobs:
            answer, is_begun = _begin(pool, job)
            waiting.append(answer)
            if not is_begun:
                break
            if len(waiting) >= window:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        for job in jobs:
            yield job()
    finally:
        for future in waiting:
            future.cancel()


class _Once(Generic[T]):
    """A job that is done once, by whoever comes first: a pool keeps it although it could start no thread for it."""

    def __init__(self, job: Callable[[], T]) -> None:
        self._job = job
        self._first = threading.Lock()
        self.answer: Future[T] = Future()

    def __call__(self) -> None:
        if not self._first.acquire(blocking=False) or not self.answer.set_running_or_notify_cancel():
            return
        try:
            self.answer.set_result(self._job())
        except BaseException as error:  # noqa: BLE001 - it is raised in its turn
            self.answer.set_exception(error)


def _begin(pool: Executor, job: Callable[[], T]) -> tuple[Future[T], bool]:
    """Give a job to a pool; do it here if the pool can start no thread, and then give False, too."""
    if not isinstance(pool, ThreadPoolExecutor):  # of processes
        return pool.submit(job), True
    once = _Once(job)
    try:
        pool.submit(once)
    except RuntimeError as error:
        if not is_at_limit(error):
            raise
        once()
        return once.answer, False
    return once.answer, True
