"""What a worker does with robots.txt, whatever it is answered."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from fscrawl import store
from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.frontier.flags import SITEMAP, Flags, parse_flags
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import Exchange, FailedForGood, FailedForNow, Known, Returned, RobotsKnown
from fscrawl.worker import Worker
from tests.support.crawling import errors
from tests.support.web import Request, Response, Web
from tests.support.workers import GENERATION, HOST, OTHER, SETTINGS, Work, opened, page, site, stored_record, task, what


def test_robots_disallow(work: Work, root: Path) -> None:
    """A page that robots.txt disallows is an error of class robots, and is never fetched."""
    rules = Response(200, {"Content-Type": "text/plain"}, b"User-agent: fscrawl-tests\nDisallow: /private\n")
    with Web(site({"/public": page("")}, rules), [HOST]) as web:
        worker = work()
        assert what(opened(worker, web.url(HOST))) == RobotsKnown
        assert worker.do(task(web.url(HOST, "/private/x"))).class_ == "robots"
        assert what(worker.do(task(web.url(HOST, "/public")))) == "page"
    assert {path for _, path in web.counts()} == {"/robots.txt", "/public"}
    assert errors(root)[web.url(HOST, "/private/x")].class_ == "robots"


@pytest.mark.parametrize("flags", ["", "refresh"])
@pytest.mark.parametrize("rules", ["", "Disallow: /"])
def test_page_waits_after_robots(tree: store.Tree, flags: str, rules: str) -> None:
    """If a page finds no rules of its host, robots.txt is fetched, and the page is given back: the host has a delay.

    So it is after a day, and for a worker that does not see what another one has just stored.
    """
    robots = Response(200, {}, f"User-agent: *\n{rules}\n".encode())
    with Web(site({"/a": page("new")}, robots), [HOST]) as web:
        asked = task(web.url(HOST, "/a"))._replace(flags=parse_flags(flags))
        if flags:
            tree.put_page(asked.host, stored_record(asked.url), b"old")
        worker = Worker(tree, CrawlConfig(SETTINGS, frozenset({web.url(HOST)}), GENERATION), 1)
        before = time.monotonic()
        outcome = worker.do(asked)
        assert isinstance(outcome, Returned)
        assert (outcome.task, [path for _, path in web.counts()]) == (asked, ["/robots.txt"])
        assert before < (outcome.asked_at or 0.0) <= time.monotonic()
        assert what(worker.do(asked)) == ("page" if not rules else Known if flags else FailedForGood)
        assert web.count(path="/robots.txt") == 1


def test_robots_off(work: Work) -> None:
    """With politeness.robots = false, robots.txt is not fetched."""
    settings = replace(SETTINGS, politeness=replace(SETTINGS.politeness, robots=False))
    with Web(site({"/": page("")}, Response(200, {}, b"User-agent: *\nDisallow: /")), [HOST]) as web:
        assert what(work(settings).do(task(web.url(HOST)))) == "page"
    assert {path for _, path in web.counts()} == {"/"}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_missing_robots_allows_all(work: Work, status: int) -> None:
    """A robots.txt that is missing or forbidden allows everything (RFC 9309 2.3.1.3)."""
    with Web(site({"/": page("")}, Response(status, {}, b"User-agent: *\nDisallow: /")), [HOST]) as web:
        worker = work()
        assert what(opened(worker, web.url(HOST))) == RobotsKnown
        assert what(worker.do(task(web.url(HOST)))) == "page"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_failing_robots(work: Work, root: Path, status: int) -> None:
    """If robots.txt cannot be fetched it is tried again; no page is fetched, and no rules are stored."""
    with Web(site({"/": page("")}, Response(status)), [HOST]) as web:
        worker = work()
        assert [what(opened(worker, web.url(HOST), n)) for n in (1, 2, 3)] == [FailedForNow] * 3
        outcome = worker.do(task(web.url(HOST), attempt=3))
        assert what(outcome) == FailedForGood
    record = errors(root)[web.url(HOST)]
    assert record.message.startswith("robots.txt could not be fetched")
    assert record.status == status
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


ANY = replace(SETTINGS, crawl=CrawlSettings(scope="any", deny=("/secret",)))


class Moved:
    """HOST's robots.txt redirects to /r1, and this to `to`, a path of OTHER, which forbids /private and /rules."""

    def __init__(self, to: str) -> None:
        self.to = to
        self.port = 0

    def __call__(self, request: Request) -> Response:
        if request.host == OTHER:
            return Response(200, {}, b"User-agent: *\nDisallow: /private\nDisallow: /rules")
        if request.path == "/robots.txt":
            return Response(301, {"Location": "/r1"})
        if request.path == "/r1":
            return Response(301, {"Location": f"http://{OTHER}:{self.port}{self.to}"})
        return page("")


def test_robots_redirects_are_followed(work: Work) -> None:
    """robots.txt is followed over redirects on its host, and to the robots.txt of another host in the scope."""
    with Web(moved := Moved("/robots.txt"), [HOST, OTHER]) as web:
        moved.port = web.port
        worker = work(ANY)
        assert what(opened(worker, web.url(HOST))) == RobotsKnown
        assert worker.do(task(web.url(HOST, "/private"))).class_ == "robots"
        assert what(worker.do(task(web.url(HOST, "/")))) == "page"
        assert opened(worker, web.url(OTHER)).exchange is None  # its rules are known now
        assert [path for host, path in web.counts() if host == OTHER] == ["/robots.txt"]


