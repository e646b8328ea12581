"""What a crawl shows while it runs: a tqdm line on a terminal, else a plain line every 30 s, or JSON lines.

Promise: nothing from the web is printed raw; `terminal` replaces control characters and terminal escapes.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, TextIO

from fscrawl.util.terminal import plain, say, say_json

_LINE_EVERY_S = 30.0
_REDRAW_EVERY_S = 0.25


@dataclass
class Counts:
    """What this run has done, and what is left to do.

    pages, redirects, skipped   records stored by this run
    unchanged                   stored pages that were checked again, and stay as they are
    bytes                       of the stored bodies
    errors                      error records written, by class
    retried                     failures that were returned for another attempt
    pending, in_flight, hosts   as in the frontier
    reseeding                   hosts whose link files are still to be read
    state                       what keeps this machine from fetching, "" if nothing does
    cut                         URLs left out, by the setting that did it; by "length": they are too long
    """

    pages: int = 0
    redirects: int = 0
    skipped: int = 0
    unchanged: int = 0
    bytes: int = 0
    retried: int = 0
    pending: int = 0
    in_flight: int = 0
    hosts: int = 0
    reseeding: int = 0
    state: str = ""
    errors: Counter[str] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)

    def after(self, before: Counts) -> Counts:
        """Give the sum with the counts of the runs before; what is left to do is as it is now."""
        done = ("pages", "redirects", "skipped", "unchanged", "bytes", "retried", "errors", "cut")
        return replace(self, **{name: getattr(self, name) + getattr(before, name) for name in done})


class Progress:
    """Shows `Counts` as they change, on `stream`; `mode`: "line" | "json" | "quiet"."""

    def __init__(self, mode: str, *, verbose: bool, stream: TextIO | None = None) -> None:
        self._mode = mode
        self._verbose = verbose
        self._stream = stream or sys.stderr
        self._bar: Any = None
        self._began = self._shown = time.monotonic()
        self._pages_shown = 0
        self._before: Counts | None = None
        if mode == "line" and self._stream.isatty():
            from tqdm import tqdm  # noqa: PLC0415 - slow to load, and only a terminal needs it

            self._bar = tqdm(
                unit=" pages", dynamic_ncols=True, smoothing=0.1, file=self._stream, mininterval=_REDRAW_EVERY_S
            )

    def show(self, counts: Counts) -> None:
        """Show how far the crawl is, if the next line is due."""
        counts = self.whole(counts)
        if self._bar is not None:
            self._bar.set_postfix_str(_summary(counts), refresh=False)
            self._bar.update(counts.pages - self._bar.n)
        elif self._mode != "quiet" and time.monotonic() - self._shown >= _LINE_EVERY_S:
            self._print_progress(counts)

    def carry(self, counts: Counts) -> None:
        """A run has ended, and the next one begins: go on counting from here."""
        self._before = self.whole(counts)

    def whole(self, counts: Counts) -> Counts:
        """Give what all runs of this command have done. `counts`: of the present one."""
        return counts if self._before is None else counts.after(self._before)

    def _print_progress(self, counts: Counts) -> None:
        now = time.monotonic()
        rate = (counts.pages - self._pages_shown) / max(now - self._shown, 1e-9)
        self._shown, self._pages_shown = now, counts.pages
        if self._mode == "json":
            self._print_json("progress", **vars(counts), pages_per_s=round(rate, 1))
        else:
            say(f"{counts.pages} pages, {rate:.1f}/s, {_summary(counts)}", stream=self._stream, flush=True)

    def event(self, url: str, what: str, **facts: Any) -> None:
        """Show what came of one URL, with --verbose."""
        if not self._verbose:
            return
        if self._mode == "json":
            self._print_json(what, url=plain(url), **facts)
        else:
            self.print_line(f"{what:<8} {url}" + "".join(f" {name}={fact}" for name, fact in facts.items()))

    def warn(self, text: str) -> None:
        """Print a warning, also with --quiet."""
        if self._mode == "json":
            self._print_json("warning", message=plain(text))
        else:
            self.print_line(text)

    def print_line(self, text: str) -> None:
        """Print a line above the progress line."""
        if self._bar is not None:
            self._bar.write(plain(text), file=self._stream)
        else:
            say(text, stream=self._stream, flush=True)

    def close(self, counts: Counts) -> None:
        """Draw the progress line for the last time, and end it."""
        if self._bar is not None:
            self.show(counts)
            self._bar.close()
        elif self._mode == "json":
            self._print_json("end", **vars(self.whole(counts)), elapsed_s=round(time.monotonic() - self._began, 3))

    def _print_json(self, event: str, **facts: Any) -> None:
        say_json({"event": event, **facts}, self._stream)


def _summary(counts: Counts) -> str:
    errors = sum(counts.errors.values())
    reseeding = f"{counts.reseeding} hosts to re-seed from, " if counts.reseeding else ""
    state = f"{counts.state.upper()}, " if counts.state else ""
    facts = f"{counts.pending} pending, {counts.hosts} hosts, {errors} errors, {counts.in_flight} in flight"
    return f"{state}{reseeding}{facts}"
