"""A progress line that notes its steps.

with Steps() as line:
    ...
assert line.steps == [("reading records", 5, 5)]     the name, how many there are (None: not known), how many were done
"""

from __future__ import annotations

import io
from collections.abc import Callable

from fscrawl.util.progress import ProgressLine


class Steps(ProgressLine):
    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.steps: list[tuple[str, int | None, int]] = []

    def begin(
        self,
        step: str,
        total: int | None = None,
        unit: str = "records",
        source: Callable[[], int] | None = None,
    ) -> None:
        self.end()
        super().begin(step, total, unit, source)

    def end(self, *, stays: bool = False) -> None:
        if self._step is not None:
            self.steps.append((self._step, self._total, self.done))
        super().end(stays=stays)
