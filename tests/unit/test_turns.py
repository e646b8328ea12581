"""What it costs to change whose turn it is, counted in comparisons of times."""

import pytest

from fscrawl import urls
from fscrawl.frontier.task import End


class At(float):
    """A time that counts how often it is compared."""

    compared = 0

    def __lt__(self, other):
        type(self).compared += 1
        return float.__lt__(self, other)

    __hash__ = float.__hash__


def given_up(frontier, count):
    """Give up hosts that rest, one by one; return how many comparisons that took."""
    hosts = [f"http://h{number}.example/" for number in range(count)]
    for number, host in enumerate(hosts):
        frontier.scheduler.rest(urls.host(host), At(1000 + number))
        frontier.add(host, 0, "")
    At.compared = 0
    for host in hosts:
        frontier.scheduler.give_up(urls.host(host), "dns")
    return At.compared


def test_many_hosts_are_given_up(make_frontier):
    """To give a host up costs hardly more where others are many."""
    few, many = given_up(make_frontier(), 100), given_up(make_frontier(), 1600)
    assert many < 3 * 16 * max(few, 100)


@pytest.mark.parametrize("times", [1, 2])
def test_a_turn_that_was_set_before(make_frontier, times):
    """Of a host whose turn has come earlier than it was set, the time that was set before is no turn any more."""
    frontier = make_frontier("politeness.delay=0")
    frontier.scheduler.rest("a.example", 50)
    frontier.add("http://a.example/1", 0, "")
    assert frontier.next_at() == 50
    for _ in range(times):
        frontier.scheduler.give_up("a.example", "dns")
    assert frontier.next_at() == 0
    frontier.finish(frontier.take(0), None, End.FAILED)
    assert (frontier.next_at(), frontier.take(50)) == (None, None)


def test_a_turn_between(make_frontier):
    """A time that does not count any more hides no later one."""
    frontier = make_frontier("politeness.delay=0")
    for name, rests in (("a", 50), ("b", 60)):
        frontier.scheduler.rest(f"{name}.example", rests)
        frontier.add(f"http://{name}.example/", 0, "")
    frontier.scheduler.give_up("a.example", "dns")
    frontier.finish(frontier.take(0), None, End.FAILED)
    assert frontier.take(55) is None
    assert frontier.take(60).host == "b.example"
