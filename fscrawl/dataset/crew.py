"""Who does the work of a merge: processes of this machine, or a Dask cluster.

Workers of a cluster mount tree and dataset under the same paths, and write to their own logs. Whatever goes wrong is
one line here.

Promise: the processes end when the merge ends, also when it is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any, TypeVar

from fscrawl import __version__, interrupts
from fscrawl.dataset.dataset_dir import STATE
from fscrawl.dataset.job import Job, report_to
from fscrawl.dataset.options import missing
from fscrawl.dataset.writer import LOCK
from fscrawl.errors import FscrawlError, UsageError
from fscrawl.storage.layout import MACHINERY
from fscrawl.util.installed import to_install
from fscrawl.util.parallel import in_turn
from fscrawl.util.processes import (
    SIGNALS,
    check_shared_memory,
    end_with_parent,
    keep_freed_memory,
    look_for_cycles_rarely,
    restrain_libraries,
    start_server,
)
from fscrawl.util.progress import ProgressLine

T = TypeVar("T")
_CONNECT_S = 10
_WITHOUT_WORKERS_S = 30  # then the merge gives up; Dask's nanny restarts a worker sooner


@dataclass(frozen=True)
class Crew:
    """Runs the tasks of a step on an executor, and shows how far it is.

    width      how many tasks run at the same time
    counted    gives how many pages the tasks of all steps have reported as done (`job.pages_done`). None: nobody knows,
               and the pages of a task count when it is done
    """

    executor: Executor
    width: int
    line: ProgressLine
    counted: Callable[[], int] | None = None

    def run(self, step: str, tasks: Iterable[Callable[[], T]], sizes: Sequence[int]) -> Generator[T]:
        """Yield the tasks' results in order. `step` names them and `sizes` are the pages of each, both to be shown."""
        counted = self.counted
        before = counted() if counted is not None else 0
        source = None if counted is None else lambda: counted() - before
        self.line.begin(step, sum(sizes), "pages", source)
        for number, result in enumerate(in_turn(self.executor, tasks, 2 * self.width)):
            if counted is None:
                self.line.advance(sizes[number])
            yield result


@contextlib.contextmanager
def open_crew(job: Job, processes: int | None, scheduler: str | None, line: ProgressLine) -> Iterator[Crew]:
    """Start the processes (default: one per CPU), or connect to the Dask cluster whose address is given."""
    if scheduler is not None:
        line.begin("connecting to the cluster", unit="")
        with _cluster(scheduler, job) as (executor, width):
            yield Crew(executor, width, line)
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


# -- a cluster


@contextlib.contextmanager
def _cluster(scheduler: str, job: Job) -> Iterator[tuple[Executor, int]]:
    """Connect to the scheduler at this address. Yield an executor, and how many tasks run at the same time."""
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError(f"--scheduler needs Dask: {to_install('dask')}") from None
    with _client(distributed, scheduler) as client:
        width = sum(client.ncores().values())
        if not width:
            raise UsageError(f"--scheduler {scheduler}: it has no workers")
        wanted = {"text": job.options.text, "language": job.options.language}
        problems = client.run(_problem, job.root, job.directory.root, __version__, **wanted, on_error="return")
        for worker, problem in problems.items():
            if problem:
                raise UsageError(f"--scheduler {scheduler}: its worker {worker} cannot help: {problem}")
        executor: Executor = client.get_executor(pure=False)
        watch = _watch(client, executor)
        try:
            yield executor, width
        except (CancelledError, distributed.comm.core.CommClosedError, distributed.scheduler.KilledWorker):
            raise FscrawlError(
                f"--scheduler {scheduler}: it or its workers are gone; run the same command again to continue"
            ) from None
        finally:
            watch.set()
            if client.status == "running":
                executor.shutdown(wait=False)


@contextlib.contextmanager
def _client(distributed: Any, scheduler: str) -> Iterator[Any]:
    for name in ("distributed", "distributed.client"):  # they would log to standard error
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        asyncio.run(_identify(distributed, scheduler))  # a refused client prints a long text, or waits for ever
        with warnings.catch_warnings(action="ignore"):  # about other versions of packages that a merge does not need
            client = distributed.Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error) or f"no answer within {_CONNECT_S} s"
        raise UsageError(f"--scheduler {scheduler}: no Dask scheduler answers there: {reason}") from None
    try:
        yield client
    finally:
        client.close(timeout=_CONNECT_S)


async def _identify(distributed: Any, scheduler: str) -> None:
    """Ask a scheduler what it is; OSError if nothing answers, ValueError if it is not a scheduler."""
    async with asyncio.timeout(_CONNECT_S):
        security = distributed.Security().get_connection_args("client")
        comm = await distributed.comm.connect(scheduler, timeout=_CONNECT_S, **security)
        try:
            await comm.write({"op": "identity", "reply": True})
            identity = await comm.read()
        finally:
            comm.abort()
    if not isinstance(identity, dict) or identity.get("type") != "Scheduler":
        raise ValueError("something else does")


def _problem(root: Path, out: Path, version: str, *, text: str, language: bool) -> str:
    """Say why this worker cannot help, "" if it can. It runs on the worker."""
    if version != __version__:
        return f"it has fscrawl {__version__}, not {version}"
    for path in (root / MACHINERY, out / STATE / LOCK):
        if not path.exists():
            return f"{path} is not there; it must mount tree and dataset under the same paths"
    return missing(text, language=language)


def _watch(client: Any, executor: Executor) -> threading.Event:
    """Give up when the cluster has had no worker for a while: Dask itself would wait for ever."""
    over = threading.Event()

    def watch() -> None:
        last = time.monotonic()
        while not over.wait(1):
            if client.status != "running" or client.ncores():
                last = time.monotonic()
            elif time.monotonic() - last > _WITHOUT_WORKERS_S:
                executor.shutdown(wait=False)
                return

    threading.Thread(target=watch, daemon=True).start()
    return over
