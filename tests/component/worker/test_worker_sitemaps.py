"""What a worker does with sitemaps."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from fscrawl import store
from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.frontier.flags import SITEMAP_PART, Flags, parse_flags
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.meaning import MOST_REDIRECTS
from fscrawl.handlers.outcome import FailedForGood, FailedForNow, Known, Outcome, Returned, Unchanged
from fscrawl.handlers.reading import Reading, UnreadableError
from fscrawl.http.answers import Failed
from fscrawl.parse.links import ParsedPage
from fscrawl.storage.records import SITEMAP
from fscrawl.urls import Joiner
from fscrawl.worker import Worker
from tests.support.crawling import check_tree, errors, pages
from tests.support.web import Request, Response, Web
from tests.support.workers import GENERATION, HOST, OTHER, SETTINGS, Work, opened, page, site, stored_record, task, what


def urlset(*locations: str) -> Response:
    text = "".join(f"<url><loc>{location}</loc></url>" for location in locations)
    return Response(200, {"Content-Type": "application/xml"}, f"<urlset>{text}</urlset>".encode())


def index(*locations: str) -> Response:
    text = "".join(f"<sitemap><loc>{location}</loc></sitemap>" for location in locations)
    return Response(200, {"Content-Type": "text/xml"}, f"<sitemapindex>{text}</sitemapindex>".encode())


def read_sitemap(work: Work, web: Web, path: str, sitemap: str = SITEMAP, settings: Settings = SETTINGS) -> Outcome:
    return work(settings).do(task(web.url(HOST, path))._replace(flags=Flags(sitemap), referrer=""))


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
        assert (what(outcome), len(outcome.cut["scope"])) == ("other", 1)
        assert outcome.links == (web.url(HOST, "/a"), web.url(HOST, "/b"))
        record = pages(root)[web.url(HOST, "/s.xml")]
        assert (record.skipped, record.sha256, len(record.links), record.sitemaps) == (SITEMAP, "", 3, None)
        assert record.ip == HOST
        known = [read_sitemap(work, web, "/s.xml"), work().do(task(web.url(HOST, "/s.xml")))]
        assert [what(each) for each in known] == [Known, Known]
        assert [(each.task.flags.sitemap, each.links) for each in known] == [("sitemap", outcome.links)] * 2
    check_tree(root)


def test_page_that_is_called_a_sitemap(work: Work) -> None:
    """A page that was stored as a page is told as one, though robots.txt calls it a sitemap."""
    with Web(site({"/s.xml": page('<a href="/x">')}), [HOST]) as web:
        work().do(task(web.url(HOST, "/s.xml")))
        known = read_sitemap(work, web, "/s.xml")
        assert (what(known), known.task.flags.sitemap, len(known.links)) == (Known, "", 1)


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
    """Redirects of a sitemap are followed on its host."""
    answers = {"/s.xml": Response(301, {"Location": "/t.xml"}), "/t.xml": Response(302, {"Location": "/u.xml"})}
    with Web(site({**answers, "/u.xml": urlset("/a")}), [HOST]) as web:
        assert read_sitemap(work, web, "/s.xml").links == (web.url(HOST, "/a"),)


ANY = replace(SETTINGS, crawl=CrawlSettings(scope="any", deny=("/secret",)))


@pytest.mark.parametrize("kind", [SITEMAP, SITEMAP_PART])
def test_sitemap_that_moved_to_another_host(work: Work, root: Path, kind: str) -> None:
    """A sitemap on another host in the scope is a task of its own: that host is not asked by the way."""

    def serve(request: Request) -> Response:
        return Response(301, {"Location": f"http://{OTHER}:{web.port}/t.xml"})

    with Web(serve, [HOST, OTHER]) as web:
        outcome = read_sitemap(work, web, "/s.xml", kind, ANY)
        assert (what(outcome), outcome.links, outcome.sitemaps) == ("redirect", (), (web.url(OTHER, "/t.xml"),))
        assert web.requests(OTHER) == []
        known = read_sitemap(work, web, "/s.xml", kind, ANY)
        assert (what(known), known.sitemaps, known.moved) == (Known, outcome.sitemaps, True)
    record = pages(root)[web.url(HOST, "/s.xml")]
    assert (record.redirect, record.skipped, record.sitemaps) == (web.url(OTHER, "/t.xml"), SITEMAP, outcome.sitemaps)
    check_tree(root)


def test_sitemap_that_moves_without_end(work: Work, root: Path) -> None:
    """A sitemap that two hosts send to each other, each time under a new name, ends as a chain of pages does."""

    def serve(request: Request) -> Response:
        number = int(request.path.removeprefix("/s.xml?")) if "?" in request.path else 0
        to = OTHER if number % 2 == 0 else HOST
        status = 404 if request.path == "/robots.txt" else 301
        return Response(status, {"Location": f"http://{to}:{web.port}/s.xml?{number + 1}"})

    with Web(serve, [HOST, OTHER]) as web:
        worker, url = work(ANY), web.url(HOST, "/s.xml")
        for before in range(MOST_REDIRECTS):
            outcome = worker.do(task(url)._replace(flags=Flags(SITEMAP, redirects=before)))
            (url,) = outcome.sitemaps
        outcome = worker.do(task(url)._replace(flags=Flags(SITEMAP, redirects=MOST_REDIRECTS)))
    assert (what(outcome), outcome.class_) == (FailedForGood, "redirects")
    assert list(errors(root)) == [url]
    check_tree(root)


@pytest.mark.parametrize("to", ["/secret/t.xml", "/private/t.xml"])
def test_redirects_of_sitemaps_keep_to_the_rules(work: Work, to: str) -> None:
    """A target that is outside the scope, or that robots.txt forbids, is not asked: it is a link of a redirect."""
    rules = Response(200, {}, b"User-agent: *\nDisallow: /private")
    with Web(site({"/s.xml": Response(301, {"Location": to}), to: urlset("/a")}, rules), [HOST]) as web:
        outcome = read_sitemap(work, web, "/s.xml", settings=ANY)
        assert (what(outcome), outcome.sitemaps) == ("redirect", ())
        assert {path for _, path in web.counts()} == {"/robots.txt", "/s.xml"}


@pytest.mark.parametrize("referrer", ["", "f" * 24])
def test_sitemap_named_elsewhere_keeps_to_the_rules(work: Work, root: Path, referrer: str) -> None:
    """A sitemap that its own host's robots.txt names is read whatever that forbids; one that others name is not."""
    rules = Response(200, {}, b"User-agent: *\nDisallow: /private\nSitemap: /private/named.xml")
    answers = {"/private/s.xml": urlset("/a"), "/private/named.xml": urlset("/b")}
    with Web(site(answers, rules), [HOST]) as web:
        there, named = (task(web.url(HOST, path))._replace(flags=Flags(SITEMAP), referrer=referrer) for path in answers)
        assert what(work().do(there)) == FailedForGood
        assert errors(root)[there.url].class_ == "robots"
        assert work().do(named).links == (web.url(HOST, "/b"),)


