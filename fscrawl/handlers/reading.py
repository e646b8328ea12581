"""What is to be read, and by whom: a worker process reads costly pages outside itself, and tests read all at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from fscrawl.http.answers import Failed
from fscrawl.parse import feeds, links, pdf, sitemaps
from fscrawl.parse.documents import References, page_of
from fscrawl.parse.links import ParsedPage
from fscrawl.parse.trees import UnusualPageError
from fscrawl.sites.rules import SiteRules
from fscrawl.sites.site import Answer
from fscrawl.urls import USUAL, Joiner, Spelling

# Readers of documents, beside the parsers of HTML.
FEED, PDF, SITEMAP, NO_LINKS = "feed", "pdf", "sitemap", "none"


class OfSite(NamedTuple):
    """What the rules of the page's site need to know, beside the page. `asked`: the spelling of its request."""

    rules: SiteRules
    asked: str
    status: int
    headers: Mapping[str, str]


class Reading(NamedTuple):
    """A page to read. `content_type`, `refresh`: HTTP headers; `follow`: a setting.

    robots_tag what X-Robots-Tag asks of this crawler
    agent      its name, in lower case: a page may ask things of it alone
    parser     "lexbor" or "html5lib", as the settings say; FEED, PDF, SITEMAP or NO_LINKS for documents
    is_plain   a plain GET has asked for it. A page of another request may link to its own URL, which is another page
    site       None if the page's site has no rules that say something of pages
    follow     the elements whose references are links; None: the usual ones
    with_routes    links to states of an application are links of their own, too
    query_encoding     of the queries of links, if it is not that of the body: a DOM is in UTF-8, whatever the page was
    """

    body: bytes
    url: str
    content_type: str | None
    robots_tag: str | None
    parser: str
    spelling: Spelling = USUAL
    is_plain: bool = True
    site: OfSite | None = None
    follow: frozenset[str] | None = None
    with_routes: bool = False
    agent: str = ""
    refresh: str = ""
    query_encoding: str = ""


class UnreadableError(Exception):
    """A page cannot be read within its limits."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


Reader = Callable[[Reading, Joiner], ParsedPage]  # raises UnreadableError


def read_here(reading: Reading, joiner: Joiner) -> ParsedPage:
    """Read a page in this thread, however long it takes."""
    page = _read(reading, joiner)
    return page if reading.site is None else understood(page, reading, reading.site, joiner)


def read_if_usual(reading: Reading, joiner: Joiner) -> ParsedPage | None:
    """Read a page of HTML by lexbor; None if that takes, or may take, longer than for other pages of its size."""
    try:
        return _read(reading, joiner, only_usual=True)
    except UnusualPageError:
        return None


def _read(reading: Reading, joiner: Joiner, *, only_usual: bool = False) -> ParsedPage:
    if reading.parser == SITEMAP:
        # What it names is meant to be found, whatever X-Robots-Tag says.
        return sitemaps.read(reading.body, reading.url, content_type=reading.content_type)
    if reading.parser in (FEED, PDF, NO_LINKS):
        found = _references(reading)
        return page_of(found, reading.url, joiner, robots_tag=reading.robots_tag, is_plain=reading.is_plain)
    return links.extract(
        reading.body,
        reading.url,
        joiner,
        content_type=reading.content_type,
        robots_tag=reading.robots_tag,
        parser=reading.parser,
        follow=reading.follow,
        is_plain=reading.is_plain,
        with_routes=reading.with_routes,
        agent=reading.agent,
        refresh=reading.refresh,
        query_encoding=reading.query_encoding,
        only_usual=only_usual,
    )


def _references(reading: Reading) -> References:
    """Read a document that is not HTML."""
    if reading.parser == FEED:
        return feeds.read(reading.body, reading.content_type)
    return pdf.read(reading.body) if reading.parser == PDF else References()


def understood(page: ParsedPage, reading: Reading, site: OfSite, joiner: Joiner) -> ParsedPage:
    """Let the rules of its site say what they see in a page."""
    seen = Answer(
        site.asked,
        reading.body,
        status=site.status,
        headers=site.headers,
        encoding=page.encoding,
        joiner=joiner,
        with_routes=reading.with_routes,
        agent=reading.agent,
        query_encoding=reading.query_encoding,
    )
    said = site.rules.understand(seen)
    return replace(page, **{**said._asdict(), "truncated": page.truncated or said.truncated})
