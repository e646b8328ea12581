"""Fleets of 1 to 1,000 machines in one process: what does a page cost each of them?

    python -m benchmarks.scale [--machines N…] [--pages P] [--rate R] [--seed S] [--no-joins] [--json]

Fleet, frontier, logs and storage are the real code. The directory is in memory, and counts calls and bytes; the clock
is made up; there are no threads, no network, and nothing sleeps. So every figure except CPU is the same in each run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from typing import Any

from benchmarks.scale import report
from benchmarks.scale.joins import LargeJoin, large_join
from benchmarks.scale.small import crawl
from benchmarks.scale.steady import MOST_REAL, Figures, measure

_MACHINES = (1, 10, 100, 1000)
_PAGES = 20_000
_LARGE = (1_000_000, 10_000_000)
_SMALL = (2, 6)


def main() -> None:
    arguments = _arguments()
    began = time.monotonic()
    say = (lambda *_: None) if arguments.json else print
    say(report.HEAD)
    fleets = []
    for machines in arguments.machines:
        fleets.append(_measure(machines, arguments))
        say(report.fleet_text(fleets[-1]))
    compared = _compared(fleets, arguments)
    small = [crawl(machines, arguments.seed) for machines in _SMALL]
    say(report.small_text(small))
    joins = [] if arguments.no_joins else [large_join(pages, arguments.seed) for pages in _LARGE]
    say(report.joins_text(joins))
    targets = report.targets(fleets, compared, small, joins)
    say(report.targets_text(targets))
    say(f"{time.monotonic() - began:.0f} s, CPU {time.process_time():.0f} s")
    if arguments.json:
        json.dump(_facts(fleets, compared, small, joins, targets), sys.stdout, indent=1)
        print()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--machines", type=int, nargs="+", default=_MACHINES, metavar="N")
    parser.add_argument("--pages", type=int, default=_PAGES, metavar="P", help="that all machines store, about")
    parser.add_argument("--rate", type=float, metavar="R", help="pages a second of each machine")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the web")
    parser.add_argument("--no-joins", action="store_true", help="no joins to trees of millions of pages")
    parser.add_argument("--json", action="store_true", help="print one JSON object with all figures")
    return parser.parse_args()


def _measure(machines: int, arguments: argparse.Namespace) -> Figures:
    pages = arguments.pages if machines <= MOST_REAL else max(arguments.pages, 50 * machines)
    return measure(machines, pages, arguments.seed, arguments.rate)


def _compared(fleets: list[Figures], arguments: argparse.Namespace) -> Figures | None:
    """Measure ten machines that store as many pages each as those of the largest fleet.

    A machine that has stored few pages finds more links that are new to it, whatever the size of the fleet.
    """
    largest = max(fleets, key=lambda each: each.machines)
    if largest.machines <= MOST_REAL:
        return None
    return measure(10, 0, arguments.seed, largest.rate, events=False, window_s=largest.window_s, like=largest.machines)


def _facts(
    fleets: list[Figures],
    compared: Figures | None,
    small: list[Any],
    joins: list[LargeJoin],
    targets: list[report.Target],
) -> dict[str, Any]:
    return {
        "fleets": [asdict(each) for each in fleets],
        "ten_machines_at_the_rate_of_the_largest_fleet": asdict(compared) if compared else None,
        "small_web": [asdict(each) for each in small],
        "large_joins": [asdict(each) for each in joins],
        "targets": [each._asdict() for each in targets],
    }


if __name__ == "__main__":
    main()
