"""What is told is handed out no more; what is there is looked up; a shorter way is told once more."""

import pytest

from fscrawl import urls
from fscrawl.frontier.flags import NO_FLAGS, SITEMAP, Flags, parse_flags
from fscrawl.frontier.task import End, PageTask, RobotsTask
from tests.support.frontiers import A, B, StoredFake, drain, fill, give_up, paths


def fingerprint(url):
    return urls.fingerprint(urls.key(url))


def tell(frontier, url, depth=0):
    """Take in that a URL was told, as from a log."""
    frontier.mark_told(frontier.location(url).shard, fingerprint(url), depth)


def is_settled(frontier, url, depth=None):
    return frontier.is_settled(frontier.location(url).shard, fingerprint(url), depth)


def test_told_when_finished(make_frontier):
    """A task that is finished as told settles its URL; any other end does not."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A + "1", A + "2")
    for told in (True, False):
        frontier.finish(frontier.take(0), 0, End.TOLD if told else End.OPEN)
    assert (is_settled(frontier, A + "1"), is_settled(frontier, A + "2")) == (True, False)


def test_told_robots(make_frontier):
    """A robots task has nothing to tell."""
    frontier = make_frontier("politeness.robots=true")
    fill(frontier, A)
    robots = frontier.take(0)
    frontier.finish(robots, 0, End.TOLD)
    assert (type(robots), is_settled(frontier, A)) == (RobotsTask, False)


def test_paused_host_with_nothing_left(make_frontier):
    """A crawl does not wait for a host that somebody has paused, if all that is pending for it was told meanwhile."""
    frontier = make_frontier()
    fill(frontier, A, A + "1")
    frontier.scheduler.paused = frozenset({"a.example"})
    tell(frontier, A)
    assert (frontier.take(0), frontier.idle) == (None, False)
    tell(frontier, A + "1")
    assert (frontier.take(5), frontier.idle) == (None, True)


@pytest.mark.parametrize("settings", [(), ("crawl.max_depth=3",)])
def test_told_before_it_is_known(make_frontier, settings):
    """A URL whose mark is read before the line that found it is news for the logs, and does not become pending."""
    frontier = make_frontier(*settings)
    frontier.hold(frontier.location(A).shard)
    tell(frontier, A)
    assert fill(frontier, A) == [True]
    assert frontier.idle


def test_settled_costs_no_delay(make_frontier):
    """Pending URLs that another machine has told are dropped at their host's turn, and the next one need not wait."""
    frontier = make_frontier("politeness.delay=5")
    fill(frontier, *(A + str(n) for n in range(5)))
    for n in (0, 1, 3):
        tell(frontier, A + str(n))
    assert frontier.take(0).url == A + "2"
    assert frontier.pending == 2, "what comes after is looked at when it is its turn"


def test_settled_costs_no_robots(make_frontier):
    """A host of which all is told is not even asked for its robots.txt."""
    frontier = make_frontier("politeness.robots=true")
    fill(frontier, A)
    tell(frontier, A)
    assert (frontier.take(0), frontier.idle, frontier.next_at()) == (None, True, None)


def test_settled_host_that_was_given_up(make_frontier):
    """What is told is not written down as failed when its host is given up."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A + "1", A + "2")
    tell(frontier, A + "1")
    give_up(frontier)
    assert paths(drain(frontier, 60)) == ["2"]


def test_settled_retries(make_frontier):
    """A page that failed here and was told by another machine is not tried again."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A)
    task = frontier.take(0)
    frontier.retry(task, 10)
    frontier.finish(task, 0)
    tell(frontier, A)
    assert (frontier.take(10), frontier.idle) == (None, True)


def test_resting_hosts_with_nothing_left(make_frontier):
    """After a catch-up a host that rests for long is not waited for if all of it is told."""
    frontier = make_frontier()
    fill(frontier, A + "1", A + "2", B + "1", B + "2")
    for host in ("a.example", "b.example", "not-met.example"):
        frontier.scheduler.rest(host, 3600)
    for url in (A + "1", A + "2", B + "1"):
        tell(frontier, url)
    frontier.scheduler.drop_settled()
    assert frontier.pending == 1
    assert frontier.take(3600).url == B + "2"


