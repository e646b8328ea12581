"""What servers may make a worker write: each kind of record has a bound, and what is left out is counted."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fscrawl import store, urls
from fscrawl.frontier.flags import SITEMAP, Flags
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.meaning import MOST_REDIRECTS
from fscrawl.handlers.outcome import FailedForGood, Known, Stored, Unchanged
from fscrawl.handlers.records import MAX_HEADER_CHARS, MAX_HEADERS_CHARS
from fscrawl.parse import sitemaps
from fscrawl.parse.directives import MAX_DIRECTIVES
from fscrawl.storage.records import RobotsRecord
from fscrawl.urls import MAX_URL_CHARS
from tests.support.crawling import check_tree, errors, pages
from tests.support.web import Pages, Request, Response, Web
from tests.support.workers import (
    GENERATION,
    HOST,
    HTML,
    SETTINGS,
    ObeyedWorker,
    Work,
    opened,
    page,
    site,
    stored_record,
    task,
    what,
)

LONG = "x" * (MAX_URL_CHARS + 1)
XML = {"Content-Type": "application/xml", "Content-Encoding": "gzip"}
SITEMAP_CHARS = 20_000


def record_bytes(root: Path) -> int:
    """Give the size of all records together."""
    return sum(path.stat().st_size for directory in ("links", "errs") for path in (root / directory).rglob("*.json"))


def test_references_that_are_too_long(work: Work, root: Path) -> None:
    """A base, a link and a canonical that are too long are left out, and counted; the others are kept."""
    html = f"<base href='/{LONG}/'><a href='/a'></a><a href='{LONG}'></a><a rel=nofollow href='/{LONG}'></a>"
    with Web(site({"/": page(html)}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST)))
    assert isinstance(outcome, Stored)
    assert (outcome.links, len(set(outcome.cut["length"]))) == ((web.url(HOST, "/a"),), 3)
    record = pages(root)[web.url(HOST)]
    assert (record.links, record.nofollow, record.too_long) == (outcome.links, None, 3)
    check_tree(root)


def test_redirect_to_a_long_url(work: Work, root: Path) -> None:
    """A redirect whose target is too long for a URL is a failure of class too-large, and none of it is kept."""
    with Web(site({"/": Response(302, {"Location": "/" + "x" * 60_000})}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST)))
    assert isinstance(outcome, FailedForGood)
    record = errors(root)[web.url(HOST)]
    assert (record.class_, record.status, record.too_long) == ("too-large", 302, 1)
    assert record.message == f"the target of the redirect has 60001 characters, more than {MAX_URL_CHARS}"
    assert record_bytes(root) < 1000


def test_page_that_now_redirects_to_a_long_url(tree: store.Tree) -> None:
    """In a refresh, such a page stays as it is."""
    with Web(site({"/": Response(302, {"Location": "/" + LONG})}), [HOST]) as web:
        url = web.url(HOST)
        tree.put_page(urls.host(url), stored_record(url), b"old")
        config = CrawlConfig(SETTINGS, frozenset({url}), GENERATION, refresh_before="2999-01-01T00:00:00.000Z")
        outcome = ObeyedWorker(tree, config, 1).do(task(url))
    assert isinstance(outcome, Unchanged)
    assert (outcome.class_, tree.body(urls.host(url), urls.key(url))) == ("too-large", b"old")


def test_chain_of_redirects(work: Work, root: Path) -> None:
    """Twenty redirects in a row are stored. The next one is a failure, whose target nobody learns of."""

    def serve(request: Request) -> Response:
        number = int(request.path.removeprefix("/r?")) if request.path.startswith("/r?") else 0
        return Response(404 if request.path == "/robots.txt" else 302, {"Location": f"/r?{number + 1}"})

    with Web(serve, [HOST]) as web:
        worker, url = work(), web.url(HOST, "/r?0")
        for before in range(MOST_REDIRECTS):
            outcome = worker.do(task(url)._replace(flags=Flags(redirects=before)))
            assert (what(outcome), len(outcome.links)) == ("redirect", 1)
            (url,) = outcome.links
        outcome = worker.do(task(url)._replace(flags=Flags(redirects=MOST_REDIRECTS)))
    assert (what(outcome), outcome.class_) == (FailedForGood, "redirects")
    to = web.url(HOST, f"/r?{MOST_REDIRECTS + 1}")
    assert outcome.message == f"more than 20 redirects in a row: 20 have led here, and it redirects to {to}"
    assert (len(pages(root)), list(errors(root))) == (MOST_REDIRECTS, [url])
    check_tree(root)


@pytest.mark.parametrize("status", [200, 404])
def test_headers(work: Work, root: Path, status: int) -> None:
    """A record has no header that is longer than 8,192 characters, and 16,384 of all headers, in their order."""
    many = {f"x-{n}": "v" * 1000 for n in range(30)}
    headers = {**HTML, "x-long": "v" * (MAX_HEADER_CHARS + 1), **many}
    with Web(site({"/": Response(status, headers, b"<p>")}), [HOST]) as web:
        work().do(task(web.url(HOST)))
    record = (pages(root) | errors(root))[web.url(HOST)]
    assert record.headers is not None
    chars = sum(len(name) + len(value) for name, value in record.headers.items())
    assert MAX_HEADERS_CHARS - 1100 < chars <= MAX_HEADERS_CHARS
    assert record.headers["content-type"] == HTML["Content-Type"]
    sent = {name.lower() for name in headers} | {"content-length"}
    assert record.too_long == len(sent - record.headers.keys()) > 10


def test_directives(work: Work, root: Path) -> None:
    """Of the robots directives of a page so many are kept, and none that is longer than a directive can be."""
    content = ",".join([f"w{n}" for n in range(100_000)])
    html = f"<meta name=robots content='noindex,{'x' * 100_000},{content}'>"
    with Web(site({"/": Response(200, {**HTML, "X-Robots-Tag": "y" * 50_000}, html.encode())}), [HOST]) as web:
        work().do(task(web.url(HOST)))
    robots = pages(root)[web.url(HOST)].robots
    assert robots is not None
    assert (len(robots), "noindex" in robots) == (MAX_DIRECTIVES, True)
    assert record_bytes(root) < 3000


def test_content_type(work: Work, root: Path) -> None:
    """A type that is too long for a type is none: the body shows what it is."""
    named = {"Content-Type": "image/" + "x" * 60_000}
    with Web(site({"/": Response(200, named, b"<p>"), "/b": Response(200, named, b"\0")}), [HOST]) as web:
        worker = work()
        for path in ("/", "/b"):
            worker.do(task(web.url(HOST, path)))
    assert [record.skipped for record in pages(root).values()].count(None) == 1
    assert record_bytes(root) < 2000


def test_long_rule_of_robots(work: Work, root: Path) -> None:
    """The message that names the rule which forbids a page is no longer than any message."""
    robots = Response(200, {}, f"User-agent: *\nDisallow: /private/{'*' * 500_000}".encode())
    with Web(site({}, robots), [HOST]) as web:
        url = web.url(HOST, "/private/a")
        worker = work()
        opened(worker, url)
        outcome = worker.do(task(url))
    assert isinstance(outcome, FailedForGood)
    assert outcome.message == errors(root)[url].message
    assert outcome.message.startswith("robots.txt does not allow it: Disallow: /private/***")
    assert len(outcome.message) < 500


@pytest.mark.parametrize("junk", [b"\0", b"\xff", b"\x1c", b'"'])
def test_robots_of_junk(work: Work, root: Path, junk: bytes) -> None:
    """The file of a robots.txt is at most twice 500 KiB, whatever bytes the host sends; the rules in it count."""
    robots = Response(200, {}, b"User-agent: *\nDisallow: /private/\n" + junk * 512_000)
    with Web(site({}, robots), [HOST]) as web:
        url = web.url(HOST, "/private/a")
        worker = work()
        opened(worker, url)
        worker.do(task(url))
    path = root / ".fscrawl" / "robots" / f"{urls.host(url)}.json"
    assert path.stat().st_size < 1_050_000
    assert len(RobotsRecord.from_json(path.read_bytes()).text.encode()) <= 512_000
    assert errors(root)[url].class_ == "robots"


def test_sitemaps_that_robots_names(work: Work) -> None:
    """They are relative to robots.txt and not to the page; names that are too long for URLs are left out."""
    robots = Response(200, {}, f"Sitemap: a.xml\nSitemap: /{LONG}\n".encode())
    with Web(site({}, robots), [HOST]) as web:
        outcome = opened(work(), web.url(HOST, "/" + "d" * 2000 + "/p"))
    assert outcome.sitemaps == (web.url(HOST, "/a.xml"),)


def test_sitemap_below_a_long_base(work: Work, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sitemap of short references below a long xml:base makes no record that is longer than the bound."""
    monkeypatch.setattr(sitemaps, "MAX_CHARS", SITEMAP_CHARS)
    locs = "".join(f"<url><loc>{n}</loc></url>" for n in range(1000))
    body = f"<urlset xml:base='/{'b' * 2000}/'><url><loc>{LONG}</loc></url>{locs}</urlset>"
    with Web(site({"/s.xml": Response(200, XML, gzip.compress(body.encode()))}), [HOST]) as web:
        outcome = work().do(task(web.url(HOST, "/s.xml"))._replace(flags=Flags(SITEMAP)))
    assert isinstance(outcome, Stored)
    assert len(outcome.cut["length"]) == 1
    record = pages(root)[web.url(HOST, "/s.xml")]
    assert (len(record.links), record.truncated, record.too_long) == (9, True, 1)
    assert record_bytes(root) < SITEMAP_CHARS + 1000


