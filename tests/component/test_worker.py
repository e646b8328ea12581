"""What a worker does with an answer: what it writes, and what it reports."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from email.utils import formatdate
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fscrawl import store, urls
from fscrawl.config.settings import CrawlSettings, FetchSettings, PolitenessSettings, Settings, render
from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.fleet.heartbeat import Permit
from fscrawl.frontier.flags import NO_FLAGS, REFRESH, SITEMAP_PART, Flags, format_flags, parse_flags
from fscrawl.frontier.task import PageTask, ProbeTask, RobotsTask
from fscrawl.handlers.outcome import (
    FailedForGood,
    FailedForNow,
    Known,
    Outcome,
    Probed,
    Returned,
    RobotsKnown,
    Stored,
    Unchanged,
)
from fscrawl.storage.records import FORMAT, SITEMAP, PageRecord, TreeRecord, timestamp
from fscrawl.worker import CrawlConfig, Worker
from tests.support.crawling import USER_AGENT, check_tree, errors, pages
from tests.support.web import Pages, Request, Response, Web

HOST = "127.0.3.1"
OTHER = "127.0.3.2"
HTML = {"Content-Type": "text/html; charset=utf-8"}
SETTINGS = Settings(
    politeness=PolitenessSettings(delay=0.0, user_agent=USER_AGENT),
    fetch=FetchSettings(allow_private_addresses=True, timeout=5.0, retries=2),
)


@pytest.fixture
def tree(root: Path) -> store.Tree:
    record = TreeRecord(FORMAT, "test", timestamp(0), 256, 0, "host")
    store.create(root, record, render(Settings()), "")
    return store.Tree(root, "machine-1-abcdef")


Work = Callable[..., Worker]


@pytest.fixture
def work(tree: store.Tree) -> Work:
    """Make a worker of a crawl whose seed is on HOST."""

    def worker(settings: Settings = SETTINGS, permit: Permit | None = None, **more: Callable[[], None]) -> Worker:
        return Worker(tree, CrawlConfig(settings, frozenset({f"http://{HOST}/"})), 1, permit, **more)

    return worker


def task(url: str, *, attempt: int = 1) -> PageTask:
    return PageTask(url, urls.host(url), urls.key(url), 3, "f" * 24, attempt)


def probe(url: str) -> ProbeTask:
    return ProbeTask(url, urls.host(url))


def what(outcome: Outcome) -> str | type:
    """Give what was stored, else the type of the outcome."""
    return outcome.kind if isinstance(outcome, Stored) else type(outcome)


def site(answers: dict[str, Response], robots: Response | None = None) -> Pages:
    """Serve these answers by path; what is not there is a 404."""
    missing = Response(404, {"Content-Type": "text/plain", "X-Why": "gone"}, b"no such page")

    def serve(request: Request) -> Response:
        if request.path == "/robots.txt":
            return robots or missing
        return answers.get(request.path, missing)

    return serve


def page(text: str) -> Response:
    return Response(200, HTML, text.encode())


# -- a page


def test_page_is_stored_whole(work: Work, root: Path) -> None:
    """A page's body is stored byte for byte, and its record says all that the format promises."""
    body = '<title> A  page\n</title><a href="/b?x=1#top">b</a><a href=mailto:x@y>m</a><a href="c é">c</a>'
    with Web(site({"/a?q": page(body)}), [HOST]) as web:
        url = web.url(HOST, "/a?q")
        outcome = work().do(task(url))
    linked = (web.url(HOST, "/b?x=1"), web.url(HOST, "/c%20%C3%A9"))
    assert (what(outcome), outcome.links, outcome.bytes, outcome.status) == ("stored", linked, len(body.encode()), 200)
    record = pages(root)[url]
    assert (record.key, record.depth, record.referrer) == (urls.key(url), 3, "f" * 24)
    assert (record.status, record.encoding, record.title) == (200, "utf-8", "A page")
    assert (record.bytes, record.sha256) == (len(body.encode()), sha256(body.encode()).hexdigest())
    assert (record.machine, record.links) == ("machine-1-abcdef", linked)
    assert record.headers["content-type"] == HTML["Content-Type"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record.fetched_at)
    assert 0 < record.elapsed < 5
    assert (record.redirect, record.skipped, record.nofollow) == (None, None, None)
    check_tree(root)


def test_page_without_content_type_is_wanted(work: Work, root: Path) -> None:
    """A page is stored although its server names no type: its bytes show what it is."""
    with Web(site({"/": Response(200, {}, b"<p>")}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST)))) == "stored"
    check_tree(root)


def test_empty_page_is_a_page(work: Work, root: Path) -> None:
    """An empty body is stored."""
    with Web(site({"/": page("")}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST)))) == "stored"
    record = pages(root)[web.url(HOST)]
    assert (record.bytes, record.sha256) == (0, sha256(b"").hexdigest())
    check_tree(root)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_a_page_with_one_link(work: Work, root: Path, status: int) -> None:
    """A redirect is stored without a body, and its only link is its target."""
    moved = Response(status, {**HTML, "Location": "../to?x#y"}, b'<a href="/elsewhere">')
    with Web(site({"/a/b": moved}), [HOST]) as web:
        url, target = web.url(HOST, "/a/b"), web.url(HOST, "/to?x")
        outcome = work().do(task(url))
    assert (what(outcome), outcome.links) == ("redirect", (target,))
    record = pages(root)[url]
    assert (record.redirect, record.links, record.sha256, record.status) == (target, (target,), "", status)
    check_tree(root)