def test_sitemap_waits_after_robots(tree: store.Tree) -> None:
    """If a sitemap finds no rules of its host, robots.txt is fetched, and the sitemap is given back, as a page is."""
    with Web(site({"/s.xml": urlset("/a")}), [HOST]) as web:
        asked = task(web.url(HOST, "/s.xml"))._replace(flags=Flags(SITEMAP))
        worker = Worker(tree, CrawlConfig(SETTINGS, frozenset({web.url(HOST)}), GENERATION), 1)
        outcome = worker.do(asked)
        assert isinstance(outcome, Returned)
        assert outcome.asked_at is not None
        assert [path for _, path in web.counts()] == ["/robots.txt"]
        assert what(worker.do(asked)) == "other"


def test_redirects_of_sitemaps_keep_the_pace(work: Work) -> None:
    """Before each hop the delay of the host passes, as robots.txt asks."""
    rules = Response(200, {}, b"User-agent: *\nCrawl-delay: 0.3")
    with Web(site({"/s.xml": Response(301, {"Location": "/t.xml"}), "/t.xml": urlset("/a")}, rules), [HOST]) as web:
        began = time.monotonic()
        assert read_sitemap(work, web, "/s.xml").links == (web.url(HOST, "/a"),)
        assert time.monotonic() - began > 0.3


def test_sitemap_that_redirects_for_ever(work: Work, root: Path) -> None:
    """After five hops a sitemap is an ordinary redirect."""
    with Web(site({"/s.xml": Response(302, {"Location": "/s.xml?"})}), [HOST]) as web:
        assert what(read_sitemap(work, web, "/s.xml")) == "redirect"
    assert web.count(path="/s.xml") == 6
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


def _unreadable(reading: Reading, joiner: Joiner) -> ParsedPage:
    raise UnreadableError(Failed("parse", "it takes too long", retry=False))


def test_sitemap_that_takes_too_long(work: Work, root: Path) -> None:
    """A sitemap that cannot be read in time is an error, as a page is: it holds up no other host."""
    with Web(site({"/s.xml": urlset("/a")}), [HOST]) as web:
        url = web.url(HOST, "/s.xml")
        outcome = work(read=_unreadable).do(task(url)._replace(flags=Flags(SITEMAP), referrer=""))
    assert isinstance(outcome, FailedForGood)
    assert outcome.class_ == errors(root)[url].class_ == "parse"
    assert not pages(root)


def test_sitemap_that_takes_too_long_now(tree: store.Tree, work: Work) -> None:
    """A sitemap that could be read once, and cannot be now, stays as it was."""
    with Web(site({"/a": urlset("/new")}), [HOST]) as web:
        asked = task(web.url(HOST, "/a"))._replace(flags=parse_flags("refresh"))
        tree.put_page(asked.host, stored_record(asked.url, b"", sha256="", skipped=SITEMAP), None)
        before = tree.page(asked.host, asked.key)
        outcome = work(read=_unreadable).do(asked)
    assert what(outcome) is Unchanged
    assert tree.page(asked.host, asked.key).links == before.links