@pytest.mark.parametrize("kind", ["page", "sitemap"])
def test_many_links_are_reported_later(work: Work, root: Path, kind: str) -> None:
    """A page with many new links is stored without a report of them, and once more looked at it reports them all."""
    paths = [f"/{number}" for number in range(1001)]
    with Web(_linking_site(paths), [HOST]) as web:
        worker = work()
        asked = task(web.url(HOST, f"/{kind}"))
        if kind == "sitemap":
            asked = asked._replace(flags=Flags(SITEMAP))
        outcome = worker.do(asked)
        known = worker.do(asked._replace(check=True))
        again = worker.do(task(web.url(HOST, "/other")))
    links = tuple(web.url(HOST, path) for path in paths)
    assert isinstance(outcome, Stored)
    assert isinstance(known, Known)
    assert isinstance(again, Stored)
    assert (outcome.later, outcome.links, outcome.generation) == (1001, (), GENERATION)
    assert (known.links, known.generation) == (links, GENERATION)
    assert (again.later, again.links) == (0, ()), "what was reported is not many any more"
    assert pages(root)[asked.url].links == links
    assert web.count(path=f"/{kind}") == 1
    check_tree(root)


def _linking_site(paths: list[str]) -> Pages:
    html = page("".join(f"<a href={path}>x</a>" for path in paths))
    listed = "".join(f"<url><loc>{path}</loc></url>" for path in paths)
    return site({"/page": html, "/other": html, "/sitemap": Response(200, {}, f"<urlset>{listed}</urlset>".encode())})
