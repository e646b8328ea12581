"""Whose turn it is. Time is an argument, so no test waits."""

import itertools

import pytest

from fscrawl import urls
from fscrawl.frontier.flags import NO_FLAGS, Flags, parse_flags
from fscrawl.frontier.task import End, PageTask, RobotsTask
from tests.support.frontiers import A, B, C, StoredFake, chosen, drain, fail, fill, give_up, paths, take_and_finish


def test_one_at_a_time(make_frontier):
    """A host is asked one thing at a time, and not before its delay has passed since the request was there."""
    frontier = make_frontier("politeness.delay=10")
    fill(frontier, A + "1", A + "2")
    first = frontier.take(0)
    assert (frontier.take(0), frontier.next_at()) == (None, None)
    frontier.finish(first, asked_at=4)
    assert (frontier.take(13.9), frontier.next_at()) == (None, 14)
    assert paths([frontier.take(14)]) == ["2"]


def test_no_request_no_delay(make_frontier):
    """A task that asked nothing of its host delays nothing."""
    frontier = make_frontier("politeness.delay=10")
    fill(frontier, A + "1", A + "2")
    frontier.finish(frontier.take(0), asked_at=None)
    assert frontier.take(0) is not None


def test_per_host(make_frontier):
    """With per_host, so many tasks of a host are in flight at the same time, each one delay after the other."""
    frontier = make_frontier("politeness.delay=10", "politeness.per_host=2")
    fill(frontier, A + "1", A + "2", A + "3")
    first = frontier.take(0)
    assert (frontier.take(0), frontier.next_at()) == (None, 10)
    second = frontier.take(10)
    assert (frontier.take(50), frontier.in_flight) == (None, 2)
    frontier.finish(second, 10)
    frontier.finish(first, 0)
    assert paths([frontier.take(50)]) == ["3"]


def test_hosts_take_turns(make_frontier):
    """A large host does not starve the others: each has its turn."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, *(A + str(n) for n in range(4)), B + "0", B + "1", C + "0")
    assert [task.host[0] for task in drain(frontier)] == ["a", "b", "c", "a", "b", "a", "a"]


@pytest.mark.parametrize("given_up", [False, True])
def test_hosts_that_need_no_requests_take_turns(make_frontier, given_up):
    """Pages that need no request have no delay, but they do not go before those of hosts whose delay is over."""
    frontier = make_frontier("politeness.delay=1")
    cheap = [f"http://cheap{n}.example/" for n in range(9)]
    fill(frontier, *(url + str(n) for url in cheap for n in range(99)), *(A + str(n) for n in range(4)))
    for url in cheap if given_up else ():
        frontier.scheduler.give_up(urls.host(url), "dns")
    asked = []
    for turn in range(200):  # a tenth of a second each
        task = frontier.take(turn / 10)
        is_honest = task.host == "a.example"
        frontier.finish(task, turn / 10 if is_honest else None)
        asked += [turn] if is_honest else []
    assert len(asked) == 4
    assert all(later - earlier <= 20 for earlier, later in itertools.pairwise(asked))


def test_rest(make_frontier):
    """A host that was told to rest is asked nothing before, and a shorter rest does not cut a longer one."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, A + "1", A + "2")
    frontier.scheduler.rest("a.example", 50)
    frontier.scheduler.rest("a.example", 20)
    assert (frontier.take(49), frontier.next_at()) == (None, 50)
    frontier.finish(frontier.take(50), 50)
    frontier.scheduler.rest("a.example", 80)
    assert frontier.take(79) is None
    assert frontier.take(80) is not None


