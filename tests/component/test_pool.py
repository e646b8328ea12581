"""Worker processes: every task comes back once, whatever happens to the process that works on it."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from fscrawl.engine.messages import Parked, TreeUnusable
from fscrawl.engine.pool import KilledWorker, Pool
from fscrawl.errors import FscrawlError
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import FailedForGood, Known, Outcome, Returned, Stored
from tests.support.crawling import check_tree, children_of, errors, pages
from tests.support.pools import HOSTS, SETTINGS, Start, pools, task
from tests.support.web import Request, Response, Web, linked_site
from tests.support.workers import GENERATION

HTML = {"Content-Type": "text/html"}
Answer = Outcome | KilledWorker | TreeUnusable


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    with pools(root) as start:
        yield start


def what(answer: Answer) -> str | type:
    """Give what was stored, else the type of the answer."""
    return answer.kind if isinstance(answer, Stored) else type(answer)


def gather(pool: Pool, count: int, timeout_s: float = 20.0) -> list[Answer]:
    """Give the next `count` answers."""
    answers: list[Answer] = []
    deadline = time.monotonic() + timeout_s
    while len(answers) < count:
        assert time.monotonic() < deadline, f"{len(answers)} of {count} answers within {timeout_s} s: {answers}"
        answers += [each for each in pool.wait(0.2) if not isinstance(each, Parked)]
    assert list(pool.wait(0)) == []
    assert len(answers) == count
    return answers


def worker_pids(pool: Pool) -> list[int]:
    return [slot.process.pid for slot in pool._slots if slot.process is not None]


@contextmanager
def web(kill: Callable[[], None] | None = None) -> Iterator[Web]:
    """A web of plain pages; /deadly kills by `kill`, /slow takes a minute."""

    def serve(request: Request) -> Response:
        if request.path == "/deadly" and kill is not None:
            kill()
        return Response(200, HTML, b"<p>", delay_s=60.0 if request.path in ("/deadly", "/slow") else 0.0)

    with Web(serve, HOSTS) as served:
        yield served


@pytest.mark.gate
def test_every_task_comes_back_once(start: Start, root: Path) -> None:
    """As many outcomes come back as tasks were submitted, one for each."""
    with Web(linked_site(40, 5), HOSTS) as served:
        pool = start(workers=2, threads=3)
        tasks = [task(served.url(host, f"/{n}")) for n in range(40) for host in HOSTS]
        for each in tasks:
            pool.submit(each)
        answers = gather(pool, len(tasks))
        assert sorted(answer.task for answer in answers) == sorted(tasks)
        assert {what(answer) for answer in answers if isinstance(answer, Outcome)} == {"page"}
        assert served.duplicates() == {}
    assert len(pages(root)) == len(tasks)
    check_tree(root)


@pytest.mark.gate
def test_room(start: Start) -> None:
    """A pool has room until every thread has a page and every inbox as many more."""
    with web() as served:
        pool = start(workers=2, threads=2)
        for n in range(8):
            assert pool.has_room
            pool.submit(task(served.url(HOSTS[n % 3], f"/{n}")))
        assert not pool.has_room
        gather(pool, 8)
        assert pool.has_room


def test_fetches_in_flight(start: Start) -> None:
    """A worker has as many fetches in flight as it has threads, also when all hosts are slow."""
    with Web(lambda request: Response(200, HTML, b"<p>", delay_s=1.5), HOSTS) as served:
        pool = start(workers=1, threads=3)
        for n in range(6):
            pool.submit(task(served.url(HOSTS[n % 3], f"/{n}")))
        gather(pool, 6)
        times = [(each.arrived, each.answered) for each in served.requests()]
    assert max(sum(a <= arrived < b for a, b in times) for arrived, _ in times) == 3


def test_drain_returns_waiting_tasks(start: Start) -> None:
    """A drained pool gives back the waiting tasks as `Returned`, and finishes those that were begun."""
    release = time.monotonic() + 0.5

    def serve(request: Request) -> Response:
        return Response(200, HTML, b"<p>", delay_s=max(0.0, release - time.monotonic()))

    with Web(serve, HOSTS) as served:
        pool = start(workers=1, threads=1)
        for n in range(2):
            pool.submit(task(served.url(HOSTS[0], f"/{n}")))
        list(pool.wait(0))  # sends them
        pool.drain()
        kinds = Counter(what(answer) for answer in gather(pool, 2))
        assert kinds in ({Returned: 1, "page": 1}, {Returned: 2})
        assert served.count() == kinds["page"]


def test_killed_worker_is_replaced(start: Start) -> None:
    """The pages of a worker that was killed are done by its successor, which first looks if they are stored."""
    killed: list[int] = []

    def once() -> None:
        if not killed:
            killed.extend(worker_pids(pool))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    def serve(request: Request) -> Response:
        if request.path == "/3":
            once()
        return Response(200, HTML, b"<p>")

    with Web(serve, HOSTS) as served:
        pool = start(workers=1, threads=2)
        tasks = [task(served.url(HOSTS[0], f"/{n}")) for n in range(4)]
        for each in tasks:
            pool.submit(each)
        answers = gather(pool, 4)
        assert {answer.task.url for answer in answers} == {each.url for each in tasks}
        assert all(isinstance(answer, Outcome) for answer in answers)
        assert {answer.task.check for answer in answers if answer.task.url == tasks[3].url} == {True}
        assert pool.replaced == 1
        assert pool.hosts_of_dead_workers == {tasks[0].host}
        assert worker_pids(pool) != killed


def test_suspects_come_back(start: Start) -> None:
    """What a dead worker had in flight is not tried again while the machine is held back: it may lose the hosts."""

    def kill() -> None:
        for pid in worker_pids(pool):
            os.kill(pid, signal.SIGKILL)

    with web(kill) as served:
        pool = start(workers=1, threads=2, delay_s=60.0)
        tasks = [task(served.url(HOSTS[0], path)) for path in ("/slow", "/deadly")]
        for each in tasks:
            pool.submit(each)
        began = time.monotonic()
        while not pool.replaced:
            assert time.monotonic() < began + 20
            assert list(pool.wait(0.1)) == []
        pool.drain()
        answers = gather(pool, 2)
        assert {(type(answer), answer.task.url) for answer in answers} == {(Returned, each.url) for each in tasks}
        assert all(isinstance(answer, Returned) and (answer.asked_at or 0.0) > began for answer in answers)


def test_page_that_kills(start: Start, root: Path) -> None:
    """A page that kills its worker, and twice alone, comes back as `KilledWorker`; the others are done."""

    def kill() -> None:
        for pid in worker_pids(pool):
            os.kill(pid, signal.SIGKILL)

    with web(kill) as served:
        pool = start(workers=1, threads=4)
        paths = ["/1", "/2", "/deadly", "/3", "/4"]
        for path in paths:
            pool.submit(task(served.url(HOSTS[0], path)))
        answers = gather(pool, 5)
        died = [answer.task.url for answer in answers if isinstance(answer, KilledWorker)]
        assert died == [served.url(HOSTS[0], "/deadly")]
        assert pool.replaced == 3
        assert served.count(path="/deadly") == 3
    assert set(pages(root)) == {served.url(HOSTS[0], path) for path in paths if path != "/deadly"}


def test_dying_worker_takes_no_other_along(start: Start) -> None:
    """While one worker dies, the pages of the other go on, each asked for once."""

    def kill() -> None:
        slot = next(slot for slot in pool._slots if slot.in_flight.get(deadly.key))
        for pid in slot.executor._processes or {}:
            os.kill(pid, signal.SIGKILL)

    with web(kill) as served:
        pool = start(workers=2, threads=1)
        deadly = task(served.url(HOSTS[0], "/deadly"))
        pool.submit(deadly)
        others = [task(served.url(HOSTS[1], f"/{n}")) for n in range(2)]
        for each in others:
            pool.submit(each)
        answers = gather(pool, 3)
        assert [answer.task for answer in answers if isinstance(answer, KilledWorker)] == [deadly]
        assert all(served.count(HOSTS[1], f"/{n}") == 1 for n in range(2))


def test_hung_worker_is_killed(start: Start) -> None:
    """A worker that does not answer for `hung_after_s` is killed; a page that hangs twice is given up."""
    with web() as served:
        pool = start(hung_after_s=0.4)
        pool.submit(task(served.url(HOSTS[0], "/slow")))
        (answer,) = gather(pool, 1)
        assert isinstance(answer, KilledWorker)
        assert served.count(path="/slow") <= 2


def test_worker_that_waits_for_the_tree_is_not_killed(start: Start) -> None:
    """A worker is not killed if the tree is stalled, or if this process did not read its answers."""
    with web() as served:
        pool = start(hung_after_s=0.4)
        pool.submit(task(served.url(HOSTS[0], "/slow")))
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            assert list(pool.wait(0.05, tree_stalled=True)) == []
        assert pool.replaced == 0
        pool._waited_at -= 100  # this process stood still itself
        assert list(pool.wait(0.05)) == []
        assert pool.replaced == 0


def test_what_killed_a_worker_is_asked_for_after_the_delay(start: Start) -> None:
    """A task in flight when its worker died may just have been sent to the host: the host's delay is kept."""
    asked: list[float] = []

    def serve(request: Request) -> Response:
        asked.append(time.monotonic())
        if len(asked) == 1:
            for pid in worker_pids(pool):
                os.kill(pid, signal.SIGKILL)
        return Response(200, HTML, b"<p>")

    with Web(serve, HOSTS) as served:
        pool = start(delay_s=1.0)
        pool.submit(task(served.url(HOSTS[0], "/")))
        (answer,) = gather(pool, 1)
    assert isinstance(answer, Outcome)
    assert what(answer) == "page"
    assert asked[1] - asked[0] >= 1.0


