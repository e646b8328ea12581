"""What goes into a frontier, and what it hands out."""

import pytest

from fscrawl import urls
from fscrawl.config.settings import Settings, apply
from fscrawl.frontier import hosts
from fscrawl.frontier.flags import REFRESH, SITEMAP, SITEMAP_PART, Flags, parse_flags
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.task import End, PageTask, RobotsTask
from tests.support.frontiers import A, B, StoredFake, drain, fill, paths


def test_task(make_frontier):
    """A task says all that a worker needs to know of a URL."""
    frontier = make_frontier()
    frontier.add(A + "x", 3, "ref")
    task = frontier.take(0)
    assert task == PageTask(A + "x", "a.example", urls.key(A + "x"), 3, "ref", 1, check=False)


def test_once(make_frontier):
    """A URL is handed out once, however often it is added."""
    frontier = make_frontier()
    assert fill(frontier, A, A) == [True, False]
    assert paths(drain(frontier)) == [""]
    assert fill(frontier, A) == [False]
    assert (frontier.known, len(frontier.scheduler)) == (1, 1)


def test_max_depth(make_frontier):
    """What lies deeper than max_depth is left out and counted."""
    frontier = make_frontier("crawl.max_depth=1")
    assert frontier.add(A + "1", 1, "")
    assert not frontier.add(A + "2", 2, "")
    assert (paths(drain(frontier)), frontier.cut) == (["1"], {"max_depth": 1})


def test_shorter_way(make_frontier):
    """A URL found too deep is taken when a shorter way to it is found."""
    frontier = make_frontier("crawl.max_depth=1")
    assert not frontier.add(A, 2, "")
    assert frontier.add(A, 1, "")


def test_told_from_a_shorter_way(make_frontier):
    """A page to which a shorter way is found while it is in flight comes again, as part of its task and its chain."""
    frontier = make_frontier("crawl.max_depth=9")
    frontier.add(A, 5, "", flags=Flags(retry_of="t", label="a", redirects=3))
    task = frontier.take(0)
    frontier.add(A, 2, "")
    frontier.finish(task, 0.0, End.TOLD)
    assert Flags(label="a", redirects=3) in [each.flags for each in drain(frontier)]


def test_empty(make_frontier):
    """A frontier with nothing in it is idle and waits for nothing."""
    frontier = make_frontier()
    assert (frontier.take(0), frontier.next_at(), frontier.idle) == (None, None, True)
    assert (frontier.pending, frontier.in_flight, frontier.known, len(frontier.scheduler)) == (0, 0, 0, 0)


def test_defaults():
    """A frontier that is given only settings asks no tree, and has its own random numbers and scratch file."""
    frontier = Frontier(Settings())
    assert fill(frontier, A) == [True]
    assert isinstance(frontier.take(0), RobotsTask)
    frontier.close()
    other = Frontier(apply(Settings(), ["crawl.max_pages_per_host=1"]))
    assert fill(other, A) == [True]
    other.close()


def test_give_back(make_frontier):
    """A task that no worker has begun is handed out again at once, unchanged."""
    frontier = make_frontier("politeness.delay=5")
    fill(frontier, A + "1", A + "2")
    task = frontier.take(0)
    frontier.finish(task, None, End.BACK)
    assert (frontier.pending, frontier.in_flight) == (2, 0)
    assert frontier.take(0) == task


def test_give_back_robots(make_frontier):
    """A robots task that no worker has begun is handed out again."""
    frontier = make_frontier("politeness.robots=true")
    fill(frontier, A)
    task = frontier.take(0)
    frontier.finish(task, None, End.BACK)
    assert (frontier.take(0), frontier.pending) == (task, 1)


