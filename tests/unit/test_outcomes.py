"""What the machine does with each answer of a worker: counts, frontier, discoveries."""

import time

import pytest

from fscrawl import urls
from fscrawl.engine import outcomes
from fscrawl.engine.messages import Parked, TreeUnusable
from fscrawl.engine.pool import KilledWorker
from fscrawl.errors import TreeError
from fscrawl.frontier.flags import SITEMAP, SITEMAP_PART, Flags
from fscrawl.frontier.task import PageTask, RobotsTask
from fscrawl.handlers.outcome import (
    Exchange,
    FailedForGood,
    FailedForNow,
    Known,
    Returned,
    RobotsKnown,
    Stored,
    Unchanged,
)
from tests.support.desks import Desk, Tree
from tests.support.frontiers import A, fill

ANSWERED = Exchange(1.0, "answered", 0.1)
SILENT = Exchange(1.0, "silent", begun_at=0.5)


class BrokenTree:
    machine = "machine-1"
    files = None

    def put_error(self, host, record):
        raise TreeError("no space")


@pytest.fixture
def desk(make_frontier):
    def make(*assignments, tree=None):
        return Desk(make_frontier(*assignments), tree or Tree(), *assignments)

    return make


def handed_out(desk, url=A):
    """Let the frontier hand out a page."""
    fill(desk.frontier, url)
    task = desk.frontier.take(time.monotonic())
    assert desk.frontier.in_flight == 1
    return task


def is_told(desk, url):
    return desk.frontier.is_settled(desk.frontier.location(url).shard, urls.fingerprint(urls.key(url)))


@pytest.mark.parametrize(
    ("kind", "counted"), [("page", (1, 0, 0, 9)), ("redirect", (0, 1, 0, 0)), ("other", (0, 0, 1, 0))]
)
def test_stored(desk, kind, counted):
    """A stored page is counted by its kind, its links are discovered one deeper, and its task is over."""
    desk = desk()
    task = handed_out(desk)
    size = 9 if kind == "page" else 0
    desk.take(Stored(task, ANSWERED, kind, 200, size, (A + "x",), {"scope": [1, 2, 1]}, generation=1))
    counts = desk.counts
    assert (counts.pages, counts.redirects, counts.others, counts.bytes) == counted
    assert counts.without_page == ("" if kind == "page" else task.url)
    assert desk.frontier.cut == {"scope": 2}
    assert desk.found == [((A + "x",), 1, task.key, Flags(redirects=1) if kind == "redirect" else None)]
    assert desk.frontier.in_flight == 0
    assert f'"event": "{kind}"' in desk.stream.getvalue()


def test_sitemap(desk):
    """The links of a sitemap are as deep as the sitemap; the sitemaps that it names are parts."""
    desk = desk()
    handed_out(desk)
    task = PageTask(A, "a.example", urls.key(A), 2, "", 1, flags=Flags(SITEMAP))
    desk.take(Stored(task, ANSWERED, "other", 200, links=(A + "x",), sitemaps=(A + "s",), generation=1))
    assert desk.found == [((A + "x",), 2, task.key, None), ((A + "s",), 2, task.key, Flags(SITEMAP_PART))]


def test_redirects_in_a_row(desk):
    """The target of a redirect is one more of those that have led to the page, also if its record was known."""
    desk = desk()
    task = handed_out(desk)._replace(flags=Flags(label="a", redirects=7))
    desk.take(Stored(task, ANSWERED, "redirect", 302, links=(A + "x",), generation=1))
    task = handed_out(desk, A + "2")._replace(flags=Flags(SITEMAP, redirects=7))
    desk.take(Known(task, sitemaps=(A + "s",), generation=1, moved=True))
    assert [flags for *_, flags in desk.found] == [Flags(label="a", redirects=8), Flags(SITEMAP, redirects=8)]


