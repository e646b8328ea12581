"""What a crawl shows while it runs: a progress line (`util.progress`), or JSON lines.

Promise: nothing from the web is printed raw; `terminal` replaces control characters and terminal escapes. If nobody
reads what is shown any more (`2>&1 | head`), that is no exception: `is_unread` says so, and the machine ends in order.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Self, TextIO

import msgspec

from fscrawl.handlers.outcome import Replaced
from fscrawl.request import body_text, read, shown
from fscrawl.storage.records import KINDS, Kind
from fscrawl.util.humanize import count, lasting, number_of
from fscrawl.util.progress import LINE_EVERY_S, ProgressLine
from fscrawl.util.terminal import plain, say_json


class Counts(msgspec.Struct):
    """What this run has done, and what is left to do.

    pages, redirects, others    records stored by this run, by kind
    unchanged                   stored pages that were checked again, and stay as they are
    kept                        of these, those that could not be fetched anew, by the class of the failure
    bytes                       of the stored bodies
    recounted                   pages that machines of earlier runs have stored, and could not say
    errors                      failures recorded, by class
    replaced                    records and failures in whose place they were put, by kind or class
    replaced_bytes              of the bodies of these records
    pending, in_flight, hosts   as in the frontier
    tree_pages                  pages in the tree, as far as the machines have said
    reseeding                   hosts whose link files are still to be read, of `reseeding_of`
    reseeded                    records that this run has read to see their links
    private                     the line for `crawl.toml` that allows the last private address; "" if there was none
    without_page                a request, in its spelling, that gave no page; "" if there is none
    state                       what keeps this machine from fetching, "" if nothing does
    cut                         URLs left out, by the setting that did it; by "length": they are too long. They are
                                counted when the run ends
    """

    pages: int = 0
    redirects: int = 0
    others: int = 0
    unchanged: int = 0
    bytes: int = 0
    replaced_bytes: int = 0
    recounted: int = 0
    tree_pages: int = 0
    pending: int = 0
    in_flight: int = 0
    hosts: int = 0
    reseeding: int = 0
    reseeding_of: int = 0
    reseeded: int = 0
    state: str = ""
    without_page: str = ""
    private: str = ""
    errors: Counter[str] = msgspec.field(default_factory=Counter)
    replaced: Counter[str] = msgspec.field(default_factory=Counter)
    cut: Counter[str] = msgspec.field(default_factory=Counter)
    kept: Counter[str] = msgspec.field(default_factory=Counter)

    def add(self, kind: Kind, size: int) -> None:
        """Count a stored record. `size`: bytes of its body."""
        if kind == "page":
            self.pages += 1
            self.bytes += size
        elif kind == "redirect":
            self.redirects += 1
        else:
            self.others += 1

    def replace(self, before: Replaced | None) -> None:
        """Count what has been replaced: a tree that is counted anew does not have it any more."""
        if before is not None:
            self.replaced[before.what] += 1
            self.replaced_bytes += before.bytes

    @property
    def more_pages(self) -> int:
        """How many pages the tree has more than before; below 0 if refreshed pages are redirects now, for example."""
        return self.pages - self.replaced["page"]

    @property
    def more_bytes(self) -> int:
        """How many bytes the bodies in the tree have more than before."""
        return self.bytes - self.replaced_bytes

    @property
    def more_errors(self) -> dict[str, int]:
        """How many failures the tree has more than before, by class."""
        names = {*self.errors, *self.replaced} - set(KINDS)
        return {name: self.errors[name] - self.replaced[name] for name in sorted(names)}

    def for_beat(self) -> dict[str, Any]:
        """Give what a heartbeat says of these counts."""
        more = {"pages": self.more_pages + self.recounted, "bytes": self.more_bytes, "errors": self.more_errors}
        return {**more, "stored": self.pages}


class Progress:
    """Shows `Counts` as they change, on `stream`; `mode`: "line" | "json" | "quiet".

    As a context manager it keeps a terminal's line moving, also while the crawl waits for the share.
    """

    def __init__(self, mode: str, *, verbose: bool, stream: TextIO | None = None) -> None:
        self._mode = mode
        self._verbose = verbose
        self._stream = stream or sys.stderr
        self._line = ProgressLine(self._stream, silent=mode != "line")
        self._began = self._shown = time.monotonic()
        self._pages_shown = 0
        self.is_unread = False
        self._survey: tuple[float, int] | None = None  # when it was first shown, and the hosts that were read then
        self._line.begin("", unit="pages")

    def __enter__(self) -> Self:
        self._line.__enter__()
        return self

    def __exit__(self, *reason: object) -> None:
        self._line.__exit__(*reason)

    def show(self, counts: Counts) -> None:
        """Show how far the crawl is, if the next line is due."""
        if self._mode == "line":
            self._line.reach(counts.pages)
            self._line.note = _summary(counts, self._surveyed(counts))
            with self._reader():
                self._line.tick()
        elif self._mode == "json" and time.monotonic() - self._shown >= LINE_EVERY_S:
            self._print_progress(counts)

    def _surveyed(self, counts: Counts) -> str:
        """Say how far the machine is with reading records again, and how long that will take; "" if it does not."""
        if not counts.reseeding:
            self._survey = None
            return ""
        left = number_of(counts.reseeding, "host")
        if counts.reseeding_of > counts.reseeding:
            left = f"{counts.reseeding:,} of {counts.reseeding_of:,} hosts"
        said = f"re-seeding: {number_of(counts.reseeded, 'record')} read, {left} left"
        done, now = counts.reseeding_of - counts.reseeding, time.monotonic()
        if self._survey is None:
            self._survey = now, done
        began, before = self._survey
        if done <= before:
            return f"{said}, "
        return f"{said}, about {lasting((now - began) / (done - before) * counts.reseeding)}, "

    def _print_progress(self, counts: Counts) -> None:
        now = time.monotonic()
        rate = (counts.pages - self._pages_shown) / max(now - self._shown, 1e-9)
        self._shown, self._pages_shown = now, counts.pages
        self._print_json("progress", **msgspec.structs.asdict(counts), pages_per_s=round(rate, 1))

    def event(self, url: str, what: str, **facts: Any) -> None:
        """Show what came of one URL, or of the request that is spelled so, with --verbose."""
        if not self._verbose:
            return
        if self._mode == "json":
            self._print_json(what, **_facts_of(url), **facts)
        else:
            self.print_line(f"{what:<8} {shown(url)}" + "".join(f" {name}={fact}" for name, fact in facts.items()))

    def warn(self, text: str) -> None:
        """Print a warning, also with --quiet."""
        if self._mode == "json":
            self._print_json("warning", message=plain(text))
        else:
            self.print_line(text)

    def note(self, text: str) -> None:
        """Print what is good to know and nothing wrong, so not with --quiet."""
        if self._mode != "quiet":
            self.warn(text)

    def print_line(self, text: str) -> None:
        """Print a line above the progress line."""
        with self._reader():
            self._line.print_line(text)

    @contextlib.contextmanager
    def _reader(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self.is_unread = True

    def close(self, counts: Counts) -> None:
        """Draw the progress line for the last time, and end it."""
        if self._mode == "line":
            self.show(counts)
            with self._reader():
                self._line.end(stays=True)
        elif self._mode == "json":
            self._print_json(
                "end", **msgspec.structs.asdict(counts), elapsed_s=round(time.monotonic() - self._began, 3)
            )

    def _print_json(self, event: str, **facts: Any) -> None:
        with self._reader():
            say_json({"event": event, **facts}, self._stream)


def _facts_of(url: str) -> dict[str, str]:
    """Give the facts of a request: only those of a plain GET are its URL alone."""
    if "#" not in url:
        return {"url": plain(url)}
    request = read(url)
    return {"url": request.address, "method": request.method, "request_body": body_text(request)}


def _summary(counts: Counts, surveyed: str) -> str:
    """Say in few words how the crawl is, so that the line fits into 80 columns."""
    state = f"{counts.state.upper()}, " if counts.state else ""
    in_the_tree = f"{count(counts.tree_pages)} in the tree, " if counts.tree_pages != counts.pages else ""
    unchanged = f"{count(counts.unchanged)} unchanged, " if counts.unchanged else ""
    hosts, failures = number_of(counts.hosts, "host"), number_of(counts.errors.total(), "failure")
    return f"{state}{surveyed}{in_the_tree}{unchanged}{count(counts.pending)} pending, {hosts}, {failures}"
