"""Workers that cannot be started, and workers that read nothing: the machine goes on with the others."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fscrawl.engine import pool as pools_module
from fscrawl.engine.pool import Pool
from fscrawl.errors import FscrawlError
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import Outcome
from tests.support.pools import HOSTS, SETTINGS, Start, pools, task
from tests.support.web import Response, Web
from tests.support.workers import GENERATION

NO_PROCESS = OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
FAULTS = {"no process": NO_PROCESS, "fork server gone": EOFError()}


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    with pools(root) as start:
        yield start


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(lambda request: Response(200, {"Content-Type": "text/html"}, b"<p>"), HOSTS) as served:
        yield served


def fail(monkeypatch: pytest.MonkeyPatch, errors: list[Exception]) -> None:
    """Let the next processes not be started, for these reasons."""

    class Executor(ProcessPoolExecutor):
        def submit(self, *args: Any, **options: Any) -> Any:
            if errors:
                raise errors.pop()
            return super().submit(*args, **options)

    monkeypatch.setattr(pools_module, "ProcessPoolExecutor", Executor)


def pids(pool: Pool) -> list[list[int]]:
    return [list(slot.executor._processes or {}) for slot in pool._slots]


def crawl(pool: Pool, web: Web, paths: list[str], enough: int | None = None) -> int:
    """Crawl these paths of one host each, until all or `enough` were answered; give how many were so in time."""
    todo = [task(web.url(HOSTS[number % 3], path)) for number, path in enumerate(paths)]
    answers, deadline = 0, time.monotonic() + 20
    while answers < (enough or len(paths)) and time.monotonic() < deadline:
        while todo and pool.has_room:
            pool.submit(todo.pop())
        answers += sum(isinstance(each, Outcome) for each in pool.wait(0.1))
    return answers


@pytest.mark.parametrize("error", FAULTS.values(), ids=FAULTS)
def test_a_process_is_replaced_later(start: Start, web: Web, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the system gives no process for one that died, the others work, and it is asked again; no task is lost."""
    pool = start(workers=2)
    (dead,), _ = pids(pool)
    fail(monkeypatch, [error] * 3)
    os.kill(dead, signal.SIGKILL)
    assert crawl(pool, web, [f"/{number}" for number in range(60)]) == 60
    pool.wait(0)
    deadline = time.monotonic() + 20
    while not all(slot.start_at is None for slot in pool._slots):
        assert time.monotonic() < deadline
        list(pool.wait(0.1))
    assert crawl(pool, web, ["/x", "/y", "/z"]) == 3


def test_the_only_process_is_replaced_later(start: Start, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with one worker waits for a process, and the tasks of the dead one are done by it."""
    pool = start(workers=1)
    fail(monkeypatch, [NO_PROCESS] * 2)
    for number in range(3):
        pool.submit(task(web.url(HOSTS[number], "/1")))
    os.kill(pids(pool)[0][0], signal.SIGKILL)
    answers: list[object] = []
    deadline = time.monotonic() + 20
    while len(answers) < 3 and time.monotonic() < deadline:
        answers += pool.wait(0.1)
    assert all(isinstance(each, Outcome) for each in answers)
    assert len(answers) == 3


def test_new_settings_without_a_process(start: Start, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that are edited while a worker waits for a process are those of the process."""
    pool = start(workers=1)
    fail(monkeypatch, [NO_PROCESS] * 2)
    os.kill(pids(pool)[0][0], signal.SIGKILL)
    deadline = time.monotonic() + 20
    while pool._slots[0].start_at is None:
        assert time.monotonic() < deadline
        list(pool.wait(0.1))
    changed = replace(SETTINGS, fetch=replace(SETTINGS.fetch, headers={"X-Now": "new"}))
    pool.reconfigure(CrawlConfig(changed, frozenset(), GENERATION))
    pool.drain()
    assert crawl(pool, web, ["/1"]) == 1
    assert [exchange.headers.get("x-now") for exchange in web.requests()] == ["new"]


def test_too_many_open_files_at_the_start(start: Start, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker for which no pipe can be made begins later; the machine neither hangs nor shows a traceback."""
    errors = [OSError(errno.EMFILE, os.strerror(errno.EMFILE))]

    class Executor(ProcessPoolExecutor):
        def __init__(self, *args: Any, **options: Any) -> None:
            if errors:
                raise errors.pop()
            super().__init__(*args, **options)

    monkeypatch.setattr(pools_module, "ProcessPoolExecutor", Executor)
    pool = start(workers=2)
    assert crawl(pool, web, [f"/{number}" for number in range(9)]) == 9
    errors.append(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    only = start(workers=1)
    only.kill()  # there is nothing to kill


@pytest.mark.parametrize(("workers", "dies", "tries"), [(1, 1, 7), (2, 2, 13), (2, 1, 21)])
def test_no_process_at_all(
    start: Start, web: Web, workers: int, dies: int, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that never gives a process ends the crawl with the reason: soon if no worker is left."""
    monkeypatch.setattr(pools_module, "_FIRST_PAUSE_S", 0.0)
    pool = start(workers=workers)
    errors: list[Exception] = [NO_PROCESS] * 50
    fail(monkeypatch, errors)
    for (pid,) in pids(pool)[:dies]:
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 20

    def wait() -> None:
        while time.monotonic() < deadline:
            list(pool.wait(0.01))

    with pytest.raises(FscrawlError, match="no worker process can be started: Resource temporarily unavailable"):
        wait()
    assert 50 - len(errors) <= tries


def test_workers_that_never_begin(start: Start, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """If workers hang before they begin to work, no task is blamed, and the crawl ends."""
    monkeypatch.setattr(pools_module.worker_entry, "serve", os.getpid)
    monkeypatch.setattr(pools_module, "_FIRST_PAUSE_S", 0.0)
    pool = start(workers=1, hung_after_s=0.2)
    for number in range(2):
        pool.submit(task(web.url(HOSTS[number], "/1")))
    answers: list[object] = []
    deadline = time.monotonic() + 20

    def wait() -> None:
        while time.monotonic() < deadline:
            answers.extend(pool.wait(0.05))

    with pytest.raises(FscrawlError, match="they end before they begin to work"):
        wait()
    assert answers == []


def test_a_worker_that_reads_nothing(start: Start, web: Web) -> None:
    """Settings with many seeds are more than a pipe takes. A worker that stands still does not hold up the machine."""
    pool = start(workers=2)
    (stopped,), _ = pids(pool)
    seeds = frozenset(f"http://{HOSTS[0]}/section/of/a/site/page-number-{number}.html" for number in range(40_000))
    config = CrawlConfig(SETTINGS, seeds | {f"http://{host}/" for host in HOSTS}, GENERATION)
    os.kill(stopped, signal.SIGSTOP)
    try:
        began = time.monotonic()
        for _ in range(2):
            pool.reconfigure(config)
        assert time.monotonic() - began < 5.0
        assert any(slot.outgoing.waits for slot in pool._slots)
        answered = crawl(pool, web, ["/1", "/2", "/3"], enough=1)
        assert answered, "the other worker works"
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert answered + crawl(pool, web, [f"/{number}" for number in range(30)]) >= 30
    assert not pool._slots[0].outgoing.waits
