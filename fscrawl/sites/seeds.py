"""The seeds of a site: URLs, of which each may have one pair of braces that stands for several values. Pure.

  {1..100}, {01..12}, {0..1000..10}      whole numbers, with zeros in front, every tenth
  {2024-01-01..2024-12-31..7}            dates, every seventh day
  {names.txt}                            the lines of a text file in the root of the tree

More than that is a loop in a site file, or a program that writes URLs for `--seeds -`.

Promise: URLs are made one by one, and counted without being made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from urllib.parse import quote

import msgspec

from fscrawl import urls
from fscrawl.util.user_text import sound_lines

Labelled = tuple[str, str]  # the spelling of a seed, and its label, "" without one
Lists = Callable[[str], str]  # gives the text of a list by the name of its file

MAX_SEEDS = 10_000_000  # of all tables of a crawl
_BRACES = re.compile(r"([^{}]*)\{([^{}]*)\}([^{}]*)\Z")
_NUMBERS = re.compile(r"(-?\d{1,15})\.\.(-?\d{1,15})(?:\.\.(\d{1,15}))?\Z")
_DAY = r"(\d{4}-\d{2}-\d{2})"
_DATES = re.compile(rf"{_DAY}\.\.{_DAY}(?:\.\.(\d{{1,7}}))?\Z")
_FILE = re.compile(r"(?=.{5,100}\Z)[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*\.txt\Z")
_BEHIND_HOST = re.compile(r"[a-z]+://[^/?#]+[/?#]", re.IGNORECASE)
_EXAMPLES = "a range such as {1..100} or {2024-01-01..2024-12-31}, or a file such as {names.txt}"


class Numbers(msgspec.Struct, frozen=True):
    """`width`: to fill with zeros; 0: without."""

    first: int
    last: int
    step: int = 1
    width: int = 0

    def count(self, lists: Lists) -> int:  # noqa: ARG002 - a list needs it
        return len(range(self.first, self.last + 1, self.step))

    def each(self, lists: Lists) -> Iterator[str]:  # noqa: ARG002
        return (f"{number:0{self.width}}" for number in range(self.first, self.last + 1, self.step))


class Dates(msgspec.Struct, frozen=True):
    """`step`: days."""

    first: date
    last: date
    step: int = 1

    def count(self, lists: Lists) -> int:  # noqa: ARG002
        return (self.last - self.first).days // self.step + 1

    def each(self, lists: Lists) -> Iterator[str]:
        return ((self.first + timedelta(day * self.step)).isoformat() for day in range(self.count(lists)))


class Listed(msgspec.Struct, frozen=True):
    """The lines of a file."""

    name: str

    def count(self, lists: Lists) -> int:
        return sum(1 for _ in sound_lines(lists(self.name)))

    def each(self, lists: Lists) -> Iterator[str]:
        return (quote(line.text, safe="") for line in sound_lines(lists(self.name)))


class SeedUrls(msgspec.Struct, frozen=True):
    """An entry of `seeds`. `values`: what stands between `before` and `after`; None: nothing."""

    text: str
    before: str
    values: Numbers | Dates | Listed | None = None
    after: str = ""

    @property
    def file(self) -> str:
        """The name of the list that it needs; "" if none."""
        return self.values.name if isinstance(self.values, Listed) else ""

    @property
    def origin(self) -> str:
        """The root of its site, such as "https://a.example/"."""
        return urls.origin(urls.normalise(self.before) or "") + "/"

    def count(self, lists: Lists) -> int:
        return 1 if self.values is None else self.values.count(lists)

    def each(self, lists: Lists) -> Iterator[str]:
        """Give the normal forms. A value of a list that makes no URL is left out."""
        values = iter([""]) if self.values is None else self.values.each(lists)
        return (url for value in values if (url := urls.normalise(self.before + value + self.after)) is not None)


def read(text: str) -> SeedUrls:
    """Read an entry. ValueError with the reason if it is wrong.

    >>> list(read("http://a.example/?page={1..2}").each(str))
    ['http://a.example/?page=1', 'http://a.example/?page=2']
    >>> read("http://a.example/{3..1}")
    Traceback (most recent call last):
    ValueError: {3..1} is empty; the first value must not be more than the last
    """
    found = _BRACES.match(text)
    if found is None and ("{" in text or "}" in text):
        raise ValueError("it may have one pair of braces; write a site file for more, or %7B for a brace")
    seed = SeedUrls(text, text) if found is None else SeedUrls(text, found[1], _values(found[2]), found[3])
    url = next(seed.each(lambda name: "x"), None)  # noqa: ARG005
    if url is None:
        raise ValueError("it gives no http or https URL")
    if found is not None and not _BEHIND_HOST.match(found[1]):
        raise ValueError("braces stand behind the host; write an entry for each host")
    if (port := urls.bad_port(url)) is not None:
        raise ValueError(f"port {port} is of another protocol than HTTP, and never asked")
    return seed


def _values(text: str) -> Numbers | Dates | Listed:
    if found := _DATES.match(text):
        try:
            first, last = map(date.fromisoformat, found.group(1, 2))
        except ValueError as error:
            raise ValueError(f"{{{text}}}: {error}") from None
        return Dates(first, last, _step(text, first <= last, found[3]))
    if found := _NUMBERS.match(text):
        step = _step(text, int(found[1]) <= int(found[2]), found[3])
        padded = any(re.match(r"-?0\d", each) for each in found.group(1, 2))
        return Numbers(int(found[1]), int(found[2]), step, max(map(len, found.group(1, 2))) if padded else 0)
    if _FILE.match(text):
        return Listed(text)
    if text.endswith(".txt"):
        raise ValueError(
            f"{{{text[:60]}}}: a file must lie in the root of the tree, and its name have letters, digits, - and _"
        )
    raise ValueError(f"{{{text[:60]}}} must be {_EXAMPLES}")


def _step(text: str, is_right: bool, step: str | None) -> int:
    if not is_right:
        raise ValueError(f"{{{text}}} is empty; the first value must not be more than the last")
    if not int(step or 1):
        raise ValueError(f"{{{text}}}: the step must be 1 or more")
    return int(step or 1)
