"""What a worker does with a request that is no plain GET."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from msgspec.structs import replace

from fscrawl import store
from fscrawl.config.settings import Settings
from fscrawl.frontier.flags import parse_flags
from fscrawl.handlers.outcome import FailedForGood, FailedForNow, Known, Outcome, Stored, Unchanged
from fscrawl.request import FORM, JSON, Request, read, spelling
from tests.support.crawling import check_tree, errors, pages
from tests.support.raw import Raw, head
from tests.support.web import Request as Asked
from tests.support.web import Response, Web
from tests.support.workers import HOST, HTML, OTHER, SETTINGS, Work, dead_url, page, stored_record, task, what


def search(asked: Asked) -> Response:
    """A site with a search form: what it finds depends on the body."""
    if asked.path == "/robots.txt":
        return Response(200, {}, b"User-agent: *\nDisallow: /private")
    if asked.path.startswith("/busy/"):
        _, _, status, *after = asked.path.split("/")
        return Response(int(status), {**HTML, "Retry-After": after[0]} if after else HTML)
    if asked.path.startswith("/to/"):
        _, _, status, host = asked.path.split("/")
        return Response(int(status), {"Location": f"http://{host}:{asked.headers['host'].split(':')[1]}/x"})
    return page(f"<p>{asked.method} {asked.body.decode()}<a href=?next>b</a><a href=/search>c</a>")


def post(web: Web, path: str = "/search", body: bytes = b"q=1", host: str = HOST, **more: object) -> str:
    return spelling(Request(web.url(host, path), "POST", FORM, body)._replace(**more))


UNRULED = replace(SETTINGS, politeness=replace(SETTINGS.politeness, robots=False))


def stored(outcome: Outcome) -> Stored:
    assert isinstance(outcome, Stored)
    return outcome


def test_a_post_is_a_page(work: Work, root: Path) -> None:
    """The page has the key of its request, and its links are those of its URL, the URL itself among them."""
    with Web(search, [HOST]) as web:
        asked = post(web)
        outcome = stored(work().do(task(asked)))
        base = web.url(HOST)
    record = pages(root)[asked]
    assert (record.status, record.links) == (200, (f"{base}search?next", f"{base}search"))
    assert outcome.links == record.links
    check_tree(root)
    (exchange,) = web.requests(path="/search")
    assert (exchange.method, exchange.body, exchange.headers["content-type"]) == ("POST", b"q=1", FORM)


def test_two_bodies_are_two_pages(work: Work, root: Path) -> None:
    """Requests to one URL with other bodies, methods or sessions are pages of their own."""
    with Web(search, [HOST]) as web:
        url, worker = web.url(HOST, "/search"), work()
        asked = [post(web), post(web, body=b"q=2"), url, spelling(Request(url, "PUT", FORM, b"q=1"))]
        asked.append(spelling(Request(url, session="7")))
        for each in asked:
            assert what(worker.do(task(each))) == "page"
    assert set(pages(root)) == set(asked)
    assert len({record.sha256 for record in pages(root).values()}) == 4  # a session changes nothing here
    check_tree(root)


def test_robots(work: Work, root: Path) -> None:
    """What robots.txt does not allow is not sent, whatever the method; the error has the request."""
    with Web(search, [HOST]) as web:
        asked = post(web, "/private/search")
        assert what(work().do(task(asked))) == FailedForGood
    assert errors(root)[asked].class_ == "robots"
    assert web.count(path="/private/search") == 0


@pytest.mark.parametrize(
    ("status", "host", "meant"),
    [
        (303, HOST, Request("", "GET", headers=(("x-a", "b"),), session="7")),
        (302, OTHER, Request("")),
        (307, HOST, Request("", "POST", FORM, b"q=1", (("x-a", "b"),), "7")),
        (308, OTHER, Request("", "POST", FORM, b"q=1")),
    ],
)
def test_redirects(work: Work, root: Path, status: int, host: str, meant: Request) -> None:
    """A redirect of a POST is a page whose only link is the request that follows."""
    settings = replace(SETTINGS, crawl=replace(SETTINGS.crawl, scope="any"))
    with Web(search, [HOST, OTHER]) as web:
        asked = post(web, f"/to/{status}/{host}", headers=(("x-a", "b"),), session="7")
        outcome = stored(work(settings).do(task(asked)))
        target = spelling(meant._replace(url=web.url(host, "/x")))
    assert (outcome.kind, outcome.links) == ("redirect", (target,))
    assert (pages(root)[asked].redirect, pages(root)[asked].links) == (target, (target,))
    check_tree(root)


def test_a_redirect_to_itself(work: Work) -> None:
    """A 307 to the same request has no link; a 303 to the same URL leads to its GET."""

    def itself(asked: Asked) -> Response:
        return Response(int(asked.path[1:4]), {"Location": asked.path})

    settings = replace(SETTINGS, politeness=replace(SETTINGS.politeness, robots=False))
    with Web(itself, [HOST]) as web:
        worker = work(settings)
        assert stored(worker.do(task(post(web, "/307")))).links == ()
        assert stored(worker.do(task(post(web, "/303")))).links == (web.url(HOST, "/303"),)


REPEATED = replace(SETTINGS, fetch=replace(SETTINGS.fetch, retry_posts=True))


@pytest.mark.parametrize(
    ("path", "method", "settings"),
    [
        ("/busy/408", "POST", SETTINGS),
        ("/busy/425", "POST", SETTINGS),
        ("/busy/429", "PATCH", SETTINGS),
        ("/busy/503/10", "POST", SETTINGS),
        ("/busy/503", "PUT", SETTINGS),
        ("/busy/500", "POST", REPEATED),
    ],
)
def test_it_is_tried_again(work: Work, root: Path, path: str, method: str, settings: Settings) -> None:
    """A POST that the server has surely not done is tried as often as a GET; so is a PUT, which may be done twice."""
    with Web(search, [HOST]) as web:
        asked = post(web, path, method=method)
        worker = work(settings)
        outcomes = [what(worker.do(task(asked, attempt=attempt))) for attempt in (1, 2, 3)]
    assert outcomes == [FailedForNow, FailedForNow, FailedForGood]
    assert errors(root)[asked].attempts == 3
    assert "retry_posts" not in errors(root)[asked].message
    assert web.count(path=path) == 3


@pytest.mark.parametrize("path", ["/busy/500", "/busy/502", "/busy/503", "/busy/504"])
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_it_may_have_been_done(work: Work, root: Path, path: str, method: str) -> None:
    """A server that fails may have done what a POST asks for: its error record says why it is not sent again."""
    with Web(search, [HOST]) as web:
        asked = post(web, path, method=method)
        outcome = work().do(task(asked))
        assert (what(outcome), outcome.exchange.health) == (FailedForGood, "failing")
        record = errors(root)[asked]
        assert (record.class_, record.attempts, record.status) == ("http-5xx", 1, int(path[6:]))
        assert record.message == (
            f"the server answered {path[6:]}; it may have been done, so it is not sent again without being told "
            "(fetch.retry_posts)"
        )
        again = task(asked)._replace(flags=parse_flags(f"again={record.failed_at}"))
        assert what(work().do(again)) == FailedForGood  # by `fscrawl retry`, it is sent once more
    assert web.count(path=path) == 2


def test_a_post_without_an_answer(work: Work, root: Path) -> None:
    """It is sent again if it never left, and not if the connection ends behind it."""
    asked = spelling(Request(dead_url(), "POST", FORM, b"q=1"))
    assert what(work(UNRULED).do(task(asked))) == FailedForNow

    def hang_up(connection: socket.socket) -> None:
        heads.append(head(connection))

    heads: list[bytes] = []
    with Raw(hang_up, host=HOST) as server:
        asked = spelling(Request(server.url("/s"), "POST", FORM, b"q=1"))
        assert what(work(UNRULED).do(task(asked))) == FailedForGood
        assert server.over.wait(5)
    assert len(heads) == 1
    assert errors(root)[asked].class_ == "connect"
    assert "not sent again" in errors(root)[asked].message


def test_a_post_that_waits_for_robots(work: Work) -> None:
    """While the robots.txt of its host cannot be had, a POST waits as a GET does: it was not sent."""
    with Web(lambda _: Response(500), [HOST]) as web:
        assert what(work().do(task(post(web)))) == FailedForNow
        assert web.count(path="/search") == 0


def test_a_stored_request_is_known(work: Work, tree: store.Tree) -> None:
    """A request that is stored is not sent again; its links are told from its record."""
    with Web(search, [HOST]) as web:
        asked = task(post(web))
        link = post(web, body=b"q=2")
        bad = web.url(HOST, "/search#method=BREW")
        tree.put_page(asked.host, stored_record(asked.url, links=(link, bad)), b"old")
        outcome = work().do(asked)
    assert isinstance(outcome, Known)
    assert (outcome.links, len(outcome.cut["bad-request"])) == ((link,), 1)
    assert web.count() == 0


@pytest.mark.parametrize(("method", "asks_if_changed"), [("POST", False), ("GET", True)])
def test_refresh(work: Work, tree: store.Tree, root: Path, method: str, asks_if_changed: bool) -> None:
    """A POST is sent again without conditions; a GET with a session has them."""
    with Web(search, [HOST]) as web:
        request = Request(web.url(HOST, "/search"), method, session="7")
        asked = task(spelling(request))._replace(flags=parse_flags("refresh"))
        tree.put_page(asked.host, stored_record(asked.url), b"old")
        outcome = work().do(asked)
    (exchange,) = web.requests(path="/search")
    assert ("if-none-match" in exchange.headers) is asks_if_changed
    assert not isinstance(outcome, Unchanged)
    assert pages(root)[asked.url].sha256 != stored_record(asked.url).sha256
    check_tree(root)


def test_sessions_have_cookies_of_their_own(work: Work) -> None:
    """Requests of one session share cookies; another session, and requests without one, have others."""

    def counting(asked: Asked) -> Response:
        return Response(200, {**HTML, "Set-Cookie": f"id={asked.path[1:]}; Path=/"}, b"<p>")

    settings = replace(SETTINGS, politeness=replace(SETTINGS.politeness, robots=False))
    with Web(counting, [HOST]) as web:
        worker = work(settings)
        for path, session in [("/1", "a"), ("/2", "b"), ("/3", "a"), ("/4", ""), ("/5", "b"), ("/6", "")]:
            assert what(worker.do(task(post(web, path, session=session)))) == "page"
    sent = [exchange.headers.get("cookie") for exchange in web.requests()]
    assert sent == [None, None, "id=1", None, "id=2", "id=4"]


def test_what_claims_to_be_a_sitemap(work: Work, root: Path) -> None:
    """A request that somebody has marked as a sitemap in a log is sent as it is, and stored as a page."""
    with Web(search, [HOST]) as web:
        asked = post(web)
        assert what(work().do(task(asked)._replace(flags=parse_flags("sitemap")))) == "page"
    assert web.requests(path="/search")[0].method == "POST"
    assert pages(root)[asked].skipped is None


def test_json(work: Work, root: Path) -> None:
    """A JSON body goes out as JSON."""
    with Web(search, [HOST]) as web:
        asked = spelling(Request(web.url(HOST, "/api"), json={"page": 1}))
        assert what(work().do(task(asked))) == "page"
    assert web.requests(path="/api")[0].headers["content-type"] == JSON
    assert read(pages(root)[asked].url).body == b'{"page":1}'