def test_unchanged_and_known(desk):
    """A page that is as it was is counted apart, one that was known is not; the links of both are discovered."""
    desk = desk()
    desk.take(Unchanged(handed_out(desk), ANSWERED, 304, links=(A + "x",), generation=1))
    desk.take(Known(handed_out(desk, A + "2"), (A + "y",), generation=1))
    assert (desk.counts.unchanged, desk.counts.pages) == (1, 0)
    assert [links for links, *_ in desk.found] == [(A + "x",), (A + "y",)]
    assert desk.frontier.in_flight == 0


def test_a_page_is_told_when_its_links_are_discovered(desk):
    """The log has a page's links first, and then that they are all there."""
    desk = desk("crawl.max_depth=9")
    desk.take(Stored(handed_out(desk, A + "1"), ANSWERED, "page", 200, 9, (A + "x",), generation=1))
    desk.take(Unchanged(handed_out(desk, A + "2"), ANSWERED, 304, links=(A + "y",), generation=1))
    desk.take(Known(handed_out(desk, A + "3"), (A + "z",), generation=1))
    assert desk.found.tellings == [(A + "1", 0, 1), (A + "2", 0, 2), (A + "3", 0, 3)]
    assert all(is_told(desk, url) for url in (A + "1", A + "2", A + "3"))


@pytest.mark.parametrize(
    ("end", "pages"),
    [
        (lambda task: Stored(task, ANSWERED, "page", 200, 9, (A + "x",)), 1),
        (lambda task: Stored(task, ANSWERED, "page", 200, 9, later=2000), 1),
        (lambda task: Unchanged(task, ANSWERED, 304, links=(A + "x",)), 0),
        (lambda task: Known(task, (A + "x",), generation=2), 0),
    ],
    ids=["stored", "many links", "unchanged", "known"],
)
def test_an_outcome_of_an_older_generation(desk, end, pages):
    """Its links were chosen by other rules: they are told from the page's record, by those of now."""
    desk = desk("politeness.delay=0")
    desk.found.rules.generation = 3
    desk.take(end(handed_out(desk)._replace(flags=Flags(retry_of="t", label="x"))))
    assert (desk.found, desk.found.tellings, is_told(desk, A), desk.counts.pages) == ([], [], False, pages)
    again = desk.frontier.take(time.monotonic())
    assert (again.url, again.check, again.flags) == (A, True, Flags(label="x"))
    desk.take(Known(again, (A + "x",), generation=3))
    assert (desk.found.tellings, is_told(desk, A), desk.counts.pages) == ([(A, 0, 1)], True, pages)


def test_a_failure_is_told(desk):
    """The log has when a page failed, whether it was just now, long ago, or by the death of a worker."""
    desk = desk()
    desk.take(FailedForGood(handed_out(desk, A + "1"), None, "robots", "not allowed", failed_at="t1"))
    desk.take(Known(handed_out(desk, A + "2"), failed_at="t2"))
    desk.take(KilledWorker(handed_out(desk, A + "3")))
    told = [(A + "1", 0, "t1"), (A + "2", 0, "t2"), (A + "3", 0, desk.tree.errors[0].failed_at)]
    assert desk.found.tellings == told
    assert all(is_told(desk, url) for url in (A + "1", A + "2", A + "3"))
    assert desk.found == []


def test_what_is_not_told(desk):
    """A damaged record tells nothing, nor does a task that is not done, or whose error record cannot be written."""
    desk = desk("politeness.delay=0", tree=BrokenTree())
    desk.take(Known(handed_out(desk, A + "1")))
    desk.take(KilledWorker(handed_out(desk, A + "2")))
    desk.take(Returned(handed_out(desk, A + "3")))
    assert (desk.found.tellings, [is_told(desk, A + n) for n in "123"]) == ([], [False, False, False])