def test_defect_costs_one_page(start: Start, root: Path) -> None:
    """A defect costs only the page that it happens on, which is recorded as an internal error."""
    broken = replace(SETTINGS, fetch=replace(SETTINGS.fetch, retries=None))  # type: ignore[arg-type]
    with Web(lambda request: Response(503 if request.path == "/2" else 200, HTML), HOSTS) as served:
        pool = start(settings=broken)
        for n in (1, 2, 3):
            pool.submit(task(served.url(HOSTS[0], f"/{n}")))
        outcomes = {answer.task.url: answer for answer in gather(pool, 3) if isinstance(answer, Outcome)}
        assert [what(outcomes[served.url(HOSTS[0], f"/{n}")]) for n in (1, 2, 3)] == ["page", FailedForGood, "page"]
        broken_url = served.url(HOSTS[0], "/2")
        record = errors(root)[broken_url]
        assert (record.class_, outcomes[broken_url].failed_at) == ("internal", record.failed_at)
        assert pool.replaced == 0


def test_tree_that_vanishes(start: Start, root: Path) -> None:
    """If the tree is gone the task comes back as `TreeUnusable`, and no new tree is made."""
    with web() as served:
        pool = start()
        pool.submit(task(served.url(HOSTS[0], "/1")))
        gather(pool, 1)
        root.rename(root.with_name("away"))
        pool.submit(task(served.url(HOSTS[0], "/2")))
        (answer,) = gather(pool, 1)
    assert isinstance(answer, TreeUnusable)
    assert answer.error.exit_code == 75
    assert not root.exists()


