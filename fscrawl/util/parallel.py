"""Read many files at the same time, where that is of use, and yield the results in order.

On a network file system nearly all time is waiting, so reading files one after the other would be far too slow. On a
local disk, or from the page cache, threads that read ahead would take three times as long as the reading. So files are
read here where they come at once, and by threads where one has to wait for them.

Vocabulary:
  to wait   to give up the processor until something has come. Time in which another program had it does not count:
            that is no reason for threads
  page      what waiting is counted for; an item that is read may be several pages
  stretch   so many pages in a row are read by threads, before it is tried again without
"""

from __future__ import annotations

import resource
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import TypeVar

READERS = 8  # threads; on NFS each file waits for three calls

I = TypeVar("I")  # noqa: E741 - an item
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


LONG_S = 0.0005  # of waiting for a page; threads take up to 0.4 ms of the processor
_AVERAGED_PAGES = 16
_FIRST_STRETCH, _LONGEST_STRETCH = 4096, 65_536  # pages; short at first, since a cold cache gets warm
_THIS_THREAD = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)


class Waiting:
    """Whether one has to wait long for files: an average over the last pages that were read here."""

    def __init__(self) -> None:
        self._average_s = 0.0
        self._fast = 0  # pages read here since the last stretch
        self._left = 0  # pages of this stretch
        self._stretch = _FIRST_STRETCH  # pages of the next one

    @property
    def is_long(self) -> bool:
        """Whether threads shall read what comes next."""
        return self._left > 0

    def seen(self, read: Callable[[I], T], item: I, pages: int) -> T:
        """Read an item, and see how long this thread has to wait for it."""
        waits, began, spent = _waits(), time.perf_counter(), time.thread_time()
        found = read(item)
        waited = 0.0
        if _waits() > waits:
            waited = time.perf_counter() - began - (time.thread_time() - spent)
        self._add(waited, max(1, pages))
        return found

    def _add(self, waited_s: float, pages: int) -> None:
        self._fast += pages
        self._average_s += (waited_s / pages - self._average_s) * min(1.0, pages / _AVERAGED_PAGES)
        if self._average_s > LONG_S:
            if self._fast > _FIRST_STRETCH:  # it was not slow all the time
                self._stretch = _FIRST_STRETCH
            self._average_s, self._fast, self._left = 0.0, 0, self._stretch
            self._stretch = min(2 * self._stretch, _LONGEST_STRETCH)

    def stretch(self, items: Iterable[I], pages: Callable[[I], int]) -> Iterator[I]:
        """Give the items that threads shall read now."""
        for item in items:
            self._left -= max(1, pages(item))
            yield item
            if self._left <= 0:
                return


def _waits() -> int:
    """Return how often this thread has given up the processor to wait for something."""
    return resource.getrusage(_THIS_THREAD).ru_nvcsw


def _one(_: object) -> int:
    return 1


def here_or_ahead(
    items: Iterable[I],
    here: Callable[[I], T],
    ahead: Callable[[Iterator[I]], Iterable[T]],
    waiting: Waiting,
    pages: Callable[[I], int] = _one,
) -> Generator[T]:
    """Yield what is read, in the order of the items.

    here      reads an item in this thread
    ahead     reads some items, by threads, and yields in their order
    waiting   what is known of these files; it may be kept for more items
    pages     how many pages an item is
    """
    items = iter(items)
    for item in items:
        if waiting.is_long:
            yield from ahead(waiting.stretch(chain([item], items), pages))
        else:
            yield waiting.seen(here, item, pages(item))


def in_turn_if_slow(
    read: Callable[[I], T], items: Iterable[I], threads: int, pages: Callable[[I], int] = _one
) -> Generator[T]:
    """Do what `here_or_ahead` does, with threads that are there only while they are needed, and two items for each.

    If the caller stops early, what has not begun is cancelled.
    """

    def ahead(some: Iterator[I]) -> Iterator[T]:
        pool = ThreadPoolExecutor(threads, thread_name_prefix="reading")
        try:
            yield from in_turn(pool, (partial(read, each) for each in some), 2 * threads)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    return here_or_ahead(items, read, ahead, Waiting(), pages)
