"""Templates of seeds: a text with ranges, dates and lists in braces stands for all its combinations. Pure.

Vocabulary:
  {1..100}, {01..12}, {0..1000..10}      whole numbers, with zeros in front, with a step
  {2024-01-01..2024-12-31..7}            dates, every seventh day
  {a,b,c}                                a list in place
  {classes.txt}                          the lines of a text file in the root of the tree
  {{, }}                                 a brace
  lists       gives the text of such a file by its name

Promise: combinations are made one by one, and how many there are is multiplied: neither takes more memory for a
billion of them. The last braces change fastest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Protocol
from urllib.parse import quote

from fscrawl.util.text_lines import sound_lines

Lists = Callable[[str], str]

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_NUMBERS = re.compile(r"(-?\d{1,15})\.\.(-?\d{1,15})(?:\.\.(\d{1,15}))?\Z")
_DAY = r"(\d{4}-\d{2}-\d{2})"
_DATES = re.compile(rf"{_DAY}\.\.{_DAY}(?:\.\.(\d{{1,7}}))?\Z")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*\.txt\Z")
MAX_NAME_CHARS = 100
_MAX_SHOWN = 10**15  # combinations
_RESERVED = ("seeds.txt", "robots.txt")
_EXAMPLES = "a range such as {1..100} or {2024-01-01..2024-12-31}, a list such as {a,b}, or a file such as {names.txt}"


class Values(Protocol):
    """What stands in braces."""

    def count(self, lists: Lists) -> int: ...
    def each(self, lists: Lists) -> Iterator[str]: ...


@dataclass(frozen=True, slots=True)
class Numbers:
    """`width`: to fill with zeros; 0: without."""

    first: int
    last: int
    step: int = 1
    width: int = 0

    def count(self, lists: Lists) -> int:  # noqa: ARG002 - other values need it
        return (self.last - self.first) // self.step + 1

    def each(self, lists: Lists) -> Iterator[str]:  # noqa: ARG002
        return (f"{number:0{self.width}}" for number in range(self.first, self.last + 1, self.step))


@dataclass(frozen=True, slots=True)
class Dates:
    """`step`: days."""

    first: date
    last: date
    step: int = 1

    def count(self, lists: Lists) -> int:  # noqa: ARG002
        return (self.last - self.first).days // self.step + 1

    def each(self, lists: Lists) -> Iterator[str]:
        days = range(0, self.count(lists) * self.step, self.step)
        return ((self.first + timedelta(day)).isoformat() for day in days)


@dataclass(frozen=True, slots=True)
class Choice:
    """A list in place."""

    values: tuple[str, ...]

    def count(self, lists: Lists) -> int:  # noqa: ARG002
        return len(self.values)

    def each(self, lists: Lists) -> Iterator[str]:  # noqa: ARG002
        return iter(self.values)


@dataclass(frozen=True, slots=True)
class Listed:
    """The lines of a file."""

    name: str

    def count(self, lists: Lists) -> int:
        return sum(1 for _ in sound_lines(lists(self.name)))

    def each(self, lists: Lists) -> Iterator[str]:
        return (line.text for line in sound_lines(lists(self.name)))


@dataclass(frozen=True, slots=True)
class Template:
    """A text in pieces: as it is, or values for a pair of braces."""

    pieces: tuple[str | Values, ...]

    @property
    def values(self) -> tuple[Values, ...]:
        return tuple(piece for piece in self.pieces if not isinstance(piece, str))

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that it needs."""
        return tuple(dict.fromkeys(each.name for each in self.values if isinstance(each, Listed)))

    def fill(self, values: Sequence[str], *, in_url: bool = False) -> str:
        """Put one value into each pair of braces. `in_url`: values of files are percent-encoded.

        >>> read("/{a,b}/{n.txt}").fill(["a", "x/y"], in_url=True)
        '/a/x%2Fy'
        """
        rest = iter(values)
        return "".join(
            piece if isinstance(piece, str) else _encoded(piece, next(rest), in_url) for piece in self.pieces
        )


