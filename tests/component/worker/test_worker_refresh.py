"""What a worker does with a page that is stored, once more."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fscrawl import store
from fscrawl.frontier.flags import parse_flags
from fscrawl.handlers.outcome import FailedForNow, Known, Outcome, Replaced, Unchanged
from fscrawl.storage.records import SITEMAP, PageRecord
from tests.support.crawling import check_tree
from tests.support.web import Response, Web
from tests.support.workers import (
    ETAG,
    GENERATION,
    HOST,
    SETTINGS,
    Work,
    dead_url,
    page,
    site,
    stored_record,
    task,
    what,
)


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
    assert (found.outcome.links, found.outcome.generation) == (found.old.links, GENERATION)
    assert (found.new.checked_status, found.body) == (304, b"old")
    assert re.fullmatch(r"20[2-9]\d-.*Z", found.new.checked_at or "")
    assert msgspec.structs.replace(found.new, checked_at=None, checked_status=None) == found.old


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
    assert (what(found.outcome), found.body) == ("page", b'<a href="/new">')
    assert found.outcome.links == found.new.links
    assert found.new.links[0].endswith("/new")
    assert found.new.fetched_at > found.old.fetched_at
    assert (found.new.checked_at, found.new.checked_status) == (None, None)


def test_address(refresh: Refresh) -> None:
    """A page keeps the address that it came from until it is replaced."""
    assert refresh(Response(304), ip="192.0.2.7").new.ip == "192.0.2.7"
    assert refresh(Response(404), ip="192.0.2.7").new.ip == "192.0.2.7"
    assert refresh(page("new"), ip="192.0.2.7").new.ip == HOST


@pytest.mark.parametrize(
    ("answer", "kind", "body"),
    [
        (Response(301, {"Location": "mailto:a@b.example"}), "redirect", None),
        (Response(200, {"Content-Type": "image/png"}, b"x"), "other", None),
        (page("now a page"), "page", b"now a page"),
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
    assert found.outcome.replaced == ("other" if before == "skipped" else before, 3 if before == "page" else 0)
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


def test_page_that_robots_forbids_now(refresh: Refresh) -> None:
    """A page that robots.txt forbids now is left as it is, unasked."""
    found = refresh(page("new"), robots=Response(200, {}, b"User-agent: *\nDisallow: /"))
    assert (what(found.outcome), found.new, found.asked) == (Known, found.old, [])
    assert (found.outcome.links, found.outcome.generation) == (found.old.links, GENERATION), "it is told all the same"


@pytest.mark.parametrize("attempt", [1, 3])
def test_page_whose_robots_cannot_be_fetched(refresh: Refresh, attempt: int) -> None:
    """While robots.txt cannot be fetched, a page is unasked; that counts as a failure of the page, as in a crawl."""
    found = refresh(page("new"), attempt=attempt, robots=Response(503))
    assert (what(found.outcome), found.asked) == (FailedForNow if attempt == 1 else Unchanged, [])
    assert (found.outcome.exchange.health, found.outcome.class_) == ("failing", "http-5xx")
    assert (found.new.checked_status, found.body) == (None if attempt == 1 else 0, b"old")


def test_page_whose_record_is_torn(tree: store.Tree, work: Work, root: Path) -> None:
    """A page whose record cannot be read is fetched anew."""
    with Web(site({"/a": page("new")}), [HOST]) as web:
        asked = task(web.url(HOST, "/a"))._replace(flags=parse_flags("refresh"))
        tree.put_page(asked.host, stored_record(asked.url), b"old")
        Path(tree.path_of("links", asked.host, asked.key)).write_bytes(b"{")
        assert what(work().do(asked)) == "page"
    check_tree(root)


def sitemap(*locations: str) -> Response:
    text = "".join(f"<url><loc>{location}</loc></url>" for location in locations)
    return Response(200, {"Content-Type": "text/xml"}, f"<urlset>{text}</urlset>".encode())


def test_a_sitemap_is_read_again(refresh: Refresh) -> None:
    """A sitemap that has new URLs leads to them; it is still one, without a body."""
    found = refresh(sitemap(f"http://{HOST}/new"), body=None, sha256="", skipped=SITEMAP)
    assert (found.new.links, found.new.skipped, found.body) == ((f"http://{HOST}/new",), SITEMAP, None)
    assert found.outcome.links == found.new.links
    assert found.outcome.replaced == Replaced("other", 0)
    assert found.outcome.task.flags.sitemap == "sitemap-part"


def test_an_index_is_read_again(refresh: Refresh) -> None:
    """The sitemaps that an index names now are reported."""
    index = Response(
        200, {}, f"<sitemapindex><sitemap><loc>http://{HOST}/s.xml</loc></sitemap></sitemapindex>".encode()
    )
    found = refresh(index, body=None, sha256="", skipped=SITEMAP, sitemaps=(f"http://{HOST}/old.xml",))
    assert found.new.sitemaps == found.outcome.sitemaps == (f"http://{HOST}/s.xml",)
    assert found.outcome.task.flags.sitemap == "sitemap"


@pytest.mark.parametrize("attempt", [1, 3])
def test_a_sitemap_that_is_gone(refresh: Refresh, attempt: int) -> None:
    """It stays stored with its links, and its record says what the host answered."""
    found = refresh(Response(503), attempt=attempt, body=None, sha256="", skipped=SITEMAP)
    assert what(found.outcome) == (FailedForNow if attempt == 1 else Unchanged)
    assert found.new.links == found.old.links
    assert found.new.checked_status == (None if attempt == 1 else 503)


def test_a_sitemap_that_robots_forbids_now(refresh: Refresh) -> None:
    """It is left as it is, unasked, and its links are told."""
    found = refresh(
        sitemap(), robots=Response(200, {}, b"User-agent: *\nDisallow: /"), body=None, sha256="", skipped=SITEMAP
    )
    assert (what(found.outcome), found.new, found.asked) == (Known, found.old, [])
    assert found.outcome.links == found.old.links


@pytest.mark.parametrize("before", [0, 9])
def test_the_shorter_way_counts(tree: store.Tree, work: Work, before: int) -> None:
    """A page that links to a seed may be refreshed first: the seed stays one, and its links count from there."""
    with Web(site({"/a": page('<a href="/new">')}), [HOST]) as web:
        asked = task(web.url(HOST, "/a"))._replace(flags=parse_flags("refresh"))
        old = stored_record(asked.url, depth=before)
        tree.put_page(asked.host, old, b"old")
        outcome = work().do(asked)
    new = tree.page(asked.host, asked.key)
    assert (outcome.task.depth, new.depth) == (min(before, 3), min(before, 3))
    assert new.referrer == ("" if before < 3 else asked.referrer)
