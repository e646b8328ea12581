"""What the answer to a task costs beyond the usual."""

import time
from collections import deque

import pytest

from fscrawl.handlers import costs


@pytest.fixture(autouse=True)
def _on_the_computer_of_usual_s(monkeypatch):
    monkeypatch.setattr(costs, "_last_tasks", deque([0.3] * 8, maxlen=32))


def cost_of(took_s: float) -> float:
    """Do a task that is expected to take 0.1 s; give what it costs."""
    costs.begin()
    costs.expect(0.1)
    costs.beside(took_s)
    return costs.costly_s()


def do(times: int, took_s: float) -> None:
    for _ in range(times):
        cost_of(took_s)


def test_a_usual_task_costs_nothing():
    costs.begin()
    assert costs.costly_s() == 0.0


def test_all_that_was_done_for_it_counts():
    """What this thread has taken of the processor, and what others have done for it; time asleep is none."""
    costs.begin()
    time.sleep(0.05)
    assert costs.costly_s() == 0.0
    until_s = time.thread_time() + 0.05
    while time.thread_time() < until_s:
        pass
    costs.beside(2.0)
    assert costs.costly_s() == pytest.approx(2.05, abs=0.02)


def test_what_is_usual_for_it_does_not():
    """A part that takes less than was to be expected pays for no other page: each task counts anew."""
    costs.begin()
    costs.beside(0.5)
    costs.expect(costs.usual_s(1_000_000, "pdf"))
    costs.expect(costs.usual_answer_s(1_000_000))
    assert costs.costly_s() == pytest.approx(0.5 - 0.45 - 0.042, abs=0.01)
    costs.expect(10.0)
    assert costs.costly_s() == 0.0
    costs.begin()
    costs.beside(0.5)
    assert costs.costly_s() == pytest.approx(0.5, abs=0.01)


def test_code_of_the_user():
    """It may take any time: no site pays for it."""
    costs.begin()
    with costs.of_user():
        until_s = time.thread_time() + 0.05
        while time.thread_time() < until_s:
            pass
    assert costs.costly_s() == 0.0


def test_a_slow_computer():
    """There, all tasks take longer, so what is usual is more."""
    do(32, 0.2)
    assert cost_of(0.5) == 0.0
    assert cost_of(1.0) == pytest.approx(0.4, abs=0.05)


def test_costly_tasks_do_not_make_the_computer_slow():
    """As long as some of the last tasks are as they should be, the costly ones pay."""
    do(28, 5.0)
    do(4, 0.03)
    assert costs.slowness() == 1.0


def test_a_process_that_is_new():
    """Its first tasks take longer, whatever they are: nobody pays but for what takes very long."""
    costs._last_tasks.clear()
    assert cost_of(0.9) == 0.0
    assert cost_of(5.0) == pytest.approx(4.0, abs=0.05)


def test_many_links():
    """Up to thousands of links are usual, but not without end."""
    assert costs.usual_s(0, links=20_000) == costs.usual_s(0, links=2_000_000) > costs.usual_s(0)
