"""Is a body a page, as its Content-Type says? Pure.

Servers send images as text/html, and pages as application/octet-stream. So the first bytes decide as well, by
https://mimesniff.spec.whatwg.org/:
- A body that begins like a known binary format is not a page, whatever its header says.
- A body without a type, or with a type that has no meaning, is a page if it begins like HTML.
- text/plain stays text, as in browsers: the author may want to show markup.
"""

from __future__ import annotations

import re

# Types that servers send for files that they do not know.
NO_MEANING = frozenset({"", "application/octet-stream", "unknown/unknown", "application/unknown"})

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


def unwanted_type(body: bytes, media_type: str) -> str | None:
    """Return None if a body is a page, else the type that its first bytes show. `media_type`: of the header.

    >>> unwanted_type(b"%PDF-1.7", "text/html"), unwanted_type(b"<!DOCTYPE html>", ""), unwanted_type(b"a,b", "")
    ('application/pdf', None, 'unknown/unknown')
    """
    for magic, shown in _BINARY:
        if body.startswith(magic):
            return shown
    if body[4:8] == b"ftyp":
        return "video/mp4"
    if body.startswith(b"RIFF") and body[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wave", b"AVI ": "video/avi"}[body[8:12]]
    if media_type in NO_MEANING and not _PAGE.match(body):
        return media_type or "unknown/unknown"
    return None
