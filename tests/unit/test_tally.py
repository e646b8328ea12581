"""How a merge hears of pages that are done elsewhere: from its processes, and from a Dask cluster."""

import multiprocessing
import pickle
import sys
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from fscrawl.dataset import cluster, crew
from fscrawl.dataset.job import pages_done, report_to


@pytest.fixture(autouse=True)
def _nobody():
    """Leave nobody to tell."""
    yield
    report_to(None)


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


class Dask:
    """What the merge and a worker have of Dask: messages arrive at once."""

    def __init__(self):
        self.messages = []
        self.handlers = {}

    def subscribe_topic(self, topic, handler):
        self.handlers[topic] = handler

    def get_executor(self, *, pure):
        return self

    def submit(self, fn, *args):
        future = Future()
        future.set_result(pickle.loads(pickle.dumps(fn))(*args))
        return future

    def log_event(self, topic, message):
        self.messages.append(message)
        self.handlers[topic]((0.0, message))


@pytest.mark.parametrize(("step_s", "messages"), [(0.0, [10]), (0.3, [4, 4, 2]), (1.0, [2, 2, 2, 2, 2, 0])])
def test_a_cluster(monkeypatch, step_s, messages):
    """A worker sends what is done twice a second at most, and the rest when the task is over."""
    dask, now = Dask(), [0.0]

    def clock():
        now[0] += step_s / 2 if step_s == 1.0 else step_s
        return now[0]

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(get_worker=lambda: dask))
    monkeypatch.setattr(cluster.time, "monotonic", clock)
    workers = cluster.Cluster(dask)
    assert workers.submit(work).result() == "made"
    assert dask.messages == messages
    assert workers.counted() == 10
