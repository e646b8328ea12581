"""What a worker does with a page: what it writes, and what it reports."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from fscrawl import store, urls
from fscrawl.config.settings import CrawlSettings
from fscrawl.handlers.outcome import FailedForGood, FailedForNow, Known, Stored
from tests.support.crawling import check_tree, errors, pages
from tests.support.web import Request, Response, Web
from tests.support.workers import GENERATION, HOST, HTML, OTHER, SETTINGS, Work, page, site, task, what


def test_page_is_stored_whole(work: Work, root: Path) -> None:
    """A page's body is stored byte for byte, and its record says all that the format promises."""
    body = '<title> A  page\n</title><a href="/b?x=1#top">b</a><a href=mailto:x@y>m</a><a href="c é">c</a>'
    with Web(site({"/a?q": page(body)}), [HOST]) as web:
        url = web.url(HOST, "/a?q")
        outcome = work().do(task(url))
    linked = (web.url(HOST, "/b?x=1"), web.url(HOST, "/c%20%C3%A9"))
    assert (what(outcome), outcome.links, outcome.bytes, outcome.status) == ("page", linked, len(body.encode()), 200)
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
        assert what(work().do(task(web.url(HOST)))) == "page"
    check_tree(root)


@pytest.mark.parametrize("status", [200, 302, 401])
def test_sessions_stay_in_memory(work: Work, root: Path, status: int) -> None:
    """A cookie goes back to its host, and no file of the tree has its value."""
    session = {"Set-Cookie": "id=hunter2; Path=/", "WWW-Authenticate": 'Digest nonce="hunter2"'}
    answer = Response(status, {**HTML, **session, "Location": "/there"}, b"<p>")
    with Web(site({"/": answer, "/b": page("")}), [HOST]) as web:
        worker = work()
        worker.do(task(web.url(HOST)))
        worker.do(task(web.url(HOST, "/b")))
    assert web.requests()[-1].headers["cookie"] == "id=hunter2"
    assert not [path for path in root.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    record = (pages(root) | errors(root))[web.url(HOST)]
    assert record.headers is not None
    assert (record.headers["set-cookie"], record.headers["www-authenticate"]) == ("", "")


def test_address(work: Work, root: Path) -> None:
    """The record of a page, of a redirect and of an unwanted type has the address that it came from."""
    moved, file = Response(302, {"Location": "/"}), Response(200, {"Content-Type": "application/pdf"}, b"%PDF-")
    with Web(site({"/": page("<p>"), "/moved": moved, "/file": file}), [HOST]) as web:
        worker = work()
        for path in ("/", "/moved", "/file"):
            worker.do(task(web.url(HOST, path)))
    assert [record.ip for record in pages(root).values()] == [HOST] * 3


def test_bad_ports_are_left_out(work: Work, root: Path) -> None:
    """Links and redirects to ports of other protocols are left out and counted, and the record has them."""
    links = "".join(f'<a href="http://{HOST}:{port}/">' for port in (25, 6000, 10080, 8))
    moved = Response(302, {"Location": f"http://{HOST}:22/"})
    with Web(site({"/": page(links), "/moved": moved}), [HOST]) as web:
        worker = work()
        linked, redirected = (worker.do(task(web.url(HOST, path))) for path in ("/", "/moved"))
    assert isinstance(linked, Stored)
    assert isinstance(redirected, Stored)
    assert (linked.links, len(linked.cut["bad-port"])) == ((f"http://{HOST}:8/",), 3)
    assert (redirected.links, len(redirected.cut["bad-port"])) == ((), 1)
    assert pages(root)[web.url(HOST, "/moved")].redirect == f"http://{HOST}:22/"


def test_empty_page_is_a_page(work: Work, root: Path) -> None:
    """An empty body is stored."""
    with Web(site({"/": page("")}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST)))) == "page"
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


def test_redirect_to_itself_with_a_cookie(work: Work, root: Path) -> None:
    """A site that looks if cookies come back sends the page when one does. If it never does, it is a redirect."""

    def looks(request: Request) -> Response:
        if request.path == "/a" and "seen=1" in request.headers.get("cookie", ""):
            return Response(200, HTML, b"<title>the page</title>")
        return Response(302, {"Location": request.path, "Set-Cookie": "seen=1; Path=/"})

    with Web(looks, [HOST]) as web:
        worker = work(replace(SETTINGS, politeness=replace(SETTINGS.politeness, robots=False)))
        outcome = worker.do(task(web.url(HOST, "/a")))
        assert isinstance(outcome, FailedForNow)
        assert outcome.class_ == "redirects"
        assert what(worker.do(task(web.url(HOST, "/a"), attempt=2))) == "page"
        assert what(worker.do(task(web.url(HOST, "/b")))) == FailedForNow
        assert what(worker.do(task(web.url(HOST, "/b"), attempt=SETTINGS.fetch.retries + 1))) == "redirect"
    assert pages(root)[web.url(HOST, "/a")].title == "the page"
    check_tree(root)


