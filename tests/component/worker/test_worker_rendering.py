"""What a worker does with what a browser gives it, without a browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

import pytest
from msgspec.structs import replace

from fscrawl import urls
from fscrawl.admin.audit.check import Checker
from fscrawl.config.settings import CrawlSettings, RenderSettings, Settings, parse
from fscrawl.frontier.flags import REFRESH
from fscrawl.handlers.outcome import FailedForGood, FailedForNow, Returned, Stored, Unchanged
from fscrawl.render.messages import Answer, Ask, GaveWay, GivenUpError, Job, Rendered, Trouble
from fscrawl.request import Request, spelling
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree
from tests.support.web import Response, Web
from tests.support.workers import HOST, SETTINGS, Work, page, site, task

Fetch = Callable[[Ask], Answer]
Render = Callable[[Job, Fetch], Rendered | Trouble | GaveWay]
SHELL = page("<title>shell</title><div id=app></div><script src=/app.js></script>")
ITEM = "<title>Item</title><p>A teapot of blue stoneware.<a href=/one>1</a><a href='#/r'>r</a>"
ANSWERS = {"/": SHELL, "/api": page("x"), "/busy": Response(429, {"Retry-After": "7"})}


def seen(dom: str, *went_to: str) -> Rendered:
    return Rendered(dom.encode(), "done", 0.1, {}, went_to, ())


def always(render: RenderSettings | None = None, **more: object) -> Settings:
    return replace(SETTINGS, render=render or RenderSettings(when="always"), **more)  # type: ignore[arg-type]


def once(settings: Settings) -> Settings:
    return replace(settings, fetch=replace(settings.fetch, retries=0))


def record(tree: Tree, url: str) -> PageRecord:
    return tree.page(urls.host(url), urls.key(url))


def doms(tree: Tree) -> list[str]:
    return [path.name for path in tree.root.rglob("*.dom.html")]


def test_a_page_without_anything(work: Work, tree: Tree) -> None:
    """Scripts that remove the whole page leave nothing that could be stored; that is said."""
    with Web(site(ANSWERS), [HOST]) as web:
        outcome = work(always(), render=lambda job, fetch: seen("")).do(task(web.url(HOST)))
    assert isinstance(outcome, FailedForGood)
    assert (outcome.class_, outcome.message) == ("render", "its scripts have removed the whole page")
    assert Checker(tree).page(urls.host(web.url(HOST)), urls.key(web.url(HOST)))[0] is None


def test_a_page_that_gives_way(work: Work, tree: Tree) -> None:
    """It is rendered anew by the same answer; its record tells what was loaded the second time."""
    jobs: list[Job] = []

    def render(job: Job, fetch: Fetch) -> Rendered | GaveWay:
        jobs.append(job)
        for number in range(len(jobs)):
            fetch(Ask(number, f"{job.url}api", "GET", {}, b"", "XHR"))
        return GaveWay() if len(jobs) == 1 else seen(ITEM)

    with Web(site(ANSWERS), [HOST]) as web:
        url = web.url(HOST)
        assert isinstance(work(always(), render=render).do(task(url)), Stored)
        asked = web.count(HOST, "/"), web.count(HOST, "/api")
    assert jobs[1] == jobs[0]
    assert asked == (1, 3)
    rendered = record(tree, url).rendered
    assert rendered is not None
    assert rendered.requests == {urls.shown_host(urls.host(url)): 2}


@pytest.mark.parametrize("found", [seen(ITEM), Trouble("too much", retry=False)])
def test_what_a_browser_takes(work: Work, found: Rendered | Trouble) -> None:
    """What a page takes of the processor in its browser is a cost of its answer, each time that it was there."""
    costs = []
    for processor_s in (1.0, 40.0):
        took = iter([GaveWay(processor_s), found._replace(processor_s=processor_s)])
        with Web(site(ANSWERS), [HOST]) as web:
            outcome = work(always(), render=lambda job, fetch, took=took: next(took)).do(task(web.url(HOST)))
        assert isinstance(outcome, Stored | FailedForGood)
        assert outcome.exchange is not None
        costs.append(outcome.exchange.costly_s)
    assert costs[0] == 0.0
    assert 40.0 < costs[1] < 80.0


@pytest.mark.parametrize("ends", ["failed", "in vain"])
def test_an_empty_page_that_is_refreshed(work: Work, tree: Tree, ends: str) -> None:
    """It keeps the DOM that it has if rendering fails now, or if other pages of its host gain nothing by it."""
    settings = once(always(RenderSettings(when="empty")))
    answers = {**ANSWERS, **{f"/{n}": SHELL for n in range(8)}}
    with Web(site(answers), [HOST]) as web:
        url = web.url(HOST)
        first = work(settings, render=lambda job, fetch: seen(ITEM))
        assert isinstance(first.do(task(url)), Stored)
        again = task(url)._replace(flags=REFRESH)
        if ends == "failed":
            worker = work(settings, render=lambda job, fetch: Trouble("no browser", retry=True))
            assert isinstance(worker.do(again), Unchanged)
        else:
            worker = work(settings, render=lambda job, fetch: seen(ITEM if job.url == url else SHELL.body.decode()))
            for n in range(8):
                worker.do(task(web.url(HOST, f"/{n}")))
            assert record(tree, web.url(HOST, "/7")).rendered is None
            assert isinstance(worker.do(again), Stored)
    assert record(tree, url).title == "Item"
    assert record(tree, url).is_rendered
    assert f"{urls.key(url)}.dom.html" in doms(tree)


def test_pages_that_gain_a_little(work: Work, tree: Tree) -> None:
    """A few words that only scripts show are a gain: all such pages of a host are rendered."""
    with Web(site({f"/{n}": SHELL for n in range(9)}), [HOST]) as web:
        pages = [web.url(HOST, f"/{n}") for n in range(9)]
        worker = work(always(RenderSettings(when="empty")), render=lambda job, fetch: seen("<p>Blue teapot"))
        for url in pages:
            worker.do(task(url))
        assert all(record(tree, url).is_rendered for url in pages)


def test_hosts_whose_empty_pages_never_end(work: Work, tree: Tree) -> None:
    """If rendering fails for one page after the other, the next ones are stored as they are, at once."""
    rendered: list[str] = []

    def render(job: Job, fetch: Fetch) -> Trouble:
        rendered.append(job.url)
        return Trouble("its scripts were busy", retry=False)

    with Web(site({f"/{n}": SHELL for n in range(9)}), [HOST]) as web:
        worker = work(always(RenderSettings(when="empty")), render=render)
        for n in range(9):
            assert isinstance(worker.do(task(web.url(HOST, f"/{n}"))), Stored)
        failed = record(tree, web.url(HOST, "/0")).rendered
    assert len(rendered) == 5
    assert failed is not None
    assert failed.ended == "failed"


class _Permit:
    is_held = True

    def holds(self) -> bool:
        return self.is_held


@pytest.mark.parametrize("found", [seen(ITEM), Trouble("it hangs", retry=False)])
def test_a_permit_that_ends_while_a_page_waits(work: Work, tree: Tree, found: Rendered | Trouble) -> None:
    """Nothing is written for a host that another machine may have by now."""
    permit = _Permit()

    def render(job: Job, fetch: Fetch) -> Rendered | Trouble:
        fetch(Ask(1, f"{job.url}api", "GET", {}, b"", "XHR"))
        permit.is_held = False
        return found

    with Web(site(ANSWERS), [HOST]) as web:
        began = time.monotonic()
        outcome = work(always(), permit, render=render).do(task(web.url(HOST)))  # type: ignore[arg-type]
    assert isinstance(outcome, Returned)
    assert outcome.asked_at is not None
    assert outcome.asked_at > began
    assert [path for directory in ("htmls", "links", "errs") for path in tree.root.glob(f"{directory}/*/*")] == []


def test_a_page_that_waits_in_vain(work: Work) -> None:
    """If it is given back, its host's delay counts from when it was asked."""

    def render(job: Job, fetch: Fetch) -> Rendered:
        raise GivenUpError

    with Web(site(ANSWERS), [HOST]) as web:
        outcome = work(always(), render=render).do(task(web.url(HOST)))
    assert isinstance(outcome, Returned)
    assert outcome.asked_at is not None


