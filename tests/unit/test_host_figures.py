"""Why hosts are asked nothing now."""

from __future__ import annotations

from collections import Counter

import pytest

from fscrawl.frontier.host_figures import Cause
from tests.support.frontiers import A, B, C, fail, fill, give_up, take_and_finish


def causes(frontier, now):
    return {name: (each.cause, each.wait_s) for name, each in frontier.host_figures(now, 99).items()}


# -- the frontier


def test_delay_turn_and_nothing(make_frontier):
    """A host waits for its turn, for its delay, or for what it has in flight; of one without URLs there is little."""
    frontier = make_frontier("politeness.delay=10")
    fill(frontier, A + "1", A + "2", B + "1")
    assert causes(frontier, 0) == {"a.example": (Cause.TURN, 0), "b.example": (Cause.TURN, 0)}
    take_and_finish(frontier, 0)
    task = frontier.take(1)
    assert causes(frontier, 4) == {"a.example": (Cause.DELAY, 6), "b.example": (Cause.NOTHING, 0)}
    frontier.finish(task, 1)
    frontier.take(20)
    fill(frontier, A + "3")
    assert causes(frontier, 21)["a.example"] == (Cause.PER_HOST, 0)


def test_rests_and_why(make_frontier):
    """Who asked for a rest is remembered, of the longer one, and of hosts that were not met, too."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, A + "1", B + "1", C + "1")
    frontier.scheduler.rest("a.example", 50, "retry-after")
    frontier.scheduler.rest("a.example", 20, "failing")
    frontier.scheduler.rest("b.example", 30)
    frontier.scheduler.rest("not-met.example", 70)
    for _ in range(10):
        fail(frontier, 0, name="c.example")
    assert causes(frontier, 5) == {
        "a.example": (Cause.RETRY_AFTER, 45),
        "b.example": (Cause.TOLD, 25),
        "c.example": (Cause.FAILING, 5),
        "not-met.example": ("told", 65),
    }
    frontier.forget_what_is_over(60)
    assert frontier.scheduler.why_it_rests("a.example") == "told"  # forgotten
    assert causes(frontier, 60)["a.example"] == (Cause.TURN, 0)


def test_paused_and_given_up(make_frontier):
    """A sign and a failure for long come before all other causes."""
    frontier = make_frontier("politeness.delay=1", "politeness.give_up_after=30")
    fill(frontier, A + "1", B + "1")
    give_up(frontier)
    frontier.scheduler.paused = frozenset({"b.example"})
    assert {name: cause for name, (cause, _) in causes(frontier, 70).items()} == {
        "a.example": Cause.GIVEN_UP,
        "b.example": Cause.PAUSED,
    }


def test_robots_come_first(make_frontier):
    """A host whose robots.txt is not known waits for that."""
    frontier = make_frontier("politeness.robots=true")
    fill(frontier, A + "1")
    assert causes(frontier, 0)["a.example"] == (Cause.ROBOTS, 0)
    frontier.take(0)
    assert causes(frontier, 0)["a.example"] == (Cause.ROBOTS, 0)


@pytest.mark.parametrize(
    ("few", "slow", "cause"),
    [
        ({"PER_SITE": 1}, None, Cause.SITE),
        ({}, 1, Cause.SLOW),
        ({"PER_ADDRESS": 1}, None, Cause.ADDRESS),
    ],
)
def test_places(make_frontier, few_places, few, slow, cause):
    """A host that finds no place says which limit it waits for."""
    few_places(**few)
    frontier = make_frontier("politeness.delay=0")
    if slow:
        frontier.scheduler.places.limit_slow(slow, slow)
    hosts = (
        ["http://127.0.0.1:81/", "http://127.0.0.1:82/"]
        if cause is Cause.ADDRESS
        else [
            "http://x.wild.example/",
            "http://y.wild.example/",
        ]
    )
    fill(frontier, *hosts)
    assert frontier.take(0) is not None
    assert frontier.take(0) is None
    assert Counter(each for each, _ in causes(frontier, 0).values()) == {Cause.NOTHING: 1, cause: 1}


def test_delays_and_what_sets_them(make_frontier):
    """The delay of a host is set by the settings, by its robots.txt, by slow answers, or by failures."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, A + "1")

    def delay():
        figure = frontier.host_figures(0, 1)["a.example"]
        return figure.delay_s, figure.set_by

    assert delay() == (1, "settings")
    frontier.scheduler.open("a.example", 3.0, 0)
    assert delay() == (3, "robots")
    frontier.scheduler.answered("a.example", 5.0)
    assert delay() == (5, "answers")
    fail(frontier, 0)
    assert delay() == (10, "failures")


def test_the_worst_and_the_largest(make_frontier):
    """Of many hosts those are given that are in trouble, and then those with most URLs."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, *(f"http://h{n}.example/{page}" for n in range(9) for page in range(n + 1)))
    frontier.scheduler.rest("h0.example", 9)
    frontier.scheduler.rest("elsewhere.example", 5)
    found = frontier.host_figures(0, 3)
    assert list(found) == ["h0.example", "h8.example", "h7.example"]
    assert found["h8.example"].pending == 9
    assert "elsewhere.example" in frontier.host_figures(0, 99)
