"""What to fetch next. Time is an argument, so no test waits."""

import random

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as tuned
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fscrawl import urls
from fscrawl.config.settings import Settings, apply
from fscrawl.frontier import frontier as module
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.task import Task

A, B, C = ("http://a.example/", "http://b.example/", "http://c.example/")


def chosen(*assignments):
    return apply(Settings(), ["politeness.robots=false", *assignments])


@pytest.fixture
def make():
    made = []

    def make(*assignments, **options):
        made.append(Frontier(chosen(*assignments), rng=random.Random(1), **options))
        return made[-1]

    yield make
    for frontier in made:
        frontier.close()


def fill(frontier, *links, depth=0):
    return [frontier.add(url, depth, "") for url in links]


def drain(frontier, now=0.0):
    """Take and finish until nothing is left, moving to the next time when there is nothing; give the tasks."""
    tasks = []
    while True:
        task = frontier.take(now)
        if task is not None:
            tasks.append(task)
            frontier.finish(task, now)
        elif frontier.next_at() is None:
            return tasks
        else:
            now = frontier.next_at()


def paths(tasks):
    return [task.url.rpartition("/")[2] for task in tasks]


def test_task(make):
    """A task says all that a worker needs to know of a URL."""
    frontier = make()
    frontier.add(A + "x", 3, "ref")
    task = frontier.take(0)
    assert task == Task(A + "x", "a.example", urls.key(A + "x"), 3, "ref", 1, "page", check=False)


def test_once(make):
    """A URL is handed out once, however often it is added."""
    frontier = make()
    assert fill(frontier, A, A) == [True, False]
    assert paths(drain(frontier)) == [""]
    assert fill(frontier, A) == [False]
    assert (frontier.known, frontier.hosts) == (1, 1)


def test_done_keys(make):
    """What is stored already is known, and a host is asked for it once, when it is first met."""
    asked = []

    def done_keys(host):
        asked.append(host)
        return [urls.key(A + "done")]

    frontier = make(done_keys=done_keys)
    assert fill(frontier, A + "done", A + "new", B) == [False, True, True]
    assert asked == ["a.example", "b.example"]


def test_one_at_a_time(make):
    """A host is asked one thing at a time, and not before its delay has passed since the request was there."""
    frontier = make("politeness.delay=10")
    fill(frontier, A + "1", A + "2")
    first = frontier.take(0)
    assert (frontier.take(0), frontier.next_at()) == (None, None)
    frontier.finish(first, asked_at=4)
    assert (frontier.take(13.9), frontier.next_at()) == (None, 14)
    assert paths([frontier.take(14)]) == ["2"]


def test_no_request_no_delay(make):
    """A task that asked nothing of its host delays nothing."""
    frontier = make("politeness.delay=10")
    fill(frontier, A + "1", A + "2")
    frontier.finish(frontier.take(0), asked_at=None)
    assert frontier.take(0) is not None


def test_per_host(make):
    """With per_host, so many are with a host at the same time, each its delay after the other."""
    frontier = make("politeness.delay=10", "politeness.per_host=2")
    fill(frontier, A + "1", A + "2", A + "3")
    first = frontier.take(0)
    assert (frontier.take(0), frontier.next_at()) == (None, 10)
    second = frontier.take(10)
    assert (frontier.take(50), frontier.in_flight) == (None, 2)
    frontier.finish(second, 10)
    frontier.finish(first, 0)
    assert paths([frontier.take(50)]) == ["3"]


def test_hosts_take_turns(make):
    """A large host does not starve the others: each has its turn."""
    frontier = make("politeness.delay=1")
    fill(frontier, *(A + str(n) for n in range(4)), B + "0", B + "1", C + "0")
    assert [task.host[0] for task in drain(frontier)] == ["a", "b", "c", "a", "b", "a", "a"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [("breadth", ["0", "1", "2", "3", "4", "5"]), ("depth", ["5", "4", "3", "2", "1", "0"])],
)
def test_order(make, order, expected):
    """Within a host the oldest goes first, or the newest."""
    frontier = make(f"crawl.order={order}")
    fill(frontier, *(A + str(n) for n in range(6)))
    assert paths(drain(frontier)) == expected


def test_random_order(make):
    """In random order every URL has its turn, and the order is neither of the others."""
    frontier = make("crawl.order=random")
    fill(frontier, *(A + str(n) for n in range(9)))
    taken = paths(drain(frontier))
    assert sorted(taken) == list("012345678")
    assert taken not in (list("012345678"), list("876543210"))


def test_retry(make):
    """A retry comes back as the next attempt, not before its time, and ahead of the rest of its host."""
    frontier = make("politeness.delay=1")
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
    assert frontier.take(6).attempt == 3


