"""What is tried again, and when."""

from fscrawl.frontier.flags import parse_flags
from tests.support.frontiers import A, B, drain, fill, paths


def test_retry(make_frontier):
    """A retry comes back as the next attempt, not before its time, and takes turns with the rest of its host."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, A + "1", A + "2", A + "3")
    first = frontier.take(0)
    frontier.retry(first, at=5)
    frontier.finish(first, 0)
    assert (frontier.pending, frontier.in_flight, frontier.idle) == (3, 0, False)
    second = frontier.take(1)
    assert paths([second]) == ["2"]
    frontier.finish(second, 1)
    again = frontier.take(5)
    assert (again.url, again.attempt, again.key, again.depth) == (first.url, 2, first.key, first.depth)
    frontier.retry(again, at=5)
    frontier.finish(again, 5)
    assert frontier.take(5) is None
    third = frontier.take(6)
    assert paths([third]) == ["3"]
    frontier.finish(third, 6)
    assert frontier.take(7).attempt == 3


def test_order_within_a_host(make_frontier):
    """Of two pages of a host that are both due, the one that was due first goes first, however long the host rests."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A + "1", A + "2")
    for _ in range(2):
        task = frontier.take(0)
        frontier.retry(task, at=int(task.url[-1]))
        frontier.finish(task, 0)
    assert paths(drain(frontier, 5)) == ["1", "2"]


def test_retry_keeps_busy(make_frontier):
    """A retry that is due later keeps the frontier from being idle, and `next_at` names its time."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A)
    task = frontier.take(0)
    frontier.retry(task, at=100)
    frontier.finish(task, 0)
    assert (frontier.take(99), frontier.next_at(), frontier.idle) == (None, 100, False)
    frontier.finish(frontier.take(100), 100)
    assert frontier.idle


def test_retries_of_one_host(make_frontier):
    """Several retries that are due at once all come, and one that waits while its host is busy too."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A + "1", A + "2", A + "3")
    for _ in range(2):
        task = frontier.take(0)
        frontier.retry(task, at=1)
        frontier.finish(task, 0)
    busy = frontier.take(0)
    assert frontier.take(2) is None
    frontier.finish(busy, 2)
    assert sorted(paths(drain(frontier, 2))) == ["1", "2"]


def test_retry_beyond_the_limit(make_frontier):
    """A retry for a host that is full by now is dropped as well."""
    frontier = make_frontier("crawl.max_pages_per_host=1", "politeness.delay=0")
    fill(frontier, A + "1", A + "2")
    first = frontier.take(0)
    frontier.retry(first, at=10)
    frontier.finish(first, 0)
    frontier.finish(frontier.take(0), 0, stored=True)
    assert (frontier.take(10), frontier.idle, frontier.cut["max_pages_per_host"]) == (None, True, 1)


def test_retry_of_what_was_given_up(make_frontier):
    """A page that waits for another attempt when its host is given up is handed out in its turn."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A)
    task = frontier.take(0)
    frontier.retry(task, at=9)
    frontier.finish(task, 0)
    frontier.scheduler.give_up("a.example", "connect")
    frontier.scheduler.give_up("b.example", "connect")  # it was never met
    assert frontier.take(8) is None
    assert (again := frontier.take(9)).flags == parse_flags("gave-up=connect")
    assert again.attempt == 2


def test_forgive_attempts(make_frontier):
    """An attempt that failed because the network was gone is given back; other hosts' tasks have used theirs up."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A, B)
    for _ in range(2):
        for task in (frontier.take(9), frontier.take(9)):
            frontier.retry(task, at=9)
            frontier.finish(task, 9)
    frontier.forgive(["a.example"])
    assert {task.host: task.attempt for task in drain(frontier, 9)} == {"a.example": 2, "b.example": 3}
