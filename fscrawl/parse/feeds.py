"""A feed's bytes → the pages that it names. Pure: no disk, no socket.

Vocabulary:
  RSS     <item> with <link>, or <guid> that is a link; 0.9x, 1.0 and 2.0: https://www.rssboard.org/rss-specification
  Atom    <entry> with <link href>: https://www.rfc-editor.org/rfc/rfc4287
  next    the page of a feed that follows: <link rel=next> (RFC 5005)

Promise: as for `sitemaps`: any bytes are read, within bounds, and what stands before the break of broken XML is found.
The files of <enclosure> are no links. XML that is no feed has none.
"""

from __future__ import annotations

from urllib.parse import urljoin

from fscrawl.parse.bounded_xml import ERRORS, MAX_DEPTH, Source, Stop, local, read_xml, texts_of
from fscrawl.parse.documents import References

_MAX_TEXT_CHARS = 10_000
_OWNERS = frozenset({"channel", "item", "feed", "entry"})
_RELATIONS = frozenset({"alternate", "next"})


def read(body: bytes, content_type: str | None = None) -> References:
    """Read a feed. `content_type`: the HTTP header.

    >>> list(read(b"<rss><channel><item><link>/a</link></item></channel></rss>").found)
    ['/a']
    """
    handler = _Elements()
    source = Source(body)
    try:
        read_xml(texts_of(source, content_type), source, handler)
        handler.references.truncated = not source.whole
    except ERRORS:
        handler.references.truncated = True
    return handler.references


class _Elements:
    """Handlers for expat. They use local names, as those of a sitemap do."""

    def __init__(self) -> None:
        self.references = References()
        self._open = [("", "")]  # name and xml:base of each open element
        self._parts: list[str] | None = None  # the text of the innermost element, if it matters
        self._chars = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > MAX_DEPTH:
            raise Stop
        owner, base = self._open[-1]
        element = local(name)
        base = _joined(base, attributes.get("xml:base", ""))
        self._open.append((element, base))
        self._parts, self._chars = None, 0
        if owner not in _OWNERS:
            return
        if element == "link" and "href" in attributes:
            if attributes.get("rel", "alternate").lower() in _RELATIONS:
                self.references.add(_joined(base, attributes["href"]))
        elif element == "guid":
            self._parts = [] if attributes.get("isPermaLink", "true").lower() == "true" else None
        elif element == "link" or (element == "title" and owner in ("channel", "feed")):
            self._parts = []

    def text(self, text: str) -> None:
        if self._parts is not None and self._chars <= _MAX_TEXT_CHARS:
            self._parts.append(text)
            self._chars += len(text)

    def end(self, _name: str) -> None:
        element, base = self._open.pop()
        if self._parts is None:
            return
        text = "".join(self._parts).strip()
        self._parts = None
        if element == "title":
            self.references.title = self.references.title or text
        elif element == "link" or text.lower().startswith(("http://", "https://")):  # a guid may be any name
            self.references.add(_joined(base, text))


def _joined(base: str, reference: str) -> str:
    """Resolve a reference as far as the feed says what it is relative to."""
    if not base or not reference or len(base) + len(reference) > _MAX_TEXT_CHARS:
        return reference or base
    try:
        return urljoin(base, reference)
    except ValueError:  # of a host that is no IPv6 address
        return reference