def _asks(path: str, asking: list[tuple[float, float]], dom: str = ITEM) -> Render:
    """Ask for something a moment after the page. `asking`: gets the moment before, on both clocks."""

    def render(job: Job, fetch: Fetch) -> Rendered:
        time.sleep(0.3)
        asking.append((time.monotonic(), time.time()))
        fetch(Ask(1, f"{job.url}{path}", "GET", {}, b"", "XHR"))
        return seen(dom)

    return render


def test_the_delay_counts_from_the_last_request(work: Work, tree: Tree) -> None:
    """It does so whether the page is stored or fails; its record says when the page itself was fetched."""
    asking: list[tuple[float, float]] = []
    with Web(site(ANSWERS), [HOST]) as web:
        table = parse(f'[[site]]\nhosts = ["{HOST}:{web.port}"]\nexpect = ["css:h1.nothing"]\n').sites
        strict = always(sites=table)
        failed = work(strict, render=_asks("api", asking)).do(task(web.url(HOST)))
        stored = work(always(), render=_asks("api", asking)).do(task(web.url(HOST)))
        assert isinstance(stored, Stored)
        assert isinstance(failed, FailedForNow)
        fetched_at = datetime.fromisoformat(record(tree, web.url(HOST)).fetched_at).timestamp()
    for outcome, (before, _) in zip((failed, stored), asking, strict=True):
        assert outcome.exchange.asked_at >= before
    assert fetched_at < asking[-1][1] - 0.25


def test_a_host_that_says_not_now(work: Work, tree: Tree) -> None:
    """A page that its host does not let load all is tried again, as Retry-After says; at last it is what it is."""
    with Web(site(ANSWERS), [HOST]) as web:
        worker = work(always(), render=_asks("busy", []))
        first = worker.do(task(web.url(HOST)))
        last = worker.do(task(web.url(HOST), attempt=SETTINGS.fetch.retries + 1))
    assert isinstance(first, FailedForNow)
    assert (first.class_, first.exchange.rest_s, first.exchange.health) == ("http-4xx", 7.0, "failing")
    assert "429" in first.message
    assert isinstance(last, Stored)
    assert record(tree, web.url(HOST)).title == "Item"


