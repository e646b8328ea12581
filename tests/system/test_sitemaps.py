"""Sitemaps that robots.txt names: read once, their URLs crawled as if they were seeds, within the scope."""

from __future__ import annotations

import gzip
import shutil
import signal
from pathlib import Path

import pytest

from fscrawl import cli
from tests.support.crawling import Running, check_tree, command, crawl, errors, pages
from tests.support.web import Request, Response, Web

A, B, C = "127.0.42.1", "127.0.42.2", "127.0.42.3"
HTML = {"Content-Type": "text/html; charset=utf-8"}
XML = {"Content-Type": "application/xml"}


def xml(element: str, *locations: str) -> bytes:
    entry = "url" if element == "urlset" else "sitemap"
    inside = "".join(f"<{entry}><loc>{location}</loc></{entry}>" for location in locations)
    return f'<?xml version="1.0"?><{element}>{inside}</{element}>'.encode()


class Site:
    """Hosts whose robots.txt names an index of three parts: plain, gzipped and redirected; and a sitemap of B's.

    The seed links to nothing, so that what else is found stands in sitemaps.
    """

    def __call__(self, request: Request) -> Response:
        elsewhere = f"http://{B}:{request.headers['host'].rpartition(':')[2]}"
        robots = f"User-agent: *\nDisallow: /private\nSitemap: /index.xml\nSitemap: {elsewhere}/b.xml\n"
        answers = {
            "/robots.txt": Response(200, {}, robots.encode()) if request.host == A else Response(404),
            "/index.xml": Response(200, XML, xml("sitemapindex", "/1.xml", "/2.xml.gz", "/3.xml")),
            "/1.xml": Response(200, XML, xml("urlset", "/", "/one", "/private/x", "/linked")),
            "/2.xml.gz": Response(200, {"Content-Type": "application/gzip"}, gzip.compress(b"\n/no\n" + self.text(A))),
            "/3.xml": Response(301, {"Location": "/moved.xml"}),
            "/moved.xml": Response(200, XML, xml("urlset", "/three", f"http://{C}/outside")),
            "/b.xml": Response(200, XML, xml("urlset", "/b")),
            "/one": Response(200, HTML, b"<a href=/deeper>"),
        }
        answers |= dict.fromkeys(self.broken, Response(503))
        self.port = request.headers["host"].rpartition(":")[2]
        return answers.get(request.path, Response(200, HTML))

    port = ""
    broken: frozenset[str] = frozenset()

    def text(self, host: str) -> bytes:
        return f"http://{host}:{self.port}/two\n".encode()


FOUND = {"/", "/one", "/two", "/three", "/linked"}  # by sitemaps of A alone
MAPS = {"/index.xml", "/1.xml", "/2.xml.gz", "/3.xml"}
SETTINGS = {"crawl.scope": "host"}
SOON = {
    "fleet.beat": 0.5,
    "fleet.dead_after": 5,
}  # where .fscrawl is new over stored pages, its old machines are waited for


def paths(root: Path, web: Web, host: str = A) -> set[str]:
    start = web.url(host, "")
    return {url.removeprefix(start) for url in pages(root) if url.startswith(start + "/")}


@pytest.fixture
def site() -> Site:
    return Site()


def test_sitemaps_are_crawled(root: Path, site: Site) -> None:
    """Index, parts, gzip and redirects lead to their pages, each asked for once, at depth 0; so it is finished."""
    with Web(site, [A, B, C]) as web:
        assert crawl(root, seeds=[web.url(A)], settings=SETTINGS).code == 0
        assert paths(root, web) == FOUND | MAPS | {"/deeper"}
        before = web.counts()
        assert crawl(root).code == 0
        assert web.counts() == before
        assert web.duplicates() == {}
        assert {host for host, _ in before} == {A}, "B and C are outside the scope"
    stored = pages(root)
    assert {stored[web.url(A, path)].depth for path in FOUND} == {0}
    assert stored[web.url(A, "/deeper")].depth == 1
    assert stored[web.url(A, "/index.xml")].sitemaps == tuple(
        web.url(A, path) for path in ("/1.xml", "/2.xml.gz", "/3.xml")
    )
    assert errors(root)[web.url(A, "/private/x")].class_ == "robots"
    check_tree(root)


