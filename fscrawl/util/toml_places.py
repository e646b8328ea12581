"""Where the keys and values of a TOML file stand, which `tomllib` does not say. Pure; loaded only to word an error.

The text may have an error: what stands before it is found.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from contextlib import suppress
from typing import NamedTuple

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[A-Za-z0-9_-]+")
_STRING = re.compile(
    r"\"\"\"(?:\\.|[^\\])*?\"\"\"(?!\")|'''.*?'''(?!')|\"(?!\"\")(?:[^\"\\\n]|\\.)*\"|'(?!'')[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^\s,\]}#](?:[^,\]}#\n]*[^\s,\]}#])?")  # a date and its time may have a blank between them


class Entry(NamedTuple):
    """A key, the head of a section, or an item of a list. `path`: its whole name, as the keys of `item` for lists.

    The rest are offsets; a head has no value.
    """

    path: tuple[str, ...]
    key: int
    value: int
    end: int


def entries(text: str) -> list[Entry]:
    r"""Find all entries of a text whose lines end with "\n", in their order.

    >>> [each.path for each in entries('[a]\nb.c = 1\n"d e" = {f = 2}')]
    [('a',), ('a', 'b', 'c'), ('a', 'd e'), ('a', 'd e', 'f')]
    """
    scanner = _Scanner(text)
    with suppress(_LostError, RecursionError):
        scanner.run()
    return sorted(scanner.found, key=lambda entry: entry.key)


def item(number: int) -> str:
    r"""Give the key of an item in a list, or of one of several sections with the same head; the first one is 0.

    >>> [each.path for each in entries("[[a]]\nb = [1]")]
    [('a', '[0]'), ('a', '[0]', 'b'), ('a', '[0]', 'b', '[0]')]
    """
    return f"[{number}]"


def last_statement(text: str) -> int:
    r"""Return where the last statement begins: the one that is not ended, if the text ends too early.

    >>> last_statement('a = 1\nb = [1,\n2')
    6
    """
    scanner = _Scanner(text)
    with suppress(_LostError, RecursionError):
        scanner.run()
    return scanner.begun


def find(found: list[Entry], path: tuple[str, ...]) -> Entry | None:
    """Return the entry with this path, or the first one inside it.

    >>> find(entries("[a.b.c]"), ("a", "b"))
    Entry(path=('a', 'b', 'c'), key=0, value=0, end=7)
    """
    inside = [entry for entry in found if entry.path[: len(path)] == path]
    return next((entry for entry in inside if entry.path == path), inside[0] if inside else None)


class _LostError(Exception):
    """Here the text is no TOML any more."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.found: list[Entry] = []
        self.begun = 0
        self._text = text
        self._at = 0
        self._sections: Counter[tuple[str, ...]] = Counter()  # how often a head with two brackets has come

    def run(self) -> None:
        section: tuple[str, ...] = ()
        while self._skip(_BLANK):
            self.begun = self._at
            if self._text[self._at] != "[":
                self._assignment(section)
                continue
            start = self._at
            double = self._text.startswith("[[", start)
            self._at += 2 if double else 1
            section = self._section(self._path(), double=double)
            self._expect("]]" if double else "]")
            self.found.append(Entry(section, start, start, self._at))

    def _section(self, names: tuple[str, ...], *, double: bool) -> tuple[str, ...]:
        """Return the path of a section: below a head with two brackets, the last one that came is meant."""
        path: tuple[str, ...] = ()
        for name in names[:-1]:
            path = self._last((*path, name))
        path = (*path, names[-1])
        if not double:
            return self._last(path)
        self._sections[path] += 1
        return self._last(path)

    def _last(self, path: tuple[str, ...]) -> tuple[str, ...]:
        return (*path, item(self._sections[path] - 1)) if path in self._sections else path

    def _skip(self, what: re.Pattern[str]) -> bool:
        """Go behind what matches; tell whether there is more."""
        found = what.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at < len(self._text)

    def _take(self, what: re.Pattern[str]) -> str:
        found = what.match(self._text, self._at)
        if found is None:
            raise _LostError
        self._at = found.end()
        return found[0]

    def _expect(self, mark: str) -> None:
        if not self._text.startswith(mark, self._at):
            raise _LostError
        self._at += len(mark)

    def _path(self) -> tuple[str, ...]:
        names = []
        while True:
            self._skip(_SPACE)
            names.append(_plain(self._take(_KEY)))
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return tuple(names)
            self._at += 1

    def _assignment(self, section: tuple[str, ...]) -> None:
        key = self._at
        path = section + self._path()
        self._expect("=")
        self._skip(_SPACE)
        value = self._at
        self._value(path)
        self.found.append(Entry(path, key, value, self._at))

    def _value(self, path: tuple[str, ...]) -> None:
        first = self._text[self._at : self._at + 1]
        if first in ("[", "{"):
            self._at += 1
            self._items(path, "]" if first == "[" else "}")
        else:
            self._take(_STRING if first in ('"', "'") else _SCALAR)

    def _items(self, path: tuple[str, ...], end: str) -> None:
        number = 0
        while self._skip(_BLANK):
            if self._text[self._at] == end:
                self._at += 1
                return
            if end == "}":
                self._assignment(path)
            else:
                start, of_item = self._at, (*path, item(number))
                self._value(of_item)
                self.found.append(Entry(of_item, start, start, self._at))
                number += 1
            self._skip(_BLANK)
            if not self._text.startswith(end, self._at):
                self._expect(",")
        raise _LostError


def _plain(key: str) -> str:
    """Return a key without its quotes."""
    if key[0] not in "\"'":
        return key
    try:
        return next(iter(tomllib.loads(f"{key} = 0")))
    except ValueError:
        return key
