"""The queues of hosts: their order, their limits, and what goes to the scratch file."""

import pytest

from fscrawl.frontier import hosts
from fscrawl.frontier.queue import Scratch
from fscrawl.frontier.task import End
from tests.support.frontiers import A, B, StoredFake, drain, fill, paths


@pytest.mark.parametrize(
    ("order", "expected"),
    [("breadth", ["0", "1", "2", "3", "4", "5"]), ("depth", ["5", "4", "3", "2", "1", "0"])],
)
def test_order(make_frontier, order, expected):
    """Within a host the oldest goes first, or the newest."""
    frontier = make_frontier(f"crawl.order={order}")
    fill(frontier, *(A + str(n) for n in range(6)))
    assert paths(drain(frontier)) == expected


def test_random_order(make_frontier):
    """In random order every URL has its turn, and the order is neither of the others."""
    frontier = make_frontier("crawl.order=random")
    fill(frontier, *(A + str(n) for n in range(9)))
    taken = paths(drain(frontier))
    assert sorted(taken) == list("012345678")
    assert taken not in (list("012345678"), list("876543210"))


def test_max_pages_per_host(make_frontier):
    """A host gives no more pages than the limit, with those stored before; the rest is dropped and counted."""
    frontier = make_frontier(
        "crawl.max_pages_per_host=3", "politeness.delay=0", stored=StoredFake(pages={"a.example": 1})
    )
    fill(frontier, *(A + str(n) for n in range(5)), B)
    stored = 0
    while (task := frontier.take(0)) is not None:
        frontier.finish(task, 0, stored=True)
        stored += task.host == "a.example"
    assert (stored, frontier.cut, frontier.pending, frontier.idle) == (2, {"max_pages_per_host": 3}, 0, True)
    fill(frontier, A + "late")
    assert (frontier.take(0), frontier.cut["max_pages_per_host"], frontier.idle) == (None, 4, True)


def test_pages_that_fail_leave_room(make_frontier):
    """A page that was not stored does not count, and no more are in flight than the limit leaves room for."""
    frontier = make_frontier("crawl.max_pages_per_host=1", "politeness.delay=0", "politeness.per_host=5")
    fill(frontier, A + "1", A + "2")
    first = frontier.take(0)
    assert frontier.take(0) is None
    frontier.finish(first, 0, stored=False)
    assert paths([frontier.take(0)]) == ["2"]


def test_max_hosts_per_domain(make_frontier):
    """So many hosts of a registrable domain are met; URLs of other hosts are left out and counted, and not known."""
    frontier = make_frontier("crawl.max_hosts_per_domain=2", "politeness.delay=0")
    names = [f"http://{n}.example.co.uk/" for n in range(4)]
    assert fill(frontier, *names, A, names[0] + "x") == [True, True, None, None, True, True]
    assert (frontier.cut, len(frontier.scheduler), frontier.known) == ({"max_hosts_per_domain": 2}, 3, 4)
    assert len(drain(frontier)) == 4


def test_max_hosts_per_domain_and_ports(make_frontier):
    """A port makes a host of its own, and an address is its own domain."""
    frontier = make_frontier("crawl.max_hosts_per_domain=2")
    links = ["http://10.0.0.1/", "http://10.0.0.1:81/", "http://10.0.0.1:82/", "http://10.0.0.2/"]
    assert fill(frontier, *links) == [True, True, None, True]


@pytest.mark.parametrize("order", ["breadth", "depth", "random"])
@pytest.mark.parametrize("robots", ["true", "false"])
def test_spill(make_frontier, monkeypatch, order, robots):
    """Each pending URL that was in the scratch file is handed out once, with its depth and referrer."""
    monkeypatch.setattr(hosts, "_MEMORY_BYTES", 300)
    frontier = make_frontier(f"crawl.order={order}", f"politeness.robots={robots}", "politeness.delay=0")
    added, taken = set(), []
    for number in range(200):
        url = f"http://{'abc'[number % 3]}.example/{number}"
        added.add((url, number, f"r{number}"))
        frontier.add(url, number, f"r{number}")
        if number < 3:
            frontier.scheduler.open("abc"[number] + ".example", 0, 0)
        elif number % 5 == 0:
            taken.append(frontier.take(0))
            frontier.finish(taken[-1], None)
    assert frontier._hosts._scratch.in_use > 2000
    taken += drain(frontier)
    assert len(taken) == 200
    assert {(task.url, task.depth, task.referrer) for task in taken} == added
    assert frontier.idle
    assert (frontier._hosts._scratch.in_use, frontier._hosts._in_memory_bytes) == (0, 0)


def test_breadth_survives_a_spill(make_frontier, monkeypatch):
    """The oldest goes first wherever it lies."""
    monkeypatch.setattr(hosts, "_MEMORY_BYTES", 100)
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, *(A + str(n) for n in range(50)))
    assert paths(drain(frontier)) == [str(n) for n in range(50)]


def test_constant_number_pending(make_frontier, monkeypatch):
    """While as many URLs come as go, neither memory nor disk grow, also beside hosts that are never asked."""
    monkeypatch.setattr(hosts, "_MEMORY_BYTES", 5_000)
    frontier = make_frontier("politeness.delay=0", scratch=Scratch(segment_bytes=10_000))
    frontier.scheduler.paused = frozenset(f"{n}.slow.example" for n in range(10))
    sizes = []
    for number in range(6000):
        if number % 10 == 0:
            frontier.add(f"http://{number // 10 % 10}.slow.example/{number}", 0, "")
        frontier.add(f"http://{number % 7}.example/{number}", 0, "")
        if number >= 500:
            frontier.finish(frontier.take(0), 0)
        sizes.append(frontier._hosts._scratch.size)
    assert frontier.pending == 500 + 600
    assert max(sizes) < 2 * (1100 * 30 + 10_000) < 6600 * 25
    frontier.scheduler.paused = frozenset()
    assert len(drain(frontier)) == 1100


def test_forgotten_urls_leave_the_disk(make_frontier, monkeypatch):
    """What is pending for a shard that is let go takes no memory and no room on the disk."""
    monkeypatch.setattr(hosts, "_MEMORY_BYTES", 300)
    frontier = make_frontier()
    fill(frontier, *(A + str(n) for n in range(50)))
    assert frontier._hosts._scratch.in_use
    for shard in list(frontier.shards):
        frontier.let_go(shard)
    assert (frontier._hosts._scratch.in_use, frontier._hosts._in_memory_bytes, frontier.pending) == (0, 0, 0)


def test_kept_urls_count_as_memory(make_frontier):
    """Where each URL has its own shard, what is kept when a shard goes counts as before."""
    frontier = make_frontier("crawl.partition=url")
    fill(frontier, *(A + str(n) for n in range(50)))
    frontier.let_go(next(iter(frontier.shards)))
    assert frontier._hosts._in_memory_bytes == frontier._by_name["a.example"].queue.memory_bytes > 0


@pytest.mark.parametrize("is_wanted", [True, False])
def test_tasks_that_go_first_are_kept_or_forgotten(make_frontier, is_wanted):
    """A task that was handed out once before stays or goes with its shard, as the queue does."""
    frontier = make_frontier("crawl.partition=url", "politeness.delay=0", shards=2)
    fill(frontier, *(A + str(n) for n in range(20)))
    task = frontier.take(0)
    frontier.finish(task, None, End.BACK)
    shard = frontier.shard_of(task)
    frontier.let_go(1 - shard if is_wanted else shard)
    urgent = frontier._by_name["a.example"].urgent
    assert [each.url for each in urgent or ()] == [task.url] * is_wanted
    assert 0 < frontier.pending < 20