def test_retry_keeps_busy(make):
    """A retry that is due later keeps the frontier from being idle, and `next_at` names its time."""
    frontier = make("politeness.delay=0")
    fill(frontier, A)
    task = frontier.take(0)
    frontier.retry(task, at=100)
    frontier.finish(task, 0)
    assert (frontier.take(99), frontier.next_at(), frontier.idle) == (None, 100, False)
    frontier.finish(frontier.take(100), 100)
    assert frontier.idle


def test_retries_of_one_host(make):
    """Several retries that are due at once all come, and one that waits while its host is busy too."""
    frontier = make("politeness.delay=0")
    fill(frontier, A + "1", A + "2", A + "3")
    for _ in range(2):
        task = frontier.take(0)
        frontier.retry(task, at=1)
        frontier.finish(task, 0)
    busy = frontier.take(0)
    assert frontier.take(2) is None
    frontier.finish(busy, 2)
    assert sorted(paths(drain(frontier, 2))) == ["1", "2"]


def test_rest(make):
    """A host that was told to rest is asked nothing before, and a shorter rest does not cut a longer one."""
    frontier = make("politeness.delay=1")
    fill(frontier, A + "1", A + "2")
    frontier.rest("a.example", 50)
    frontier.rest("a.example", 20)
    assert (frontier.take(49), frontier.next_at()) == (None, 50)
    frontier.finish(frontier.take(50), 50)
    frontier.rest("a.example", 80)
    assert frontier.take(79) is None
    assert frontier.take(80) is not None


def test_rest_while_in_flight(make):
    """A rest asked for by an answer holds when its task is finished."""
    frontier = make("politeness.delay=1")
    fill(frontier, A + "1", A + "2")
    task = frontier.take(0)
    frontier.rest("a.example", 60)
    frontier.finish(task, 0)
    assert (frontier.take(59), frontier.next_at()) == (None, 60)


def test_robots_first(make):
    """A host's first task is its robots.txt, once; its pages follow when it is opened."""
    frontier = make("politeness.robots=true", "politeness.per_host=3", "politeness.delay=0")
    fill(frontier, A + "1", A + "2")
    robots = frontier.take(0)
    assert (robots.kind, robots.host, urls.origin(robots.url), robots.attempt) == ("robots", "a.example", A[:-1], 1)
    assert (frontier.take(0), frontier.is_open("a.example"), frontier.pending) == (None, False, 2)
    frontier.open("a.example", 0, 0)
    frontier.finish(robots, 0)
    assert frontier.is_open("a.example")
    tasks = [frontier.take(0), frontier.take(0)]
    assert ([task.kind for task in tasks], paths(tasks)) == (["page", "page"], ["1", "2"])
    for task in tasks:
        frontier.finish(task, 0)
    assert frontier.idle


def test_robots_again(make):
    """A robots.txt that could not be had is asked for again as the next attempt, not before its time."""
    frontier = make("politeness.robots=true", "politeness.delay=1")
    fill(frontier, A)
    robots = frontier.take(0)
    frontier.retry(robots, at=30)
    frontier.finish(robots, 0)
    assert (frontier.take(29), frontier.next_at()) == (None, 30)
    again = frontier.take(30)
    assert (again.kind, again.attempt) == ("robots", 2)
    frontier.finish(again, 30)
    frontier.open("a.example", 0, 0)
    assert [task.kind for task in drain(frontier, 31)] == ["page"]


def test_robots_delay(make):
    """robots.txt may ask for a longer delay than ours, up to max_delay, and never for a shorter."""
    for asked, expected in ((0.0, 2.0), (7.0, 7.0), (9999.0, 20.0), (float("inf"), 20.0)):
        frontier = make("politeness.delay=2", "politeness.max_delay=20")
        fill(frontier, A + "1", A + "2")
        frontier.open("a.example", asked, 0)
        frontier.finish(frontier.take(0), 0)
        assert (frontier.take(0), frontier.next_at()) == (None, expected)


def test_max_depth(make):
    """What lies deeper than max_depth is left out and counted."""
    frontier = make("crawl.max_depth=1")
    assert frontier.add(A + "1", 1, "")
    assert not frontier.add(A + "2", 2, "")
    assert (paths(drain(frontier)), frontier.cut) == (["1"], {"max_depth": 1})


def test_shorter_way(make):
    """A URL found too deep is taken when a shorter way to it is found."""
    frontier = make("crawl.max_depth=1")
    assert not frontier.add(A, 2, "")
    assert frontier.add(A, 1, "")


def test_max_pages_per_host(make):
    """A host gives as many pages as are wanted, counting those stored before; the rest is dropped and counted."""
    frontier = make(
        "crawl.max_pages_per_host=3", "politeness.delay=0", pages_of=lambda host: 1 if host[0] == "a" else 0
    )
    fill(frontier, *(A + str(n) for n in range(5)), B)
    stored = 0
    while (task := frontier.take(0)) is not None:
        frontier.finish(task, 0, stored=True)
        stored += task.host == "a.example"
    assert (stored, frontier.cut, frontier.pending, frontier.idle) == (2, {"max_pages_per_host": 3}, 0, True)
    fill(frontier, A + "late")
    assert (frontier.take(0), frontier.cut["max_pages_per_host"], frontier.idle) == (None, 4, True)