def test_rest_while_in_flight(make_frontier):
    """A rest that an answer asked for still holds after its task is finished."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, A + "1", A + "2")
    task = frontier.take(0)
    frontier.scheduler.rest("a.example", 60)
    frontier.finish(task, 0)
    assert (frontier.take(59), frontier.next_at()) == (None, 60)


def test_rest_before_meeting(make_frontier):
    """A host that was told to rest before it was met rests when it is."""
    frontier = make_frontier("politeness.delay=0")
    frontier.scheduler.rest("a.example", 70)
    frontier.scheduler.rest("a.example", 50)
    fill(frontier, A, B)
    assert [frontier.take(0).host, frontier.take(69), frontier.next_at()] == ["b.example", None, 70]
    assert frontier.take(70).host == "a.example"


def charged(make_frontier):
    """Two names of one site, and another one, of which the first has cost 50 s of rest, 20 of which it may owe."""
    frontier = make_frontier("politeness.delay=0", "politeness.max_rest=100")
    fill(frontier, "http://a.site.example/1", "http://a.site.example/2", A, "http://b.site.example/1")
    first = frontier.take(0)
    frontier.scheduler.charge(first.host, 50, 0)
    frontier.finish(first, 0)
    return frontier


def test_what_a_site_owes_holds_for_all_its_hosts(make_frontier):
    """Many names of one domain have no more of the processor than one; other sites go on."""
    frontier = charged(make_frontier)
    assert [frontier.take(0).host, frontier.take(29)] == ["a.example", None]
    assert frontier.scheduler.why_it_rests("a.site.example") == "costly"
    asked = [frontier.take(30), frontier.take(30)]
    assert {each.host for each in asked} == {"a.site.example", "b.site.example"}


def test_a_site_owes_the_sum(make_frontier):
    """Each costly answer of one of its hosts counts, as far as a host may rest at all; a new host waits, too."""
    frontier = charged(make_frontier)
    for name in ("a.site.example", "a.site.example", "a.site.example"):
        frontier.scheduler.charge(name, 50, 0)
    frontier.take(0)
    fill(frontier, "http://c.site.example/1")
    assert (frontier.take(79), frontier.next_at()) == (None, 80)
    assert frontier.take(80) is not None


def test_what_a_site_may_owe(make_frontier):
    """An answer that cost little costs no rest, and is forgotten in time."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A + "1", A + "2", A + "3")
    for now in (0, 20):
        task = frontier.take(now)
        frontier.scheduler.charge(task.host, 20, now)
        frontier.finish(task, now)
    assert frontier.take(20) is not None


def test_rests(make_frontier):
    """Resting hosts are reported with the seconds that remain, and forgotten when their time is over."""
    frontier = make_frontier()
    fill(frontier, A)
    frontier.scheduler.rest("a.example", 100)
    frontier.scheduler.rest("b.example", 130)
    assert frontier.scheduler.rests(40) == {"a.example": 60, "b.example": 90}
    assert frontier.scheduler.rests(100) == {"b.example": 30}
    frontier.forget_what_is_over(99)
    assert frontier.scheduler.rests(0) == {"a.example": 100, "b.example": 130}
    frontier.forget_what_is_over(110)
    assert frontier.scheduler.rests(0) == {"b.example": 130}


