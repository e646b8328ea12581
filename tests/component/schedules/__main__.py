"""The command line; see the package."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from contextlib import nullcontext

from tests.component.schedules.breakages import BREAKAGES, Breakage
from tests.component.schedules.schedule import Schedule
from tests.component.schedules.world import Violation


def explore(seconds: float, first: int, breakage: Breakage | None, faults: str) -> int:
    """Print violations, and how much was looked at. Return whether there were any."""
    began, found, seed, steps = time.process_time(), Counter[str](), first, 0
    while time.process_time() - began < seconds:
        with breakage.made() if breakage else nullcontext():
            try:
                steps += Schedule(seed, focus=faults).run()
            except Violation as violation:
                told = str(violation).partition("\n")[0]
                found[told[:1]] += 1
                print(seed, told[:300], flush=True)
        seed += 1
    print(f"{seed - first} schedules, {steps} steps, violations: {dict(found)}")
    return bool(found)


def first_found(breakage: Breakage, seconds: float, seeds: list[int]) -> tuple[int, str] | None:
    """Give the first schedule that finds a breakage, and what it says."""
    began = time.process_time()
    with breakage.made():
        for seed in [*seeds, *range(100_000)]:
            if time.process_time() - began > seconds:
                return None
            try:
                Schedule(seed, focus=breakage.faults).run()
            except Violation as violation:
                return seed, str(violation).partition("\n")[0]
    return None


def mutate(names: list[str], seconds: float) -> int:
    """Print the first schedule that finds each breakage. Return how many are not found."""
    missed = 0
    for breakage in BREAKAGES:
        if names and breakage.name not in names:
            continue
        found = first_found(breakage, seconds, [] if breakage.seed is None else [breakage.seed])
        missed += found is None and not breakage.note
        print(
            f"{breakage.name:24} {found[0] if found else '-':>5}  {found[1][:150] if found else 'not found'}",
            flush=True,
        )
    return missed


def main() -> int:
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is a part of a schedule
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"})
    parser = argparse.ArgumentParser(prog="python -m tests.component.schedules")
    parser.add_argument("--seconds", type=float, default=60.0, help="of processor time, for each breakage")
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="SEED")
    parser.add_argument("--replay", type=int, metavar="SEED")
    parser.add_argument("--faults", default="", help="the only ones that there are, by name")
    parser.add_argument("--without", default="", metavar="NAME", help="what is broken")
    parser.add_argument("--mutate", nargs="*", metavar="NAME")
    options = parser.parse_args()
    if options.mutate is not None:
        return mutate(options.mutate, options.seconds) > 0
    breakage = next((each for each in BREAKAGES if each.name == options.without), None)
    faults = options.faults or (breakage.faults if breakage else "")
    if options.replay is None:
        return explore(options.seconds, options.first, breakage, faults)
    with breakage.made() if breakage else nullcontext():
        try:
            Schedule(options.replay, focus=faults, trace=print).run()
        except Violation as violation:
            print(str(violation).partition("\nthe last steps")[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