def test_sitemap_on_another_host(root: Path, site: Site) -> None:
    """A sitemap of another host inside the scope is read from that host, by its manners."""
    with Web(site, [A, B, C]) as web:
        assert crawl(root, seeds=[web.url(A), web.url(B, "/seed")], settings=SETTINGS).code == 0
        assert paths(root, web, B) == {"/seed", "/b.xml", "/b"}
        order = [exchange.path for exchange in web.requests(B)]
        assert order[0] == "/robots.txt"
        assert web.duplicates() == {}


class MovedIndex(Site):
    """The index of A has moved to B, and one of its parts to C."""

    def __call__(self, request: Request) -> Response:
        port = request.headers["host"].rpartition(":")[2]
        moved = {(A, "/index.xml"): f"http://{B}:{port}/i.xml", (B, "/p.xml"): f"http://{C}:{port}/p.xml"}
        answers = {"/i.xml": xml("sitemapindex", "/p.xml"), "/p.xml": xml("urlset", f"http://{A}:{port}/found")}
        if to := moved.get((request.host, request.path)):
            return Response(301, {"Location": to})
        return Response(200, XML, answers[request.path]) if request.path in answers else super().__call__(request)


def test_sitemaps_that_moved_to_other_hosts(root: Path) -> None:
    """An index that moved to another host, and a part that moved, are read there, after the rules of these hosts."""
    with Web(MovedIndex(), [A, B, C]) as web:
        seeds = [web.url(A), web.url(B, "/seed"), web.url(C, "/seed")]
        assert crawl(root, seeds=seeds, settings=SETTINGS).code == 0
        assert "/found" in paths(root, web)
        for host in (B, C):
            assert web.requests(host)[0].path == "/robots.txt"
        assert web.duplicates() == {}
    check_tree(root)


def test_max_depth(root: Path, site: Site) -> None:
    """What a sitemap lists is as near as a seed: with max_depth = 0 it is crawled, and what it links to is not."""
    with Web(site, [A, B, C]) as web:
        assert crawl(root, seeds=[web.url(A)], settings={**SETTINGS, "crawl.max_depth": 0}).code == 0
        assert paths(root, web) == FOUND | MAPS


@pytest.mark.parametrize("setting", ["crawl.sitemaps", "politeness.robots"])
def test_sitemaps_off(root: Path, site: Site, setting: str) -> None:
    """With crawl.sitemaps = false none is asked for, and without robots.txt none is known."""
    with Web(site, [A, B, C]) as web:
        assert crawl(root, seeds=[web.url(A)], settings={**SETTINGS, setting: "false"}).code == 0
        assert paths(root, web) == {"/"}
        assert {path for _, path in web.counts()} <= {"/", "/robots.txt"}


def test_found_again(root: Path, site: Site) -> None:
    """After a stop, and with `.fscrawl` deleted, sitemaps are found again by robots.txt and by their records."""
    with Web(site, [A, B, C]) as web:
        settings = {**SETTINGS, **SOON, "politeness.delay": 0.15}
        with Running(command(root, "--quiet", seeds=[web.url(A)], settings=settings)) as running:
            running.until(lambda: web.count(A, "/index.xml"), "the index was read")
            running.signal(signal.SIGINT)
            assert running.wait().code == 130
        assert len(paths(root, web)) < len(FOUND | MAPS)
        shutil.rmtree(root / ".fscrawl")
        assert crawl(root).code == 0
        assert paths(root, web) == FOUND | MAPS | {"/deeper"}
        assert web.duplicates() == {}
    check_tree(root)