def test_told_to_rest_while_in_the_heap(make_frontier):
    """A host that is told to rest after its turn was set has its turn when the rest is over."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A, B, C)
    frontier.scheduler.rest("a.example", 10)
    frontier.scheduler.rest("b.example", 5)
    assert [frontier.take(0).host, frontier.take(0)] == ["c.example", None]
    assert frontier.next_at() == 5
    assert [frontier.take(5).host, frontier.take(9), frontier.take(10).host] == ["b.example", None, "a.example"]


def test_probe(make_frontier):
    """A probe goes to a host that may be asked; what is pending for it comes later, after the delay."""
    frontier = make_frontier("politeness.delay=5")
    fill(frontier, A, B, B + "2", C)
    frontier.scheduler.rest("c.example", 10)
    assert [frontier.probe(1, name, name) for name in ("c.example", "not-met.example")] == [None, None]
    probe = frontier.probe(1, "b.example", B)
    assert probe == RobotsTask(B, "b.example", attempt=0)
    assert frontier.probe(1, "b.example", B) is None
    assert [frontier.take(1).host, frontier.take(1)] == ["a.example", None]
    frontier.finish(probe, 1)
    assert [task and task.host for task in (frontier.take(5.9), frontier.take(6))] == [None, "b.example"]
    frontier.scheduler.give_up("c.example", "connect")
    assert frontier.probe(10, "c.example", C) is None


def test_probe_of_whichever(make_frontier):
    """Where no host is named, the one is asked that has waited longest; its page stays pending."""
    frontier = make_frontier("politeness.delay=5", "fetch.retries=1")
    fill(frontier, A, B)
    frontier.retry(frontier.take(0)._replace(attempt=1), at=7)
    assert [task and task.url for task in (frontier.probe(0), frontier.probe(0))] == [B, None]
    frontier.finish(RobotsTask(B, "b.example", attempt=0), 0)
    assert (frontier.pending, frontier.take(5).url) == (2, B)


def test_probe_of_a_host_that_waits_for_a_place(make_frontier):
    """It waits there no more, and whoever is behind it has the place as before."""
    frontier = make_frontier("politeness.delay=5")
    names = [f"h{n}.a.example" for n in range(12)]
    fill(frontier, *(f"http://{name}/" for name in names))
    taken = []
    while (task := frontier.take(0)) is not None:
        taken.append(task)
    waiting = [name for name in names if name not in {task.host for task in taken}]
    assert len(waiting) >= 2
    places = frontier.scheduler.places
    groups = [*places._sites.values(), *places._slow_of_site.values()]
    before = [len(group.waiting) for group in groups]
    assert frontier.probe(0, waiting[-1], A) is None
    assert [len(group.waiting) for group in groups] == before
    for task in taken:
        frontier.finish(task, 0)
    probe = frontier.probe(0, waiting[-1], A)
    frontier.finish(probe, None)
    found = []
    while (task := frontier.take(0)) is not None:
        found.append(task.host)
        frontier.finish(task, 0)
    assert sorted(found) == sorted(waiting)
    assert frontier.idle


def test_robots_first(make_frontier):
    """A host's first task is its robots.txt, once; its pages follow when it is opened."""
    frontier = make_frontier("politeness.robots=true", "politeness.per_host=3", "politeness.delay=0")
    fill(frontier, A + "1", A + "2")
    robots = frontier.take(0)
    assert (type(robots), robots.host, urls.origin(robots.url), robots.attempt) == (RobotsTask, "a.example", A[:-1], 1)
    assert (frontier.take(0), frontier.scheduler.is_open("a.example"), frontier.pending) == (None, False, 2)
    frontier.scheduler.open("a.example", 0, 0)
    frontier.finish(robots, 0)
    assert frontier.scheduler.is_open("a.example")
    tasks = [frontier.take(0), frontier.take(0)]
    assert ([type(task) for task in tasks], paths(tasks)) == ([PageTask, PageTask], ["1", "2"])
    for task in tasks:
        frontier.finish(task, 0)
    assert frontier.idle


@pytest.mark.parametrize("robots_first", [False, True])
def test_what_is_stored_needs_no_robots(make_frontier, robots_first):
    """Pages that the tree has are told first: perhaps nothing is left of their host. Of some, sitemaps are missing."""
    stored = StoredFake(A + "1", A + "2")
    stored.robots_first |= {"a.example"} if robots_first else set()
    frontier = make_frontier("politeness.robots=true", "politeness.per_host=3", "politeness.delay=0", stored=stored)
    fill(frontier, A + "1", A + "2", A + "3")
    tasks = [frontier.take(0), frontier.take(0), frontier.take(0)]
    if robots_first:
        assert [type(task) for task in tasks] == [RobotsTask, type(None), type(None)]
        return
    assert (paths(tasks[:2]), [task.check for task in tasks[:2]], tasks[2]) == (["1", "2"], [True, True], None)
    for task in tasks[:2]:
        frontier.finish(task, None, End.TOLD)
    assert isinstance(frontier.take(0), RobotsTask)


def test_robots_again(make_frontier):
    """A robots.txt that could not be fetched is asked for again as the next attempt, not before its time."""
    frontier = make_frontier("politeness.robots=true", "politeness.delay=1")
    fill(frontier, A)
    robots = frontier.take(0)
    frontier.retry(robots, at=30)
    frontier.finish(robots, 0)
    assert (frontier.take(29), frontier.next_at()) == (None, 30)
    again = frontier.take(30)
    assert (type(again), again.attempt) == (RobotsTask, 2)
    frontier.finish(again, 30)
    frontier.scheduler.open("a.example", 0, 0)
    assert [type(task) for task in drain(frontier, 31)] == [PageTask]


def test_robots_delay(make_frontier):
    """robots.txt may ask for a longer delay than ours, up to max_delay, and never for a shorter."""
    for asked, expected in ((0.0, 2.0), (7.0, 7.0), (9999.0, 20.0), (float("inf"), 20.0)):
        frontier = make_frontier("politeness.delay=2", "politeness.max_delay=20")
        fill(frontier, A + "1", A + "2")
        frontier.scheduler.open("a.example", asked, 0)
        frontier.finish(frontier.take(0), 0)
        assert (frontier.take(0), frontier.next_at()) == (None, expected)