def test_pages_that_fail_leave_room(make):
    """A page that was not stored does not count, and no more are under way than there is room for."""
    frontier = make("crawl.max_pages_per_host=1", "politeness.delay=0", "politeness.per_host=5")
    fill(frontier, A + "1", A + "2")
    first = frontier.take(0)
    assert frontier.take(0) is None
    frontier.finish(first, 0, stored=False)
    assert paths([frontier.take(0)]) == ["2"]


def test_retry_beyond_the_limit(make):
    """A retry for a host that is full by now is dropped as well."""
    frontier = make("crawl.max_pages_per_host=1", "politeness.delay=0")
    fill(frontier, A + "1", A + "2")
    first = frontier.take(0)
    frontier.retry(first, at=10)
    frontier.finish(first, 0)
    frontier.finish(frontier.take(0), 0, stored=True)
    assert (frontier.take(10), frontier.idle, frontier.cut["max_pages_per_host"]) == (None, True, 1)


@pytest.mark.parametrize("order", ["breadth", "depth", "random"])
@pytest.mark.parametrize("robots", ["true", "false"])
def test_spill(make, monkeypatch, order, robots):
    """Pending URLs that went to the scratch file and back are each handed out once, with depth and referrer."""
    monkeypatch.setattr(module, "_MEMORY_BYTES", 300)
    frontier = make(f"crawl.order={order}", f"politeness.robots={robots}", "politeness.delay=0")
    added, taken = set(), []
    for number in range(200):
        url = f"http://{'abc'[number % 3]}.example/{number}"
        added.add((url, number, f"r{number}"))
        frontier.add(url, number, f"r{number}")
        if number < 3:
            frontier.open("abc"[number] + ".example", 0, 0)
        elif number % 5 == 0:
            taken.append(frontier.take(0))
            frontier.finish(taken[-1], None)
    assert frontier._scratch._end > 2000
    taken += drain(frontier)
    assert len(taken) == 200
    assert {(task.url, task.depth, task.referrer) for task in taken} == added
    assert frontier.idle


def test_breadth_survives_a_spill(make, monkeypatch):
    """The oldest goes first wherever it lies."""
    monkeypatch.setattr(module, "_MEMORY_BYTES", 100)
    frontier = make("politeness.delay=0")
    fill(frontier, *(A + str(n) for n in range(50)))
    assert paths(drain(frontier)) == [str(n) for n in range(50)]


def test_empty(make):
    """A frontier with nothing in it is idle and waits for nothing."""
    frontier = make()
    assert (frontier.take(0), frontier.next_at(), frontier.idle) == (None, None, True)
    assert (frontier.pending, frontier.in_flight, frontier.known, frontier.hosts) == (0, 0, 0, 0)


def test_defaults():
    """A frontier that is given only settings asks no tree, shuffles by itself and keeps its own scratch file."""
    frontier = Frontier(Settings())
    assert fill(frontier, A) == [True]
    assert frontier.take(0).kind == "robots"
    frontier.close()
    other = Frontier(apply(Settings(), ["crawl.max_pages_per_host=1"]))
    assert fill(other, A) == [True]
    other.close()


def test_give_back(make):
    """A task that nobody has begun comes back as it was, at once."""
    frontier = make("politeness.delay=5")
    fill(frontier, A + "1", A + "2")
    task = frontier.take(0)
    frontier.give_back(task)
    frontier.finish(task, None)
    assert (frontier.pending, frontier.in_flight) == (2, 0)
    assert frontier.take(0) == task


def test_give_back_robots(make):
    """A robots task that nobody has begun is handed out again."""
    frontier = make("politeness.robots=true")
    fill(frontier, A)
    task = frontier.take(0)
    frontier.give_back(task)
    frontier.finish(task, None)
    assert (frontier.take(0), frontier.pending) == (task, 1)


def test_check(make):
    """For a while after a shard was taken over, its tasks say that the tree must be asked; for a new one never."""
    frontier = make("politeness.delay=0")
    frontier.hold(frontier.shard_of(A), 5, check_s=5)
    fill(frontier, A + "1", A + "2", B)
    tasks = []
    for now in (0, 9, 10):
        tasks.append(frontier.take(now))
        frontier.finish(tasks[-1], None)
    assert [(task.host, task.check) for task in tasks] == [
        ("b.example", False),
        ("a.example", True),
        ("a.example", False),
    ]


