"""How many pages per second can one parent process drive, however many workers it has?

    python -m benchmarks.parent [--pages N] [--only WORD…] [--json]

The command `fscrawl crawl` is run as it is: machine, pool, pipes, frontier, fleet, logs on a local disk, and real
worker processes. Only what a worker does with a task is made up (`made_up_worker`): it waits for some milliseconds, and
answers with the links of a made-up page, without those that it has reported before. So workers need little of the
computer, and the parent has as much to do as if it had many cores of workers.

What counts is the CPU time of the parent, which another program on the computer hardly changes. Its threads share one
interpreter lock, so it cannot drive more pages per second than 1 ÷ its CPU seconds per page. That is the *bound*. It is
worked out, and not reached here, where workers share the cores with the parent.

The parts come from a second run, in which a stopwatch goes with the main thread; it makes all of them a little larger.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import measure
from benchmarks.corpus import exit_on_terminate

WANTED_RATE = 5000
_LIMIT_S = 600
_PAGES = 30_000
_HEAD = f"{'':30} {'links a page':^13}  {'bound':>8}  {'CPU ms/page':^24} {'here':>8}\n"
_HEAD += f"{'':30} {'sent':>6} {'new':>6}  {'pages/s':>8}  {'main thread':>11} {'all threads':>12} {'pages/s':>8}"


@dataclass(frozen=True, slots=True)
class Row:
    """One crawl.

    hosts, pages_a_host    of the web; it is endless if `pages_a_host` is very large
    latency_s              of a page, on average
    """

    name: str
    workers: int
    threads: int
    hosts: int
    pages_a_host: int
    latency_s: float = 0.01


ROWS = (
    Row("4 workers, 2,000 hosts", 4, 16, 2000, 40),
    Row("16 workers, 2,000 hosts", 16, 16, 2000, 40),
    Row("64 workers, 2,000 hosts", 64, 8, 2000, 40),
    Row("16 workers, 20,000 hosts", 16, 16, 20_000, 4),
    Row("16 workers, 20 large hosts", 16, 16, 20, 4000),
    Row("16 workers, a growing crawl", 16, 16, 2000, 200),
    Row("16 workers, all links are new", 16, 16, 2000, 10**9),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """Per page, between 20 % and all of the pages.

    sent     links that the workers reported; of these, `new` were not known yet
    parts    of the CPU of the main thread
    """

    rate: float
    thread_s: float
    process_s: float
    sent: float
    new: float
    parts: dict[str, float]

    @property
    def bound(self) -> float:
        return 1 / self.process_s


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parent", description="CPU of the parent per page.")
    parser.add_argument("--pages", type=int, default=_PAGES, help=f"of each crawl (default {_PAGES:,})")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="only rows with this word in their names")
    parser.add_argument("--json", action="store_true", help="one JSON object for each row")
    arguments = parser.parse_args()
    exit_on_terminate()
    if not arguments.json:
        print(_HEAD, flush=True)
    for row in ROWS:
        if not arguments.only or any(word in row.name for word in arguments.only):
            plain, by_part = (_run(row, arguments.pages, with_parts=with_parts) for with_parts in (False, True))
            if arguments.json:
                print(json.dumps({**asdict(row), **asdict(plain), "parts": by_part.parts}), flush=True)
            else:
                _print(row, plain, by_part)


def _run(row: Row, pages: int, *, with_parts: bool) -> Cost:
    with tempfile.TemporaryDirectory(prefix="fscrawl-parent-") as directory:
        given = {"row": asdict(row), "pages": pages, "root": directory, "with_parts": with_parts}
        command = [sys.executable, "-m", "benchmarks.parent_process", json.dumps(given)]
        done = subprocess.run(
            command, check=False, cwd=measure.PROJECT, capture_output=True, text=True, timeout=_LIMIT_S
        )
        report = Path(directory, "report.json")
        if not report.exists():
            sys.exit(f"the crawl of {row.name} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        found: dict[str, Any] = json.loads(report.read_bytes())
    return Cost(**found)


def _print(row: Row, plain: Cost, by_part: Cost) -> None:
    ok = "ok" if plain.bound >= WANTED_RATE else "NO"
    print(
        f"{row.name:30} {plain.sent:6.1f} {plain.new:6.1f}  {plain.bound:8,.0f}  {1000 * plain.thread_s:11.3f}"
        f" {1000 * plain.process_s:12.3f} {plain.rate:8,.0f}  {ok}"
    )
    sum_s = sum(by_part.parts.values())
    shares = (f"{name} {1e6 * part_s:.0f}" for name, part_s in by_part.parts.items())
    print(f"    µs by part, of {1e6 * sum_s:.0f}: {', '.join(shares)}", flush=True)


if __name__ == "__main__":
    main()