def test_html_of_another_name(work: Work, tree: Tree) -> None:
    """HTML that its server calls something else is HTML for the browser, too, in the encoding that it was read with."""
    given: list[str] = []

    def render(job: Job, fetch: Fetch) -> Rendered:
        given.append(job.headers["content-type"])
        return seen(ITEM)

    body = b"<!doctype html><meta charset=latin1><title>x</title><script></script>"
    with Web(site({"/": Response(200, {"Content-Type": "application/octet-stream"}, body)}), [HOST]) as web:
        work(always(), render=render).do(task(web.url(HOST)))
    assert given == ["text/html; charset=windows-1252"]


def test_queries_of_a_dom(work: Work, tree: Tree) -> None:
    """A DOM is in UTF-8, but the queries of its links are written in the encoding of the page, as its browser does."""
    body = b"<!doctype html><meta charset=euc-jp><script></script><a href='/?a=\xad\xea'></a>"
    with Web(site({"/": Response(200, {"Content-Type": "text/html"}, body)}), [HOST]) as web:
        url = web.url(HOST)
        work(always(), render=lambda job, fetch: seen("<a href='/?a=㈱'></a><a href='/?b=㈱'></a>")).do(task(url))
        assert record(tree, url).links == (f"{url}?a=%AD%EA", f"{url}?b=%AD%EA")


def test_links_obey_the_settings(work: Work, tree: Tree) -> None:
    """Routes and places of scripts lose their query as links do; routes of hosts that are not rendered lead nowhere."""
    dom = ITEM + "<a href='/?q=1#/s'>s</a><a href='http://other.example/x#/t'>t</a>"
    with Web(site(ANSWERS), [HOST]) as web:
        url = web.url(HOST)
        settings = always(RenderSettings(hosts=(f"{HOST}:{web.port}",)), crawl=CrawlSettings(drop_query=True))
        work(settings, render=lambda job, fetch: seen(dom, f"{url}x?sid=3", f"{url}y#/z")).do(task(url))
        found = record(tree, url).links
        routes = [spelling(Request(url, fragment=each)) for each in ("/r", "/s")]
        places = [f"{url}x", spelling(Request(f"{url}y", fragment="/z"))]
        assert found == (f"{url}one", "http://other.example/x", *routes, *places)


@pytest.mark.parametrize("where", ["body", "dom"])
def test_nofollow_of_either(work: Work, tree: Tree, where: str) -> None:
    """If the response or the DOM says that no link is to be followed, none is."""
    robots = "<meta name=robots content=nofollow>"
    shell = SHELL.body.decode() + "<a href=/two>2</a>" + (robots if where == "body" else "")
    with Web(site({"/": page(shell)}), [HOST]) as web:
        url = web.url(HOST)
        work(always(), render=lambda job, fetch: seen(ITEM + (robots if where == "dom" else ""))).do(task(url))
        found = record(tree, url)
    assert found.links == ()
    assert {f"{url}one", f"{url}two"} <= set(found.nofollow or ())


def test_a_link_that_scripts_mark(work: Work, tree: Tree) -> None:
    """A link that is nofollow in the DOM is not followed, though it was none in the response."""
    shell = page(SHELL.body.decode() + "<a href=/two>2</a><a href=/three>3</a>")
    with Web(site({"/": shell}), [HOST]) as web:
        url = web.url(HOST)
        work(always(), render=lambda job, fetch: seen("<a rel=nofollow href=/two>2</a>")).do(task(url))
        found = record(tree, url)
    assert (found.links, found.nofollow) == ((f"{url}three",), (f"{url}two",))


def test_a_redirect_to_a_route(work: Work, tree: Tree) -> None:
    """A redirect to another state of the application leads there, even from the same URL, if it will be rendered."""
    answers = {"/": Response(302, {"Location": "/#/login"})}
    with Web(site(answers), [HOST]) as web:
        url = web.url(HOST)
        work(always(), render=lambda job, fetch: seen(ITEM)).do(task(url))
        assert record(tree, url).links == (spelling(Request(url, fragment="/login")),)
        route = spelling(Request(url, fragment="/old"))
        work(always(), render=lambda job, fetch: seen(ITEM)).do(task(route))
        assert record(tree, route).redirect == spelling(Request(url, fragment="/login"))


def test_the_address_of_a_page_that_loads_from_others(work: Work, tree: Tree) -> None:
    """Its record has the address that the page itself came from, not the last one that it loaded from."""
    other = "127.0.77.2"

    def render(job: Job, fetch: Fetch) -> Rendered:
        assert fetch(Ask(1, web.url(other, "/api"), "GET", {}, b"", "XHR")).status == 200
        return seen(ITEM)

    with Web(site(ANSWERS), [HOST, other]) as web:
        assert isinstance(work(always(), render=render).do(task(web.url(HOST))), Stored)
        assert record(tree, web.url(HOST)).ip == HOST