def test_rest_after_taking_over(make):
    """A host of a shard that another machine had rests for its delay first, that of robots.txt too."""
    frontier = make("politeness.delay=2")
    frontier.hold(frontier.shard_of(A), 100)
    fill(frontier, A)
    assert (frontier.take(101.9), frontier.next_at()) == (None, 102)
    frontier.open("a.example", 7, 0)
    assert (frontier.take(106.9), frontier.take(107).url) == (None, A)


@pytest.mark.parametrize("partition", ["host", "url"])
def test_shard_of(make, partition):
    """A shard is that of the host, or with partition = "url" that of the key."""
    frontier = make(f"crawl.partition={partition}", shards=7)
    name = urls.host(A) if partition == "host" else urls.key(A + "x")
    assert frontier.shard_of(A + "x") == urls.shard(name, 7)


def test_place(make):
    """A place names host, digest and shard of a URL, and adding with it saves looking them up again."""
    frontier = make()
    location = frontier.location(A + "x")
    assert location == ("a.example", urls.digest(A + "x"), frontier.shard_of(A + "x"))
    assert not frontier.holds(location.shard)
    assert frontier.add(A + "x", 0, "", location)
    assert not frontier.add(A + "x", 0, "")
    assert (frontier.holds(location.shard), list(frontier.shards)) == (True, [location.shard])


def test_let_go(make):
    """A shard that was let go leaves nothing to do but what is in flight; the others are untouched."""
    frontier = make("politeness.delay=0")
    fill(frontier, A + "1", A + "2", A + "3", B + "1")
    failed, flying = [frontier.take(0) for _ in range(2)]
    frontier.retry(failed, at=50)
    frontier.finish(failed, 0)
    assert (failed.host, flying.host, frontier.in_flight_of(frontier.shard_of(B))) == ("a.example", "b.example", 1)
    frontier.let_go(frontier.shard_of(A))
    assert (frontier.pending, frontier.in_flight, frontier.hosts, frontier.take(99)) == (0, 1, 1, None)
    frontier.let_go(frontier.shard_of(B))
    assert (frontier.in_flight, frontier.idle) == (1, False)
    frontier.retry(flying, at=0)
    frontier.give_back(flying)
    frontier.rest(flying.host, 9)
    frontier.open(flying.host, 9, 0)
    frontier.finish(flying, 0)
    assert (frontier.idle, frontier.in_flight_of(frontier.shard_of(B)), frontier.take(99)) == (True, 0, None)
    assert fill(frontier, A + "1") == [True]


def test_let_go_by_url(make, monkeypatch):
    """With partition = "url" a host keeps the pending URLs and retries of the shards that are still held."""
    monkeypatch.setattr(module, "_MEMORY_BYTES", 200)
    frontier = make("crawl.partition=url", "politeness.delay=0", shards=3)
    links = [f"{A}{n}" for n in range(40)]
    fill(frontier, *links)
    failed = [frontier.take(0)]
    frontier.retry(failed[0], at=1)
    frontier.finish(failed[0], 0)
    gone = frontier.shard_of(failed[0].url)
    for task in (frontier.take(0), frontier.take(0)):
        if task is not None:
            frontier.give_back(task)
            frontier.finish(task, None)
    frontier.let_go(gone)
    left = sorted(url for url in links if frontier.shard_of(url) != gone)
    assert (frontier.pending, 0 < len(left) < 40) == (len(left), True)
    assert sorted(task.url for task in drain(frontier, 1)) == left
    assert frontier.idle


def test_failed_after_let_go_by_url(make):
    """With partition = "url" a task that fails when its shard has been let go is nobody's business any more."""
    frontier = make("crawl.partition=url", "politeness.delay=0", shards=3)
    fill(frontier, A)
    task = frontier.take(0)
    frontier.let_go(frontier.shard_of(A))
    frontier.retry(task, at=1)
    frontier.finish(task, 0)
    assert frontier.take(1) is None


def test_done_keys_by_url(make):
    """With partition = "url" what is done is known in every shard of a host, in whatever order they are held."""
    done = [f"{A}{n}" for n in range(20)]
    frontier = make("crawl.partition=url", shards=5, done_keys=lambda host: [urls.key(url) for url in done])
    fill(frontier, A + "new")
    for shard in range(5):
        frontier.hold(shard)
    frontier.learn_done()
    assert fill(frontier, *done) == [False] * 20


def test_taken_on_again(make):
    """A shard of which something is still in flight is not taken on again: its host is being asked."""
    frontier = make("politeness.delay=0")
    fill(frontier, A + "1")
    frontier.take(0)
    frontier.let_go(frontier.shard_of(A))
    with pytest.raises(AssertionError, match="in flight"):
        frontier.hold(frontier.shard_of(A))


# -- pace, breaker and giving up


def take_and_finish(frontier, now, *, asked=True):
    task = frontier.take(now)
    assert task is not None
    frontier.finish(task, now if asked else None)
    return task