def test_again(make_frontier):
    """A URL that was told is handed out once more if a user asks for another try, and its flags say so."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A)
    frontier.finish(frontier.take(0), 0, End.TOLD)
    assert not frontier.add(A, 0, "")
    assert frontier.add(A, 2, "ref", flags=parse_flags("again=t"))
    task = frontier.take(0)
    assert (task.url, task.depth, task.flags, task.attempt, task.check) == (A, 2, Flags(retry_of="t"), 1, True)
    frontier.retry(task, at=0)
    frontier.finish(task, 0)
    assert frontier.take(0) == task._replace(attempt=2)
    assert frontier.known == 1


@pytest.mark.parametrize("shorter_first", [True, False])
def test_again_beyond_the_limit(make_frontier, shorter_first):
    """Another try is asked for at the depth of the failure; a shorter way to the URL counts, before or after."""
    frontier = make_frontier("crawl.max_depth=1")
    again = [Flags(retry_of=time) for time in ("t1", "t2")]
    if shorter_first:
        assert frontier.add(A, 1, "") is True
    assert [frontier.add(A, 2, "", flags=each) for each in again] == [shorter_first] * 2
    if not shorter_first:
        assert frontier.idle
        assert frontier.add(A, 1, "") is True
    tasks = drain(frontier)
    assert {(task.depth, task.flags) for task in tasks} >= {(1, each) for each in again}
    frontier.add(A, 1, "")
    assert frontier.idle


def test_refresh(make_frontier):
    """A refresh is handed out although the URL was told; with any other flags a URL is handed out once."""
    frontier = make_frontier("politeness.delay=0", stored=StoredFake(A))
    fill(frontier, A)
    frontier.finish(frontier.take(0), 0, End.TOLD)
    flags = [REFRESH, Flags(SITEMAP), Flags(SITEMAP_PART)]
    assert [frontier.add(A, 0, "", flags=each) for each in flags] == [True, False, False]
    assert [frontier.add(B, 0, "", flags=each) for each in flags[::-1]] == [True, False, True]
    assert [task.flags for task in drain(frontier)] == [REFRESH, REFRESH, Flags(SITEMAP_PART)]


@pytest.mark.parametrize("order", ["breadth", "depth", "random"])
@pytest.mark.parametrize("again", [REFRESH, parse_flags("again=2026-01-02T03:04:05.678Z")])
def test_in_flight_once(make_frontier, order, again):
    """A URL that is pending twice waits until it is not in flight any more; other URLs of its host do not."""
    frontier = make_frontier("politeness.delay=0", "politeness.per_host=9", f"crawl.order={order}")
    fill(frontier, A)
    frontier.add(A, 0, "", flags=again, foreign=True)
    frontier.add(A + "1", 0, "", foreign=True)
    taken = [frontier.take(0), frontier.take(0)]
    assert ({task.url for task in taken}, frontier.take(0)) == ({A, A + "1"}, None)
    assert (frontier.pending, frontier.next_at()) == (1, None)
    first, other = sorted(taken, key=lambda task: task.url)
    frontier.finish(other, 0, End.TOLD)
    assert frontier.take(0) is None
    fill(frontier, A + "2")
    assert frontier.take(0).url == A + "2"
    frontier.finish(first, 0, End.TOLD)
    twin = frontier.take(0)
    assert (twin is None) == first.flags.wanted_again  # what is only known need not be fetched after it was told
    assert twin is None or (twin.url, twin.flags, twin.check) == (A, again, True)


def test_in_flight_once_though_given_up(make_frontier):
    """While a page is fetched, nobody writes down that it has failed because its host was given up meanwhile."""
    frontier = make_frontier("politeness.delay=5", "politeness.per_host=9")
    fill(frontier, A, A + "1")
    first = frontier.take(0)
    frontier.add(A, 0, "", flags=REFRESH)
    frontier.scheduler.give_up("a.example", "dns")
    assert (frontier.take(0).url, frontier.take(0), frontier.pending) == (A + "1", None, 1)
    frontier.finish(first, 0, End.TOLD)
    assert frontier.take(0).flags == Flags(given_up="dns")


def test_flags_obey_the_limits(make_frontier):
    """A URL that is too deep stays out, also if another try is asked for."""
    frontier = make_frontier("crawl.max_depth=1")
    assert not frontier.add(A, 2, "", flags=parse_flags("again=t"))


def test_flags_of_a_sitemap(make_frontier):
    """A sitemap's task is checked against the tree: another machine may have read it."""
    frontier = make_frontier("politeness.delay=0")
    frontier.add(A + "sitemap.xml", 0, "", flags=parse_flags("sitemap"))
    task = frontier.take(0)
    assert (task.flags, task.check) == (Flags(SITEMAP), True)


def test_flags_survive_a_spill_and_a_move(make_frontier, monkeypatch):
    """Flags come back from the scratch file, and stay when other shards of a host are let go."""
    monkeypatch.setattr(hosts, "_MEMORY_BYTES", 100)
    frontier = make_frontier("crawl.partition=url", "politeness.delay=0", shards=2)
    for number in range(20):
        frontier.add(f"{A}{number}", 0, "", flags=parse_flags(f"again={number}"))
    frontier.let_go(0)
    tasks = drain(frontier)
    assert 0 < len(tasks) < 20
    assert all(task.flags == parse_flags(f"again={task.url.rpartition('/')[2]}") for task in tasks)


def test_pending_by_label(make_frontier):
    """What waits, is in flight or waits for another try is counted by its label, and nothing else is."""
    frontier = make_frontier("crawl.order=depth")
    one, two = Flags(label="one"), Flags(label="two")
    for path, flags in (("1", one), ("2", one), ("3", two)):
        frontier.add(A + path, 0, "", flags=flags)
    frontier.add(A + "1", 0, "", flags=two)  # it belongs to the first one already
    frontier.add(A + "4", 0, "")
    frontier.add(B, 0, "", flags=two)
    assert frontier.pending_by_label() == {"one": 2, "two": 2}
    task = next(each for each in iter(lambda: frontier.take(0), None) if each.flags.label)
    assert frontier.pending_by_label() == {"one": 2, "two": 2}
    label = task.flags.label
    frontier.retry(task, 10.0)
    frontier.finish(task._replace(flags=Flags(label="other")), 0.0)  # its record says another one
    assert frontier.pending_by_label() == {"one": 2, "two": 2}
    while (again := frontier.take(100.0)) is not None:
        frontier.finish(again, 0.0)
    assert frontier.pending_by_label().total() < 4
    assert frontier.pending_by_label()[label] < 2
    frontier.let_go(frontier.location(A).shard)
    frontier.let_go(frontier.location(B).shard)
    assert frontier.pending_by_label() == {}


def test_a_label_needs_no_look_into_the_tree(make_frontier):
    """A labelled URL costs the share as little as any other."""
    frontier = make_frontier()
    frontier.add(A, 0, "", flags=Flags(label="one"))
    assert frontier.take(0).check is False
