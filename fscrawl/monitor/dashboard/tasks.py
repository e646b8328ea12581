"""The table of tasks: how far each label is, and how fast it goes on.

Vocabulary:
  task      what has one label (`fscrawl.labels`)
  sample    how many pages each task had at a time of the monotonic clock; one is taken every ten seconds

Promise: the figures are those of `fscrawl status`. The rates come from what was seen while somebody looked, in five
minutes at most; so they cost the tree nothing. A task that is named in `stopped_labels` is listed in any case.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from fscrawl.fleet.label_figures import OTHERS, LabelFigure
from fscrawl.monitor.dashboard.tables import Query, cut, place, sort_rows
from fscrawl.monitor.snapshot import Snapshot

SORTS = ("pending", "label", "found", "stored", "failed", "rate")
ONLY = ("", "open", "done", "stopped")
_SAMPLE_S = 10.0
_SAMPLES = 31  # five minutes of them
_FEWEST_S = 20.0  # machines write their figures every ten seconds
_GAP_S = 60.0  # nobody looked for so long: the rates begin anew
_LIVES_S = 2.0  # one sum for all who look


class Tasks:
    """The tasks of a tree. Only one thread at a time may call `table`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, Mapping[str, int]]] = deque(maxlen=_SAMPLES)
        self._figures: Mapping[str, LabelFigure] = {}
        self._summed_at = float("-inf")

    def table(self, snapshot: Snapshot, query: Query) -> dict[str, Any]:
        """Give a page of the table; `query.text` is a part of a label, in upper or lower case."""
        self._take_in(snapshot)
        running = bool(snapshot.alive())
        rates = self._rates() if running else {}
        stopped = frozenset(snapshot.stopped_labels)
        names = dict.fromkeys((*self._figures, *snapshot.stopped_labels))
        rows = [_row(name, self._figures.get(name, LabelFigure()), rates.get(name), name in stopped) for name in names]
        wanted = query.text.strip().casefold()
        found = [row for row in rows if wanted in row["label"].casefold() and query.only in {"", row["state"]}]
        found.sort(key=lambda row: str(row["label"]))
        ordered = sort_rows(found, lambda row: row[query.sort], descending=query.descending)
        return {
            "now": round(snapshot.now, 1),
            "tasks": len(rows),
            "running": running,
            "states": {state: sum(row["state"] == state for row in rows) for state in ONLY if state},
            **place(len(found), query.page),
            "rows": cut(ordered, query.page),
        }

    def _take_in(self, snapshot: Snapshot) -> None:
        now = self._clock()
        if now - self._summed_at < _LIVES_S:
            return
        if now - self._summed_at > _GAP_S:
            self._samples.clear()
        self._summed_at = now
        self._figures = snapshot.labels()
        if not self._samples or now - self._samples[-1][0] >= _SAMPLE_S:
            self._samples.append((now, {label: figure.stored for label, figure in self._figures.items()}))

    def _rates(self) -> dict[str, float]:
        """Give pages a second of each task; nothing until there is enough to go by."""
        (began, before), (ended, after) = self._samples[0], self._samples[-1]
        if ended - began < _FEWEST_S:
            return {}
        return {label: max(0, stored - before.get(label, 0)) / (ended - began) for label, stored in after.items()}


def _row(label: str, figure: LabelFigure, rate: float | None, is_stopped: bool) -> dict[str, Any]:
    return {
        "label": label,
        "state": "stopped" if is_stopped else "open" if figure.pending else "done",
        "found": figure.found,
        "stored": figure.stored,
        "failed": figure.failed,
        "pending": figure.pending,
        "rate": None if rate is None else round(rate, 2),
        "ends_in_s": round(figure.pending / rate) if rate and figure.pending and not is_stopped else None,
        "has_pages": label != OTHERS,
    }