def test_the_tree_is_not_needed_to_begin(start: Start, root: Path) -> None:
    """A worker can start, or take new settings, while the tree cannot be read."""
    away = root.with_name("away")
    root.rename(away)
    with web() as served:
        pool = start()
        pool.reconfigure(CrawlConfig(SETTINGS, frozenset(f"http://{host}/" for host in HOSTS), GENERATION))
        assert list(pool.wait(1.0)) == []
        away.rename(root)
        pool.submit(task(served.url(HOSTS[0], "/1")))
        (answer,) = gather(pool, 1)
    assert isinstance(answer, Outcome)
    assert what(answer) == "page"


def test_worker_that_cannot_read_any_more(start: Start) -> None:
    """If what starts the readers of a worker was ended, the worker ends, too, and its page is read by the next one."""
    page = b"<p>" * 200_001  # too many tags for the worker itself
    with Web(lambda request: Response(200, HTML, page), HOSTS) as served:
        pool = start(workers=1)
        pool.submit(task(served.url(HOSTS[0], "/robots.txt")))
        gather(pool, 1)
        (worker,) = worker_pids(pool)
        for server in children_of(worker):
            os.kill(server, signal.SIGKILL)
        pool.submit(task(served.url(HOSTS[0], "/1")))
        assert what(*gather(pool, 1)) == "page"
        assert pool.replaced == 1


def test_workers_that_die_at_once(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """If workers die without an answer again and again, the crawl ends with advice."""
    monkeypatch.setattr("fscrawl.engine.pool._MAX_DEATHS_AT_START", 2)
    pool = start()

    def kill_each() -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            for slot in pool._slots:
                if slot.has_begun:
                    slot.kill()
            list(pool.wait(0.2))

    with pytest.raises(FscrawlError, match="as soon as they begin"):
        kill_each()


def test_new_settings_reach_the_workers(start: Start) -> None:
    """After `reconfigure`, the workers use the new settings."""
    changed = replace(SETTINGS, fetch=replace(SETTINGS.fetch, headers={"X-Now": "new"}))
    with web() as served:
        pool = start()
        pool.submit(task(served.url(HOSTS[0], "/1")))
        gather(pool, 1)
        pool.reconfigure(CrawlConfig(changed, frozenset(), GENERATION))
        pool.submit(task(served.url(HOSTS[0], "/2")))
        gather(pool, 1)
        assert [e.headers.get("x-now") for e in served.requests()] == [None, "new"]


def test_another_generation_makes_other_workers(start: Start) -> None:
    """In a new generation, links that were reported before are reported once more."""
    with Web(lambda request: Response(200, HTML, b'<a href="/x">'), HOSTS) as served:
        pool = start(workers=1)
        reported = []
        for generation in (GENERATION, GENERATION, 8):
            if generation != GENERATION:
                pool.reconfigure(CrawlConfig(SETTINGS, frozenset(f"http://{host}/" for host in HOSTS), generation))
            pool.submit(task(served.url(HOSTS[0], "/1")))
            (answer,) = gather(pool, 1)
            assert isinstance(answer, Stored | Known)
            reported.append((len(answer.links), answer.generation))
    assert reported == [(1, GENERATION), (0, GENERATION), (1, 8)]