def test_robots_after_a_day(make_frontier):
    """When its robots.txt is a day old a host is asked for it again, once nothing is in flight, before any page."""
    frontier = make_frontier("politeness.robots=true", "politeness.delay=0", "politeness.per_host=2")
    fill(frontier, *(A + str(n) for n in range(4)))
    frontier.finish(frontier.take(0), 0)
    frontier.scheduler.open("a.example", 0, 0)
    flying = frontier.take(86_400)
    assert isinstance(flying, PageTask)
    assert frontier.take(86_401) is None
    assert not frontier.scheduler.is_open("a.example")
    frontier.finish(flying, 86_401)
    robots = frontier.take(86_401)
    assert (type(robots), robots.attempt) == (RobotsTask, 1)
    frontier.scheduler.open("a.example", 0, 86_402)
    frontier.finish(robots, 86_402)
    assert [type(task) for task in drain(frontier, 86_402)] == [PageTask] * 3


def test_no_robots_after_a_day(make_frontier):
    """Without robots.txt a day changes nothing."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A)
    assert isinstance(frontier.take(1e9), PageTask)


def test_robots_turned_on(make_frontier):
    """If robots.txt is honoured from now on, hosts that were met before are asked for it, before their next page."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A + "1", A + "2")
    take_and_finish(frontier, 5)
    frontier.use(chosen("politeness.delay=0", "politeness.robots=true"))
    robots = frontier.take(6)
    assert isinstance(robots, RobotsTask)
    frontier.scheduler.open("a.example", 0, 6)
    frontier.finish(robots, 6)
    assert [type(task) for task in drain(frontier, 6)] == [PageTask]


def test_robots_turned_off(make_frontier):
    """If robots.txt is not honoured any more, a host whose robots.txt cannot be had is asked for its pages."""
    frontier = make_frontier("politeness.robots=true", "politeness.delay=0")
    fill(frontier, A + "1", A + "2")
    robots = frontier.take(0)
    frontier.retry(robots, at=30)
    frontier.finish(robots, 0)
    frontier.use(chosen("politeness.delay=0"))
    assert [type(task) for task in drain(frontier, 30)] == [PageTask] * 2


def test_failures_slow_a_host_down(make_frontier):
    """A host that fails is asked half as often, and as often as before once it has answered for a while."""
    frontier = make_frontier("politeness.delay=1")
    fill(frontier, *(A + str(n) for n in range(9)))
    fail(frontier, 0)
    take_and_finish(frontier, 0)
    assert (frontier.take(1.9), frontier.next_at()) == (None, 2)
    for _ in range(4):
        frontier.scheduler.answered("a.example", 0.1)
    take_and_finish(frontier, 2)
    assert frontier.next_at() == 3
    frontier.scheduler.answered("b.example", 9)  # it was never met
    fail(frontier, 0, name="b.example")


def test_breaker(make_frontier):
    """After ten failures in a row a host rests for ten seconds, while others have their turns."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A + "1", A + "2", B)
    for _ in range(10):
        fail(frontier, 5)
    assert take_and_finish(frontier, 14.9).host == "b.example"
    assert (frontier.take(14.9), frontier.next_at()) == (None, 15)
    assert frontier.take(15).host == "a.example"


def test_robots_that_cannot_be_had(make_frontier):
    """A host whose robots.txt cannot be fetched rests as soon as the attempts for it are used up."""
    frontier = make_frontier("politeness.robots=true", "politeness.delay=0", "fetch.retries=1")
    fill(frontier, A)
    fail(frontier, 0, robots=True, attempt=1)
    assert frontier.scheduler.rests(0) == {}
    fail(frontier, 0, robots=True, attempt=2)
    assert frontier.scheduler.rests(0) == {"a.example": 10}


def test_given_up(make_frontier):
    """All that is pending for a host that was given up is handed out at once, to be written down without a request."""
    frontier = make_frontier("politeness.robots=true", "politeness.delay=50")
    fill(frontier, A + "1", A + "2")
    frontier.scheduler.rest("a.example", 1000)
    give_up(frontier, "dns")
    tasks = [take_and_finish(frontier, 60, asked=False) for _ in range(2)]
    assert [(type(task), task.flags, task.check) for task in tasks] == [(PageTask, Flags(given_up="dns"), True)] * 2
    assert sorted(paths(tasks)) == ["1", "2"]
    assert frontier.take(60) is None
    fill(frontier, A + "3")
    assert frontier.take(60).flags == parse_flags("gave-up=dns")


def test_given_up_and_rest(make_frontier):
    """Neither a delay nor a Retry-After delays tasks that are only written down."""
    frontier = make_frontier("politeness.delay=50", "politeness.robots=true")
    fill(frontier, A + "1", A + "2")
    task = frontier.take(0)
    frontier.scheduler.give_up("a.example", "http-5xx")
    frontier.scheduler.rest("a.example", 3600)
    frontier.retry(task, at=99)
    frontier.finish(task, 0)
    assert frontier.next_at() == 0
    assert [each.flags for each in drain(frontier, 1)] == [Flags(given_up="http-5xx")] * 2
    assert frontier.idle


def test_answer_resets_the_breaker(make_frontier):
    """A host that answers once between failures is not given up."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A)
    for now in range(0, 600, 6):
        fail(frontier, now)
        if now % 48 == 0:
            frontier.scheduler.answered("a.example", 0.1)
    assert frontier.take(9999).flags is NO_FLAGS