def test_a_shorter_way_is_told_once_more(desk):
    """A page is told at the depth of its task; if it is less deep by then it is told again, from its record."""
    desk = desk("crawl.max_depth=9", "politeness.delay=0")
    desk.frontier.add(A, 5, "far")
    task = desk.frontier.take(time.monotonic())
    desk.frontier.add(A, 3, "near")
    desk.take(Stored(task, ANSWERED, "page", 200, 9, (A + "x",), generation=1))
    again = desk.frontier.take(time.monotonic())
    assert (again.depth, again.check) == (3, True)
    desk.take(Known(again, (A + "x",), generation=1))
    assert desk.found.tellings == [(A, 5, 1), (A, 3, 2)]
    assert [depth for _, depth, *_ in desk.found] == [6, 4]
    assert desk.frontier.idle


@pytest.mark.parametrize("ours", [True, False])
def test_a_log_in_that_leads_back(desk, ours):
    """The page is asked for once more. If another machine has it, a user is told what to do, once."""
    desk = desk()
    for number in range(2):
        page = handed_out(desk, f"{A}{number}")
        back = page._replace(url="http://b.example/", host="b.example", key=urls.key("http://b.example/"))
        if ours:
            desk.frontier.hold(desk.frontier.location(back.url).shard)
        desk.take(Stored(page, ANSWERED, "redirect", 302, links=(), generation=1, again=back))
    again = desk.frontier.take(time.monotonic() + 1)
    assert (again and again.url) == (back.url if ours else None)
    assert desk.stream.getvalue().count('crawl.partition = \\"site\\"') == int(not ours)


def test_a_failure_for_now_is_tried_again(desk):
    """A failure that may pass is none yet: its page is pending again as the next attempt."""
    desk = desk("politeness.delay=0")
    desk.take(FailedForNow(handed_out(desk), ANSWERED, "http-5xx", "busy"))
    assert (desk.counts.errors, desk.frontier.pending) == ({}, 1)
    later = desk.frontier.next_at()
    assert 0.4 < later - time.monotonic() <= 1.0
    assert desk.frontier.take(later).attempt == 2


def test_a_page_that_waits_to_be_read(desk):
    """It takes no place of slow hosts, however long it waits; its end leaves the places as they were."""
    at = desk()
    at.frontier.scheduler.places.limit_slow(1, 1)
    task = handed_out(at)
    fill(at.frontier, "http://other.test/")
    assert at.frontier.take(time.monotonic()) is None
    for _ in range(2):  # its worker may die, and the next one waits for it again
        assert at.take(Parked(task)) is None
    assert at.frontier.in_flight == 1
    other = at.frontier.take(time.monotonic())
    assert other.host == "other.test"
    for each in (task, other):
        at.take(FailedForGood(each, Exchange(1.0, "failing"), "parse", "it takes too long"))
    assert at.frontier._by_name[task.host].pace.failures == 1
    assert at.frontier.scheduler.places._slow.in_flight == 0


def test_a_failure_for_good_is_counted(desk):
    """A failure that lasts is counted by its class, and its page is not pending any more."""
    desk = desk()
    desk.take(FailedForGood(handed_out(desk), None, "robots", "not allowed"))
    assert (desk.counts.errors, desk.frontier.pending, desk.frontier.in_flight) == ({"robots": 1}, 0, 0)
    assert desk.counts.without_page == A


def test_robots(desk):
    """Once the rules are known the host is open, and the sitemaps that they name are discovered."""
    desk = desk("politeness.robots=true")
    task = handed_out(desk)
    assert isinstance(task, RobotsTask)
    desk.take(RobotsKnown(task, ANSWERED, 2.0, (A + "s",), 1))
    assert desk.found == [((A + "s",), 0, "", Flags(SITEMAP))]
    assert desk.frontier.scheduler.is_open("a.example")


def test_robots_amid_an_edit(desk):
    """Sitemaps that were turned off meanwhile, or chosen in an older generation, are not taken in."""
    task = RobotsTask("http://c.example/", "c.example", 1)
    off = desk("politeness.robots=true", "crawl.sitemaps=false")
    off.take(RobotsKnown(task, ANSWERED, 2.0, (A + "s",), 1))
    assert off.found == []
    on = desk("politeness.robots=true")
    on.take(RobotsKnown(task, ANSWERED, 2.0, (A + "s",), 1))
    on.take(RobotsKnown(task, ANSWERED, 2.0, (A + "t",), 0))
    assert [links for links, *_ in on.found] == [(A + "s",)]