@pytest.mark.parametrize("word", ["refresh", "again=t", "again=t,sitemap"])
def test_wanted_again(make_frontier, word):
    """What a user wants again is handed out though it is told."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A)
    tell(frontier, A)
    frontier.add(A, 0, "", flags=parse_flags(word))
    assert [(task.flags, task.check) for task in drain(frontier)] == [(parse_flags(word), True)]


@pytest.mark.parametrize(("word", "left"), [("refresh", NO_FLAGS), ("again=t,sitemap", Flags(SITEMAP))])
def test_wanted_again_and_then_told_again(make_frontier, word, left):
    """A page that was fetched again, and to which a shorter way was found, is not fetched once more, only told."""
    frontier = make_frontier("politeness.delay=0", "crawl.max_depth=9")
    frontier.add(A, 3, "", flags=parse_flags(word))
    task = frontier.take(0)
    frontier.add(A, 2, "")
    frontier.finish(task, 0, End.TOLD)
    again = frontier.take(0)
    assert (again.flags, again.check, again.depth) == (left, True, 2)


def test_a_shorter_way_to_a_pending_page(make_frontier):
    """A pending page is handed out once, with the least depth that is known by then."""
    frontier = make_frontier("crawl.max_depth=9", "politeness.delay=0")
    assert [frontier.add(A, depth, "") for depth in (5, 6, 3, 4)] == [True, False, True, False]
    task = frontier.take(0)
    assert (task.depth, frontier.pending) == (3, 0)


@pytest.mark.parametrize("how", [End.BACK, End.AGAIN])
def test_a_shorter_way_to_a_page_in_flight(make_frontier, how):
    """A page that comes back has the least depth when it is handed out again."""
    frontier = make_frontier("crawl.max_depth=9", "politeness.delay=0")
    frontier.add(A, 5, "")
    task = frontier.take(0)
    assert frontier.add(A, 2, "")
    frontier.finish(task, 0, how)
    assert (frontier.pending, frontier.take(0).depth) == (1, 2)


def test_a_shorter_way_to_a_page_that_was_told(make_frontier):
    """A page that was told is told again from its record if a shorter way to it is found; more ways change nothing."""
    frontier = make_frontier("crawl.max_depth=9", "politeness.delay=0")
    frontier.add(A, 5, "")
    frontier.finish(frontier.take(0), 0, End.TOLD)
    assert [frontier.add(A, depth, "") for depth in (5, 4, 3)] == [False, True, True]
    task = frontier.take(0)
    assert (task.depth, task.check, frontier.pending) == (3, True, 0)
    frontier.finish(task, None, End.TOLD)
    assert (is_settled(frontier, A), is_settled(frontier, A, 2), frontier.idle) == (True, False, True)


def test_without_max_depth_no_way_is_shorter(make_frontier):
    """Without max_depth the first way to a page is as good as any."""
    frontier = make_frontier("politeness.delay=0")
    assert [frontier.add(A, depth, "") for depth in (5, 2)] == [True, False]
    assert frontier.take(0).depth == 5


def test_deepness_is_that_of_the_holding(make_frontier):
    """Whoever holds a shard may say that depths are kept: the settings may be just about to change."""
    frontier = make_frontier("politeness.delay=0")
    frontier.hold(frontier.location(A).shard, deep=True)
    assert [frontier.add(A, depth, "") for depth in (5, 2)] == [True, True]


def test_told_of_a_shard_that_is_not_held(make_frontier):
    """A line about a shard that is not held is ignored, and so is a page told after its shard was let go."""
    frontier = make_frontier("politeness.delay=0")
    tell(frontier, A)
    fill(frontier, A)
    task = frontier.take(0)
    frontier.let_go(frontier.location(A).shard)
    frontier.finish(task, 0, End.TOLD)
    assert (fill(frontier, A), frontier.take(0).url) == ([True], A)


def test_snapshot(make_frontier):
    """What a snapshot says is known, or told, too."""
    frontier = make_frontier("crawl.max_depth=9", "politeness.delay=0", shards=1)
    frontier.hold(0)
    told, deeper = sorted((A + "1", A + "2"), key=fingerprint)
    frontier.load(0, [fingerprint(told), fingerprint(deeper)], [3, 3], [3, 4])
    assert (is_settled(frontier, told), is_settled(frontier, deeper)) == (True, False)
    assert fill(frontier, told, deeper, depth=3) == [False, False]
    assert [(task.url, task.check) for task in drain(frontier)] == [(deeper, True)]


@pytest.mark.parametrize(("deep", "least"), [(True, 2), (False, 4)])
def test_learned_from_a_record(make_frontier, deep, least):
    """What is told at once is known without being pending, and its least depth is given where depths are kept."""
    frontier = make_frontier("politeness.delay=0")
    location = frontier.location(A)
    frontier.hold(location.shard, deep=deep)
    assert frontier.learn(location, 2) == (True, 2)
    assert frontier.learn(location, 4) == (False, least)
    assert frontier.idle


@pytest.mark.parametrize("pages", [1, 2])
def test_pages_that_are_there_beyond_the_limit(make_frontier, pages):
    """A host with enough pages gets no more of them, but what is stored already is still looked up and told."""
    frontier = make_frontier(
        f"crawl.max_pages_per_host={pages}",
        "politeness.delay=0",
        stored=StoredFake(A + "2", A + "4", pages={"a.example": 2}),
    )
    fill(frontier, *(A + str(n) for n in range(6)))
    tasks = drain(frontier)
    assert (paths(tasks), [task.check for task in tasks]) == (["2", "4"], [True, True])
    assert (frontier.cut["max_pages_per_host"], frontier.idle) == (4, True)


def test_pages_beyond_the_limit_that_no_listing_shows_yet(make_frontier):
    """A host with enough pages waits until it is known which ones are stored: their links must be told."""
    stored = StoredFake(late=[A + "2"], pages={"a.example": 2})
    frontier = make_frontier("crawl.max_pages_per_host=2", "politeness.delay=0", stored=stored)
    frontier.hold(frontier.location(A).shard, 5, check_s=5)
    fill(frontier, A + "1", A + "2", A + "3")
    assert (frontier.take(9), frontier.pending) == (None, 3)
    assert paths(drain(frontier, 9)) == ["2"]
    assert (frontier.cut["max_pages_per_host"], frontier.idle) == (2, True)


@pytest.mark.parametrize("partition", ["host", "url"])
def test_told_by_shard(make_frontier, partition):
    """With partition = "url" too, what is told is dropped, whichever shards a host's URLs belong to."""
    frontier = make_frontier(f"crawl.partition={partition}", "politeness.delay=0", "politeness.robots=true", shards=5)
    pages = [A + str(n) for n in range(10)]
    fill(frontier, *pages)
    for url in pages[::2]:
        tell(frontier, url)
    frontier.finish(frontier.take(0), 0)
    frontier.scheduler.open("a.example", 0, 0)
    tasks = drain(frontier)
    assert [task.url for task in tasks] == pages[1::2]
    assert all(isinstance(task, PageTask) for task in tasks)