def test_redirect_without_location_is_an_error(work: Work, root: Path) -> None:
    """A 302 that leads nowhere and shows nothing is recorded as an error, which says so."""
    with Web(site({"/": Response(302, HTML)}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST)))) == FailedForGood
    record = errors(root)[web.url(HOST)]
    assert (record.class_, record.status) == ("protocol", 302)
    assert "Location" in record.message


@pytest.mark.parametrize("type_", ["application/pdf", "IMAGE/PNG", "text/plain; charset=utf-8", "text/htmlx"])
def test_unwanted_type_is_skipped(work: Work, root: Path, type_: str) -> None:
    """A page of an unwanted type is stored as a record that says so, without body and links."""
    answer = Response(200, {"Content-Type": type_}, b'<a href="/b">')
    with Web(site({"/a": answer}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST, "/a")))
    record = pages(root)[web.url(HOST, "/a")]
    assert (what(outcome), outcome.links, record.links, record.sha256) == ("other", (), (), "")
    assert record.skipped == f"type {type_.partition(';')[0].lower()}"
    check_tree(root)


def test_wanted_types_are_a_setting(work: Work, root: Path) -> None:
    """fetch.accept says which types are stored."""
    settings = replace(SETTINGS, fetch=replace(SETTINGS.fetch, accept=("text/plain",)))
    with Web(site({"/a": Response(200, {"Content-Type": "text/plain"}, b"a"), "/b": page("b")}), [HOST]) as web:
        worker = work(settings)
        kinds = [what(worker.do(task(web.url(HOST, path)))) for path in ("/a", "/b")]
    assert kinds == ["page", "other"]
    check_tree(root)


def test_links_cut_by_the_scope_are_counted(work: Work, root: Path) -> None:
    """Links outside the scope are in the record; they are counted, and not reported."""
    with Web(site({"/": page(f'<a href="/in"><a href="http://{OTHER}/"><a href="http://c.example/">')}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST)))
    assert (outcome.links, len(outcome.cut["scope"])) == ((web.url(HOST, "/in"),), 2)
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
        assert what(work().do(task(web.url(HOST)))) == "page"
        before = web.count()
        outcome = work().do(task(web.url(HOST)))
        assert (what(outcome), web.count()) == (Known, before)


def test_known_page_tells_its_links(work: Work) -> None:
    """The links of a stored page are reported: the machine that stored it may have died before it could."""
    with Web(site({"/": page('<a href="/x"><a href="http://elsewhere.example/">')}), [HOST]) as web:
        work().do(task(web.url(HOST)))
        outcome = work().do(task(web.url(HOST)))
        assert (what(outcome), outcome.links) == (Known, (web.url(HOST, "/x"),))


def test_outcomes_have_their_generation(work: Work) -> None:
    """Whatever tells links says by whose link rules they were chosen."""
    with Web(site({"/": page('<a href="/x">')}), [HOST]) as web:
        assert [work().do(task(web.url(HOST))).generation for _ in range(2)] == [GENERATION, GENERATION]


def test_known_failure_tells_when_it_was(work: Work, root: Path) -> None:
    """A page that has failed for good is not asked for again: its outcome says when it failed, as the first one did."""
    with Web(site({}), [HOST]) as web:
        failed, known = (work().do(task(web.url(HOST, "/a"))) for _ in range(2))
        assert (what(failed), what(known), web.count(path="/a")) == (FailedForGood, Known, 1)
        assert failed.failed_at == known.failed_at == errors(root)[web.url(HOST, "/a")].failed_at


def test_known_page_with_a_damaged_record(work: Work, tree: store.Tree) -> None:
    """A page whose record is damaged is not fetched, and tells nothing: it is for the audit to repair it."""
    with Web(site({"/a": page("<p>")}), [HOST]) as web:
        asked = task(web.url(HOST, "/a"))
        work().do(asked)
        Path(tree.path_of("links", asked.host, asked.key)).write_bytes(b"{")
        assert work().do(asked) == Known(asked)
        assert web.count(path="/a") == 1


def test_unchecked_page_is_not_looked_up(work: Work) -> None:
    """Without `check` the tree is not asked: nothing can be there."""
    with Web(site({"/a": page("<p>")}), [HOST]) as web:
        asked = task(web.url(HOST, "/a"))._replace(check=False)
        assert [what(work().do(asked)) for _ in range(2)] == ["page", "page"]


def test_asked_at(work: Work) -> None:
    """An outcome says when the request had surely reached the server."""
    with Web(site({"/": page("<p>")}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST)))
    assert outcome.exchange.asked_at >= web.requests(path="/")[0].arrived


@pytest.mark.gate
def test_more_links_than_are_kept(work: Work, root: Path) -> None:
    """The record of a page with more links than are kept says so."""
    with Web(site({"/": page("".join(f"<a href=/{n}></a>" for n in range(100_001)))}), [HOST]) as web:
        assert what(work().do(task(web.url(HOST)))) == "page"
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