def fail(frontier, now, class_="timeout", *, kind="page", attempt=1, name="a.example"):
    frontier.failed(Task(A, name, "", 0, "", attempt, kind), class_, now)


def test_failures_slow_a_host_down(make):
    """A host that fails is asked half as often, and as often as before once it has answered for a while."""
    frontier = make("politeness.delay=1")
    fill(frontier, *(A + str(n) for n in range(9)))
    fail(frontier, 0)
    take_and_finish(frontier, 0)
    assert (frontier.take(1.9), frontier.next_at()) == (None, 2)
    for _ in range(4):
        frontier.answered("a.example", 0.1)
    take_and_finish(frontier, 2)
    assert frontier.next_at() == 3
    frontier.answered("b.example", 9)  # nobody knows it
    fail(frontier, 0, name="b.example")


def test_breaker(make):
    """After ten failures in a row a host rests for ten seconds, while others have their turns."""
    frontier = make("politeness.delay=0")
    fill(frontier, A + "1", A + "2", B)
    for _ in range(10):
        fail(frontier, 5)
    assert take_and_finish(frontier, 14.9).host == "b.example"
    assert (frontier.take(14.9), frontier.next_at()) == (None, 15)
    assert frontier.take(15).host == "a.example"


def test_robots_that_cannot_be_had(make):
    """A host whose robots.txt cannot be had rests as soon as the attempts for it are used up."""
    frontier = make("politeness.robots=true", "politeness.delay=0", "fetch.retries=1")
    fill(frontier, A)
    fail(frontier, 0, kind="robots", attempt=1)
    assert frontier.rests(0) == {}
    fail(frontier, 0, kind="robots", attempt=2)
    assert frontier.rests(0) == {"a.example": 10}


def give_up(frontier, class_="timeout", since=0.0):
    """Let A's host fail until it is given up."""
    for now in (since, since + 60):
        for _ in range(10):
            fail(frontier, now, class_)


def test_given_up(make):
    """What is pending of a host that was given up is handed out to be written down: all of it, at once, unasked."""
    frontier = make("politeness.robots=true", "politeness.delay=50")
    fill(frontier, A + "1", A + "2")
    frontier.rest("a.example", 1000)
    give_up(frontier, "dns")
    tasks = [take_and_finish(frontier, 60, asked=False) for _ in range(2)]
    assert [(task.kind, task.mark, task.check) for task in tasks] == [("page", "gave-up=dns", True)] * 2
    assert sorted(paths(tasks)) == ["1", "2"]
    assert frontier.take(60) is None
    fill(frontier, A + "3")
    assert frontier.take(60).mark == "gave-up=dns"


def test_given_up_and_rest(make):
    """Neither a delay nor a Retry-After holds up what is only written down."""
    frontier = make("politeness.delay=50", "politeness.robots=true")
    fill(frontier, A + "1", A + "2")
    task = frontier.take(0)
    frontier.give_up("a.example", "http-5xx")
    frontier.rest("a.example", 3600)
    frontier.retry(task, at=99)
    frontier.finish(task, 0)
    assert frontier.next_at() == 0
    assert [each.mark for each in drain(frontier, 1)] == ["gave-up=http-5xx"] * 2
    assert frontier.idle


def test_retry_of_what_was_given_up(make):
    """A page that waits for another attempt when its host is given up is handed out in its turn."""
    frontier = make("politeness.delay=0")
    fill(frontier, A)
    task = frontier.take(0)
    frontier.retry(task, at=9)
    frontier.finish(task, 0)
    frontier.give_up("a.example", "connect")
    frontier.give_up("b.example", "connect")  # nobody knows it
    assert frontier.take(8) is None
    assert (again := frontier.take(9)).mark == "gave-up=connect"
    assert again.attempt == 2


def test_answer_resets_the_breaker(make):
    """A host that answers once between failures is not given up."""
    frontier = make("politeness.delay=0")
    fill(frontier, A)
    for now in range(0, 600, 6):
        fail(frontier, now)
        if now % 48 == 0:
            frontier.answered("a.example", 0.1)
    assert frontier.take(9999).mark == ""


def test_forgive(make):
    """Failures that were the network's count for nothing: neither for the breaker nor for robots.txt's attempts."""
    frontier = make("politeness.robots=true", "politeness.delay=0")
    fill(frontier, A)
    for now in range(9):
        fail(frontier, now)
    task = frontier.take(9)
    frontier.retry(task, at=9)
    frontier.finish(task, 9)
    frontier.forgive(["a.example", "unknown.example"])
    fail(frontier, 100)
    assert frontier.rests(100) == {}
    assert frontier.take(100).attempt == 1


