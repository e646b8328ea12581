"""What the answer to a task costs beyond the usual."""

import time

import pytest

from fscrawl.handlers import costs


@pytest.fixture(autouse=True)
def _on_the_computer_of_usual_s(monkeypatch):
    monkeypatch.setattr(costs, "slowness", lambda: 1.0)


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


def test_a_slow_computer(monkeypatch):
    """There, all pages take longer."""
    monkeypatch.setattr(costs, "slowness", lambda: 3.0)
    costs.begin()
    costs.beside(0.25)
    costs.expect(0.1)
    assert costs.costly_s() == 0.0
    costs.beside(0.25)
    assert costs.costly_s() == pytest.approx(0.2, abs=0.02)


def test_many_links():
    """Up to thousands of links are usual, but not without end."""
    assert costs.usual_s(0, links=20_000) == costs.usual_s(0, links=2_000_000) > costs.usual_s(0)