def test_failed_sitemaps_are_tried_again_as_such(root: Path, site: Site) -> None:
    """An index and a part of one that failed lead to their pages when `fscrawl retry` has put them back to work."""
    settings = {**SETTINGS, "fetch.retries": 0}
    with Web(site, [A, B, C]) as web:
        for broken in ("/index.xml", "/1.xml"):
            site.broken = frozenset({broken})
            crawl(root, seeds=[web.url(A)], settings=settings)
            assert errors(root)[web.url(A, broken)].class_ == "http-5xx"
            assert "/one" not in paths(root, web)
            assert cli.main(["retry", "--root", str(root), "--class", "http-5xx"]) == 0
        site.broken = frozenset()
        assert crawl(root).code == 0
        assert paths(root, web) == FOUND | MAPS | {"/deeper"}
    assert errors(root).keys() == {web.url(A, "/private/x")}
    check_tree(root)


def edit(root: Path, before: str, after: str) -> None:
    settings = root / "crawl.toml"
    text = settings.read_text()
    assert text.count(before) == 1
    settings.write_text(text.replace(before, after))


@pytest.mark.parametrize("setting", ["crawl.sitemaps", "politeness.robots"])
def test_turned_on_when_all_is_stored(root: Path, site: Site, setting: str) -> None:
    """Sitemaps are found if they are turned on when every page that is known is stored, and that only once."""
    name = setting.partition(".")[2]
    with Web(site, [A, B, C]) as web:
        assert crawl(root, seeds=[web.url(A)], settings={**SETTINGS, **SOON, setting: "false"}).code == 0
        edit(root, f"\n{name} = false", f"\n{name} = true")
        assert crawl(root).code == 0
        assert paths(root, web) == FOUND | MAPS | {"/deeper"}
        before = web.counts()
        assert crawl(root).code == 0
        assert web.counts() == before
        assert web.duplicates() == {}
    check_tree(root)


def test_no_host_is_asked_for_a_survey(root: Path, site: Site) -> None:
    """Where `.fscrawl` was deleted, and robots.txt with it, hosts of which all is stored are not asked for it again."""
    with Web(site, [A, B, C]) as web:
        assert crawl(root, seeds=[web.url(A)], settings={**SETTINGS, **SOON}).code == 0
        before = web.counts()
        shutil.rmtree(root / ".fscrawl")
        assert crawl(root).code == 0
        assert web.counts() == before
        assert paths(root, web) == FOUND | MAPS | {"/deeper"}


@pytest.mark.parametrize("setting", ["crawl.sitemaps", "politeness.robots"])
def test_turned_on_while_it_runs(root: Path, site: Site, setting: str) -> None:
    """A machine that stays finds sitemaps as soon as they are turned on; nothing is asked for twice."""
    name = setting.partition(".")[2]
    settings = {**SETTINGS, **SOON, setting: "false"}
    with Web(site, [A, B, C]) as web, Running(command(root, "--wait", seeds=[web.url(A)], settings=settings)) as one:
        one.until(lambda: "/" in paths(root, web), "the seed is stored")
        edit(root, f"\n{name} = false", f"\n{name} = true")
        one.until(lambda: paths(root, web) == FOUND | MAPS | {"/deeper"}, "sitemaps were read", 40.0)
        one.signal(signal.SIGINT)
        assert one.wait().code == 130
        assert web.duplicates() == {}
    check_tree(root)


def test_wider_scope(root: Path, site: Site) -> None:
    """A sitemap on another host, which was outside the scope, is read when a seed of that host comes."""
    with Web(site, [A, B, C]) as web:
        assert crawl(root, seeds=[web.url(A)], settings=SETTINGS).code == 0
        with (root / "seeds.txt").open("a") as seeds:
            seeds.write(web.url(B, "/seed") + "\n")
        assert crawl(root).code == 0
        assert paths(root, web, B) == {"/seed", "/b.xml", "/b"}
        assert web.duplicates() == {}
