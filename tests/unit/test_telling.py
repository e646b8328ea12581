"""Pages whose many links are told later, from their records: when, how many at a time, and how each of them ends."""

import time

import pytest

from fscrawl import urls
from fscrawl.engine.messages import TreeUnusable
from fscrawl.engine.pool import KilledWorker
from fscrawl.errors import TreeError
from fscrawl.frontier.flags import Flags, labelled
from fscrawl.handlers.outcome import Exchange, FailedForGood, FailedForNow, Known, Returned, Stored
from tests.support.desks import Desk, Tree
from tests.support.frontiers import fill

SEED = "http://{}.example/"


@pytest.fixture
def desk(make_frontier):
    return Desk(make_frontier(), Tree())


def stored(desk, name, links, kind="page", flags=None):
    """Let a worker store the page of a host, which has so many links."""
    fill(desk.frontier, SEED.format(name))
    task = desk.frontier.take(time.monotonic())
    if flags is not None:
        task = task._replace(flags=flags)
    exchange = Exchange(time.monotonic(), "answered", 0.1)
    desk.take(Stored(task, exchange, kind, 200, 10, cut={"length": [7]}, generation=1, later=links))
    return task


def is_told(desk, task):
    return desk.frontier.is_settled(desk.frontier.location(task.url).shard, urls.fingerprint(task.key))


def test_a_page_is_told_from_its_record(desk):
    """It is counted when it is stored. It stays in flight until a worker has read its record, and its links are in."""
    task = stored(desk, "a", 5000)
    assert (desk.counts.pages, dict(desk.frontier.cut), desk.frontier.in_flight) == (1, {"length": 1}, 1)
    assert not desk.found.tellings
    assert desk.bookkeeper.next_to_tell() == task._replace(check=True)
    assert desk.bookkeeper.next_to_tell() is None
    links = tuple(f"http://b.example/{n}" for n in range(600))
    desk.take(Known(task, links, {"scope": [1, 2, 1]}, generation=1))
    while desk.bookkeeper.is_behind:
        assert desk.frontier.in_flight == 1
        desk.bookkeeper.go_on()
    assert sum((each[0] for each in desk.found), ()) == links
    assert is_told(desk, task)
    assert (desk.counts.pages, dict(desk.frontier.cut), desk.frontier.in_flight) == (1, {"length": 1, "scope": 2}, 0)
    assert desk.frontier.scheduler._by_name["a.example"].pages == 1


def test_what_was_done_is_not_done_again(desk):
    """The task that reads the record says what the page is, and not that it is to be fetched."""
    refreshed = labelled("x")
    stored(desk, "a", 5000, "other", Flags(refresh=True, label="x"))
    stored(desk, "b", 5000, "other", Flags(retry_of="2026-01-02T03:04:05.678Z", redirects=2))
    stored(desk, "c", 5000, "other", Flags("sitemap"))
    tasks = [desk.bookkeeper.next_to_tell() for _ in range(3)]
    assert [task.flags for task in tasks] == [refreshed, Flags(redirects=2), Flags("sitemap")]


def test_links_under_way_are_bounded(desk):
    """Of two hundred hosts with 80,000 links each, one at a time has them told; small ones several at a time."""
    large = [stored(desk, f"h{n}", 80_000) for n in range(200)]
    small = [stored(desk, f"s{n}", 30_000) for n in range(4)]
    for task in large:
        assert desk.bookkeeper.next_to_tell().key == task.key
        assert desk.bookkeeper.next_to_tell() is None
        desk.take(Known(task, generation=1))
    assert [desk.bookkeeper.next_to_tell().key for _ in range(3)] == [task.key for task in small[:3]]
    assert desk.bookkeeper.next_to_tell() is None
    desk.take(Known(small[1], generation=1))
    assert desk.bookkeeper.next_to_tell().key == small[3].key


@pytest.mark.parametrize(
    "end",
    [Known, Returned, KilledWorker, lambda task: TreeUnusable(task, TreeError("gone"))],
    ids=["damaged", "returned", "killed", "unusable"],
)
def test_whatever_comes_of_it(desk, end):
    """A page that could not be told is no longer in flight, and gives its place to the next one."""
    first, second = stored(desk, "a", 80_000), stored(desk, "b", 80_000)
    to_tell = desk.bookkeeper.next_to_tell()
    assert to_tell.key == first.key
    desk.take(end(to_tell))
    assert desk.frontier.in_flight == 1
    assert desk.bookkeeper.next_to_tell().key == second.key


@pytest.mark.parametrize(
    "end",
    [
        lambda task, asked: Stored(task, asked, "page", 200, 10, ("http://c.example/",), generation=1),
        lambda task, asked: Stored(task, asked, "page", 200, 10, generation=1, later=70_000),
        lambda task, asked: FailedForNow(task, asked, "timeout", "late"),
        lambda task, asked: FailedForGood(task, asked, "http-4xx", "gone", "2026-01-02T03:04:05.678Z"),
    ],
    ids=["few links", "many links", "failed for now", "failed for good"],
)
def test_a_record_that_somebody_removes_before_it_is_told(desk, end):
    """The worker fetches the page once more: whatever comes of that, the next page has its links told.

    The links of the first record counted as under way for ever, and after some such pages no other one was told.
    """
    first, second = stored(desk, "a", 80_000), stored(desk, "b", 80_000)
    to_tell = desk.bookkeeper.next_to_tell()
    assert to_tell.key == first.key
    desk.take(end(to_tell, Exchange(time.monotonic(), "answered", 0.1)))
    while desk.bookkeeper.is_behind:
        desk.bookkeeper.go_on()
    assert desk.bookkeeper.next_to_tell().key == second.key
    desk.take(Known(second, generation=1))
    while (again := desk.bookkeeper.next_to_tell()) is not None:
        assert again.key == first.key
        desk.take(Known(again, generation=1))
    assert desk.frontier.in_flight == 0
    assert desk.frontier.scheduler._by_name["a.example"].pages == 1


def test_a_machine_that_is_held_back(desk):
    """Pages that wait are pending again: whoever has their host later tells them."""
    under_way, waits = stored(desk, "a", 80_000), stored(desk, "b", 80_000)
    desk.bookkeeper.next_to_tell()
    desk.bookkeeper.put_off_telling()
    assert (desk.frontier.in_flight, desk.frontier.pending) == (1, 1)
    desk.take(Known(under_way, generation=1))
    assert desk.bookkeeper.next_to_tell() is None
    again = desk.frontier.take(time.monotonic() + 60)
    assert (again.key, again.check) == (waits.key, True)
    desk.take(Known(again, generation=1))
    assert is_told(desk, waits)
    assert desk.frontier.scheduler._by_name["b.example"].pages == 1
    assert (desk.counts.pages, desk.frontier.in_flight) == (2, 0)
