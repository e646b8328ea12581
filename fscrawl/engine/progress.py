"""What a crawl says while it runs: a tqdm line on a terminal, a plain line every 30 s elsewhere, JSON if asked for.

Nothing that came from the web is printed raw: `plain` takes control characters and terminal escapes out of it.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TextIO

from fscrawl.util.terminal import plain

_EVERY_S = 30.0
_REDRAW_S = 0.25


@dataclass
class Counts:
    """What this run has done, and what is before it.

    pages, redirects, skipped   records stored by this run
    unchanged                   stored pages that were looked at again, and are as they were
    bytes                       of the bodies
    errors                      failures written down, by class
    retried                     passing failures that were tried again
    cut                         URLs left out, by the limit that did it
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


class Progress:
    """Shows `Counts` as they change, on `stream`; `mode`: "line" | "json" | "quiet"."""

    def __init__(self, mode: str, *, verbose: bool, stream: TextIO | None = None) -> None:
        self._mode = mode
        self._verbose = verbose
        self._stream = stream or sys.stderr
        self._bar: Any = None
        self._began = self._shown = time.monotonic()
        self._pages_shown = 0
        if mode == "line" and self._stream.isatty():
            from tqdm import tqdm  # noqa: PLC0415 - slow to load, and of use to a terminal only

            self._bar = tqdm(unit=" pages", dynamic_ncols=True, smoothing=0.1, file=self._stream, mininterval=_REDRAW_S)

    def show(self, counts: Counts) -> None:
        """Show how far the crawl is, if it is time to."""
        if self._bar is not None:
            self._bar.set_postfix_str(_facts(counts), refresh=False)
            self._bar.update(counts.pages - self._bar.n)
        elif self._mode != "quiet" and time.monotonic() - self._shown >= _EVERY_S:
            self._line(counts)

    def _line(self, counts: Counts) -> None:
        now = time.monotonic()
        rate = (counts.pages - self._pages_shown) / max(now - self._shown, 1e-9)
        self._shown, self._pages_shown = now, counts.pages
        if self._mode == "json":
            self._json("progress", **vars(counts), pages_per_s=round(rate, 1))
        else:
            print(f"{counts.pages} pages, {rate:.1f}/s, {_facts(counts)}", file=self._stream, flush=True)

    def event(self, url: str, what: str, **facts: Any) -> None:
        """Tell what came of one URL, if that was asked for."""
        if not self._verbose:
            return
        if self._mode == "json":
            self._json(what, url=plain(url), **facts)
        else:
            self.say(f"{what:<8} {plain(url)}" + "".join(f" {name}={plain(str(f))}" for name, f in facts.items()))

    def warn(self, text: str) -> None:
        """Say what somebody should know, even when quiet."""
        if self._mode == "json":
            self._json("warning", message=plain(text))
        else:
            self.say(plain(text))

    def say(self, text: str) -> None:
        """Print a line without tearing the progress line."""
        if self._bar is not None:
            self._bar.write(text, file=self._stream)
        else:
            print(text, file=self._stream, flush=True)

    def close(self, counts: Counts) -> None:
        """Take the progress line off, after a last look."""
        if self._bar is not None:
            self.show(counts)
            self._bar.close()
        elif self._mode == "json":
            self._json("end", **vars(counts), elapsed_s=round(time.monotonic() - self._began, 3))

    def _json(self, event: str, **facts: Any) -> None:
        print(json.dumps({"event": event, **facts}), file=self._stream, flush=True)


def _facts(counts: Counts) -> str:
    errors = sum(counts.errors.values())
    reseeding = f"{counts.reseeding} hosts to re-seed from, " if counts.reseeding else ""
    state = f"{counts.state.upper()}, " if counts.state else ""
    facts = f"{counts.pending} pending, {counts.hosts} hosts, {errors} errors, {counts.in_flight} in flight"
    return f"{state}{reseeding}{facts}"
