"""Where a worker process begins. Only there `worker_process` is loaded, with all that fetches and reads pages.

Promise: a worker that cannot go on says why and ends. The machine never asks how these calls ended: it sees that the
process is gone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fscrawl.util.terminal import say_error

if TYPE_CHECKING:  # the command loads this before all else, to start the server
    from multiprocessing.connection import Connection

    from fscrawl.engine.messages import WorkerSetup
    from fscrawl.handlers.crawl_config import CrawlConfig

_EXIT_SOFTWARE = 70  # EX_SOFTWARE


def start(connection: Connection, setup: WorkerSetup, config: CrawlConfig) -> None:
    """Set up a new worker process; see `worker_process.start`."""
    with _ends_if_it_fails():
        from fscrawl.engine import worker_process  # noqa: PLC0415 - not in the machine's process

        worker_process.start(connection, setup, config)


def serve(number: int, workers: int) -> None:
    """Work until the machine says stop; see `worker_process.serve`."""
    with _ends_if_it_fails():
        from fscrawl.engine import worker_process  # noqa: PLC0415 - not in the machine's process

        worker_process.serve(number, workers)


def serve_here(connection: Connection, setup: WorkerSetup, config: CrawlConfig) -> None:
    """Work in a thread of the machine's own process until the machine says stop, or closes the pipe."""
    with connection, _tells_why_it_fails():
        from fscrawl.engine import worker_process  # noqa: PLC0415 - most machines need not load it

        worker_process.serve_here(connection, setup, config)


@contextmanager
def _ends_if_it_fails() -> Iterator[None]:
    try:
        with _tells_why_it_fails():
            yield
    except Exception:  # noqa: BLE001 - whatever it is, the process would stand there and do nothing
        os._exit(_EXIT_SOFTWARE)


@contextmanager
def _tells_why_it_fails() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        say_error(f"a worker ends: {type(error).__name__}: {error}")
        raise


# -- what the server loads, from which workers are forked, while the machine begins


# With `worker_process`, what multiprocessing and the executor load in a child that begins.
PRELOADED = (
    "concurrent.futures.process",
    "encodings.idna",  # the first look-up of a name loads it
    "multiprocessing.popen_forkserver",
    "multiprocessing.sharedctypes",
    "multiprocessing.synchronize",
    "fscrawl.engine.worker_entry",
    "fscrawl.engine.worker_process",
)
