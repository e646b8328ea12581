"""Hosts without anything to do: little is kept of them, and when the next URL comes they are as they were."""

import tracemalloc

import pytest

from fscrawl import urls
from fscrawl.frontier import frontier as module
from fscrawl.frontier.flags import parse_flags
from fscrawl.frontier.task import End, RobotsTask
from fscrawl.politeness.pace import Pace
from tests.support.frontiers import A, B, StoredFake, drain, fail, fill, give_up, paths, take_and_finish

BIG = 10**6


@pytest.fixture
def make(make_frontier, monkeypatch):
    """Make frontiers that set hosts aside whenever they may."""
    monkeypatch.setattr(module, "_CROWDED", 0)
    return make_frontier


def names(frontier):
    return sorted(frontier._by_name)


def test_a_host_without_anything_to_do(make):
    """A host is set aside when nothing of it is pending or in flight and its delay is over; it counts as met."""
    frontier = make("politeness.delay=5")
    fill(frontier, A, A + "x")
    for now, task_ends in ((0, True), (5, False)):
        task = frontier.take(now)
        frontier.forget_what_is_over(BIG)
        assert names(frontier) == ["a.example"]
        if task_ends:
            frontier.finish(task, now)
            frontier.forget_what_is_over(BIG)
            assert names(frontier) == ["a.example"]
    frontier.finish(task, 5)
    frontier.forget_what_is_over(9.9)
    assert names(frontier) == ["a.example"]
    frontier.forget_what_is_over(10)
    assert (names(frontier), len(frontier.scheduler)) == ([], 1)
    fill(frontier, A + "y")
    assert (names(frontier), len(frontier.scheduler)) == (["a.example"], 1)


def test_few_hosts_stay(make_frontier):
    """As long as few hosts are known, none is set aside."""
    frontier = make_frontier()
    fill(frontier, A)
    take_and_finish(frontier, 0)
    frontier.forget_what_is_over(BIG)
    assert names(frontier) == ["a.example"]


def test_a_retry_that_waits(make):
    """A host whose only task waits for its next attempt stays."""
    frontier = make("politeness.delay=0")
    fill(frontier, A)
    task = frontier.take(0)
    frontier.retry(task, 100)
    frontier.finish(task, 0)
    frontier.forget_what_is_over(50)
    assert names(frontier) == ["a.example"]
    assert frontier.take(100).attempt == 2


@pytest.mark.parametrize("is_met", [True, False])
def test_a_task_of_a_host_that_is_not_known_by_name(make, is_met):
    """A page to which a log-in has led back may be of a host of which all is told: it is asked for all the same."""
    frontier = make("politeness.delay=0")
    fill(frontier, A)
    task = frontier.take(0)
    frontier.finish(task, 0, End.TOLD)
    frontier.forget_what_is_over(BIG)
    if not is_met:
        frontier.let_go(shard := frontier.shard_of(task))
        frontier.hold(shard)
    assert names(frontier) == []
    frontier.retry(task._replace(flags=parse_flags("refresh,redirects=3")), BIG)
    again = frontier.take(BIG)
    assert (again.url, again.check) == (A, True)
    frontier.finish(again, BIG, End.TOLD)
    frontier.let_go(frontier.shard_of(task))
    frontier.retry(task, BIG)
    assert frontier.idle


def test_a_task_of_one_host_too_many(make):
    """A log-in does not bring more hosts of a domain than the settings allow."""
    frontier = make("crawl.max_hosts_per_domain=1")
    frontier.hold(frontier.location(A).shard)
    fill(frontier, "http://www.a.example/")
    task = frontier.take(0)
    frontier.finish(task, 0, End.TOLD)
    frontier.retry(task._replace(url=A, host="a.example", key=urls.key(A)), BIG)
    assert frontier.idle


def test_robots_are_not_asked_for_again(make):
    """The robots.txt of a host that comes back is known, with its delay, until its day is over."""
    frontier = make("politeness.robots=true", "politeness.delay=1")
    fill(frontier, A)
    assert isinstance(take_and_finish(frontier, 0), RobotsTask)
    frontier.scheduler.open("a.example", 7.3, 0)
    take_and_finish(frontier, 10)
    frontier.forget_what_is_over(20)
    assert names(frontier) == []
    fill(frontier, A + "1", A + "2", A + "3")
    assert take_and_finish(frontier, 20).url == A + "1"
    assert frontier.take(27.2) is None
    assert take_and_finish(frontier, 27.3).url == A + "2"
    frontier.forget_what_is_over(BIG)
    assert isinstance(frontier.take(BIG), RobotsTask)


@pytest.mark.parametrize("is_told", [True, False])
def test_what_is_stored_is_looked_up_once(make, is_told):
    """A host that comes back is listed if it was set aside before anything of it was pending, and only then."""
    stored = StoredFake(A + "done")
    frontier = make("politeness.delay=0", stored=stored)
    shard = frontier.location(A).shard
    frontier.hold(shard)
    if is_told:
        frontier.mark_told(shard, urls.fingerprint(urls.key(A)), 0)
    fill(frontier, A)
    drain(frontier)
    frontier.forget_what_is_over(BIG)
    assert (names(frontier), stored.asked) == ([], [] if is_told else ["a.example"])
    fill(frontier, A + "done", A + "new")
    assert {task.url: task.check for task in drain(frontier)} == {A + "done": True, A + "new": False}
    assert stored.asked == ["a.example"]


