"""What all hosts with pending URLs have in common, so that it can be said why little is fetched."""

from fscrawl import urls
from fscrawl.frontier.task import RobotsTask
from tests.support.frontiers import A, B, fill


def test_all_fail(make_frontier):
    """Whether all hosts with pending URLs fail, and how, is known until one answers."""
    frontier = make_frontier("politeness.delay=10")
    fill(frontier, A + "1", B + "1")
    of_a, of_b = (RobotsTask(urls.origin(url), urls.host(url), 1) for url in (A, B))
    frontier.scheduler.failed(of_a, "dns", 0)
    assert frontier.scheduler.all_fail(0) == {}
    frontier.scheduler.failed(of_b, "connect", 0)
    frontier.scheduler.failed(of_b, "timeout", 0)
    assert frontier.scheduler.all_fail(0) == {"a.example": (1, "dns", 0), "b.example": (2, "timeout", 0)}
    frontier.scheduler.rest("a.example", 60, "retry-after")
    frontier.scheduler.rest("b.example", 60, "failing")
    assert frontier.scheduler.all_fail(20) == {"a.example": (1, "dns", 40), "b.example": (2, "timeout", 0)}
    assert frontier.scheduler.all_fail(70)["a.example"] == (1, "dns", 0)
    frontier.scheduler.answered("a.example", 1)
    assert frontier.scheduler.all_fail(0) == {}


def test_all_paused(make_frontier):
    """Which signs stop all hosts with pending URLs is known; none do if one of these hosts may be asked."""
    frontier = make_frontier()
    fill(frontier, "http://a.example:8080/1", B + "1")
    assert frontier.scheduler.all_paused() == set()
    frontier.scheduler.paused = frozenset({"a.example", "c.example"})
    assert frontier.scheduler.all_paused() == set()
    frontier.scheduler.paused = frozenset({"a.example", "a.example_8080", "b.example", "c.example"})
    assert frontier.scheduler.all_paused() == {"a.example", "a.example_8080", "b.example"}
