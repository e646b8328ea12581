"""A Dask cluster that does the work of a merge. Its workers mount tree and dataset under the same paths.

Workers write to their own logs. Whatever goes wrong is one line here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from functools import partial
from pathlib import Path
from typing import Any

from fscrawl import __version__
from fscrawl.dataset.dataset_dir import STATE
from fscrawl.dataset.job import Job, reporting_to
from fscrawl.dataset.needs import missing
from fscrawl.dataset.writer import LOCK
from fscrawl.errors import FscrawlError, UsageError
from fscrawl.storage.layout import MACHINERY
from fscrawl.util.installed import to_install

_CONNECT_S = 10
_WITHOUT_WORKERS_S = 30  # then the merge gives up; Dask's nanny restarts a worker sooner
_REPORT_EVERY_S = 0.5


class Cluster(Executor):
    """The workers of a cluster. `counted()`: how many pages they have reported as done."""

    def __init__(self, client: Any) -> None:
        self._workers: Executor = client.get_executor(pure=False)
        self._topic = f"fscrawl-merge-{uuid.uuid4()}"
        self._count = 0
        client.subscribe_topic(self._topic, self._hear)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._workers.submit(_reporting, self._topic, partial(fn, *args, **kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - Dask's has none
        self._workers.shutdown(wait=wait)

    def counted(self) -> int:
        return self._count

    def _hear(self, event: tuple[float, int]) -> None:
        self._count += event[1]


def _reporting(topic: str, task: Callable[[], Any]) -> Any:
    """Do a task on a worker, and report to the merge from time to time how many pages are done."""
    from distributed import get_worker  # noqa: PLC0415 - an extra

    worker, done, reported_at = get_worker(), 0, time.monotonic()

    def report(pages: int) -> None:
        nonlocal done, reported_at
        done += pages
        if time.monotonic() - reported_at >= _REPORT_EVERY_S:
            worker.log_event(topic, done)
            done, reported_at = 0, time.monotonic()

    with reporting_to(report):
        result = task()
    worker.log_event(topic, done)
    return result


@contextlib.contextmanager
def connected(scheduler: str, job: Job) -> Iterator[tuple[Cluster, int]]:
    """Connect to the scheduler at this address. Yield an executor, and how many tasks run at the same time."""
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError(f"--scheduler needs Dask: {to_install('dask')}") from None
    with _client(distributed, scheduler) as client:
        width = sum(client.ncores().values())
        if not width:
            raise UsageError(f"--scheduler {scheduler}: it has no workers")
        for worker, problem in client.run(_problem, job.root, job.out, __version__, on_error="return").items():
            if problem:
                raise UsageError(f"--scheduler {scheduler}: its worker {worker} cannot help: {problem}")
        asked = job.options
        lacking = client.run(missing, asked.text, language=asked.language, on_error="return")
        for worker, what in lacking.items():
            if what:
                raise UsageError(f"--scheduler {scheduler}: its worker {worker} cannot help: {what}")
        executor = Cluster(client)
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


def _problem(root: Path, out: Path, version: str) -> str:
    """Say why this worker cannot help, "" if it can. It runs on the worker."""
    if version != __version__:
        return f"it has fscrawl {__version__}, not {version}"
    missing = [path for path in (root / MACHINERY, out / STATE / LOCK) if not path.exists()]
    return f"{missing[0]} is not there; it must mount tree and dataset under the same paths" if missing else ""


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