@pytest.mark.parametrize("location", ["", "mailto:me@example.org", "http://", "http://[bad/", "//", "\\\\", "/self"])
def test_redirect_to_nowhere(work: Work, root: Path, location: str) -> None:
    """A redirect to something that is not a page, or to itself, is stored without a link."""
    with Web(site({"/self": Response(302, {"Location": location})}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST, "/self")))
    assert what(outcome) in ("redirect", FailedForGood)
    assert getattr(outcome, "links", ()) == ()
    check_tree(root)


def test_redirect_without_location_is_an_error(work: Work, root: Path) -> None:
    """A 302 without a location is recorded as an error."""
    with Web(site({"/": Response(302, HTML, b"<p>")}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST)))) == FailedForGood
    assert errors(root)[web.url(HOST)].class_ == "protocol"


@pytest.mark.parametrize("type_", ["application/pdf", "IMAGE/PNG", "text/plain; charset=utf-8", "text/htmlx"])
def test_unwanted_type_is_skipped(work: Work, root: Path, type_: str) -> None:
    """A page of an unwanted type is stored as a record that says so, without body and links."""
    answer = Response(200, {"Content-Type": type_}, b'<a href="/b">')
    with Web(site({"/a": answer}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST, "/a")))
    record = pages(root)[web.url(HOST, "/a")]
    assert (what(outcome), outcome.links, record.links, record.sha256) == ("skipped", (), (), "")
    assert record.skipped == f"type {type_.partition(';')[0].lower()}"
    check_tree(root)


def test_wanted_types_are_a_setting(work: Work, root: Path) -> None:
    """fetch.accept says which types are stored."""
    settings = replace(SETTINGS, fetch=replace(SETTINGS.fetch, accept=("text/plain",)))
    with Web(site({"/a": Response(200, {"Content-Type": "text/plain"}, b"a"), "/b": page("b")}), [HOST]) as web:
        worker = work(settings)
        kinds = [what(worker.do(task(web.url(HOST, path)))) for path in ("/a", "/b")]
    assert kinds == ["stored", "skipped"]
    check_tree(root)


def test_links_cut_by_the_scope_are_counted(work: Work, root: Path) -> None:
    """Links outside the scope are in the record; they are counted, and not reported."""
    with Web(site({"/": page(f'<a href="/in"><a href="http://{OTHER}/"><a href="http://c.example/">')}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST)))
    assert (outcome.links, outcome.cut) == ((web.url(HOST, "/in"),), {"scope": 2})
    assert len(pages(root)[web.url(HOST)].links) == 3


def test_nofollow_is_kept_and_not_followed(work: Work, root: Path) -> None:
    """A rel=nofollow link is in the record, apart from the links to follow, and is not reported."""
    with Web(site({"/": page('<a href="/yes"><a rel="ugc nofollow" href="/no">')}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST)))
    record = pages(root)[web.url(HOST)]
    assert outcome.links == record.links == (web.url(HOST, "/yes"),)
    assert record.nofollow == (web.url(HOST, "/no"),)


def test_robots_tag_header(work: Work, root: Path) -> None:
    """With X-Robots-Tag: nofollow, no link of the page is followed."""
    answer = Response(200, {**HTML, "X-Robots-Tag": "nofollow"}, b'<a href="/no">')
    with Web(site({"/": answer}), [HOST]) as web:
        assert work().do(task(web.url(HOST))).links == ()
    assert pages(root)[web.url(HOST)].nofollow == (web.url(HOST, "/no"),)


def test_reported_links_are_not_reported_again(work: Work) -> None:
    """A link that was reported is not reported again by the next page that has it."""
    with Web(site({"/1": page('<a href="/x"><a href="/y">'), "/2": page('<a href="/x"><a href="/z">')}), [HOST]) as web:
        worker = work()
        told = [worker.do(task(web.url(HOST, path))).links for path in ("/1", "/2")]
    assert told == [(web.url(HOST, "/x"), web.url(HOST, "/y")), (web.url(HOST, "/z"),)]


def test_drop_query(work: Work, root: Path) -> None:
    """With crawl.drop_query links lose their query."""
    settings = replace(SETTINGS, crawl=CrawlSettings(drop_query=True))
    with Web(site({"/": page('<a href="/x?a"><a href="/x?b"><a href="?c">')}), [HOST]) as web:
        assert work(settings).do(task(web.url(HOST))).links == (web.url(HOST, "/x"),)


def test_done_page_is_known(work: Work) -> None:
    """A page that is stored already is not fetched."""
    with Web(site({"/": page("<p>")}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST)))) == "stored"
        before = web.count()
        outcome = work().do(task(web.url(HOST)))
        assert (what(outcome), web.count()) == (Known, before)


def test_tells_when_the_host_has_answered(work: Work, tree: store.Tree) -> None:
    """`on_answer` is called before the page is stored: from then on the thread waits for the tree."""
    stored: list[bool] = []
    with Web(site({"/": page("<p>")}), [HOST]) as web:
        url = web.url(HOST)
        work(on_answer=lambda: stored.append(tree.is_done(urls.host(url), urls.key(url)))).do(task(url))
    assert stored == [False]


