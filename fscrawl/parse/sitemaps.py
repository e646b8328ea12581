"""A sitemap's bytes → the URLs it lists. Pure: no disk, no socket. https://www.sitemaps.org/protocol.html

Vocabulary:
  urlset         XML that lists pages: <url><loc>
  sitemapindex   XML that lists further sitemaps: <sitemap><loc>
  feed           RSS (<item><link>) or Atom (<entry><link href>): a sitemap of new pages
  text sitemap   one absolute URL a line; every file that does not begin with "<" is read as one

Promise: any bytes are read, in time in proportion to their inflated size, and in memory in proportion to the URLs
found. Broken XML gives the URLs before the break. Only the five entities of XML itself are expanded, and no other file
is read.

A sitemap may list URLs only of its own host, or of a host whose robots.txt names the sitemap. The caller knows where
the sitemap was found, and decides which URLs count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from fscrawl.parse.bounded_xml import BLANK, ERRORS, MAX_DEPTH, Source, Stop, local, read_xml, texts_of
from fscrawl.parse.links import ParsedPage
from fscrawl.urls import MAX_URL_CHARS, TOO_LONG, normalised

MAX_URLS = 50_000  # in one sitemap, by the protocol
# Of all URLs together, so 320 for each of 50,000. Without it, short references below an xml:base of 2,000 characters
# would make a hundred megabytes of a hundred kilobytes.
MAX_CHARS = 16_000_000

_MAX_REFERENCE_CHARS = 10_000  # of a URL as written, with white space and dot segments
_LINE_ENDS = re.compile(r"[\r\n]+")
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
_PAGES = frozenset({("url", "loc"), ("item", "link")})
_SITEMAPS = frozenset({("sitemap", "loc")})


class Sitemap(ParsedPage, frozen=True):
    """The URLs that a sitemap lists: normal forms, unique, in its order.

    links       from <url>, from the entries of a feed, or from a text sitemap
    sitemaps    from a sitemapindex
    truncated   there may be more: a limit was reached, or the XML or gzip is broken
    """

    sitemaps: tuple[str, ...] = ()


def read(body: bytes, base: str, *, content_type: str | None = None) -> Sitemap:
    """Read a sitemap, gzipped or not. `base`: its URL, a normal form; `content_type`: the HTTP header.

    Everything but http(s) URLs is left out. Nothing is raised, whatever the bytes.

    >>> read(b"<urlset><url><loc>http://a.example/?a&amp;b</loc></url></urlset>", "http://a.example/sitemap.xml").links
    ('http://a.example/?a&b',)
    >>> read(b"http://a.example/1\\nabout us\\n", "http://a.example/sitemap.txt").links
    ('http://a.example/1',)
    """
    found = _Found(base)
    source = Source(body)
    try:
        texts = texts_of(source, content_type)
        first = next(texts, "")
        reader = _read_xml if first.startswith("<") else _read_text
        reader(chain([first], texts), source, found)
        truncated = not source.whole
    except ERRORS:
        truncated = True
    pages, sitemaps = tuple(found.pages), tuple(found.sitemaps)
    return Sitemap(links=pages, sitemaps=sitemaps, truncated=truncated, too_long=found.too_long)


class _Found:
    """The URLs found so far."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.pages: dict[str, None] = {}
        self.sitemaps: dict[str, None] = {}
        self.too_long = 0
        self._chars = 0

    def add(self, into: dict[str, None], reference: str, base: str) -> None:
        url = self.join(reference.strip(), base)
        if url is None or url in into:
            return
        self._chars += len(url)
        if len(self.pages) + len(self.sitemaps) >= MAX_URLS or self._chars > MAX_CHARS:
            raise Stop
        into[url] = None

    def join(self, reference: str, base: str) -> str | None:
        """Return the normal form of a reference; None if it has none, or if it is too long."""
        url = normalised(reference, base) if 0 < len(reference) <= _MAX_REFERENCE_CHARS else ""
        if url not in ("", TOO_LONG):
            return url
        self.too_long += url == TOO_LONG or len(reference) > MAX_URL_CHARS
        return None


# Text


def _read_text(texts: Iterator[str], source: Source, found: _Found) -> None:
    rest = ""
    for text in texts:
        *lines, rest = _LINE_ENDS.split(rest + text)
        rest = rest[: _MAX_REFERENCE_CHARS + 1]  # one character too long for a URL, which is then refused
        for line in lines:
            _add_line(line, found)
    if source.whole:  # otherwise the last line may be cut off
        _add_line(rest, found)


def _add_line(line: str, found: _Found) -> None:
    """Add a line if it is an absolute URL. On a page of prose, any other line would become a URL below the base."""
    line = line.strip(BLANK)
    if _ABSOLUTE.match(line):
        found.add(found.pages, line, found.base)


# XML


def _read_xml(texts: Iterator[str], source: Source, found: _Found) -> None:
    read_xml(texts, source, _Elements(found))


class _Elements:
    """Handlers for expat. They use local names, because some sitemaps have a wrong namespace, and many have none."""

    def __init__(self, found: _Found) -> None:
        self._found = found
        self._open = [("", found.base)]  # name and xml:base of each open element
        self._parts: list[str] = []
        self._chars = 0
        self._into: dict[str, None] | None = None  # where the text of the innermost element is added, if it is a URL

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > MAX_DEPTH:
            raise Stop
        parent, base = self._open[-1]
        element = local(name)
        if "xml:base" in attributes:
            base = self._found.join(attributes["xml:base"], base) or base
        self._open.append((element, base))
        self._parts, self._chars, self._into = [], 0, None
        if (parent, element) in _PAGES:
            self._into = self._found.pages
        elif (parent, element) in _SITEMAPS:
            self._into = self._found.sitemaps
        elif (parent, element) == ("entry", "link") and attributes.get("rel", "alternate").lower() == "alternate":
            self._found.add(self._found.pages, attributes.get("href", ""), base)

    def text(self, text: str) -> None:
        if self._into is not None and self._chars <= _MAX_REFERENCE_CHARS:
            self._parts.append(text)
            self._chars += len(text)

    def end(self, _name: str) -> None:
        _, base = self._open.pop()
        if self._into is not None:
            self._found.add(self._into, "".join(self._parts), base)
            self._into = None