def test_forgive_attempts(make):
    """An attempt that failed for the network's sake is had again; what other hosts' tasks have used up they have."""
    frontier = make("politeness.delay=0")
    fill(frontier, A, B)
    for _ in range(2):
        for task in (frontier.take(9), frontier.take(9)):
            frontier.retry(task, at=9)
            frontier.finish(task, 9)
    frontier.forgive(["a.example"])
    assert {task.host: task.attempt for task in drain(frontier, 9)} == {"a.example": 2, "b.example": 3}


@pytest.mark.parametrize(
    ("mark", "handed_out"),
    [
        ("", "gave-up=dns"),
        ("again=t", "gave-up=dns"),
        ("sitemap", "gave-up=dns,sitemap"),
        ("again=t,sitemap-part", "gave-up=dns,sitemap-part"),
    ],
)
def test_sitemap_of_a_host_given_up(make, mark, handed_out):
    """What is to be written down as failed is still told to be a sitemap."""
    frontier = make()
    frontier.add(A, 0, "", mark=mark)
    frontier.give_up("a.example", "dns")
    assert frontier.take(0).mark == handed_out


# -- rests


def test_rest_before_meeting(make):
    """A host that was told to rest before it was met rests when it is."""
    frontier = make("politeness.delay=0")
    frontier.rest("a.example", 70)
    frontier.rest("a.example", 50)
    fill(frontier, A, B)
    assert [frontier.take(0).host, frontier.take(69), frontier.next_at()] == ["b.example", None, 70]
    assert frontier.take(70).host == "a.example"


def test_rests(make):
    """Hosts that rest are told of with the seconds that are left; those whose time is over are forgotten."""
    frontier = make()
    fill(frontier, A)
    frontier.rest("a.example", 100)
    frontier.rest("b.example", 130)
    assert frontier.rests(40) == {"a.example": 60, "b.example": 90}
    assert frontier.rests(100) == {"b.example": 30}
    frontier.tidy(99)
    assert frontier.rests(0) == {"a.example": 100, "b.example": 130}
    frontier.tidy(110)
    assert frontier.rests(0) == {"b.example": 130}


def test_told_to_rest_while_in_the_heap(make):
    """A host that is told to rest when its turn had been set keeps its place among the others afterwards."""
    frontier = make("politeness.delay=0")
    fill(frontier, A, B, C)
    frontier.rest("a.example", 10)
    frontier.rest("b.example", 5)
    assert [frontier.take(0).host, frontier.take(0)] == ["c.example", None]
    assert frontier.next_at() == 5
    assert [frontier.take(5).host, frontier.take(9), frontier.take(10).host] == ["b.example", None, "a.example"]


# -- marks


def test_again(make):
    """A URL that is known is handed out once more when somebody asks for another try, and its mark says so."""
    frontier = make("politeness.delay=0", done_keys=lambda host: [urls.key(A)])
    assert not frontier.add(A, 0, "")
    assert frontier.add(A, 2, "ref", mark="again=t")
    task = frontier.take(0)
    assert (task.url, task.depth, task.mark, task.attempt, task.check) == (A, 2, "again=t", 1, True)
    frontier.retry(task, at=0)
    frontier.finish(task, 0)
    assert frontier.take(0) == task._replace(attempt=2)
    assert frontier.known == 1


def test_refresh(make):
    """So it is when a stored page is to be looked at again; what has any other mark is known once and for all."""
    frontier = make("politeness.delay=0", done_keys=lambda host: [urls.key(A)])
    marks = ["refresh", "sitemap", "sitemap-part"]
    assert [frontier.add(A, 0, "", mark=mark) for mark in marks] == [True, False, False]
    assert [frontier.add(B, 0, "", mark=mark) for mark in marks[::-1]] == [True, False, True]
    assert sorted(task.mark for task in drain(frontier)) == ["refresh", "refresh", "sitemap-part"]


def test_marks_obey_the_limits(make):
    """What is too deep stays out, asked for again or not."""
    frontier = make("crawl.max_depth=1")
    assert not frontier.add(A, 2, "", mark="again=t")


def test_mark_of_a_sitemap(make):
    """A sitemap's task is checked against the tree: another machine may have read it."""
    frontier = make("politeness.delay=0")
    frontier.add(A + "sitemap.xml", 0, "", mark="sitemap")
    task = frontier.take(0)
    assert (task.mark, task.check) == ("sitemap", True)


def test_marks_survive_a_spill_and_a_move(make, monkeypatch):
    """Marks come back from the scratch file, and stay when other shards of a host are let go."""
    monkeypatch.setattr(module, "_MEMORY_BYTES", 100)
    frontier = make("crawl.partition=url", "politeness.delay=0", shards=2)
    for number in range(20):
        frontier.add(f"{A}{number}", 0, "", mark=f"again={number}")
    frontier.let_go(0)
    tasks = drain(frontier)
    assert 0 < len(tasks) < 20
    assert all(task.mark == f"again={task.url.rpartition('/')[2]}" for task in tasks)