@pytest.mark.parametrize(
    ("settings", "to"), [(SETTINGS, "/robots.txt"), (ANY, "/secret/robots.txt"), (ANY, "/rules"), (ANY, "/free")]
)
def test_robots_redirects_keep_to_the_scope(work: Work, settings: Settings, to: str) -> None:
    """What is outside the scope, or is not a host's own robots.txt, is not asked, whatever login there is for it."""
    with Web(moved := Moved(to), [HOST, OTHER]) as web:
        moved.port = web.port
        auth = {f"{OTHER}:{web.port}": "me:hunter2"}
        worker = work(replace(settings, fetch=replace(settings.fetch, auth=auth)))
        assert what(opened(worker, web.url(HOST))) == RobotsKnown
        assert what(worker.do(task(web.url(HOST, "/private")))) == "page"
        assert web.requests(OTHER) == []


def test_no_login_goes_along(work: Work) -> None:
    """A login and a cookie of the host that redirects do not go to another one."""
    with Web(moved := Moved("/robots.txt"), [HOST, OTHER]) as web:
        moved.port = web.port
        fetch = replace(ANY.fetch, auth={f"{HOST}:{web.port}": "me:hunter2"})
        opened(work(replace(ANY, fetch=fetch)), web.url(HOST))
        assert ["authorization" in each.headers for each in web.requests()] == [True, True, False]


def test_robots_redirects_keep_the_pace(work: Work) -> None:
    """Before each hop the delay passes."""
    with Web(moved := Moved("/robots.txt"), [HOST, OTHER]) as web:
        moved.port = web.port
        began = time.monotonic()
        opened(work(replace(ANY, politeness=replace(ANY.politeness, delay=0.2))), web.url(HOST))
        assert time.monotonic() - began > 0.4


def test_endless_robots_redirects_allow_all(work: Work) -> None:
    """After five hops a robots.txt that only redirects counts as not there (RFC 9309 2.3.1.2)."""
    with Web(site({"/": page("")}, Response(302, {"Location": "/robots.txt"})), [HOST]) as web:
        worker = work()
        assert what(opened(worker, web.url(HOST))) == RobotsKnown
        assert web.count(path="/robots.txt") == 6
        assert what(worker.do(task(web.url(HOST)))) == "page"


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
        assert (what(opened(worker, web.url(HOST))), what(worker.do(task(web.url(HOST))))) == (RobotsKnown, "page")


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


def test_robots_that_says_when(work: Work) -> None:
    """If robots.txt cannot be fetched now, its Retry-After is in the outcome."""
    with Web(site({}, Response(503, {"Retry-After": "7"})), [HOST]) as web:
        outcome = opened(work(), web.url(HOST))
    assert (what(outcome), outcome.exchange.health, outcome.exchange.rest_s) == (FailedForNow, "failing", 7.0)


@pytest.mark.parametrize("sitemap", ["", SITEMAP])
@pytest.mark.parametrize("path", ["/x", "/y"])
def test_rules_that_take_long(work: Work, sitemap: str, path: str) -> None:
    """A host whose robots.txt takes long to go by rests after each page that it forbids or allows; others need not."""
    many = "".join(f"Disallow: /*a{number}b\n" for number in range(25_000))
    rests = []
    for rules in ("", many):
        robots = Response(200, {}, f"User-agent: *\nDisallow: /x\n{rules}".encode())
        with Web(site({}, robots), [HOST]) as web:
            worker = work(SETTINGS)
            opened(worker, web.url(HOST))
            url = web.url(HOST, f"{path}{'a' * 1900}")
            outcome = worker.do(task(url)._replace(flags=Flags(sitemap)))
            assert isinstance(outcome, FailedForGood)
            is_forbidden = path == "/x"
            assert outcome.class_ == ("robots" if is_forbidden else "http-4xx")
            exchange = outcome.exchange or Exchange(None, "unknown")
            rests.append((exchange.health, exchange.costly_s > 0.01))
            assert web.count(HOST) == (1 if is_forbidden else 2)
    health = "unknown" if is_forbidden else "answered"
    assert rests == [(health, False), (health, True)]


@pytest.mark.gate
@pytest.mark.parametrize("many", [0, 30_000])
def test_sitemaps_that_take_long(work: Work, many: int) -> None:
    """So does a host whose robots.txt names thousands of sitemaps, after one that is not among them."""
    named = "".join(f"Sitemap:/{n}\n" for n in range(many))
    with Web(site({}, Response(200, {}, f"User-agent: *\nDisallow: /\n{named}".encode())), [HOST]) as web:
        worker = work(SETTINGS)
        opened(worker, web.url(HOST))
        outcome = worker.do(task(web.url(HOST, "/x"))._replace(flags=Flags(SITEMAP)))
    assert (what(outcome), outcome.class_) == (FailedForGood, "robots")
    assert bool(outcome.exchange and outcome.exchange.costly_s > 0.01) == bool(many)


@pytest.mark.parametrize(("retries", "found"), [(3, [FailedForNow, RobotsKnown]), (0, [RobotsKnown, RobotsKnown])])
def test_a_host_that_is_met_is_not_waited_for(work: Work, retries: int, found: list[type]) -> None:
    """The first try may take as long as a connection may take to open; if there are others, they have their time."""
    settings = replace(SETTINGS, fetch=replace(SETTINGS.fetch, connect_timeout=0.2, timeout=30, retries=retries))
    with Web(site({}, Response(404, delay_s=1.0)), [HOST]) as web:
        assert [what(opened(work(settings), web.url(HOST), n)) for n in (1, 2)] == found
