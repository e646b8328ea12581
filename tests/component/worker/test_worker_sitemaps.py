"""What a worker does with sitemaps."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.frontier.flags import SITEMAP_PART, Flags
from fscrawl.handlers.outcome import FailedForGood, FailedForNow, Known, Outcome
from fscrawl.storage.records import SITEMAP
from tests.support.crawling import check_tree, errors, pages
from tests.support.web import Request, Response, Web
from tests.support.workers import HOST, OTHER, SETTINGS, Work, opened, page, site, task, what


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
