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
