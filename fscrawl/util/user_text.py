"""Text that people write: its encoding, its lines, places in it, and TOML. Pure.

Vocabulary:
  stray byte   a byte that is not part of UTF-8. It becomes one of the characters U+DC80 to U+DCFF, which no file has
  place        file, line and column, `crawl.toml:17:13`, as compilers write it; both numbers begin at 1
  comment      what stands behind a # that begins a line or follows white space; `http://a.example/#top` has none
"""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from fscrawl.errors import SettingsError

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


# -- lines

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")  # str.splitlines() knows more ends of lines than editors number
_COMMENT = re.compile(r"(?:\A|\s)#.*", re.DOTALL)


class Line(NamedTuple):
    """A line with something on it besides a comment. `column` begins at 1; `comment`: from its # on, "" without one."""

    number: int
    column: int
    text: str
    comment: str = ""


def lines(text: str, begin: int = 0) -> Iterator[Line]:
    r"""Give the lines of a text that say something, one by one: a list of a million lines takes a hundred megabytes.

    `begin`: where a line begins; those before it are only counted.

    >>> list(lines("a # 1\n\n # 2\n  b#c"))
    [Line(number=1, column=1, text='a', comment='# 1'), Line(number=4, column=3, text='b#c', comment='')]
    >>> list(lines("a\n\nb\n", 3))
    [Line(number=3, column=1, text='b', comment='')]
    """
    first = sum(1 for _ in _LINE.finditer(text, 0, begin)) if begin else 1
    for number, found in enumerate(_LINE.finditer(text, begin or text.startswith("\ufeff")), first):
        bare, comment = parted(found[0])
        stripped = bare.lstrip()
        if stripped:
            yield Line(number, len(bare) - len(stripped) + 1, stripped, comment)


def parted(text: str) -> tuple[str, str]:
    """Give a text without the comment behind it, and the comment from its # on, "" without one.

    >>> parted("http://a.example/ # day 1"), parted("http://a.example/#top")
    (('http://a.example/', '# day 1'), ('http://a.example/#top', ''))
    """
    comment = _COMMENT.search(text)
    return text[: comment.start() if comment else None].rstrip(), comment[0].strip() if comment else ""


def sound_lines(text: str) -> Iterator[Line]:
    r"""Give the lines that are text: without bytes that are none (as `decode` keeps them), and without NUL.

    >>> [line.text for line in sound_lines("a\nb\udcff\nc\0\nd")]
    ['a', 'd']
    """
    return (line for line in lines(text) if not flaw_of(line))


def flaws(text: str) -> Iterator[tuple[int, int, str]]:
    r"""Give line, column and reason of each line that is no text.

    >>> list(flaws("a\nb\udcff"))
    [(2, 2, 'byte 0xff is not UTF-8; save the file as UTF-8')]
    """
    if text.isascii() and "\0" not in text:
        return
    for line in lines(text):
        if flaw := flaw_of(line):
            yield line.number, line.column + flaw[0], flaw[1]


def flaw_of(line: Line) -> tuple[int, str] | None:
    """Tell where a line is no text, and why; None if all of it is."""
    if "\0" in line.text:
        return line.text.index("\0"), "a NUL byte is no text; save the file as UTF-8"
    return stray_byte(line.text)


# -- TOML

_ESCAPES = {'"': '\\"', "\\": "\\\\"}


def to_toml(value: Any) -> str:
    r"""Write a value as TOML, in one line of printable characters.

    >>> to_toml(("a", 'b"')), to_toml(2.0), to_toml({"x": True})
    ('["a", "b\\""]', '2', '{"x" = true}')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in value) + '"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(to_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{to_toml(name)} = {to_toml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        return str(int(value))
    return str(value)


def one_line(name: str) -> str:
    """Return a name as it is, or quoted if it would break the line."""
    return name if name.isprintable() else to_toml(name)


def read_toml(text: str, where: str) -> dict[str, Any]:
    """Read the text of a file, which messages call `where`. SettingsError if it is no TOML.

    >>> read_toml("[crawl]\\nscope = any", "crawl.toml")
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: crawl.toml: not valid TOML: Invalid value (at line 2, column 9)
    """
    text = text.removeprefix("\ufeff")
    stray = stray_byte(text)
    if stray is not None:
        raise SettingsError(f"not valid TOML: {stray[1]}", where=place(where, text, stray[0]))
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a plain ValueError
        raise SettingsError(f"not valid TOML: {error}", where=where) from None
