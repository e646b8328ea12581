"""What is a body: as its Content-Type says (`headers.media_type`), or as its first bytes show? What is wanted? Pure.

Servers send images as text/html, and pages as application/octet-stream. So the first bytes decide as well, as in
https://mimesniff.spec.whatwg.org/:
- A body that begins like a known binary format is of that type, whatever its header says. A format that others are
  built on (zip, ogg, …) leaves a header right that names such another type: a .docx begins like a zip file.
- A body without a type, or with a type that has no meaning, is a page if it begins like HTML.
- What is named an image, a PDF, JSON or the like, and begins like HTML, is a page: such types never begin like that,
  and servers send a login page or an error in place of a file. Browsers would not show it; but it must not be stored as
  what it is not.
- text/plain stays text, as in browsers: the author may want to show markup. XML stays XML.

Vocabulary:
  media type   in lower case, without parameters: "text/html"
  range        a media type, or all of one kind: "image/*", or all: "*/*"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from fscrawl.parse.headers import media_type

XHTML = "application/xhtml+xml"
HTML = frozenset({"text/html", XHTML})
PDF = "application/pdf"
# RSS and Atom. Many servers give a feed a type of XML; XML that is no feed has no entries, and so no links.
FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/xml", "text/xml"})
WITH_LINKS = (*sorted(HTML, reverse=True), *sorted(FEEDS), PDF)  # types that can be searched for links
# Types that servers send for files that they do not know.
NO_MEANING = frozenset({"", "application/octet-stream", "unknown/unknown", "application/unknown"})

_BINARY = (
    (b"%PDF-", PDF),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"\x7fELF", "application/x-executable"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
)
_VIDEO = "video/mp4"
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wave", b"AVI ": "video/avi"}
# Other types are built on these, or they have further names.
_CONTAINERS = frozenset(
    {
        *("application/zip", "application/gzip", "application/ogg", "application/x-executable"),
        *(
            "application/x-rar-compressed",
            "image/x-icon",
            "audio/mpeg",
            "audio/wave",
            "video/avi",
            "video/webm",
            _VIDEO,
        ),
    }
)
_EXACT = frozenset({each for _, each in _BINARY} | set(_RIFF.values())) - _CONTAINERS
_KINDS_OF_TEXT = re.compile(r"text/|[^/]*/(?:[^/]*\+)?(?:xml|json)\Z")
_NEVER_MARKUP = re.compile(r"(?:image|audio|video|font)/(?!.*\+xml)|application/(?:pdf|json|zip|gzip)\Z|.*\+json\Z")
_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*"
    rb"<(?:!doctype[\t\n\f\r ]+html|html|head|body|title|script|iframe|h1|div|font|table|a|style|b|br|p|meta|!--)"
    rb"[\t\n\f\r />-]",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(?:\*/\*|[a-z0-9!#$&^_.+-]+/(?:\*|[a-z0-9!#$&^_.+-]+))\Z")


def may_be_page(headers: Mapping[str, str]) -> bool:
    """Tell whether a body of a type that is not wanted may be HTML under a wrong name: it is none of a stream."""
    named = media_type(headers)
    return not (_NEVER_MARKUP.match(named) or named == "text/event-stream")


def begins_like_html(body: bytes) -> bool:
    return _PAGE.match(body) is not None


def type_of(body: bytes, named: str) -> str:
    """Give the type of a body. `named`: by its header.

    >>> type_of(b"%PDF-1.7", "text/html"), type_of(b"<!DOCTYPE html>", ""), type_of(b"a,b", "")
    ('application/pdf', 'text/html', 'unknown/unknown')
    >>> type_of(b"PK\\x03\\x04", "application/epub+zip"), type_of(b"<html>", "application/pdf")
    ('application/epub+zip', 'text/html')
    """
    shown = _shown(body)
    if shown is not None:
        is_other = named in NO_MEANING or named in _EXACT or _KINDS_OF_TEXT.match(named)
        return shown if shown not in _CONTAINERS or is_other else named
    if named in HTML:
        return named
    if named in NO_MEANING:
        return "text/html" if _PAGE.match(body) else named or "unknown/unknown"
    return "text/html" if _NEVER_MARKUP.match(named) and _PAGE.match(body) else named


def _shown(body: bytes) -> str | None:
    """Give the binary format that the first bytes show."""
    for magic, shown in _BINARY:
        if body.startswith(magic):
            return shown
    if body[4:8] == b"ftyp":
        return _VIDEO
    return _RIFF.get(body[8:12]) if body.startswith(b"RIFF") else None


class Ranges:
    """Media ranges, and what they stand for."""

    def __init__(self, ranges: Iterable[str]) -> None:
        self._types = frozenset(ranges)
        self._kinds = frozenset(each.removesuffix("/*") for each in self._types if each.endswith("/*"))
        self._all = "*/*" in self._types

    def __contains__(self, media_type: str) -> bool:
        return media_type in self._types or self._all or media_type.partition("/")[0] in self._kinds

    @property
    def may_be_unnamed(self) -> bool:
        """Whether a body of a type without meaning may turn out to be of one of these."""
        return any(each in self for each in ("text/html", _VIDEO, *_EXACT, *_CONTAINERS))


def is_range(text: str) -> bool:
    """Tell whether a text is a media type or a range, in lower case and without parameters.

    >>> is_range("image/*"), is_range("*/*"), is_range("pdf"), is_range("text/html; charset=utf-8")
    (True, True, False, False)
    """
    return _RANGE.match(text) is not None
