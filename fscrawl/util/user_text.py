"""Text that people write: its encoding, and places in it. Pure.

Vocabulary:
  stray byte   a byte that is not part of UTF-8. It becomes one of the characters U+DC80 to U+DCFF, which no file has
  place        file, line and column, `crawl.toml:17:13`, as compilers write it; both numbers begin at 1
"""

from __future__ import annotations

import codecs
import re

MOST_SHOWN = 60  # characters of a value in a message
BACKSPACE = r"between double quotes \b is a backspace, which no page has; write single quotes, like '\bprint\b'"
_STRAY = re.compile("[\udc80-\udcff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def encoding_of(data: bytes) -> str:
    """Return the encoding of a file: "utf-16-le" or "utf-16-be" if its first two bytes say so, else "utf-8"."""
    return _UTF_16.get(data[:2], "utf-8")


def decode(data: bytes) -> str:
    r"""Decode a file, without its byte order mark. A stray byte does not spoil the rest.

    >>> decode(b"\xef\xbb\xbfa\xffb"), decode("é".encode("utf-16"))
    ('a\udcffb', 'é')
    """
    encoding = encoding_of(data)
    text = data.decode(encoding, "surrogateescape" if encoding == "utf-8" else "replace")
    return text.removeprefix("\ufeff")


def has_surrogates(text: str) -> bool:
    r"""Tell whether a text has lone surrogates. Arguments that are not UTF-8 have some, and a file in UTF-8 has none.

    >>> has_surrogates("é"), has_surrogates("a\udcff")
    (False, True)
    """
    return _SURROGATES.search(text) is not None


def stray_byte(text: str) -> tuple[int, str] | None:
    r"""Return where the first stray byte is, and what to say of it; None if there is none.

    >>> stray_byte("a\udcff")
    (1, 'byte 0xff is not UTF-8; save the file as UTF-8')
    """
    found = _STRAY.search(text)
    if found is None:
        return None
    return found.start(), f"byte {hex(ord(found[0]) - 0xDC00)} is not UTF-8; save the file as UTF-8"


def place(where: str, text: str, offset: int) -> str:
    r"""Name a place in a text whose lines end with "\n".

    >>> place("crawl.toml", "[crawl]\nx = 1", 12)
    'crawl.toml:2:5'
    """
    line = text.count("\n", 0, offset) + 1
    return f"{where}:{line}:{offset - text.rfind(chr(10), 0, offset)}"


def shown(text: str) -> str:
    r"""Return what somebody wrote as a message shows it: on one line, printable, and not longer than a glance.

    >>> shown('["a",\n  "b"]'), shown("x" * 100) == "x" * MOST_SHOWN + "…"
    ('["a", "b"]', True)
    """
    line = re.sub(r"\s*\n\s*", " ", text[: 4 * MOST_SHOWN].strip())
    line = "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in line)
    return line if len(line) <= MOST_SHOWN else line[:MOST_SHOWN] + "…"