def test_known_page_tells_its_links(work: Work) -> None:
    """The links of a stored page are reported: the machine that stored it may have died before it could."""
    with Web(site({"/": page('<a href="/x"><a href="http://elsewhere.example/">')}), [HOST]) as web:
        work().do(task(web.url(HOST)))
        outcome = work().do(task(web.url(HOST)))
        assert (what(outcome), outcome.links) == (Known, (web.url(HOST, "/x"),))


def test_no_permit_while_the_tree_cannot_be_written(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that could not be stored is returned if no heartbeat can be written either; else a TreeError is raised."""
    may = [True]
    permit = cast("Permit", SimpleNamespace(holds=lambda: may[0]))

    def put_page(*_: object) -> None:
        may[0] = not give_back
        raise TreeBusyError("no server")

    with Web(site({"/": page("<p>")}), [HOST]) as web:
        monkeypatch.setattr(store.Tree, "put_page", put_page)
        give_back = True
        assert what(work(permit=permit).do(task(web.url(HOST)))) == Returned
        may[0], give_back = True, False
        with pytest.raises(TreeBusyError):
            work(permit=permit).do(task(web.url(HOST)))


def test_asked_at(work: Work) -> None:
    """An outcome says when the request had surely reached the server."""
    with Web(site({"/": page("<p>")}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST)))
    assert outcome.exchange.asked_at >= web.requests(path="/")[0].arrived


# -- failures


def test_missing_page_is_an_error(work: Work, root: Path) -> None:
    """A 404 is recorded with class, status, headers and attempts, and is not tried again."""
    with Web(site({}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST, "/gone")))
    assert (what(outcome), outcome.class_, outcome.status) == (FailedForGood, "http-4xx", 404)
    record = errors(root)[web.url(HOST, "/gone")]
    assert (record.class_, record.status, record.attempts, record.depth) == ("http-4xx", 404, 1, 3)
    assert record.headers is not None
    assert record.headers["x-why"] == "gone"
    assert pages(root) == {}
    check_tree(root)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_passing_failure(work: Work, root: Path, status: int) -> None:
    """A status that may pass is recorded only after the last attempt."""
    with Web(site({"/": Response(status, {"Retry-After": "7"})}), [HOST]) as web:
        worker = work()
        outcomes = [worker.do(task(web.url(HOST), attempt=n)) for n in (1, 2)]
        assert [(what(o), o.exchange.rest_s) for o in outcomes] == [(FailedForNow, 7.0)] * 2
        assert errors(root) == {}
        assert what(worker.do(task(web.url(HOST), attempt=3))) == FailedForGood
    record = errors(root)[web.url(HOST)]
    assert (record.class_, record.attempts) == ("http-5xx" if status >= 500 else "http-4xx", 3)


@pytest.mark.parametrize("status", [400, 401, 403, 410, 451, 501, 505])
def test_lasting_failure(work: Work, root: Path, status: int) -> None:
    """A status that will not change is recorded at the first attempt."""
    with Web(site({"/": Response(status)}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST)))) == FailedForGood
    assert errors(root)[web.url(HOST)].attempts == 1


@pytest.mark.parametrize(("text", "delay_s"), [("120", 120.0), ("-1", 0.0), ("1.5", 1.0), ("x", 0.0), ("9" * 30, 1e9)])
def test_retry_after(work: Work, text: str, delay_s: float) -> None:
    """Retry-After is a number of seconds, cut to whole ones and to a limit."""
    with Web(site({"/": Response(503, {"Retry-After": text})}), [HOST]) as web:
        assert work().do(task(web.url(HOST))).exchange.rest_s == delay_s


def test_too_large_is_an_error(work: Work, root: Path) -> None:
    """A page over fetch.max_bytes leaves only its error record."""
    settings = replace(SETTINGS, fetch=replace(SETTINGS.fetch, max_bytes=100))
    with Web(site({"/": page("." * 101)}), [HOST]) as web:
        assert what(work(settings).do(task(web.url(HOST)))) == FailedForGood
    assert errors(root)[web.url(HOST)].class_ == "too-large"
    check_tree(root)


def test_tree_error_passes_through(work: Work, root: Path) -> None:
    """If the tree is gone a TreeError is raised, and no new tree is made in its place."""
    with Web(site({"/": page("<p>")}), [HOST]) as web:
        worker = work()
        opened(worker, web.url(HOST))
        root.rename(root.with_name("away"))
        with pytest.raises(TreeError):
            worker.do(task(web.url(HOST)))
    assert not root.exists()


# -- robots.txt


def opened(worker: Worker, url: str, attempt: int = 1) -> Outcome:
    """Ask for the host's robots.txt."""
    return worker.do(RobotsTask(url, urls.host(url), attempt))


def test_robots_disallow(work: Work, root: Path) -> None:
    """A page that robots.txt disallows is an error of class robots, and is never fetched."""
    rules = Response(200, {"Content-Type": "text/plain"}, b"User-agent: fscrawl-tests\nDisallow: /private\n")
    with Web(site({"/public": page("")}, rules), [HOST]) as web:
        worker = work()
        assert what(opened(worker, web.url(HOST))) == RobotsKnown
        assert worker.do(task(web.url(HOST, "/private/x"))).class_ == "robots"
        assert what(worker.do(task(web.url(HOST, "/public")))) == "stored"
    assert {path for _, path in web.counts()} == {"/robots.txt", "/public"}
    assert errors(root)[web.url(HOST, "/private/x")].class_ == "robots"


def test_robots_off(work: Work) -> None:
    """With politeness.robots = false, robots.txt is not fetched."""
    settings = replace(SETTINGS, politeness=replace(SETTINGS.politeness, robots=False))
    with Web(site({"/": page("")}, Response(200, {}, b"User-agent: *\nDisallow: /")), [HOST]) as web:
        assert what(work(settings).do(task(web.url(HOST)))) == "stored"
    assert {path for _, path in web.counts()} == {"/"}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_missing_robots_allows_all(work: Work, status: int) -> None:
    """A robots.txt that is missing or forbidden allows everything (RFC 9309 2.3.1.3)."""
    with Web(site({"/": page("")}, Response(status, {}, b"User-agent: *\nDisallow: /")), [HOST]) as web:
        worker = work()
        assert what(opened(worker, web.url(HOST))) == RobotsKnown
        assert what(worker.do(task(web.url(HOST)))) == "stored"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_failing_robots(work: Work, root: Path, status: int) -> None:
    """If robots.txt cannot be fetched it is tried again; no page is fetched, and no rules are stored."""
    with Web(site({"/": page("")}, Response(status)), [HOST]) as web:
        worker = work()
        assert [what(opened(worker, web.url(HOST), n)) for n in (1, 2, 3)] == [FailedForNow] * 3
        outcome = worker.do(task(web.url(HOST), attempt=3))
        assert (what(outcome), outcome.status) == (FailedForGood, status)
    assert "robots.txt could not be fetched" in errors(root)[web.url(HOST)].message
    assert web.count(path="/") == 0
    assert list((root / ".fscrawl" / "robots").iterdir()) == []


def test_unreachable_robots(work: Work, root: Path) -> None:
    """The robots.txt of a dead host is tried again; if the host is given up, the class of the failure is recorded."""
    with Web(site({}), [HOST]) as web:
        port = web.port
    url = f"http://{HOST}:{port}/"
    worker = work()
    assert [opened(worker, url, n).exchange.health for n in (1, 2, 3)] == ["silent"] * 3
    assert worker.do(task(url)._replace(flags=parse_flags("gave-up=connect"))).class_ == "connect"
    assert errors(root)[url].class_ == "connect"


def test_robots_redirects_are_followed(work: Work) -> None:
    """robots.txt is followed over redirects, also to another host."""

    def serve(request: Request) -> Response:
        if request.host == OTHER:
            return Response(200, {}, b"User-agent: *\nDisallow: /private")
        if request.path in ("/robots.txt", "/r1"):
            to = "/r1" if request.path == "/robots.txt" else f"http://{OTHER}:{web.port}/rules"
            return Response(301, {"Location": to})
        return page("")

    with Web(serve, [HOST, OTHER]) as web:
        worker = work()
        assert what(opened(worker, web.url(HOST))) == RobotsKnown
        assert worker.do(task(web.url(HOST, "/private"))).class_ == "robots"
        assert what(worker.do(task(web.url(HOST, "/")))) == "stored"


def test_endless_robots_redirects_allow_all(work: Work) -> None:
    """After five hops a robots.txt that only redirects counts as not there (RFC 9309 2.3.1.2)."""
    with Web(site({"/": page("")}, Response(302, {"Location": "/robots.txt"})), [HOST]) as web:
        worker = work()
        assert what(opened(worker, web.url(HOST))) == RobotsKnown
        assert web.count(path="/robots.txt") == 6
        assert what(worker.do(task(web.url(HOST)))) == "stored"


@pytest.mark.parametrize(("line", "delay_s"), [("Crawl-delay: 1.5", 1.5), ("Request-rate: 1/5s", 5.0), ("", 0.0)])
def test_crawl_delay_is_reported(work: Work, line: str, delay_s: float) -> None:
    """The outcome has the delay that robots.txt asks for."""
    with Web(site({}, Response(200, {}, f"User-agent: *\n{line}\nDisallow:\n".encode())), [HOST]) as web:
        assert opened(work(), web.url(HOST)).delay_s == delay_s


@pytest.mark.parametrize(
    "text", [b"\xff\xfe\0\0", b"<!DOCTYPE html><p>not found", b"Crawl-delay: x\nDisallow", b"\0" * 999]
)
def test_nonsense_robots_allows_all(work: Work, text: bytes) -> None:
    """A robots.txt that is not one allows everything."""
    with Web(site({"/": page("")}, Response(200, {}, text)), [HOST]) as web:
        worker = work()
        assert (what(opened(worker, web.url(HOST))), what(worker.do(task(web.url(HOST))))) == (RobotsKnown, "stored")


def test_huge_robots_is_cut(work: Work) -> None:
    """The first 500 KiB of a huge robots.txt count."""
    text = b"User-agent: *\nDisallow: /private\n" + b"# and so on\n" * 60_000
    with Web(site({}, Response(200, {}, text)), [HOST]) as web:
        worker = work()
        assert what(opened(worker, web.url(HOST))) == RobotsKnown
        assert worker.do(task(web.url(HOST, "/private"))).class_ == "robots"


def test_robots_is_kept_in_the_tree(work: Work) -> None:
    """A host's robots.txt is fetched once, also with several workers."""
    rules = Response(200, {}, b"User-agent: *\nDisallow: /private\nCrawl-delay: 2\n")
    with Web(site({}, rules), [HOST]) as web:
        first = opened(work(), web.url(HOST))
        second = opened(work(), web.url(HOST))
        assert (first.delay_s, second.delay_s) == (2.0, 2.0)
        assert (first.exchange is None, second.exchange is None) == (False, True)
        assert work().do(task(web.url(HOST, "/private"))).class_ == "robots"
        assert web.count(path="/robots.txt") == 1


def test_deleted_robots_is_fetched_again(work: Work, root: Path) -> None:
    """Rules that were deleted while the crawl ran are fetched again; their absence is no permission."""
    rules = Response(200, {}, b"User-agent: *\nDisallow: /private\n")
    with Web(site({}, rules), [HOST]) as web:
        opened(work(), web.url(HOST))
        for path in (root / ".fscrawl" / "robots").iterdir():
            path.unlink()
        assert work().do(task(web.url(HOST, "/private"))).class_ == "robots"


@pytest.mark.parametrize("ahead_s", [40, -40])
def test_retry_after_as_a_date(work: Work, ahead_s: int) -> None:
    """Retry-After may be a date; a past one asks for no rest."""
    date = formatdate(time.time() + ahead_s, usegmt=True)
    with Web(site({"/": Response(429, {"Retry-After": date})}), [HOST]) as web:
        delay_s = work().do(task(web.url(HOST))).exchange.rest_s
    assert 30 < delay_s <= 40 if ahead_s > 0 else delay_s == 0


def test_robots_that_says_when(work: Work) -> None:
    """If robots.txt cannot be fetched now, its Retry-After is in the outcome."""
    with Web(site({}, Response(503, {"Retry-After": "7"})), [HOST]) as web:
        outcome = opened(work(), web.url(HOST))
    assert (what(outcome), outcome.exchange.health, outcome.exchange.rest_s) == (FailedForNow, "failing", 7.0)


@pytest.mark.parametrize(
    ("status", "health"), [(200, "answered"), (404, "answered"), (500, "failing"), (503, "failing"), (429, "failing")]
)
def test_health(work: Work, status: int, health: str) -> None:
    """An outcome says how the host does: it answers, or it says "not now"."""
    with Web(site({"/": Response(status, HTML)}), [HOST]) as web:
        assert work().do(task(web.url(HOST))).exchange.health == health


def dead_url() -> str:
    """Give a URL whose host answers nothing."""
    with Web(site({}), [HOST]) as web:
        return web.url(HOST)


def test_health_of_a_dead_host(work: Work) -> None:
    """A host that does not answer is silent."""
    assert opened(work(), dead_url()).exchange.health == "silent"


def test_probe(work: Work, root: Path) -> None:
    """A probe asks for robots.txt, accepts any answer, and stores nothing."""
    with Web(site({}, Response(503)), [HOST]) as web:
        outcome = work().do(probe(web.url(HOST, "/a")))
        assert (what(outcome), outcome.exchange.health) == (Probed, "answered")
    assert set(web.counts()) == {(HOST, "/robots.txt")}
    outcome = work().do(probe(dead_url()))
    assert (what(outcome), outcome.exchange.health) == (Probed, "silent")
    assert (pages(root), errors(root), list((root / ".fscrawl" / "robots").iterdir())) == ({}, {}, [])


class Expired:
    """The permit of a machine that cannot write heartbeats: it expires after `looks` looks at it."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def holds(self) -> bool:
        self.looks -= 1
        return self.looks >= 0


@pytest.mark.parametrize("flags", [NO_FLAGS, REFRESH, Flags(SITEMAP)], ids=format_flags)
def test_without_permit(tree: store.Tree, root: Path, flags: Flags) -> None:
    """Without a permit nothing is fetched, and an answer that comes after the permit expired is not stored."""
    with Web(site({"/a": page("new")}), [HOST]) as web:
        asked = task(web.url(HOST, "/a"))._replace(flags=flags, check=False)
        tree.put_page(asked.host, stored_record(asked.url), b"old")
        for looks in (0, 1):
            before = tree.page(asked.host, asked.key)
            worker = Worker(tree, CrawlConfig(SETTINGS, frozenset({web.url(HOST)})), 1, Expired(looks))
            assert what(worker.do(asked)) == Returned
            assert tree.page(asked.host, asked.key) == before
    assert web.count(path="/a") == 1


# -- hosts that were given up, and further tries


def test_given_up(work: Work, root: Path) -> None:
    """A page of a host given up is recorded without asking; a stored page is left as it is."""
    url = dead_url()
    gone = task(url)._replace(flags=parse_flags("gave-up=dns"))
    outcome = work().do(gone)
    assert (what(outcome), outcome.class_, outcome.exchange) == (FailedForGood, "dns", None)
    assert errors(root)[url].class_ == "dns"
    store.Tree(root, "m").drop_error(gone.host, gone.key)
    store.Tree(root, "m").put_page(gone.host, stored_record(url), b"old")
    assert what(work().do(gone)) == Known
    assert errors(root) == {}
    check_tree(root)


def test_again(tree: store.Tree, work: Work, root: Path) -> None:
    """A marked failure is tried again: a success removes its error record, a failure replaces it."""
    answers = {"/a": Response(500)}
    with Web(site(answers), [HOST]) as web:
        url = web.url(HOST, "/a")
        worker = work()
        worker.do(task(url, attempt=3))
        first = replace(errors(root)[url], failed_at="2001-01-01T00:00:00.000Z")
        tree.put_error(HOST + f"_{web.port}", first)
        again = task(url)._replace(flags=parse_flags(f"again={first.failed_at}"))
        assert what(worker.do(again._replace(attempt=3))) == FailedForGood
        second = errors(root)[url]
        assert (second.failed_at > first.failed_at, second.class_) == (True, "http-5xx")
        assert what(worker.do(again)) == Known, "it has failed since"
        answers["/a"] = page("healed")
        again = again._replace(flags=parse_flags(f"again={second.failed_at}"))
        assert [what(worker.do(again)), what(worker.do(again))] == ["stored", Known]
    assert web.count(path="/a") == 3
    assert errors(root) == {}
    check_tree(root)


def test_again_without_a_failure(work: Work) -> None:
    """If the error record is gone and no page is stored, the URL is fetched."""
    with Web(site({"/a": page("")}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST, "/a"))._replace(flags=parse_flags("again=t")))) == "stored"


# -- a page that is stored, once more

ETAG = {"etag": '"1"', "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT"}


def stored_record(url: str, body: bytes = b"old", headers: Mapping[str, str] = ETAG, **changes: Any) -> PageRecord:
    values: dict[str, Any] = {
        "url": url,
        "key": urls.key(url),
        "depth": 3,
        "referrer": "",
        "fetched_at": "2001-01-01T00:00:00.000Z",
        "machine": "m",
        "status": 200,
        "headers": dict(headers),
        "bytes": len(body),
        "sha256": sha256(body).hexdigest(),
        "elapsed": 0.1,
        "links": (url + "?old",),
    }
    return PageRecord(**values | changes)


@dataclass
class Refreshed:
    """A stored page that was looked at again: what the worker says of it, and the tree."""

    outcome: Outcome
    old: PageRecord
    new: PageRecord
    body: bytes | None
    asked: list[Mapping[str, str]]  # headers of the requests for it


Refresh = Callable[..., Refreshed]


@pytest.fixture
def refresh(tree: store.Tree, work: Work) -> Refresh:
    """Refresh a page of HOST, stored with `record`, that answers `answer` now."""

    def refresh(answer: Response, *, attempt: int = 3, robots: Response | None = None, **record: Any) -> Refreshed:
        body = record.pop("body", b"old")
        with Web(site({"/a": answer}, robots), [HOST]) as web:
            asked = task(web.url(HOST, "/a"), attempt=attempt)._replace(flags=parse_flags("refresh"))
            old = stored_record(asked.url, body or b"", **record)
            tree.put_page(asked.host, old, body)
            outcome = work().do(asked)
        heads = [exchange.headers for exchange in web.requests(path="/a")]
        path = Path(tree.path_of("htmls", asked.host, asked.key))
        assert tree.keys("errs", asked.host) == []
        check_tree(tree.root)
        new = tree.page(asked.host, asked.key)
        return Refreshed(outcome, old, new, path.read_bytes() if path.exists() else None, heads)

    return refresh


def test_unchanged_page(refresh: Refresh) -> None:
    """A page that has not changed keeps body and record, with the time of the check; its links are reported."""
    found = refresh(Response(304))
    assert [found.asked[0][name] for name in ("if-none-match", "if-modified-since")] == list(ETAG.values())
    assert (what(found.outcome), found.outcome.status, found.outcome.exchange.health) == (Unchanged, 304, "answered")
    assert found.outcome.links == found.old.links
    assert (found.new.checked_status, found.body) == (304, b"old")
    assert re.fullmatch(r"20[2-9]\d-.*Z", found.new.checked_at or "")
    assert replace(found.new, checked_at=None, checked_status=None) == found.old


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        ({"etag": 'W/"x"'}, {"if-none-match": 'W/"x"'}),
        ({"last-modified": "yesterday"}, {"if-modified-since": "yesterday"}),
        ({"etag": "caf\u00e9"}, {}),
        ({"etag": "a\tb", "last-modified": ""}, {}),
        ({}, {}),
    ],
)
def test_conditions(refresh: Refresh, headers: dict[str, str], sent: dict[str, str]) -> None:
    """What the page came with is sent back as it was, unless no header can carry it."""
    found = refresh(page("new"), headers=headers)
    conditions = {name: text for name, text in found.asked[0].items() if name.startswith("if-")}
    assert (conditions, found.body) == (sent, b"new")


def test_changed_page(refresh: Refresh) -> None:
    """If a page has changed, body and record are replaced, and its new links are reported."""
    found = refresh(page('<a href="/new">'), checked_at="t", checked_status=304)
    assert (what(found.outcome), found.body) == ("stored", b'<a href="/new">')
    assert found.outcome.links == found.new.links
    assert found.new.links[0].endswith("/new")
    assert found.new.fetched_at > found.old.fetched_at
    assert (found.new.checked_at, found.new.checked_status) == (None, None)


@pytest.mark.parametrize(
    ("answer", "kind", "body"),
    [
        (Response(301, {"Location": "/b"}), "redirect", None),
        (Response(200, {"Content-Type": "image/png"}, b"x"), "skipped", None),
        (page("now a page"), "stored", b"now a page"),
    ],
)
@pytest.mark.parametrize("before", ["page", "redirect", "skipped"])
def test_page_that_is_something_else_now(
    refresh: Refresh, answer: Response, kind: str, body: bytes | None, before: str
) -> None:
    """A page may become a redirect or another type, and the other way round: what it has no more is removed."""
    record: dict[str, Any] = {"body": b"old"}
    if before != "page":
        record = {"body": None, "sha256": "", before: "x", "status": 301}
    found = refresh(answer, **record)
    assert (what(found.outcome), found.body) == (kind, body)
    conditional = any(name.startswith("if-") for name in found.asked[0])
    assert conditional == (before == "page"), "what has no body has nothing to keep"


@pytest.mark.parametrize(
    "answer", [Response(404), Response(410), Response(500), Response(503), Response(302), Response(401)]
)
def test_page_that_cannot_be_had_any_more(refresh: Refresh, answer: Response) -> None:
    """A stored page stays, whatever the server answers now; its record says what that was."""
    found = refresh(answer)
    assert (what(found.outcome), found.outcome.status, found.body) == (Unchanged, answer.status, b"old")
    assert (found.new.checked_status, found.new.fetched_at) == (answer.status, found.old.fetched_at)


def test_page_that_cannot_be_had_now(refresh: Refresh) -> None:
    """A failure that may pass is tried again first; the last outcome has the health of the host and its rest."""
    busy = Response(503, {"Retry-After": "9"})
    assert [what(refresh(busy, attempt=n).outcome) for n in (1, 2)] == [FailedForNow] * 2
    outcome = refresh(busy).outcome
    assert (what(outcome), outcome.class_, outcome.exchange.health, outcome.exchange.rest_s) == (
        Unchanged,
        "http-5xx",
        "failing",
        9.0,
    )


def test_page_of_a_dead_host(tree: store.Tree, work: Work) -> None:
    """If the host is dead the page stays, too; the status in its record is 0."""
    url = dead_url()
    asked = task(url, attempt=3)._replace(flags=parse_flags("refresh"))
    tree.put_page(asked.host, stored_record(url), b"old")
    settings = replace(SETTINGS, politeness=replace(SETTINGS.politeness, robots=False))
    outcome = work(settings).do(asked)
    assert (what(outcome), outcome.exchange.health, outcome.class_) == (Unchanged, "silent", "connect")
    assert tree.page(asked.host, asked.key).checked_status == 0
    assert tree.keys("errs", asked.host) == []


@pytest.mark.parametrize("robots", [Response(200, {}, b"User-agent: *\nDisallow: /"), Response(503)])
def test_page_that_robots_forbids_now(refresh: Refresh, robots: Response) -> None:
    """A page that robots.txt forbids now, or whose robots.txt cannot be fetched, is left as it is, unasked."""
    found = refresh(page("new"), robots=robots)
    assert (what(found.outcome), found.new, found.asked) == (Known, found.old, [])


def test_page_whose_record_is_torn(tree: store.Tree, work: Work, root: Path) -> None:
    """A page whose record cannot be read is fetched anew."""
    with Web(site({"/a": page("new")}), [HOST]) as web:
        asked = task(web.url(HOST, "/a"))._replace(flags=parse_flags("refresh"))
        tree.put_page(asked.host, stored_record(asked.url), b"old")
        Path(tree.path_of("links", asked.host, asked.key)).write_bytes(b"{")
        assert what(work().do(asked)) == "stored"
    check_tree(root)


def test_sitemaps_are_not_refreshed(refresh: Refresh) -> None:
    """A sitemap is read once."""
    found = refresh(page("new"), body=None, sha256="", skipped=SITEMAP)
    assert (what(found.outcome), found.asked) == (Known, [])


# -- sitemaps


def urlset(*locations: str) -> Response:
    text = "".join(f"<url><loc>{location}</loc></url>" for location in locations)
    return Response(200, {"Content-Type": "application/xml"}, f"<urlset>{text}</urlset>".encode())


def index(*locations: str) -> Response:
    text = "".join(f"<sitemap><loc>{location}</loc></sitemap>" for location in locations)
    return Response(200, {"Content-Type": "text/xml"}, f"<sitemapindex>{text}</sitemapindex>".encode())


def read_sitemap(work: Work, web: Web, path: str, sitemap: str = SITEMAP, settings: Settings = SETTINGS) -> Outcome:
    return work(settings).do(task(web.url(HOST, path))._replace(flags=Flags(sitemap)))


def test_robots_names_sitemaps(work: Work) -> None:
    """The sitemaps that robots.txt names are reported if they are in the scope, each once; or none, by setting."""
    lines = ["/s.xml", f"http://{HOST}/t.xml", f"http://{OTHER}/", "mailto:a@b", "/s.xml"]
    rules = Response(200, {}, "\n".join(f"Sitemap: {line}" for line in lines).encode())
    without = replace(SETTINGS, crawl=CrawlSettings(sitemaps=False))
    with Web(site({}, rules), [HOST]) as web:
        assert opened(work(), web.url(HOST)).sitemaps == (web.url(HOST, "/s.xml"), f"http://{HOST}/t.xml")
        assert opened(work(without), web.url(HOST)).sitemaps == ()


def test_sitemap_that_no_expression_allows(work: Work) -> None:
    """A sitemap need not match crawl.allow, which is for pages, but crawl.deny keeps it out."""
    rules = Response(200, {}, b"Sitemap: /s.xml\nSitemap: /private/s.xml")
    crawl = CrawlSettings(allow=("/docs/",), deny=("private",))
    with Web(site({}, rules), [HOST]) as web:
        named = opened(work(replace(SETTINGS, crawl=crawl)), web.url(HOST)).sitemaps
        assert named == (web.url(HOST, "/s.xml"),)


def test_sitemap(work: Work, root: Path) -> None:
    """A sitemap is stored as a record without body, whose links are its URLs; those inside the scope are reported."""
    with Web(site({"/s.xml": urlset("/a", f"http://{OTHER}/", "/b")}), [HOST]) as web:
        outcome = read_sitemap(work, web, "/s.xml")
        assert (what(outcome), outcome.cut) == ("skipped", {"scope": 1})
        assert outcome.links == (web.url(HOST, "/a"), web.url(HOST, "/b"))
        record = pages(root)[web.url(HOST, "/s.xml")]
        assert (record.skipped, record.sha256, len(record.links), record.sitemaps) == (SITEMAP, "", 3, None)
        assert what(read_sitemap(work, web, "/s.xml")) == Known
    check_tree(root)


def test_sitemap_index(work: Work, root: Path) -> None:
    """An index names its parts; a part's own parts are not followed."""
    answers = {"/i.xml": index("/p.xml", f"http://{OTHER}/p.xml"), "/p.xml": index("/i.xml", "/q.xml")}
    with Web(site(answers), [HOST]) as web:
        outcome = read_sitemap(work, web, "/i.xml")
        assert (outcome.sitemaps, outcome.links) == ((web.url(HOST, "/p.xml"),), ())
        assert pages(root)[web.url(HOST, "/i.xml")].sitemaps == outcome.sitemaps
        assert read_sitemap(work, web, "/p.xml", SITEMAP_PART).sitemaps == ()
    check_tree(root)


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "application/gzip"}, {"Content-Type": "text/html"}])
def test_zipped_sitemap(work: Work, headers: dict[str, str]) -> None:
    """A gzipped sitemap is read, whatever its type says."""
    body = gzip.compress(urlset("/a").body)
    with Web(site({"/s.xml.gz": Response(200, headers, body)}), [HOST]) as web:
        assert read_sitemap(work, web, "/s.xml.gz").links == (web.url(HOST, "/a"),)