def test_robots_that_fail_for_good(desk):
    """If the rules cannot be learned the host is given up; that itself is no error of a page."""
    desk = desk("politeness.robots=true")
    desk.take(FailedForGood(handed_out(desk), SILENT, "dns", "no such host"))
    assert desk.counts.errors == {}
    assert desk.frontier.take(time.monotonic()).flags.given_up == "dns no such host"


def test_returned(desk):
    """A page that comes back undone is pending again, as the same attempt; it may be stored, so it is looked for."""
    desk = desk("politeness.delay=0")
    task = handed_out(desk)
    desk.take(Returned(task))
    assert (desk.frontier.in_flight, desk.frontier.pending) == (0, 1)
    again = desk.frontier.take(time.monotonic())
    assert (task.check, again.check, again.attempt) == (False, True, 1)


def test_a_page_of_a_shard_that_was_let_go(desk):
    """A page that was stored is told, whoever holds its shard by then: it may lead to pages that nobody else names."""
    desk = desk()
    task = handed_out(desk)
    desk.frontier.let_go(desk.frontier.location(A).shard)
    desk.take(Stored(task, ANSWERED, "page", 200, 9, (A + "1",), generation=1))
    assert desk.found == [((A + "1",), 1, task.key, None)]
    assert desk.found.tellings == [(A, 0, 1)]


def test_retry_after(desk):
    """A host that asks for a rest gets it, but not longer than max_rest."""
    desk = desk("politeness.max_rest=60")
    desk.take(FailedForNow(handed_out(desk), ANSWERED._replace(rest_s=7.0), "http-5xx", "busy"))
    assert 6 < desk.frontier.scheduler.rests(time.monotonic())["a.example"] <= 7
    desk.take(FailedForNow(handed_out(desk, "http://b.example/"), ANSWERED._replace(rest_s=1e9), "http-5xx", "busy"))
    assert 59 < desk.frontier.scheduler.rests(time.monotonic())["b.example"] <= 60


@pytest.mark.parametrize(("max_rest", "given_up"), [(0.05, "http-4xx"), (60, "")])
def test_a_host_that_only_says_later(desk, max_rest, given_up):
    """A host that asks for a rest again after max_rest is given up, and so does not hold up the crawl for ten rests."""
    desk = desk(f"politeness.max_rest={max_rest}", "politeness.give_up_after=0")
    later = Exchange(1.0, "failing", rest_s=100.0)
    first = handed_out(desk)
    fill(desk.frontier, A + "1")
    desk.take(FailedForNow(first, later, "http-4xx", "later"))
    assert desk.frontier._by_name["a.example"].given_up == ""
    time.sleep(0.05)
    desk.take(FailedForNow(desk.frontier.take(time.monotonic() + 60), later, "http-4xx", "later"))
    assert desk.frontier._by_name["a.example"].given_up == given_up


def test_rest_without_a_request(desk):
    """A host that was not asked may rest, too: not for its delay, and it has neither answered nor failed."""
    desk = desk("politeness.delay=60")
    task = handed_out(desk)
    desk.frontier.add("http://a.example/next", 1, "")
    desk.take(FailedForGood(task, Exchange(None, "unknown", costly_s=0.11), "robots", "no"))
    scheduler = desk.frontier.scheduler
    assert 1.5 < scheduler.rests(time.monotonic())["a.example"] <= 2.0  # 22 s, of which it may owe 20
    assert desk.frontier.next_at() <= time.monotonic() + 2.0
    assert scheduler.why_it_rests("a.example") == "costly"


