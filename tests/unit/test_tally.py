"""How a merge hears of pages that are done elsewhere: from its processes, and of a Dask cluster's tasks."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import pytest

from fscrawl.dataset import crew
from fscrawl.dataset.job import pages_done, report_to


@pytest.fixture(autouse=True)
def _nobody():
    """Leave nobody to tell."""
    yield
    report_to()


def work():
    for _ in range(5):
        pages_done(2)
    return "made"


def test_nobody_to_tell():
    """A task that runs by itself tells nobody."""
    assert work() == "made"


def test_a_process_of_the_pool(monkeypatch):
    """A process adds to the number that it shares with the merge."""
    for name in ("keep_freed_memory", "look_for_cycles_rarely", "end_with_parent"):
        monkeypatch.setattr(crew, name, lambda *_: None)
    monkeypatch.setattr(crew.signal, "signal", lambda *_: None)
    count = multiprocessing.get_context("forkserver").Value("q", 0)
    crew._start(count)
    work()
    work()
    assert count.value == 20


class Line:
    """A progress line that notes what it is told."""

    def begin(self, step, total, unit, source):
        self.began = (step, total, unit)
        self.source, self.done = source, []

    def advance(self, number):
        self.done.append(number)


def test_a_cluster():
    """Where nobody hears of pages, those of a task count when it is done."""
    line = Line()
    with ThreadPoolExecutor(1) as pool:
        run = crew.Crew(pool, 1, line).run("reading", [work, work], [10, 3])
        assert next(run) == "made"
        assert line.done == [10]
        assert [*run] == ["made"]
    assert (line.began, line.source, line.done) == (("reading", 13, "pages"), None, [10, 3])


def test_processes():
    """What processes have reported counts at once, from where the step began."""
    line, count = Line(), [7]
    with ThreadPoolExecutor(1) as pool:
        run = crew.Crew(pool, 1, line, lambda: count[0]).run("writing", [work], [10])
        assert next(run) == "made"
        count[0] += 4
        assert line.source() == 4
    assert line.done == []
