"""A pool that may have far more worker processes than there is work for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fscrawl.engine.pool import Pool
from fscrawl.handlers.outcome import Returned, Stored
from tests.support.pools import HOSTS, Start, pools, task
from tests.support.web import Request, Response, Web

FIRST = 8


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    with pools(root) as start:
        yield start


@pytest.fixture
def slow_web() -> Iterator[tuple[Web, threading.Event]]:
    """Give a web that answers when the event is set."""
    answer = threading.Event()

    def site(_: Request) -> Response:
        answer.wait(60.0)
        return Response(200, {"Content-Type": "text/html"}, b"<p>hello")

    with Web(site, HOSTS) as web:
        yield web, answer
        answer.set()


def processes(pool: Pool) -> int:
    return sum(slot.start_at is None for slot in pool._slots)


def submit(pool: Pool, web: Web, count: int, begin: int = 0) -> None:
    for number in range(begin, begin + count):
        assert pool.has_room
        pool.submit(task(web.url(HOSTS[0], f"/{number}")))


def wait_for(pool: Pool, count: int) -> list[object]:
    """Give so many answers."""
    answers: list[object] = []
    deadline = time.monotonic() + 60.0
    while len(answers) < count:
        assert time.monotonic() < deadline, answers
        answers += pool.wait(0.05)
    return answers


def test_processes_begin_as_work_appears(start: Start, slow_web: tuple[Web, threading.Event]) -> None:
    """A few processes begin at once. Others begin when there are tasks for them, and no more than that."""
    web, answer = slow_web
    pool = start(workers=400)
    assert processes(pool) == FIRST
    submit(pool, web, FIRST - 1)
    for _ in range(3):
        assert list(pool.wait(0.0)) == []
    assert processes(pool) == FIRST
    submit(pool, web, 4, begin=FIRST - 1)
    deadline = time.monotonic() + 60.0
    while processes(pool) < FIRST + 4:
        assert list(pool.wait(0.0)) == []
        assert time.monotonic() < deadline
    for _ in range(3):
        assert list(pool.wait(0.0)) == []
    assert processes(pool) == FIRST + 4
    answer.set()
    assert {type(each) for each in wait_for(pool, FIRST + 3)} == {Stored}


def test_none_begins_while_nothing_is_handed_out(start: Start, slow_web: tuple[Web, threading.Event]) -> None:
    """A pool that is drained, as when the machine leaves, starts no process; it does when it is given a task again."""
    web, answer = slow_web
    pool = start(workers=400)
    submit(pool, web, 3 * FIRST)
    pool.drain()
    answers = [*pool.wait(0.0), *pool.wait(0.0)]
    assert processes(pool) == FIRST
    answer.set()
    answers += wait_for(pool, 3 * FIRST - len(answers))
    assert {type(each) for each in answers} <= {Stored, Returned}
    answer.clear()
    submit(pool, web, FIRST, begin=3 * FIRST)
    assert list(pool.wait(0.0)) == []
    assert processes(pool) == FIRST + 1
    answer.set()
    wait_for(pool, FIRST)


def test_one_that_is_never_needed(start: Start) -> None:
    """A pool ends although most of its processes have never begun."""
    start(workers=400).kill()
    start(workers=400).close()