def test_rest_for_what_robots_txt_takes(desk):
    """A page that was allowed costs its host a rest, too. It is no Retry-After, and never longer than one may be."""
    desk = desk("politeness.delay=0", "politeness.max_rest=27")
    desk.take(FailedForGood(handed_out(desk), ANSWERED._replace(costly_s=100.0), "http-4xx", "no"))
    scheduler = desk.frontier.scheduler
    assert 6 < scheduler.rests(time.monotonic())["a.example"] <= 7
    assert scheduler.why_it_rests("a.example") == "costly"


def test_a_page_that_kills_its_worker(desk):
    """A page that killed its worker twice gets an error record."""
    desk = desk()
    assert desk.take(KilledWorker(handed_out(desk))) is None
    assert [record.class_ for record in desk.tree.errors] == ["worker-died"]
    assert desk.counts.errors == {"worker-died": 1}
    assert desk.frontier.in_flight == 0


def test_a_tree_that_cannot_be_used(desk):
    """An error of the tree is given to the caller, and the task is over all the same."""
    desk = desk(tree=BrokenTree())
    assert "no space" in str(desk.take(KilledWorker(handed_out(desk))))
    gone = TreeError("gone")
    assert desk.take(TreeUnusable(handed_out(desk, "http://b.example/"), gone)) is gone
    assert desk.frontier.in_flight == 0


def test_outage(desk):
    """If many hosts are silent nothing is blamed on them: a warning is shown, and their pages come back at once."""
    desk = desk()
    begun_at = time.monotonic() - 1
    for n in range(10):
        silent = Exchange(time.monotonic(), "silent", begun_at=begun_at)
        url = f"http://h{n}.example/"
        desk.take(FailedForNow(handed_out(desk, url), silent, "connect", "refused"))
    assert desk.outage.is_on
    assert desk.stream.getvalue().count("is the network gone?") == 1
    desk.take(FailedForNow(handed_out(desk), Exchange(time.monotonic(), "silent", begun_at=begun_at), "connect", ""))
    for health, is_on in (("silent", True), ("failing", False)):
        probe = desk.frontier.probe(time.monotonic() + 60, "a.example", A)
        assert (probe.url, probe.is_probe) == (A, True)
        desk.take(FailedForNow(probe, Exchange(time.monotonic(), health, begun_at=begun_at), "connect", "refused"))
        assert desk.outage.is_on is is_on
    assert "the network is back" in desk.stream.getvalue()
    page = desk.frontier.take(time.monotonic() + 60)
    assert (page.url, page.attempt) == (A, 1)


@pytest.mark.parametrize("known", [Returned, RobotsKnown])
def test_probe_that_asked_nobody(desk, known):
    """A probe whose worker could not ask leaves the outage as it was; one that has rules opens no host."""
    desk = desk()
    fill(desk.frontier, A)
    probe = desk.frontier.probe(time.monotonic(), "a.example", A)
    desk.take(
        Returned(probe, None) if known is Returned else RobotsKnown(probe, None, 9.0, ("http://a.example/s",), "")
    )
    assert desk.frontier.in_flight == 0
    assert desk.frontier.pending == 1
    assert desk.frontier.scheduler.delay_s("a.example") < 9


def test_probe_that_comes_back(desk):
    """A host that was asked rests for its delay, though the probe was handed back."""
    desk = desk("politeness.delay=30")
    fill(desk.frontier, A)
    now = time.monotonic()
    desk.take(Returned(desk.frontier.probe(now, "a.example", A), now))
    assert desk.frontier.next_at() >= now + 30


def test_probe_that_fails_after_the_outage(desk):
    """Its failure is one of the host, with its class and message."""
    desk = desk("politeness.give_up_after=0")
    fill(desk.frontier, A)
    for number in range(10):
        probe = desk.frontier.probe(time.monotonic() + 1e4 * number, "a.example", A)
        silent = Exchange(time.monotonic(), "silent", begun_at=time.monotonic() - 1)
        desk.take(FailedForNow(probe, silent, "timeout", "it took too long"))
    assert dict(desk.frontier.scheduler.why_given_up()) == {"a.example": "it took too long"}
    assert desk.frontier.scheduler.gave_up == 1


def many(count):
    return tuple(f"http://b.example/{number}" for number in range(count))