def test_redirected_sitemap(work: Work) -> None:
    """Redirects of a sitemap are followed, also away from its host."""

    def serve(request: Request) -> Response:
        if request.host == OTHER:
            return urlset(f"http://{HOST}/a")
        return Response(301, {"Location": "/t.xml" if request.path == "/s.xml" else f"http://{OTHER}:{web.port}/"})

    with Web(serve, [HOST, OTHER]) as web:
        assert read_sitemap(work, web, "/s.xml").links == (f"http://{HOST}/a",)


def test_sitemap_that_redirects_for_ever(work: Work, root: Path) -> None:
    """After five hops a sitemap is an ordinary redirect."""
    with Web(site({"/s.xml": Response(302, {"Location": "/s.xml?"})}), [HOST]) as web:
        assert what(read_sitemap(work, web, "/s.xml")) == "redirect"
    assert len(web.exchanges) == 6
    check_tree(root)


@pytest.mark.parametrize(("status", "kind"), [(404, FailedForGood), (403, FailedForGood), (503, FailedForNow)])
def test_sitemap_that_cannot_be_had(work: Work, root: Path, status: int, kind: type) -> None:
    """A sitemap that cannot be fetched fails as a page does."""
    with Web(site({"/s.xml": Response(status)}), [HOST]) as web:
        assert what(read_sitemap(work, web, "/s.xml")) == kind
    assert len(errors(root)) == (kind is FailedForGood)


