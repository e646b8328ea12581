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

import codecs
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from xml.parsers import expat  # safe here: declarations of entities, which make it dangerous, are refused

import webencodings

from fscrawl.parse.encoding import sniff_encoding
from fscrawl.urls import MAX_URL_CHARS, normalise

MAX_URLS = 50_000  # in one sitemap, by the protocol
MAX_BYTES = 52_428_800  # likewise, inflated
# Of all URLs together, so 320 for each of 50,000. Without it, short references below an xml:base of 2,000 characters
# would make a hundred megabytes of a hundred kilobytes.
MAX_CHARS = 16_000_000

_PIECE_BYTES = 65_536
_COMPRESSED_BYTES = 16_384  # zlib copies the input that it has not used
_HEAD_BYTES = 1024  # the encoding is declared in them
_MAX_MEMBERS = 10_000  # gzip files may be joined; each takes time, even an empty one
_MAX_DEPTH = 256  # expat keeps every open element
_MAX_TOKEN_BYTES = 1 << 20  # expat reads an unfinished comment or tag again with every piece
_MAX_NAMES = 10_000  # expat keeps every name
_MAX_NAME_CHARS = 1_000_000  # of all names together
_MAX_REFERENCE_CHARS = 10_000  # of a URL as written, with white space and dot segments
_GZIP = b"\x1f\x8b"
_BLANK = "\ufeff \t\r\n\0"
_BOM = re.compile(rb"(\xef\xbb\xbf|\xfe\xff|\xff\xfe)")
_DECLARATION = re.compile(rb"\s*(\0?<\0?\?\0?x[^>]*>)")
_LINE_ENDS = re.compile(r"[\r\n]+")
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
_PAGES = frozenset({("url", "loc"), ("item", "link")})
_SITEMAPS = frozenset({("sitemap", "loc")})


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The URLs that a sitemap lists: normal forms, unique, in its order.

    pages       from <url>, from the entries of a feed, or from a text sitemap
    sitemaps    from a sitemapindex
    truncated   there may be more: a limit was reached, or the XML or gzip is broken
    too_long    how many references were left out since they, or the URLs that they mean, are longer than MAX_URL_CHARS
    """

    pages: tuple[str, ...]
    sitemaps: tuple[str, ...]
    truncated: bool
    too_long: int = 0


def read(body: bytes, base: str, *, max_urls: int = MAX_URLS, max_bytes: int = MAX_BYTES) -> Sitemap:
    """Read a sitemap, gzipped or not. `base`: its URL, a normal form; `max_bytes`: of the inflated sitemap.

    Everything but http(s) URLs is left out. Nothing is raised, whatever the bytes.

    >>> read(b"<urlset><url><loc>http://a.example/?a&amp;b</loc></url></urlset>", "http://a.example/sitemap.xml")
    Sitemap(pages=('http://a.example/?a&b',), sitemaps=(), truncated=False, too_long=0)
    >>> read(b"http://a.example/1\\nhttp://a.example/2\\n", "http://a.example/sitemap.txt", max_urls=1)
    Sitemap(pages=('http://a.example/1',), sitemaps=(), truncated=True, too_long=0)
    """
    found = _Found(base, max_urls)
    source = _Source(body, max_bytes)
    try:
        texts = _without_blank(_decoded(source.pieces()))
        first = next(texts, "")
        reader = _read_xml if first.startswith("<") else _read_text
        reader(chain([first], texts), source, found)
        truncated = not source.whole
    except (_Stop, expat.ExpatError):
        truncated = True
    return Sitemap(tuple(found.pages), tuple(found.sitemaps), truncated, found.too_long)


class _Stop(Exception):  # noqa: N818 - not an error
    """Stop reading: a limit was reached, or the rest would be dangerous."""


class _Found:
    """The URLs found so far."""

    def __init__(self, base: str, max_urls: int) -> None:
        self.base = base
        self.pages: dict[str, None] = {}
        self.sitemaps: dict[str, None] = {}
        self.too_long = 0
        self._max_urls = max_urls
        self._chars = 0

    def add(self, into: dict[str, None], reference: str, base: str) -> None:
        url = self.join(reference.strip(), base)
        if url is None or url in into:
            return
        self._chars += len(url)
        if len(self.pages) + len(self.sitemaps) >= self._max_urls or self._chars > MAX_CHARS:
            raise _Stop
        into[url] = None

    def join(self, reference: str, base: str) -> str | None:
        """Return the normal form of a reference; None if it has none, or if it is too long."""
        url = normalise(reference, base) if 0 < len(reference) <= _MAX_REFERENCE_CHARS else None
        self.too_long += url is None and len(reference) > MAX_URL_CHARS
        return url


# Bytes


class _Source:
    """A body in pieces, inflated if it is gzip. `whole`: after the last piece, whether nothing was left out."""

    def __init__(self, body: bytes, max_bytes: int) -> None:
        self.whole = True
        self._body = body
        self._max_bytes = max_bytes

    def pieces(self) -> Iterator[bytes]:
        left = self._max_bytes
        for piece in self._inflated() if self._body.startswith(_GZIP) else self._plain():
            if len(piece) > left:
                self.whole = False
                yield piece[:left]
                return
            left -= len(piece)
            yield piece

    def _plain(self) -> Iterator[bytes]:
        for start in range(0, len(self._body), _PIECE_BYTES):
            yield self._body[start : start + _PIECE_BYTES]

    def _inflated(self) -> Iterator[bytes]:
        """Inflate the members of a gzip file. Bytes behind the last one are ignored, as gzip does."""
        position = members = 0
        while self._body.startswith(_GZIP, position):
            members += 1
            inflator = zlib.decompressobj(wbits=31)
            while not inflator.eof:
                given = inflator.unconsumed_tail
                if not given:
                    given = self._body[position : position + _COMPRESSED_BYTES]
                    position += len(given)
                if not given or members > _MAX_MEMBERS:
                    self.whole = False
                    return
                before = inflator.copy()
                try:
                    yield inflator.decompress(given, _PIECE_BYTES)
                except zlib.error:
                    self.whole = False
                    yield _output_before_error(before, given)
                    return
            position -= len(inflator.unused_data)


def _output_before_error(inflator: zlib._Decompress, given: bytes) -> bytes:
    """Return the output before an error. zlib itself does not return it when it finds one."""
    made = bytearray()
    try:
        for position in range(len(given)):  # pragma: no branch - the error always comes again
            made += inflator.decompress(inflator.unconsumed_tail + given[position : position + 1], _PIECE_BYTES)
    except zlib.error:
        pass
    return bytes(made)


# Text


def _decoded(pieces: Iterator[bytes]) -> Iterator[str]:
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= _HEAD_BYTES:
            break
    decoder = _decoder(head)
    yield decoder.decode(head)
    for piece in pieces:
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def _decoder(head: bytes) -> codecs.IncrementalDecoder:
    """Decode by byte order mark or XML declaration, else as UTF-8, as XML and the protocol say. Nothing is guessed."""
    found = _BOM.match(head) or _DECLARATION.match(head)
    name = sniff_encoding(found[1]) if found else "utf-8"
    encoding = webencodings.lookup(name) or webencodings.UTF8
    decoder: codecs.IncrementalDecoder = encoding.codec_info.incrementaldecoder("replace")
    return decoder


def _without_blank(texts: Iterator[str]) -> Iterator[str]:
    """Remove white space at the beginning: many sitemaps have it before <?xml, and expat refuses it."""
    for text in texts:
        stripped = text.lstrip(_BLANK)
        if stripped:
            yield stripped
            break
    yield from texts


def _read_text(texts: Iterator[str], source: _Source, found: _Found) -> None:
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
    line = line.strip(_BLANK)
    if _ABSOLUTE.match(line):
        found.add(found.pages, line, found.base)


# XML


def _read_xml(texts: Iterator[str], source: _Source, found: _Found) -> None:
    parser = _parser(_Elements(found))
    fed_bytes = names = 0
    for text in texts:
        data = text.encode("utf-8", "replace")
        fed_bytes += len(data)
        parser.Parse(data)
        if fed_bytes - parser.CurrentByteIndex > _MAX_TOKEN_BYTES:
            raise _Stop
        if len(parser.intern) > names:
            names = len(parser.intern)
            if names > _MAX_NAMES or sum(len(name or "") for name in parser.intern) > _MAX_NAME_CHARS:
                raise _Stop
    if source.whole:
        parser.Parse(b"", True)


def _parser(elements: _Elements) -> expat.XMLParserType:
    parser = expat.ParserCreate("utf-8")  # it has been decoded, whatever it declares
    parser.buffer_text = True
    parser.UseForeignDTD(True)  # ignores "&nbsp;" in a feed; no DTD is read
    parser.StartDoctypeDeclHandler = _refuse_declarations
    parser.StartElementHandler = elements.start
    parser.EndElementHandler = elements.end
    parser.CharacterDataHandler = elements.text
    parser.SkippedEntityHandler = lambda name, _is_parameter: elements.text(f"&{name};")
    return parser


def _refuse_declarations(_name: str, _system_id: str | None, _public_id: str | None, has_internal_subset: int) -> None:
    """Stop at declarations of entities and of default attributes: both can grow, and no sitemap needs them."""
    if has_internal_subset:
        raise _Stop


class _Elements:
    """Handlers for expat. They use local names, because some sitemaps have a wrong namespace, and many have none."""

    def __init__(self, found: _Found) -> None:
        self._found = found
        self._open = [("", found.base)]  # name and xml:base of each open element
        self._parts: list[str] = []
        self._chars = 0
        self._into: dict[str, None] | None = None  # where the text of the innermost element is added, if it is a URL

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > _MAX_DEPTH:
            raise _Stop
        parent, base = self._open[-1]
        local = _local(name)
        if "xml:base" in attributes:
            base = self._found.join(attributes["xml:base"], base) or base
        self._open.append((local, base))
        self._parts, self._chars, self._into = [], 0, None
        if (parent, local) in _PAGES:
            self._into = self._found.pages
        elif (parent, local) in _SITEMAPS:
            self._into = self._found.sitemaps
        elif (parent, local) == ("entry", "link") and attributes.get("rel", "alternate").lower() == "alternate":
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


def _local(name: str) -> str:
    """Return the name without the prefix of its namespace, in lower case.

    >>> _local("sm:Loc")
    'loc'
    """
    return name.rpartition(":")[2].lower()
