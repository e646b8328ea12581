"""Failures that are tried again, and pages and sitemaps that are fetched again."""

from collections import Counter

import msgspec

from fscrawl import urls
from fscrawl.admin.retry import retry
from fscrawl.fleet.generations import UrlLogs
from fscrawl.frontier.flags import NO_FLAGS, REFRESH, SITEMAP_PART, Flags, parse_flags
from fscrawl.frontier.task import End
from fscrawl.storage.records import SITEMAP, ErrorRecord, PageRecord
from fscrawl.store import Tree
from tests.support.members import HERS, MINE, url

REFRESH_BEFORE, LATER = "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"
FIRST = "2026-01-01T00:00:01Z"  # when a page failed for the first time


def failed(world, member, task):
    """Write a failure down, as a worker does, and take the task back."""
    world.fetched[task.url] += 1
    at = f"2026-01-01T00:00:0{world.fetched[task.url]}Z"
    record = ErrorRecord(task.url, task.key, task.depth, task.referrer, at, member.name, "timeout", "", 4)
    member.tree.put_error(task.host, record)
    member.membership.tell(task, record.failed_at)
    member.frontier.finish(task, member.now, End.FAILED)


def retry_all(world):
    return retry(Tree(world.root, f"retry-{len(world.made)}-{int(world.clock.now)}"), [], [], print).total()


def test_retry_on_a_running_crawl(world):
    """Failures that are put back reach the machine that holds their shard, which runs."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    for member in (a, b):
        failed(world, member, member.take())
        member.tick()
    assert retry_all(world) == 2
    world.rounds(1)
    for member, host in ((a, MINE[0]), (b, HERS[0])):
        task = member.take()
        assert (task.url, task.flags, task.check) == (url(host), Flags(retry_of=FIRST), True)
        member.finish(task)
        assert member.take() is None
    world.rounds(4)
    assert a.is_over()


def test_retry_on_a_finished_crawl(world):
    """They reach the next machine, and the one after it, if the next was killed before it could try."""
    world.create(url(MINE[0], "x"))
    a = world.join("a")
    failed(world, a, a.take())
    a.leave(finished=True)
    assert retry_all(world) == 1
    b = world.join("b")
    b.tick()
    assert b.take().flags == parse_flags(f"again={FIRST}")
    b.kill()
    c = world.join("c")
    world.pass_time(80, c)
    assert c.take().flags == parse_flags(f"again={FIRST}")
    assert c.warnings == []


def test_refresh(world):
    """Every page of its shards that was last looked at before then is asked for again; the others are not."""
    world.create(url(MINE[0]))
    world.web = {url(MINE[0]): [url(MINE[0], "old"), url(MINE[1], "young"), url(MINE[1], "looked-at")]}
    a = world.join("a")
    a.crawl()
    for path, changes in (
        ("young", {"fetched_at": LATER}),
        ("looked-at", {"checked_at": LATER}),
    ):
        old = a.tree.page(MINE[1], urls.key(url(MINE[1], path)))
        a.tree.put_record(MINE[1], msgspec.structs.replace(old, **changes))
    a.leave()
    b = world.join("b", refresh_before=REFRESH_BEFORE)
    b.settle()
    tasks = b.take_all()
    assert {task.url for task in tasks if task.flags == REFRESH} == {url(MINE[0]), url(MINE[0], "old")}
    assert all(task.check for task in tasks), "a worker looks at the age, too"
    b.tick()
    assert b.is_over()


def test_refresh_within_the_scope(world):
    """What is outside the scope by now is left as it is."""
    world.create(url(MINE[0]))
    world.web = {url(MINE[0]): [url(MINE[0], "private")]}
    a = world.join("a")
    a.crawl()
    a.leave()
    world.assignments.append('crawl.deny=["private"]')
    world.edit()
    b = world.join("b", refresh_before=REFRESH_BEFORE)
    b.settle()
    assert [task.url for task in b.take_all() if task.flags == REFRESH] == [url(MINE[0])]


def test_refresh_of_two(world):
    """Two machines that refresh have each its own shards' pages, and each page is asked for once."""
    world.create(url(MINE[0]), url(HERS[0]))
    world.web = {url(host): [url(host, str(n)) for n in range(5)] for host in (MINE[0], HERS[0])}
    first = world.join("first")
    first.crawl()
    first.leave()
    world.fetched.clear()
    a = world.join("a", refresh_before=REFRESH_BEFORE)
    b = world.join("b", refresh_before="2026-01-02T00:05:00Z")
    assert {member.membership.rules.refresh_before for member in (a, b)} == {REFRESH_BEFORE}
    a.settle()
    world.rounds()
    b.settle()
    asked_for = Counter(
        (task.url, member.name) for member in (a, b) for task in member.take_all() if task.flags == REFRESH
    )
    assert len(asked_for) == 12
    assert set(asked_for.values()) == {1}
    assert all(name == ("a" if MINE[0] in link else "b") for link, name in asked_for)


def test_sitemaps_are_found_again(world):
    """A survey tells a sitemap's URLs and parts as its reading did: as deep as itself, the parts with their flags."""
    world.create(url(MINE[0]))
    a = world.join("a")
    task = a.take()
    key = urls.key(url(MINE[0], "sitemap.xml"))
    record = PageRecord(
        *(url(MINE[0], "sitemap.xml"), key, 0, "", "t", "a", 200, {}, 0, "", 0.1, (url(MINE[0], "x"),)),
        skipped=SITEMAP,
        sitemaps=(url(MINE[1], "part.xml"),),
    )
    a.tree.put_page(MINE[0], record, None)
    a.store(task)
    a.kill()
    b = world.join("b")
    world.pass_time(80, b)
    b.settle()
    tasks = b.take_all()
    assert {(task.url, task.depth, task.referrer, task.flags) for task in tasks} == {
        (url(MINE[0], "x"), 0, key, NO_FLAGS),
        (url(MINE[1], "part.xml"), 0, key, Flags(SITEMAP_PART)),
    }


def test_flags_of_another_shard(world):
    """A sitemap of a host that another machine holds is read by that machine."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    a.membership.discover([url(HERS[0], "sitemap.xml")], 0, "", Flags(SITEMAP))
    world.rounds()
    first = b.take()
    b.finish(first)
    world.rounds(1)
    assert [first.flags, b.take().flags] == [NO_FLAGS, Flags(SITEMAP)]


def test_retry_that_a_busy_machine_sees_late(world, monkeypatch):
    """A log that its writer's beat names, and that cannot be found yet, is read when it can.

    A feed that was listed after its machine's goodbye was marked as read to its end, and the retry was forgotten.
    """
    world.create(url(MINE[0]), url(MINE[1]))
    a = world.join("a")
    task, other = a.take(), a.take()
    failed(world, a, task)
    with monkeypatch.context() as patch:
        machines, opened = UrlLogs.machines, UrlLogs.open_view
        patch.setattr(
            UrlLogs, "machines", lambda logs: [name for name in machines(logs) if not name.startswith("retry")]
        )
        patch.setattr(UrlLogs, "open_view", lambda logs, name: None if name.startswith("retry") else opened(logs, name))
        assert retry_all(world) == 1
        for _ in range(25):
            a.beat()
            a.tick(starved=False)
        assert a.take() is None
    for _ in range(60):
        a.beat()
        a.tick(starved=False)
    assert a.take().flags == Flags(retry_of=FIRST)
    a.finish(other)
    assert a.warnings == []
