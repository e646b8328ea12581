"""Where a worker process begins. Only there `worker_process` is loaded, with all that fetches and reads pages."""

from __future__ import annotations

from multiprocessing.connection import Connection

from fscrawl.engine.messages import WorkerSetup
from fscrawl.handlers.crawl_config import CrawlConfig


def start(connection: Connection, setup: WorkerSetup, config: CrawlConfig) -> None:
    """Set up a new worker process; see `worker_process.start`."""
    from fscrawl.engine import worker_process  # noqa: PLC0415 - not in the machine's process

    worker_process.start(connection, setup, config)


def serve(cores: list[int]) -> None:
    """Work until the machine says stop; see `worker_process.serve`."""
    from fscrawl.engine import worker_process  # noqa: PLC0415 - not in the machine's process

    worker_process.serve(cores)
