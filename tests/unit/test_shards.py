"""Which shards a frontier holds, and what goes when one is let go."""

import pytest

from fscrawl import urls
from fscrawl.frontier import hosts
from fscrawl.frontier.task import End
from tests.support.frontiers import A, B, StoredFake, drain, fill


def test_stored_before(make_frontier):
    """What is stored already is looked up in the tree; the tree is listed once for a host, when it is first met."""
    stored = StoredFake(A + "done")
    frontier = make_frontier("politeness.delay=0", stored=stored)
    assert fill(frontier, A + "done", A + "new", B) == [True, True, True]
    assert {task.url: task.check for task in drain(frontier)} == {A + "done": True, A + "new": False, B: False}
    assert stored.asked == ["a.example", "b.example"]


def test_a_host_without_work_is_not_listed(make_frontier):
    """A host of which all is told costs no look into the tree: a machine that starts may meet a hundred thousand."""
    stored = StoredFake(A + "done")
    frontier = make_frontier("politeness.delay=0", stored=stored)
    shard = frontier.location(A).shard
    frontier.hold(shard)
    frontier.mark_told(shard, urls.fingerprint(urls.key(A + "told")), 0)
    fill(frontier, A + "told")
    assert (stored.asked, len(frontier.scheduler)) == ([], 1)
    fill(frontier, A + "done", A + "new")
    assert {task.url: task.check for task in drain(frontier)} == {A + "done": True, A + "new": False}
    assert stored.asked == ["a.example"]


def test_a_host_without_work_is_not_listed_by_url(make_frontier):
    """With partition = "url" it is not asked for again either, when other shards come."""
    stored = StoredFake()
    frontier = make_frontier("crawl.partition=url", "politeness.delay=0", stored=stored, shards=5)
    shard = frontier.location(A + "told").shard
    frontier.hold(shard)
    frontier.mark_told(shard, urls.fingerprint(urls.key(A + "told")), 0)
    fill(frontier, A + "told")
    frontier.learn_stored()
    assert (stored.asked, len(frontier.scheduler)) == ([], 1)


def test_stored_before_by_url(make_frontier):
    """With partition = "url" what is stored is looked up in each shard of a host, whatever the order of holding."""
    done = [f"{A}{n}" for n in range(20)]
    frontier = make_frontier("crawl.partition=url", "politeness.delay=0", shards=5, stored=StoredFake(*done))
    fill(frontier, A + "new")
    for shard in range(5):
        frontier.hold(shard)
    frontier.learn_stored()
    fill(frontier, *done)
    assert {task.url: task.check for task in drain(frontier)} == {A + "new": False} | dict.fromkeys(done, True)


def test_check(make_frontier):
    """For a while after a shard was taken over, its tasks say that the tree must be asked; a new shard's never do."""
    frontier = make_frontier("politeness.delay=0")
    frontier.hold(frontier.location(A).shard, 5, check_s=5)
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


@pytest.mark.parametrize("again_at", [7, 20])
def test_listed_too_early(make_frontier, again_at):
    """What was listed just after a take may lack the last pages: it is listed again once that time has passed."""
    stored = StoredFake(A + "1", late=[A + "2"])
    frontier = make_frontier("politeness.delay=0", stored=stored)
    frontier.hold(frontier.location(A).shard, 5, check_s=5)
    fill(frontier, A + "1", A + "2", A + "3")
    frontier.finish(frontier.take(again_at), None)
    assert {task.url: task.check for task in drain(frontier, 20)} == {A + "2": True, A + "3": False}
    assert stored.asked == ["a.example", "a.example"]


def test_listed_late_enough(make_frontier):
    """A host that is met when the time has passed is listed once, after the list of all hosts."""
    stored = StoredFake(A + "1", late=[B + "2"])
    frontier = make_frontier("politeness.delay=0", stored=stored)
    for url in (A, B):
        frontier.hold(frontier.location(url).shard, 5, check_s=5)
    fill(frontier, A + "1")
    assert len(drain(frontier, 20)) == 1
    fill(frontier, B + "2")
    assert [task.check for task in drain(frontier, 20)] == [True]
    assert stored.asked == ["a.example", "a.example", "b.example"]


def test_listed_too_early_by_url(make_frontier):
    """With partition = "url" a host is listed again when all shards that were taken are old enough."""
    stored = StoredFake(late=[A + "2"])
    frontier = make_frontier("crawl.partition=url", "politeness.delay=0", stored=stored, shards=5)
    first, second = (frontier.location(url).shard for url in (A + "1", A + "2"))
    assert first != second
    frontier.hold(first, 5, check_s=5)
    frontier.hold(second, 8, check_s=5)
    frontier.learn_stored()
    fill(frontier, A + "1")
    early = frontier.take(12)
    frontier.finish(early, None)
    assert early.check, "the host was listed before"
    assert stored.asked == ["a.example"]
    fill(frontier, A + "2", A)
    assert {task.url: task.check for task in drain(frontier, 14)} == {A + "2": True, A: False}
    assert stored.asked == ["a.example"] * 2


