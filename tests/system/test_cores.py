"""On which cores the processes of a crawl run."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from tests.support.crawling import Running, children_of, command
from tests.support.web import Web, linked_site

pytestmark = pytest.mark.proof

HOST = "127.0.71.1"
THREADS = 4
CORES = os.sched_getaffinity(0)


def cores_of(pid: int) -> list[set[int]]:
    """Give where each thread of a process may run."""
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):
            found.append(os.sched_getaffinity(int(thread.name)))
    return found


def are_at_home(pids: list[int]) -> bool:
    """Tell whether each process has threads that work, and all of its threads are bound to one core."""
    cores = [cores_of(pid) for pid in pids]
    return all(len(each) > THREADS and len(set.union(*each)) == 1 for each in cores)


@pytest.mark.skipif(len(CORES) < 2, reason="this computer has one core only")
def test_each_worker_has_a_core(tmp_path: Path) -> None:
    """All threads of a worker are on one core; the machine and the processes that read pages run anywhere."""
    with Web(linked_site(100_000, 3), [HOST]) as web:
        words = command(tmp_path / "tree", seeds=[web.url(HOST)], threads=THREADS)
        with Running(words) as running:
            running.until(lambda: web.count() > 100, "a hundred pages")
            workers = running.workers()
            running.until(lambda: are_at_home(workers), "all threads of two workers are on their cores")
            readers = [each for worker in workers for each in children_of(worker)]
            assert [each for reader in readers for each in cores_of(reader)] == [CORES] * len(workers)
            assert cores_of(running.process.pid)[0] == CORES
    assert len(workers) == 2
