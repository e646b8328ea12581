"""The lines of text files that people write, one value on each: `seeds.txt`, and lists that seeds are made of. Pure.

Vocabulary:
  comment     what stands behind a # that begins a line or follows white space; `http://a.example/#top` has none
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fscrawl.util.user_text import stray_byte

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
    r"""Give the lines that are text: without bytes that are none (as `user_text.decode` keeps them), and without NUL.

    >>> [line.text for line in sound_lines("a\nb\udcff\nc\0\nd")]
    ['a', 'd']
    """
    return (line for line in lines(text) if not _flaw_of(line))


def flaws(text: str) -> Iterator[tuple[int, int, str]]:
    r"""Give line, column and reason of each line that is no text.

    >>> list(flaws("a\nb\udcff"))
    [(2, 2, 'byte 0xff is not UTF-8; save the file as UTF-8')]
    """
    if text.isascii() and "\0" not in text:
        return
    for line in lines(text):
        if flaw := _flaw_of(line):
            yield line.number, line.column + flaw[0], flaw[1]


def _flaw_of(line: Line) -> tuple[int, str] | None:
    if "\0" in line.text:
        return line.text.index("\0"), "a NUL byte is no text; save the file as UTF-8"
    return stray_byte(line.text)
