"""A machine that dies or is interrupted while its workers begin."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.crawling import Running

UNTOLD = """
import os, sys, time
from pathlib import Path
from fscrawl.config.settings import Settings
from fscrawl.engine import messages, pool
from fscrawl.storage.records import FORMAT, TreeRecord, timestamp
from fscrawl.handlers.crawl_config import CrawlConfig

pool.worker_entry.serve = max  # as if the machine died before it could say what to do
record = TreeRecord(FORMAT, "test", timestamp(0), 512, "host", "ab" * 16)
setup = messages.WorkerSetup(Path(sys.argv[1]), record, "machine-1-abcdef", False, 1)
made = pool.Pool(2, setup, CrawlConfig(Settings(), frozenset(), ""), hung_after_s=60.0)
print(*[slot.executor.submit(os.getpid).result() for slot in made._slots], flush=True)
time.sleep(60)
"""

INTERRUPTED = """
import multiprocessing, os, signal, sys, time
from concurrent.futures import ProcessPoolExecutor
from fscrawl.engine import PRELOADED
from fscrawl.util.processes import start_server

start_server(PRELOADED)
signal.signal(signal.SIGINT, lambda *_: print("machine", flush=True))
with ProcessPoolExecutor(1, multiprocessing.get_context("forkserver")) as pool:
    pool.submit(os.getpid).result()
    job = pool.submit(time.sleep, 0.3)
    while not job.running():
        time.sleep(0.01)
    os.killpg(0, signal.SIGINT)
    job.result()
print("worker", flush=True)
"""


def test_worker_of_a_machine_that_died_at_once(tmp_path: Path) -> None:
    """A worker ends with its machine, also if it was never told what to do."""
    with Running([sys.executable, "-c", UNTOLD, str(tmp_path)]) as machine:
        assert machine.process.stdout is not None
        workers = [int(word) for word in machine.process.stdout.readline().split()]
        assert len(workers) == 2
        machine.process.kill()
        machine.wait(10.0)  # a worker that goes on would hold the pipes open


def test_interrupt_before_workers_can_ignore_it() -> None:
    """Ctrl-C reaches the machine, and no process that has not begun yet dies of it."""
    with Running([sys.executable, "-c", INTERRUPTED]) as machine:
        done = machine.wait(20.0)
    assert (done.out.split(), done.err, done.code) == (["machine", "worker"], "", 0)