def test_forgive(make_frontier):
    """Failures that were the network's count for nothing: neither for the breaker nor for robots.txt's attempts."""
    frontier = make_frontier("politeness.robots=true", "politeness.delay=0")
    fill(frontier, A)
    for now in range(9):
        fail(frontier, now)
    task = frontier.take(9)
    frontier.retry(task, at=9)
    frontier.finish(task, 9)
    frontier.forgive(["a.example", "unknown.example"])
    fail(frontier, 100)
    assert frontier.scheduler.rests(100) == {}
    assert frontier.take(100).attempt == 1


@pytest.mark.parametrize(
    ("flags", "handed_out"),
    [
        ("", "gave-up=dns"),
        ("again=t", "gave-up=dns,again=t"),
        ("sitemap", "gave-up=dns,sitemap"),
        ("again=t,sitemap-part", "gave-up=dns,again=t,sitemap-part"),
    ],
)
def test_sitemap_of_a_host_given_up(make_frontier, flags, handed_out):
    """A sitemap of a host that was given up is still called a sitemap when it is written down as failed."""
    frontier = make_frontier()
    frontier.add(A, 0, "", flags=parse_flags(flags))
    frontier.scheduler.give_up("a.example", "dns")
    assert frontier.take(0).flags == parse_flags(handed_out)


def test_another_try(make_frontier):
    """A host that was given up is asked again if a user asks for another try: robots.txt first, then its pages."""
    frontier = make_frontier("politeness.robots=true", "politeness.delay=0")
    fill(frontier, A + "1")
    give_up(frontier)
    frontier.scheduler.rest("a.example", 100)
    assert take_and_finish(frontier, 60, asked=False).flags == parse_flags("gave-up=timeout")
    frontier.add(A + "2", 0, "", flags=parse_flags("again=t"))
    fill(frontier, A + "3")
    assert frontier.take(99) is None, "what it asked for holds"
    robots = frontier.take(100)
    assert (type(robots), robots.attempt) == (RobotsTask, 1)
    frontier.scheduler.open("a.example", 0, 100)
    frontier.finish(robots, 100)
    assert [task.flags for task in drain(frontier, 100)] == [Flags(retry_of="t"), NO_FLAGS]


def test_another_try_of_a_host_that_was_not_given_up(make_frontier):
    """Asking for another try forgives nothing to a host that was not given up."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A)
    for _ in range(9):
        fail(frontier, 0)
    frontier.add(A, 0, "", flags=parse_flags("again=t"))
    fail(frontier, 0)
    assert frontier.scheduler.rests(0) == {"a.example": 10}


def test_unknown_host(make_frontier):
    """Outcomes of a task are ignored if its host was let go meanwhile."""
    frontier = make_frontier()
    frontier.scheduler.answered("a.example", 1)
    frontier.scheduler.failed(PageTask(A, "a.example", "", 0, "", 1), "dns", 0)
    frontier.scheduler.give_up("a.example", "dns")
    frontier.forgive(["a.example"])
    assert (len(frontier.scheduler), frontier.idle) == (0, True)
