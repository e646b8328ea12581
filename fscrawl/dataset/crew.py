"""Who does the work of a merge: processes of this machine, or a Dask cluster (`cluster`).

Promise: the processes end when the merge ends, also when it is killed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.sharedctypes import Synchronized
from typing import Any, TypeVar

from fscrawl import interrupts
from fscrawl.dataset import cluster
from fscrawl.dataset.job import Job, report_to
from fscrawl.errors import FscrawlError, UsageError
from fscrawl.util.humanize import size
from fscrawl.util.parallel import in_turn
from fscrawl.util.processes import (
    SIGNALS,
    check_shared_memory,
    end_with_parent,
    keep_freed_memory,
    limit_bytes,
    look_for_cycles_rarely,
    restrain_libraries,
    start_server,
)
from fscrawl.util.progress import ProgressLine

T = TypeVar("T")
_PROCESS_BYTES = 10 << 20  # of one that has read a few small pages; measured


class Crew:
    """Runs the tasks of a step on an executor, and shows how far it is.

    width      how many tasks run at the same time
    counted    gives how many pages the tasks of all steps have reported as done (`job.pages_done`)
    """

    def __init__(self, executor: Executor, width: int, line: ProgressLine, counted: Callable[[], int]) -> None:
        self._executor = executor
        self._width = width
        self._counted = counted
        self.line = line

    def run(self, step: str, tasks: Iterable[Callable[[], T]], sizes: Sequence[int]) -> Generator[T]:
        """Yield the tasks' results in order. `step` names them and `sizes` are the pages of each, both to be shown."""
        before = self._counted()
        self.line.begin(step, sum(sizes), "pages", source=lambda: self._counted() - before)
        yield from in_turn(self._executor, tasks, 2 * self._width)


def check_fits(processes: int) -> None:
    """Raise UsageError if processes would not fit into memory even with small pages: the computer would stand still."""
    most = limit_bytes()
    fit = most // _PROCESS_BYTES
    if processes > fit:
        what = f"--processes {processes}: they need more than the {size(most)} of memory that there are"
        raise UsageError(f"{what}; use at most {fit:,}")


@contextlib.contextmanager
def open_crew(job: Job, processes: int | None, scheduler: str | None, line: ProgressLine) -> Iterator[Crew]:
    """Start the processes (default: one per CPU), or connect to the Dask cluster whose address is given."""
    if scheduler is not None:
        line.begin("connecting to the cluster", unit="")
        with cluster.connected(scheduler, job) as (executor, width):
            yield Crew(executor, width, line, executor.counted)
        return
    check_shared_memory()
    width = processes or len(os.sched_getaffinity(0))
    restrain_libraries()
    start_server(["fscrawl.merge"])
    context = multiprocessing.get_context("forkserver")
    with interrupts.later():  # its lock is a file that must be removed
        count = context.Value("q", 0)
    pool = _Pool(width, context, _start, (count,))
    try:
        yield Crew(pool, width, line, lambda: int(count.get_obj().value))  # no lock: a process may die with it
    except BrokenProcessPool:
        raise FscrawlError(
            "a process of the merge died, perhaps because memory ran out; run the same command again to continue"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


class _Pool(ProcessPoolExecutor):
    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        with interrupts.later():  # a process that is half started could not be ended
            return super().submit(fn, *args, **kwargs)


def _start(count: Synchronized[int]) -> None:
    """Set up a process of the pool. The pool ends it by SIGTERM if another one dies.

    `count`: of all pages that were worked on.
    """

    def add(pages: int) -> None:
        with count.get_lock():
            count.value += pages

    report_to(add)
    keep_freed_memory()
    look_for_cycles_rarely()
    for number in (signal.SIGINT, signal.SIGHUP):  # both reach the whole process group; the parent handles them
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # blocked until here
    end_with_parent(1)
