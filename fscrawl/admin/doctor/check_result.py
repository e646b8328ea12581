"""The result of one check."""

from __future__ import annotations

from typing import NamedTuple

OK, WARNING, PROBLEM = "ok", "warning", "problem"


class CheckResult(NamedTuple):
    """One line. `level`: "ok", "warning" (worth knowing) or "problem" (a crawl would fail). `advice`: what to do."""

    level: str
    what: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.level}: {self.what}" + (f"; {self.advice}" if self.advice else "")


def gib(number: float) -> str:
    """Write bytes for people.

    >>> gib(3 << 30), gib(5 << 20), gib(700)
    ('3.0 GiB', '5 MiB', '0 MiB')
    """
    return f"{number / (1 << 30):.1f} GiB" if number >= 1 << 30 else f"{number / (1 << 20):.0f} MiB"