def test_rest_after_taking_over(make_frontier):
    """A host of a shard that was taken over rests for its delay first, also for the delay in its robots.txt."""
    frontier = make_frontier("politeness.delay=2")
    frontier.hold(frontier.location(A).shard, 100)
    fill(frontier, A)
    assert (frontier.take(101.9), frontier.next_at()) == (None, 102)
    frontier.scheduler.open("a.example", 7, 0)
    assert (frontier.take(106.9), frontier.take(107).url) == (None, A)


@pytest.mark.parametrize(
    ("partition", "url", "name"),
    [
        ("host", A + "x", urls.host(A)),
        ("url", A + "x", urls.key(A + "x")),
        ("site", "https://login.a.example/", "a.example"),
        ("site", "http://a.example:8080/", "a.example"),  # cookies do not go by ports (RFC 6265 8.5)
        ("site", "http://a_b.a.example./", "a.example"),
        ("site", "http://www.a.co.uk/", "co.uk"),  # all machines agree, whatever they know of public suffixes
        ("site", "http://10.0.0.1:81/", "10.0.0.1"),
        ("site", "http://localhost/", "localhost"),
    ],
)
def test_shard_of(make_frontier, partition, url, name):
    """A shard is that of the host, with partition = "site" that of its last two labels, with "url" that of the key."""
    frontier = make_frontier(f"crawl.partition={partition}", shards=7)
    assert frontier.location(url).shard == urls.shard(name, 7)


def test_location(make_frontier):
    """A location has host, fingerprint and shard of a URL, and `add` need not find them again."""
    frontier = make_frontier()
    location = frontier.location(A + "x")
    assert location == ("a.example", urls.fingerprint_of(A + "x"), frontier.location(A + "x").shard)
    assert not frontier.holds(location.shard)
    assert frontier.add(A + "x", 0, "", location)
    assert not frontier.add(A + "x", 0, "")
    assert (frontier.holds(location.shard), list(frontier.shards)) == (True, [location.shard])


def test_let_go(make_frontier):
    """Of a shard that was let go, only what is in flight remains; other shards are untouched."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A + "1", A + "2", A + "3", B + "1")
    failed, flying = [frontier.take(0) for _ in range(2)]
    frontier.retry(failed, at=50)
    frontier.finish(failed, 0)
    assert (failed.host, flying.host, frontier.in_flight_of(frontier.location(B).shard)) == (
        "a.example",
        "b.example",
        1,
    )
    frontier.let_go(frontier.location(A).shard)
    assert (frontier.pending, frontier.in_flight, len(frontier.scheduler), frontier.take(99)) == (0, 1, 1, None)
    frontier.let_go(frontier.location(B).shard)
    assert (frontier.in_flight, frontier.idle) == (1, False)
    frontier.retry(flying, at=0)
    frontier.scheduler.rest(flying.host, 9)
    frontier.scheduler.open(flying.host, 9, 0)
    frontier.finish(flying, 0, End.BACK)
    assert (frontier.idle, frontier.in_flight_of(frontier.location(B).shard), frontier.take(99)) == (True, 0, None)
    assert fill(frontier, A + "1") == [True]


def test_let_go_by_url(make_frontier, monkeypatch):
    """With partition = "url" a host keeps the pending URLs and retries of the shards that are still held."""
    monkeypatch.setattr(hosts, "_MEMORY_BYTES", 200)
    frontier = make_frontier("crawl.partition=url", "politeness.delay=0", shards=3)
    links = [f"{A}{n}" for n in range(40)]
    fill(frontier, *links)
    failed = [frontier.take(0)]
    frontier.retry(failed[0], at=1)
    frontier.finish(failed[0], 0)
    gone = frontier.location(failed[0].url).shard
    for task in (frontier.take(0), frontier.take(0)):
        if task is not None:
            frontier.finish(task, None, End.BACK)
    frontier.let_go(gone)
    left = sorted(url for url in links if frontier.location(url).shard != gone)
    assert (frontier.pending, 0 < len(left) < 40) == (len(left), True)
    assert sorted(task.url for task in drain(frontier, 1)) == left
    assert frontier.idle


def test_failed_after_let_go_by_url(make_frontier):
    """With partition = "url" a task that fails after its shard was let go is not retried."""
    frontier = make_frontier("crawl.partition=url", "politeness.delay=0", shards=3)
    fill(frontier, A)
    task = frontier.take(0)
    frontier.let_go(frontier.location(A).shard)
    frontier.retry(task, at=1)
    frontier.finish(task, 0)
    assert frontier.take(1) is None


def test_taken_on_again(make_frontier):
    """A shard is not taken on again while a task of it is in flight: its host is being asked."""
    frontier = make_frontier("politeness.delay=0")
    fill(frontier, A + "1")
    frontier.take(0)
    frontier.let_go(frontier.location(A).shard)
    with pytest.raises(AssertionError, match="in flight"):
        frontier.hold(frontier.location(A).shard)


def test_hosts_that_were_let_go_make_room(make_frontier):
    """Hosts of a shard that moves away, and comes back, are not counted twice."""
    frontier = make_frontier("crawl.max_hosts_per_domain=1")
    for _ in range(3):
        assert fill(frontier, A) == [True]
        frontier.let_go(frontier.location(A).shard)