def test_hope(make):
    """A host that was given up is asked again when somebody asks for another try: robots.txt first, then all of it."""
    frontier = make("politeness.robots=true", "politeness.delay=0")
    fill(frontier, A + "1")
    give_up(frontier)
    frontier.rest("a.example", 100)
    assert take_and_finish(frontier, 60, asked=False).mark == "gave-up=timeout"
    frontier.add(A + "2", 0, "", mark="again=t")
    fill(frontier, A + "3")
    assert frontier.take(99) is None, "what it asked for holds"
    robots = frontier.take(100)
    assert (robots.kind, robots.attempt) == ("robots", 1)
    frontier.open("a.example", 0, 100)
    frontier.finish(robots, 100)
    assert [task.mark for task in drain(frontier, 100)] == ["again=t", ""]


def test_hope_where_there_was_no_doubt(make):
    """Asking for another try forgives nothing to a host that was not given up."""
    frontier = make("politeness.delay=0")
    fill(frontier, A)
    for _ in range(9):
        fail(frontier, 0)
    frontier.add(A, 0, "", mark="again=t")
    fail(frontier, 0)
    assert frontier.rests(0) == {"a.example": 10}


# -- robots.txt after a day


def test_robots_after_a_day(make):
    """When its robots.txt is a day old a host is asked for it again, once nothing is in flight, before any page."""
    frontier = make("politeness.robots=true", "politeness.delay=0", "politeness.per_host=2")
    fill(frontier, *(A + str(n) for n in range(4)))
    frontier.finish(frontier.take(0), 0)
    frontier.open("a.example", 0, 0)
    flying = frontier.take(86_400)
    assert flying.kind == "page"
    assert frontier.take(86_401) is None
    assert not frontier.is_open("a.example")
    frontier.finish(flying, 86_401)
    robots = frontier.take(86_401)
    assert (robots.kind, robots.attempt) == ("robots", 1)
    frontier.open("a.example", 0, 86_402)
    frontier.finish(robots, 86_402)
    assert [task.kind for task in drain(frontier, 86_402)] == ["page"] * 3


def test_unknown_host(make):
    """What comes of a task whose host was let go meanwhile is nobody's business."""
    frontier = make()
    frontier.answered("a.example", 1)
    frontier.failed(Task(A, "a.example", "", 0, "", 1), "dns", 0)
    frontier.give_up("a.example", "dns")
    frontier.forgive(["a.example"])
    assert (frontier.hosts, frontier.idle) == (0, True)


def test_no_robots_after_a_day(make):
    """Without robots.txt a day changes nothing."""
    frontier = make("politeness.delay=0")
    fill(frontier, A)
    assert frontier.take(1e9).kind == "page"


# -- hosts of a domain


def test_max_hosts_per_domain(make):
    """Of one registrable domain so many hosts are met; the URLs of further ones are left out, counted and not known."""
    frontier = make("crawl.max_hosts_per_domain=2", "politeness.delay=0")
    names = [f"http://{n}.example.co.uk/" for n in range(4)]
    assert fill(frontier, *names, A, names[0] + "x") == [True, True, False, False, True, True]
    assert (frontier.cut, frontier.hosts, frontier.known) == ({"max_hosts_per_domain": 2}, 3, 4)
    assert len(drain(frontier)) == 4


def test_max_hosts_per_domain_and_ports(make):
    """A port makes a host of its own, and an address is its own domain."""
    frontier = make("crawl.max_hosts_per_domain=2")
    links = ["http://10.0.0.1/", "http://10.0.0.1:81/", "http://10.0.0.1:82/", "http://10.0.0.2/"]
    assert fill(frontier, *links) == [True, True, False, True]


def test_hosts_that_were_let_go_make_room(make):
    """Hosts of a shard that moves away, and comes back, are not counted twice."""
    frontier = make("crawl.max_hosts_per_domain=1")
    for _ in range(3):
        assert fill(frontier, A) == [True]
        frontier.let_go(frontier.shard_of(A))


