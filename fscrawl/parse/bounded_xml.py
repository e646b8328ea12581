"""Untrusted bytes → the events of their XML, within bounds. Pure: no disk, no socket. For sitemaps and feeds.

Promise: any bytes are read, in time in proportion to their inflated size, and in memory that does not depend on them.
Only the five entities of XML itself are expanded, and no other file is read. What is broken, or would be dangerous,
ends the reading with an error from `ERRORS`; what came before it was read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import chain
from typing import Protocol
from xml.parsers import expat  # safe here: declarations of entities, which make it dangerous, are refused

from fscrawl.parse.encoding import sniff_xml
from fscrawl.parse.legacy_encodings import decode_pieces

MAX_BYTES = 52_428_800  # of a body, inflated: what the protocol of sitemaps allows
MAX_DEPTH = 256  # expat keeps every open element
_PIECE_BYTES = 65_536
_COMPRESSED_BYTES = 16_384  # zlib copies the input that it has not used
_HEAD_BYTES = 1024  # the encoding is declared in them
_MAX_MEMBERS = 10_000  # gzip files may be joined; each takes time, even an empty one
_MAX_TOKEN_BYTES = 1 << 20  # expat reads an unfinished comment or tag again with every piece
_MAX_NAMES = 10_000  # expat keeps every name
_MAX_NAME_CHARS = 1_000_000  # of all names together
_GZIP = b"\x1f\x8b"
BLANK = "\ufeff \t\r\n\0"


class Stop(Exception):  # noqa: N818 - not an error
    """Stop reading: a limit was reached, or the rest would be dangerous."""


ERRORS = (Stop, expat.ExpatError)


class Handler(Protocol):
    """Handles the events."""

    def start(self, name: str, attributes: dict[str, str]) -> None: ...
    def text(self, text: str) -> None: ...
    def end(self, name: str, /) -> None: ...


def texts_of(source: Source, content_type: str | None = None) -> Iterator[str]:
    """Decode a body, and leave out the white space at its beginning. `content_type`: the HTTP header."""
    return _without_blank(_decoded(source.pieces(), content_type))


class Source:
    """A body in pieces, inflated if it is gzip. `whole`: after the last piece, whether nothing was left out."""

    def __init__(self, body: bytes) -> None:
        self.whole = True
        self._body = body

    def pieces(self) -> Iterator[bytes]:
        left = MAX_BYTES
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


def _decoded(pieces: Iterator[bytes], content_type: str | None) -> Iterator[str]:
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= _HEAD_BYTES:
            break
    return decode_pieces(chain([head], pieces), sniff_xml(head, content_type))


def _without_blank(texts: Iterator[str]) -> Iterator[str]:
    """Remove white space at the beginning: many sitemaps have it before <?xml, and expat refuses it."""
    for text in texts:
        stripped = text.lstrip(BLANK)
        if stripped:
            yield stripped
            break
    yield from texts


def read_xml(texts: Iterator[str], source: Source, handler: Handler) -> None:
    """Parse texts, and give the events to `handler`; one of `ERRORS` where the XML cannot be read further."""
    parser = _parser(handler)
    fed_bytes = names = 0
    for text in texts:
        data = text.encode("utf-8", "replace")
        fed_bytes += len(data)
        parser.Parse(data)
        if fed_bytes - parser.CurrentByteIndex > _MAX_TOKEN_BYTES:
            raise Stop
        if len(parser.intern) > names:
            names = len(parser.intern)
            if names > _MAX_NAMES or sum(len(name or "") for name in parser.intern) > _MAX_NAME_CHARS:
                raise Stop
    if source.whole:
        parser.Parse(b"", True)


def _parser(elements: Handler) -> expat.XMLParserType:
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
        raise Stop


def local(name: str) -> str:
    """Return the name without the prefix of its namespace, in lower case.

    >>> local("sm:Loc")
    'loc'
    """
    return name.rpartition(":")[2].lower()