def test_broken_sitemap(work: Work, root: Path) -> None:
    """If a sitemap is cut off, what came counts, and its record says that there may be more."""
    body = urlset("/a", "/b").body[:-20]
    with Web(site({"/s.xml": Response(200, {}, body)}), [HOST]) as web:
        assert read_sitemap(work, web, "/s.xml").links == (web.url(HOST, "/a"),)
        assert pages(root)[web.url(HOST, "/s.xml")].truncated is True


# -- the rest of a page


def test_more_links_than_are_kept(work: Work, root: Path) -> None:
    """The record of a page with more links than are kept says so."""
    with Web(site({"/": page("".join(f"<a href=/{n}>" for n in range(100_001)))}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST)))) == "stored"
    record = pages(root)[web.url(HOST)]
    assert record.truncated is True
    assert len(record.links) == 100_000


def test_nofollow_may_be_followed(work: Work, root: Path) -> None:
    """With crawl.follow_nofollow, nofollow links are reported, and still recorded as nofollow."""
    settings = replace(SETTINGS, crawl=replace(SETTINGS.crawl, follow_nofollow=True))
    with Web(site({"/": page('<a href="/yes"><a rel=nofollow href="/no">')}), [HOST]) as web:
        outcome = work(settings).do(task(web.url(HOST)))
    assert outcome.links == (web.url(HOST, "/yes"), web.url(HOST, "/no"))
    assert pages(root)[web.url(HOST)].nofollow == (web.url(HOST, "/no"),)
