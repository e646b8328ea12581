"""What is counted: the calls of one machine on the shared directory, and its bytes, by what they are for.

Kinds:
  pages       a page's own two files: temporaries are written, checked and renamed; directories of hosts
  checks      other looks at pages: is one stored, what has a host's directory, what does a record say
  beats       heartbeats, the own ones and those of others
  leases      who holds what
  logs        what machines say about URLs: calls; their bytes are those of heads and lines
  heads       of blocks; every machine reads all of them
  lines       the rest of a log: a machine reads those of its shards, and what stands close to them
  snapshots   of shards
  settings    settings, seeds, signs, rules of generations, the record of the tree
"""

from __future__ import annotations

from collections import Counter

PAGES, CHECKS, BEATS, LEASES, LOGS, HEADS, LINES, SNAPSHOTS, SETTINGS = (
    "pages",
    "checks",
    "beats",
    "leases",
    "logs",
    "heads",
    "lines",
    "snapshots",
    "settings",
)
_DIRECTORIES = {
    "machines": BEATS,
    "leases": LEASES,
}
_OF_A_GENERATION = {"log": LOGS, "snap": SNAPSHOTS}
_PAGE_DIRECTORIES = ("htmls", "links", "errs")


class Tally:
    """Calls by kind and by name, and bytes by kind."""

    __slots__ = ("calls", "names", "read", "written")

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.names: Counter[str] = Counter()
        self.read: Counter[str] = Counter()
        self.written: Counter[str] = Counter()

    def copy(self) -> Tally:
        return self.plus(Tally())

    def plus(self, other: Tally) -> Tally:
        return self._with(other, 1)

    def minus(self, other: Tally) -> Tally:
        """Give what was counted since `other` was copied."""
        return self._with(other, -1)

    def _with(self, other: Tally, sign: int) -> Tally:
        result = Tally()
        for part in self.__slots__:
            mine, theirs, sums = getattr(self, part), getattr(other, part), getattr(result, part)
            for name in {*mine, *theirs}:
                sums[name] = mine[name] + sign * theirs[name]
        return result


def kind_of(path: str) -> str:
    """Give the kind of a path relative to the root.

    >>> kind_of("links/a.example/1.json"), kind_of(".fscrawl/leases"), kind_of("STOP")
    ('pages', 'leases', 'settings')
    >>> kind_of(".fscrawl/generations/1/log/a.log"), kind_of(".fscrawl/generations/1/rules.json")
    ('logs', 'settings')
    """
    first, _, rest = path.partition("/")
    if first in _PAGE_DIRECTORIES:
        return PAGES
    if first == ".fscrawl":
        directory, *below = rest.split("/")
        if directory == "generations" and len(below) > 1:
            return _OF_A_GENERATION.get(below[1], SETTINGS)
        return _DIRECTORIES.get(directory, SETTINGS)
    return SETTINGS
