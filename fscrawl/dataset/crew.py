"""Who does the work of a merge: processes of this machine, or a Dask cluster (`cluster`).

Promise: the processes end when the merge ends, also when it is killed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from tqdm import tqdm

from fscrawl.dataset import cluster
from fscrawl.dataset.job import Job
from fscrawl.errors import FscrawlError
from fscrawl.util.memory import keep_freed_memory
from fscrawl.util.parallel import in_turn
from fscrawl.util.parent import end_with_parent

T = TypeVar("T")


class Crew:
    """Runs the tasks of a step on an executor, with a progress bar. `width`: how many run at the same time."""

    def __init__(self, executor: Executor, width: int, *, bar: bool) -> None:
        self._executor = executor
        self._width = width
        self._bar = bar

    def run(self, step: str, tasks: Iterable[Callable[[], T]], sizes: Sequence[int]) -> Generator[T]:
        """Yield the tasks' results in order. `step` names them and `sizes` are the pages of each, both for the bar."""
        results = in_turn(self._executor, tasks, 2 * self._width)
        if not self._bar:
            yield from results
            return
        with tqdm(total=sum(sizes), desc=step, unit=" pages", dynamic_ncols=True, file=sys.stderr, leave=False) as bar:
            for size, result in zip(sizes, results, strict=False):
                bar.update(size)
                yield result


@contextlib.contextmanager
def open_crew(job: Job, processes: int | None, scheduler: str | None, *, bar: bool) -> Iterator[Crew]:
    """Start the processes (default: one per CPU), or connect to the Dask cluster whose address is given."""
    if scheduler is not None:
        with cluster.connected(scheduler, job) as (executor, width):
            yield Crew(executor, width, bar=bar)
        return
    width = processes or len(os.sched_getaffinity(0))
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # Arrow's own pool would hold a quarter more memory
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fscrawl.merge"])
    pool = ProcessPoolExecutor(width, context, _start)
    try:
        yield Crew(pool, width, bar=bar)
    except BrokenProcessPool:
        raise FscrawlError(
            "a process of the merge died, perhaps because memory ran out; run the same command again to continue"
        ) from None
    except KeyboardInterrupt:
        _kill(pool)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start() -> None:
    """Set up a process of the pool."""
    keep_freed_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent handles it
    end_with_parent(1)


def _kill(pool: ProcessPoolExecutor) -> None:
    """Kill the processes: a half done batch is useless, so there is nothing to wait for."""
    for process in list((pool._processes or {}).values()):  # noqa: SLF001 - kill_workers() comes with Python 3.14
        process.kill()
