"""How far each task is: figures by label, which each machine keeps in a file of its own beside its heartbeat log.

They are not in the heartbeats, since a crawl may have thousands of labels, and a log keeps every beat. What is not
stored (`not_stored`) stands in the same file, under the name of no label, and so does how much of the tree is counted.

Vocabulary:
  label     the name of a task (`fscrawl.labels`)
  figures   label → `LabelFigure`, of one machine
  known     of how many shards they count the pending URLs (`Coverage`)

Promise: a machine writes its figures every `EVERY_S` seconds if they have changed, at first sooner, soon after shards
have come or gone, and when it leaves. One that is killed has not counted what it stored since then.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, Self

from fscrawl.errors import TreeError
from fscrawl.fleet.not_stored import NotStored
from fscrawl.labels import is_label
from fscrawl.storage.layout import labels_path

EVERY_S = 10.0
_FIRST_S = 1.0  # until then, others see the tasks of the runs before
OTHERS = "(others)"
_NO_LABEL = ""
_KNOWN = "known"
_MOST_LABELS = 5_000  # that one machine counts apart; what it stores for further ones is counted as OTHERS
_MOST_BYTES = 4 << 20  # of a file: as many labels of four bytes a letter
_MOST = 1 << 62  # no higher number was written by a machine


class LabelFigure(NamedTuple):
    """The figures of one task: stored pages; other records, which are redirects and types without a body; failures;
    and URLs that wait or are in flight.
    """

    stored: int = 0
    other: int = 0
    failed: int = 0
    pending: int = 0

    @property
    def found(self) -> int:
        return sum(self)

    def plus(self, more: Self) -> LabelFigure:
        """Add two of the same label.

        >>> LabelFigure(1, pending=2).plus(LabelFigure(3)).found
        6
        """
        return LabelFigure(*map(sum, zip(self, more, strict=True)))


class Coverage(NamedTuple):
    """How many shards a machine's figures count wholly, and how many of the tree have URLs, as far as it knows.

    `needed` None: the machine has not looked yet.
    """

    ready: int = 0
    needed: int | None = None


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


class Files(Protocol):
    """The part of `TreeFiles` that is used here."""

    machine: str

    def publish(self, path: str, data: bytes) -> None: ...
    def read_or_torn(self, path: str) -> bytes | None: ...


class LabelCounter:
    """Counts for one machine, and writes its file. Only the main loop uses it."""

    def __init__(self, files: Files, pending: Callable[[], Counter[str]], not_stored: NotStored | None = None) -> None:
        """`pending`: gives how many URLs wait or are in flight, by label."""
        self._files = files
        self._pending = pending
        self._done: dict[str, LabelFigure] = {}
        self._not_stored = not_stored or NotStored()
        self._known = Coverage()
        self._written = _to_json({}, {})
        self._written_at = self._due = 0.0
        self._pause_s = _FIRST_S

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

    def tell(self, now: float, known: Coverage | None = None) -> None:
        """Write the file if it is due."""
        known = self._known if known is None else known
        if known.ready != self._known.ready:
            self._due = min(self._due, self._written_at + _FIRST_S)
        self._known = known
        if now >= self._due:
            self._written_at = now
            self._due = now + self._pause_s
            self._pause_s = min(2 * self._pause_s, EVERY_S)
            self.tell_now()

    def tell_now(self) -> None:
        """Write the file if it says something else than before. The crawl goes on if it cannot be written."""
        known = {} if self._known.needed is None else {_KNOWN: self._known}
        data = _to_json(self.figures(), {**self._not_stored.to_json(), **known})
        if data != self._written:
            with contextlib.suppress(TreeError):
                self._files.publish(labels_path(self._files.machine), data)
                self._written = data


class FigureFile(NamedTuple):
    """What a machine's file says: figures by label, what is not stored (for `NotStored.take`), and `Coverage`."""

    labels: Figures
    not_stored: Mapping[str, Any]
    known: Coverage


NO_FIGURES = FigureFile({}, {}, Coverage())


def read_file(files: Files, machine: str) -> FigureFile:
    """Read a machine's file; what somebody else has written into it is left out."""
    return file_in(files.read_or_torn(labels_path(machine)) or b"")


def file_in(data: bytes) -> FigureFile:
    """Read such a file."""
    values = _values(data)
    labels = {label: _figure(each) for label, each in values.items() if is_label(label) and isinstance(each, dict)}
    beside = values.get(_NO_LABEL)
    beside = beside if isinstance(beside, dict) else {}
    return FigureFile(labels, beside, _known(beside.get(_KNOWN)))


def _known(said: Any) -> Coverage:
    if isinstance(said, list) and len(said) == 2 and all(type(each) is int and 0 <= each < _MOST for each in said):
        return Coverage(*said)
    return Coverage()


def _values(data: bytes) -> Mapping[str, Any]:
    try:
        values = json.loads(data) if len(data) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _figure(values: dict[str, Any]) -> LabelFigure:
    numbers = (values.get(name) for name in LabelFigure._fields)
    return LabelFigure(*(each if type(each) is int and abs(each) < _MOST else 0 for each in numbers))


def _to_json(figures: Figures, not_stored: Mapping[str, Any]) -> bytes:
    """One label a line: people read these files, too."""
    values = {label: each._asdict() for label, each in figures.items()} | (
        {_NO_LABEL: not_stored} if not_stored else {}
    )
    lines = (f"{json.dumps(label, ensure_ascii=False)}: {json.dumps(each)}" for label, each in values.items())
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()
