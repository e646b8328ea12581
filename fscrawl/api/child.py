"""The process in which `crawl` runs a machine. It reports its progress and its end, as `running` says.

A machine needs a process of its own: it takes signals, sets the umask, and forks workers, which must not load the
script or the notebook that has asked for the crawl.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

from fscrawl.commands.crawling import run
from fscrawl.engine import PRELOADED
from fscrawl.engine.machine import Result
from fscrawl.engine.progress import Counts, Progress
from fscrawl.errors import EXIT_OK, FscrawlError, as_our_error
from fscrawl.util.processes import start_server
from fscrawl.util.safe_path import protect_children

_EVERY_S = 0.2
_LOOK_S = 0.5
_LAST_WORD_S = 30.0  # after this, pages in flight are given up


class Reporter(Progress):
    """Shows nothing, and reports all that a person should see."""

    def __init__(self, out: TextIO) -> None:
        super().__init__("quiet", verbose=False, stream=out)
        self._out = out
        self._lock = threading.Lock()  # warnings come from several threads
        self._reported_at = 0.0

    def report(self, event: str, **facts: Any) -> None:
        """Send a message. Nobody may be there to read it any more."""
        line = json.dumps({"event": event, **facts})
        try:
            with self._lock:
                self._out.write(f"{line}\n")
                self._out.flush()
        except (OSError, ValueError):
            pass

    def show(self, counts: Counts) -> None:
        now = time.monotonic()
        if now - self._reported_at >= _EVERY_S:
            self._reported_at = now
            self.report(
                "progress",
                pages=counts.pages,
                tree_pages=counts.tree_pages,
                pending=counts.pending,
                hosts=counts.hosts,
                errors=counts.errors.total(),
                in_flight=counts.in_flight,
                state=counts.state,
            )

    def warn(self, text: str) -> None:
        self.report("warning", message=text)

    def print_line(self, text: str) -> None:
        self.warn(text)

    def note(self, text: str) -> None:
        self.warn(text)

    def close(self, counts: Counts) -> None:
        self._reported_at = 0.0
        self.show(counts)


def main(caller: int) -> int:
    """Read a task, do it, and report how it ended; return the exit code. `caller`: the process that wants it."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints, does not print between the messages
    task = json.loads(sys.stdin.buffer.readline())
    progress = Reporter(out)
    try:
        with as_our_error():
            threading.Thread(target=_end_with, args=[caller], name="caller", daemon=True).start()
            protect_children()
            if task["workers"]:
                start_server(PRELOADED)
            for name in ("root", "seeds", "site"):
                task[name] = None if task[name] is None else Path(task[name])
            result, _ = run(argparse.Namespace(**task), progress)
    except FscrawlError as error:
        progress.report("error", message=str(error))
        return error.exit_code
    progress.report("result", **_facts_of(result))
    return EXIT_OK


def _end_with(caller: int) -> None:
    """Stop as after Ctrl-C when the process that has asked for the crawl is gone, and a while later at once."""
    while os.getppid() == caller:  # not a pipe, of which a copy of that process would hold the end, too
        time.sleep(_LOOK_S)
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_LAST_WORD_S)


def _facts_of(result: Result) -> dict[str, Any]:
    counts = result.counts
    return {
        "reason": result.ending,
        **{name: getattr(counts, name) for name in ("pages", "redirects", "others", "unchanged", "bytes", "pending")},
        "errors": dict(counts.errors),
        "kept": dict(counts.kept),
        "left_out": dict(counts.cut),
        "seconds": result.elapsed_s,
        "fault": result.fault,
    }
