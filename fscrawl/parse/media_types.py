"""Whether a body is what its Content-Type says. Pure.

Servers send images as text/html and pages as octets. Here, by https://mimesniff.spec.whatwg.org/: a body that begins
like a known binary format is no page, whatever the header; one of no type, or of a type that says nothing, is a page if
it begins like one. What is sent as text/plain is text, as in browsers: somebody may mean to show markup.
"""

from __future__ import annotations

import re

# Types that servers give to what they do not know.
SAYS_NOTHING = frozenset({"", "application/octet-stream", "unknown/unknown", "application/unknown"})

_BINARY = (
    (b"%PDF-", "application/pdf"),
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
_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*"
    rb"<(?:!doctype[\t\n\f\r ]+html|html|head|body|title|script|iframe|h1|div|font|table|a|style|b|br|p|meta|!--)"
    rb"[\t\n\f\r />-]",
    re.IGNORECASE,
)


def type_of(body: bytes, media_type: str) -> str | None:
    """Give the type that a body shows where it is no page, None where it is one. `media_type`: of the header.

    >>> type_of(b"%PDF-1.7", "text/html"), type_of(b"<!DOCTYPE html>", ""), type_of(b"a,b", "")
    ('application/pdf', None, 'unknown/unknown')
    """
    for beginning, shown in _BINARY:
        if body.startswith(beginning):
            return shown
    if body[4:8] == b"ftyp":
        return "video/mp4"
    if body.startswith(b"RIFF") and body[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wave", b"AVI ": "video/avi"}[body[8:12]]
    if media_type in SAYS_NOTHING and not _PAGE.match(body):
        return media_type or "unknown/unknown"
    return None
