"""How far each task is: figures by label, which a machine counts for its status file (`status_file`).

Vocabulary:
  label     the name of a task (`fscrawl.labels`)
  known     of how many shards the figures count the pending URLs (`Coverage`)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Annotated, NamedTuple, Self

import msgspec

_Count = Annotated[int, msgspec.Meta(gt=-(1 << 62), lt=1 << 62)]  # no higher number was written by a machine
OTHERS = "(others)"
_MOST_LABELS = 5_000  # that one machine counts apart; what it stores for further ones is counted as OTHERS


class LabelFigure(msgspec.Struct, frozen=True, omit_defaults=True):
    """The figures of one task: stored pages; other records, which are redirects and types without a body; failures;
    and URLs that wait or are in flight.
    """

    stored: _Count = 0
    other: _Count = 0
    failed: _Count = 0
    pending: _Count = 0

    @property
    def found(self) -> int:
        return sum(msgspec.structs.astuple(self))

    def plus(self, more: Self) -> LabelFigure:
        """Add two of the same label.

        >>> LabelFigure(1, pending=2).plus(LabelFigure(3)).found
        6
        """
        return LabelFigure(*map(sum, zip(*map(msgspec.structs.astuple, (self, more)), strict=True)))


class Coverage(NamedTuple):
    """How many shards a machine's figures count wholly, and how many of the tree have URLs, as far as it knows.

    `needed` None: the machine has not looked yet.
    """

    ready: _Count = 0
    needed: _Count | None = None


def covers_all(known: Collection[Coverage]) -> bool:
    """Tell whether these machines, which are all that are alive, count the URLs of all shards that have some.

    >>> covers_all([Coverage(3, 5), Coverage(2, 4)]), covers_all([Coverage(5, 5), Coverage()])
    (True, False)
    """
    needed = [each.needed for each in known]
    return None not in needed and sum(each.ready for each in known) >= max(filter(None, needed), default=0)


Figures = Mapping[str, LabelFigure]


def summed(figures: Iterable[Figures]) -> dict[str, LabelFigure]:
    """Add the figures of several machines."""
    total: dict[str, LabelFigure] = {}
    for each in figures:
        for label, figure in each.items():
            total[label] = total.get(label, _NOTHING).plus(figure)
    return total


_NOTHING = LabelFigure()


class LabelCounter:
    """Counts for one machine. Only the main loop uses it."""

    def __init__(self, pending: Callable[[], Counter[str]]) -> None:
        """`pending`: gives how many URLs wait or are in flight, by label."""
        self._pending = pending
        self._done: dict[str, LabelFigure] = {}

    def add(self, label: str, *, stored: int = 0, other: int = 0, failed: int = 0) -> None:
        """Count records that the tree has more, or less; nothing without a label."""
        if label:
            name = label if label in self._done or len(self._done) < _MOST_LABELS else OTHERS
            self._done[name] = self._done.get(name, _NOTHING).plus(LabelFigure(stored, other, failed))

    def figures(self) -> dict[str, LabelFigure]:
        """Give the figures as they are now."""
        waiting: Counter[str] = Counter()
        for label, number in self._pending().items():
            waiting[label if label in self._done or len(self._done) + len(waiting) < _MOST_LABELS else OTHERS] += number
        return summed([self._done, {label: LabelFigure(pending=number) for label, number in waiting.items()}])