def test_pace(make):
    """Latency, failures in a row and what they cost are as they were."""
    frontier = make("politeness.delay=1")
    fill(frontier, A)
    task = take_and_finish(frontier, 0)
    frontier.scheduler.answered("a.example", 3.25)
    for now in range(7):
        frontier.scheduler.failed(task, "timeout", now)
    delay_s = frontier.scheduler.delay_s("a.example")
    frontier.forget_what_is_over(BIG)
    assert names(frontier) == []
    fill(frontier, A + "1")
    assert frontier.scheduler.delay_s("a.example") == delay_s > 3.25
    assert frontier._by_name["a.example"].pace.failures == 7


def test_pace_in_bytes():
    """A pace is read back as it was, with more failures than there is room for, too."""
    pace = Pace()
    pace.robots_delay_s, pace.latency_s, pace._trouble, pace._failing_since = 0.1, 0.3, 5.75, 12.34
    pace.failures, pace._pauses, pace._hangs = 10**6, 10**3, True
    again = Pace.from_bytes(pace.to_bytes())
    assert [getattr(again, name) for name in ("robots_delay_s", "latency_s", "_trouble")] == [0.1, 0.3, 5.75]
    assert (again._failing_since, again.failures, again._pauses, again._hangs) == (12.34, 65_535, 255, True)


def test_a_host_that_was_given_up(make):
    """A host that was given up stays so: its next URL is handed out to be written down as failed."""
    frontier = make("politeness.give_up_after=60")
    fill(frontier, A)
    task = frontier.take(0)
    give_up(frontier, "dns")
    frontier.finish(task, 60)
    frontier.forget_what_is_over(BIG)
    assert (names(frontier), frontier.scheduler.gave_up) == ([], 1)
    fill(frontier, A + "1")
    assert frontier.take(BIG).flags == parse_flags("gave-up=dns")
    assert frontier.scheduler.gave_up == 1


def test_limits(make):
    """Hosts that were set aside count towards the limits of pages and of hosts."""
    stored = StoredFake(pages={"a.example": 1})
    frontier = make("crawl.max_hosts_per_domain=1", "crawl.max_pages_per_host=2", "politeness.delay=0", stored=stored)
    fill(frontier, A)
    frontier.finish(frontier.take(0), 0, stored=True)
    frontier.forget_what_is_over(1)
    assert names(frontier) == []
    assert fill(frontier, "http://b.a.example/", A + "1") == [None, True]
    assert frontier.take(1) is None
    assert frontier.cut == {"max_hosts_per_domain": 1, "max_pages_per_host": 1}
    assert stored.asked == ["a.example"]


def test_a_shard_that_goes(make):
    """With a shard its hosts go, also those that were set aside: who takes it again learns all anew."""
    stored = StoredFake()
    frontier = make("crawl.max_hosts_per_domain=1", "politeness.delay=0", "politeness.give_up_after=60", stored=stored)
    fill(frontier, A, B)
    for _ in range(2):
        take_and_finish(frontier, 0)
    give_up(frontier)
    frontier.forget_what_is_over(BIG)
    assert (names(frontier), len(frontier.scheduler)) == ([], 2)
    frontier.let_go(frontier.location(A).shard)
    assert (len(frontier.scheduler), frontier.scheduler.gave_up) == (1, 0)
    assert not any(figure.failures for figure in frontier.host_figures(BIG, 9).values())
    frontier.hold(frontier.location(A).shard, BIG)
    assert fill(frontier, "http://b.a.example/") == [True]
    assert fill(frontier, A) == [None]


def test_probes_during_an_outage(make):
    """A host that was set aside can be asked whether the network is back. Who failed meanwhile is forgiven as any."""
    frontier = make("politeness.delay=1")
    fill(frontier, A)
    task = take_and_finish(frontier, 0)
    fail(frontier, 0)
    frontier.forget_what_is_over(BIG)
    assert names(frontier) == []
    probe = frontier.probe(BIG, "a.example", A)
    assert (probe.host, probe.is_probe, frontier.in_flight) == ("a.example", True, 1)
    frontier.finish(probe, BIG)
    frontier.forgive([task.host])
    assert frontier._by_name["a.example"].pace.failures == 0
    assert (frontier.in_flight, frontier.take(BIG)) == (0, None)


def test_urls_in_many_shards(make):
    """Where each URL has its own shard, hosts are few, and none is set aside."""
    frontier = make("crawl.partition=url", "politeness.delay=0")
    fill(frontier, A)
    take_and_finish(frontier, 0)
    frontier.forget_what_is_over(BIG)
    assert names(frontier) == ["a.example"]


@pytest.mark.gate
def test_memory(make):
    """However many hosts a crawl has met, only those with something to do take much memory."""
    frontier = make("politeness.delay=0", shards=1)
    links = [f"http://{number:05}.example/" for number in range(1200)]
    for url in links:  # the caches of names have a limit of their own
        frontier.location(url)
        urls.site(urls.hostname(url))
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number, url in enumerate(links):
        fill(frontier, url)
        take_and_finish(frontier, 0)
        if number % 100 == 99:
            frontier.forget_what_is_over(1)
            assert names(frontier) == []
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert len(frontier.scheduler) == 1200
    assert taken / 1200 < 400, (
        "some 60 are for the host, 12 for its site; the rest is for its URL, and for few hosts in each shard"
    )


def test_order_of_hosts_stays(make):
    """Hosts that come back take their turns as all others."""
    frontier = make("politeness.delay=1")
    fill(frontier, A, B)
    take_and_finish(frontier, 0)
    take_and_finish(frontier, 0)
    frontier.forget_what_is_over(1)
    fill(frontier, B + "1", A + "2")
    assert paths([frontier.take(1), frontier.take(1)]) == ["1", "2"]