def test_many_links_are_taken_in_by_parts(desk):
    """A page with many links is in flight until the last of them is taken in, and only then it is told."""
    desk = desk()
    first = handed_out(desk)
    fill(desk.frontier, "http://c.example/")
    second = desk.frontier.take(time.monotonic())
    links = many(700)
    desk.take(Stored(first, ANSWERED, "page", 200, 10, links, generation=1))
    desk.take(Stored(second, ANSWERED, "page", 200, 10, links[:100], generation=1))
    assert (desk.frontier.in_flight, [len(each[0]) for each in desk.found]) == (1, [100])
    assert desk.found.tellings == [(second.url, 0, 1)]
    for left in (1, 1, 0):
        assert desk.bookkeeper.is_behind
        desk.bookkeeper.go_on()
        assert desk.frontier.in_flight == left
    assert not desk.bookkeeper.is_behind
    desk.bookkeeper.go_on()
    assert sum((each[0] for each in desk.found if each[2] == first.key), ()) == links
    assert desk.found.tellings[1:] == [(first.url, 0, 4)]


@pytest.mark.parametrize("kind", ["stored", "unchanged", "known", "robots"])
def test_a_generation_begins_while_links_are_taken_in(desk, kind):
    """The rest of the links is not said, and the page is not told: its record is read once more, by other rules."""
    desk = desk("politeness.delay=0", f"politeness.robots={str(kind == 'robots').lower()}")
    if kind == "robots":
        desk.take(RobotsKnown(RobotsTask("http://c.example/", "c.example", 1), ANSWERED, 0.0, many(700), 1))
    else:
        task = handed_out(desk)
        desk.take(
            {
                "stored": Stored(task, ANSWERED, "page", 200, 10, many(700), generation=1),
                "unchanged": Unchanged(task, ANSWERED, 304, links=many(700), generation=1),
                "known": Known(task, many(700), generation=1),
            }[kind]
        )
    desk.bookkeeper.go_on()
    desk.found.rules.generation = 2
    while desk.bookkeeper.is_behind:
        desk.bookkeeper.go_on()
    assert [len(found[0]) for found in desk.found] == [250]
    assert desk.found.tellings == []
    if kind != "robots":
        again = desk.frontier.take(time.monotonic())
        assert (again.url, again.check, is_told(desk, A)) == (A, True, False)
        desk.take(Known(again, many(50), generation=2))
        assert (is_told(desk, A), desk.frontier.in_flight) == (True, 0)


def test_many_sitemaps_are_taken_in_by_parts(desk):
    """So are the sitemaps that a sitemap names, or a robots.txt; its host is asked nothing before the last of them."""
    of_index, of_robots = desk(), desk("politeness.robots=true")
    index = handed_out(of_index)._replace(flags=Flags(SITEMAP))
    of_index.take(Stored(index, ANSWERED, "other", 200, sitemaps=many(600), generation=1))
    of_robots.take(RobotsKnown(RobotsTask("http://c.example/", "c.example", 1), ANSWERED, 0.0, many(300), 1))
    for each, parts in ((of_index, [250, 250, 100]), (of_robots, [250, 50])):
        while each.bookkeeper.is_behind:
            each.bookkeeper.go_on()
        assert [len(found[0]) for found in each.found] == parts


def test_links_that_wait_are_bounded(desk, monkeypatch):
    """If more links come than are taken in, the machine does not go on before them."""
    monkeypatch.setattr(outcomes, "_MOST_WAITING", 3000)
    desk = desk()
    for host in "abcd":
        fill(desk.frontier, f"http://{host}.example/")
        page = desk.frontier.take(time.monotonic())
        desk.take(Stored(page, ANSWERED, "page", 200, 10, many(2500), generation=1))
    assert sum(len(each[0]) for each in desk.found) >= 4 * 2500 - 3000
    while desk.bookkeeper.is_behind:
        desk.bookkeeper.go_on()
    assert desk.frontier.in_flight == 0
