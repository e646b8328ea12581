"""The result of one check; and of many that say much of the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

OK, WARNING, PROBLEM = "ok", "warning", "problem"
_MOST_SHOWN = 10


class CheckResult(NamedTuple):
    """One line. `level`: "ok", "warning" (worth knowing) or "problem" (a crawl would fail). `advice`: what to do."""

    level: str
    what: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.level}: {self.what}" + (f"; {self.advice}" if self.advice else "")


def limited(results: Iterable[CheckResult]) -> Iterator[CheckResult]:
    """Give at most ten results of each level, then the number of the others."""
    counts = Counter[str]()
    for each in results:
        counts[each.level] += 1
        if counts[each.level] <= _MOST_SHOWN:
            yield each
    for level, number in counts.items():
        if number > _MOST_SHOWN:
            yield CheckResult(level, f"and {number - _MOST_SHOWN} more like this")
