"""The progress line of a crawl that was started from Python: on a terminal and in a notebook it moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TextIO

from fscrawl.util.humanize import number_of
from fscrawl.util.progress import ProgressLine

_NOTEBOOKS = ("ipykernel.", "xeus_", "google.colab.")  # the modules of the streams that they put in place of stderr


class _Moving:
    """The stream of a notebook, which a line can be drawn on again and again, as on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self.write, self.flush = stream.write, stream.flush

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError("a notebook has no terminal")


class Bar:
    """Shows how far a crawl is."""

    def __init__(self, stream: TextIO | None, *, silent: bool) -> None:
        moves = type(stream).__module__.startswith(_NOTEBOOKS)
        shown: Any = _Moving(stream) if moves and stream is not None else stream
        self._silent = silent
        self._line = ProgressLine(shown, silent=silent)

    def __enter__(self) -> Self:
        if not self._silent:
            self._line.begin("", unit="pages")
            self._line.__enter__()
        return self

    def __exit__(self, *reason: object) -> None:
        if not self._silent:
            self._line.end(stays=True)
            self._line.__exit__(*reason)

    def show(self, counts: Mapping[str, Any]) -> None:
        """Show the counts of a message."""
        state = f"{counts['state'].upper()}, " if counts["state"] else ""
        failures, hosts = number_of(counts["errors"], "failure"), number_of(counts["hosts"], "host")
        self._line.note = (
            f"{counts['tree_pages']:,} in the tree, {state}{counts['pending']:,} pending, {hosts}, {failures},"
            f" {counts['in_flight']:,} in flight"
        )
        self._line.reach(counts["pages"])

    def print_line(self, text: str) -> None:
        """Print a line above the progress line."""
        if not self._silent:
            self._line.print_line(text)