def _encoded(piece: Values, value: str, in_url: bool) -> str:
    return quote(value, safe="") if in_url and isinstance(piece, Listed) else value


def count(values: Sequence[Values], lists: Lists) -> int:
    """Tell how many combinations there are, without making them.

    >>> count(read("{1..1000000}{1..1000}{a,b}").values, str)
    2000000000
    """
    return math.prod(each.count(lists) for each in values)


def shown_count(number: int) -> str:
    """Write how many combinations there are. Python writes no number of more than 4,300 digits.

    >>> shown_count(2000), shown_count(10**5000)
    ('2,000', 'more than 1,000,000,000,000,000')
    """
    return f"{number:,}" if number <= _MAX_SHOWN else f"more than {_MAX_SHOWN:,}"


def combinations(values: Sequence[Values], lists: Lists) -> Iterator[tuple[str, ...]]:
    """Make all combinations, one by one.

    >>> list(combinations(read("{1..2}{a,b}").values, str))
    [('1', 'a'), ('1', 'b'), ('2', 'a'), ('2', 'b')]
    """
    if not values:
        yield ()
        return
    chosen: list[str] = []  # of all braces but the last that run
    running = [values[0].each(lists)]
    while running:
        value = next(running[-1], None)
        if value is None:
            running.pop()
            del chosen[-1:]
        elif len(running) == len(values):
            yield (*chosen, value)
        else:
            running.append(values[len(running)].each(lists))
            chosen.append(value)


def read(text: str) -> Template:
    """Read a template. ValueError with the reason if it is wrong.

    >>> read("a{{{1..3}}}").fill(["2"])
    'a{2}'
    >>> read("{3..1}")
    Traceback (most recent call last):
    ValueError: {3..1} is empty; the first value must not be more than the last
    """
    pieces: list[str | Values] = []
    for found in _PIECE.finditer(text):
        piece = found[0]
        if found[1] is not None:
            pieces.append(_values(found[1]))
        elif piece in ("{", "}"):
            raise ValueError(f"a {piece} has no partner; write {piece}{piece} for a brace that is part of the text")
        else:
            pieces.append(piece[0] if piece in ("{{", "}}") else piece)
    return Template(tuple(pieces))


def _values(text: str) -> Values:
    if found := _DATES.match(text):
        return _dates(found)
    if found := _NUMBERS.match(text):
        return _numbers(found)
    if "," in text:
        return Choice(tuple(value.strip() for value in text.split(",")))
    if _FILE.match(text) and len(text) <= MAX_NAME_CHARS:
        if text in _RESERVED:
            raise ValueError(f"{{{text}}}: {text} is a file of another kind; give the list another name")
        return Listed(text)
    if text.endswith(".txt"):
        raise ValueError(
            f"{{{text}}}: a file must lie in the root of the tree, and its name have letters, digits, - and _"
        )
    raise ValueError(f"{{{text[:60]}}} must be {_EXAMPLES}")


def _numbers(found: re.Match[str]) -> Numbers:
    first, last, step = int(found[1]), int(found[2]), int(found[3] or 1)
    _check_order(found[0], first <= last, step)
    padded = any(re.match(r"-?0\d", each) for each in found.group(1, 2))
    return Numbers(first, last, step, max(map(len, found.group(1, 2))) if padded else 0)


def _dates(found: re.Match[str]) -> Dates:
    try:
        first, last = map(date.fromisoformat, found.group(1, 2))
    except ValueError as error:
        raise ValueError(f"{{{found[0]}}}: {error}") from None
    _check_order(found[0], first <= last, int(found[3] or 1))
    return Dates(first, last, int(found[3] or 1))


def _check_order(text: str, is_right: bool, step: int) -> None:
    if not is_right:
        raise ValueError(f"{{{text}}} is empty; the first value must not be more than the last")
    if not step:
        raise ValueError(f"{{{text}}}: the step must be 1 or more")