class FrontierModel(RuleBasedStateMachine):
    """The frontier beside a model of plain sets: every URL once for each attempt, and manners kept."""

    @initialize(
        order=st.sampled_from(["breadth", "depth", "random"]),
        per_host=st.integers(1, 3),
        delay=st.sampled_from([0, 1, 5]),
        robots=st.booleans(),
        memory=st.sampled_from([40, 200, 10**6]),
    )
    def begin(self, order, per_host, delay, robots, memory):
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(module, "_MEMORY_BYTES", memory)
        self.settings = apply(
            Settings(),
            [
                f"crawl.order={order}",
                f"politeness.per_host={per_host}",
                f"politeness.delay={delay}",
                f"politeness.robots={'true' if robots else 'false'}",
            ],
        )
        self.frontier = Frontier(self.settings, rng=random.Random(1))
        self.now = 0.0
        self.met, self.due, self.flying = set(), {}, []  # due: url → (attempt, not before)
        self.not_before: dict[str, float] = {}
        self.open = set()
        self.given_up = set()

    @rule(host=st.sampled_from("ab"), page=st.integers(0, 30))
    def add(self, host, page):
        url = f"http://{host}.example/{page}"
        assert self.frontier.add(url, page, host) == (url not in self.met)
        if url not in self.met:
            self.met.add(url)
            self.due[url] = (1, 0.0)

    @rule(seconds=st.sampled_from([0.5, 1, 7]))
    def wait(self, seconds):
        self.now += seconds

    @rule()
    def take(self):
        task = self.frontier.take(self.now)
        if task is None:
            later = self.frontier.next_at()
            assert later is None or later > self.now
            assert later is not None or self.flying or not self.due
            return
        assert self.now >= self.not_before.get(task.host, 0) or task.host in self.given_up
        assert sum(flying.host == task.host for flying in self.flying) < self.settings.politeness.per_host
        self.flying.append(task)
        if self.settings.politeness.per_host > 1:
            self._rest(task.host, self.now + self.settings.politeness.delay)
        if task.kind == "robots":
            assert task.host not in self.open | self.given_up
            assert [flying.host for flying in self.flying].count(task.host) == 1
            return
        assert task.host in self.open | self.given_up or not self.settings.politeness.robots
        assert task.mark == "gave-up=dns" or task.host not in self.given_up
        attempt, at = self.due.pop(task.url)
        assert (task.attempt, task.key, str(task.depth)) == (attempt, urls.key(task.url), task.url.rpartition("/")[2])
        assert at <= self.now

    def _rest(self, host, until):
        self.not_before[host] = max(self.not_before.get(host, 0), until)

    def _finish(self, task, *, asked):
        self.flying.remove(task)
        self.frontier.finish(task, self.now if asked else None)
        if asked:
            self._rest(task.host, self.now + self.settings.politeness.delay)

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 9), asked=st.booleans())
    def finish(self, which, asked):
        task = self.flying[which % len(self.flying)]
        self._finish(task, asked=asked)
        if task.kind == "robots":
            self.frontier.open(task.host, 0, 0)
            self.open.add(task.host)

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 9), wait=st.sampled_from([0, 2, 20]))
    def fail(self, which, wait):
        task = self.flying[which % len(self.flying)]
        self.frontier.retry(task, self.now + wait)
        self._finish(task, asked=True)
        if task.kind == "robots":
            self._rest(task.host, self.now + wait)
        else:
            self.due[task.url] = (task.attempt + 1, self.now + wait)

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 9))
    def give_back(self, which):
        task = self.flying[which % len(self.flying)]
        self.frontier.give_back(task)
        self._finish(task, asked=False)
        if task.kind == "page":
            self.due[task.url] = (task.attempt, 0.0)

    @precondition(lambda self: self.met)
    @rule(which=st.integers(0, 99), wait=st.sampled_from([1, 10]))
    def rest(self, which, wait):
        host = urls.host(sorted(self.met)[which % len(self.met)])
        self.frontier.rest(host, self.now + wait)
        self._rest(host, self.now + wait)

    @precondition(lambda self: self.met)
    @rule(which=st.integers(0, 99))
    def give_up(self, which):
        host = urls.host(sorted(self.met)[which % len(self.met)])
        self.frontier.give_up(host, "dns")
        self.given_up.add(host)

    @precondition(lambda self: self.met)
    @rule(which=st.integers(0, 99))
    def again(self, which):
        url = sorted(self.met)[which % len(self.met)]
        if url in self.due or any(task.url == url for task in self.flying):
            return
        assert self.frontier.add(url, int(url.rpartition("/")[2]), "", mark="again=t")
        self.due[url] = (1, 0.0)
        self.given_up.discard(urls.host(url))

    @invariant()
    def counts(self):
        if hasattr(self, "frontier"):
            assert self.frontier.pending == len(self.due)
            assert self.frontier.in_flight == len(self.flying)
            assert self.frontier.known == len(self.met)
            assert self.frontier.idle == (not self.due and not self.flying)

    def teardown(self):
        if hasattr(self, "frontier"):
            try:
                self.finish_all()
            finally:
                self.frontier.close()
                self.patch.undo()

    def finish_all(self):
        """Whatever was done before, everything that is due is handed out in the end."""
        while self.due or self.flying:
            while self.flying:
                self.finish(0, asked=False)
            self.take()
            if not self.flying and self.due:
                self.now = max(self.now, self.frontier.next_at())
        assert self.frontier.take(self.now + 1000) is None
        assert self.frontier.idle


TestFrontierModel = FrontierModel.TestCase
TestFrontierModel.settings = tuned(
    deadline=None, max_examples=100, stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow]
)
