"""The model's command line; see the package.

python -m tests.model [SCHEDULES] [SEED]          explore: no violation may be found
python -m tests.model mutate [SCHEDULES] [RULE…]  leave out one rule at a time: a violation must be found
python -m tests.model replay SEED [RULE]          tell what happens in one schedule, without the rule
python -m tests.model minimise SEED [RULE]        the same, with as few steps as it takes
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.model.rules import RULES, Rule
from tests.model.schedule import Schedule, run
from tests.model.world import Violation

NO_RULE = Rule("", "")
LONGEST = 400  # steps of an adversary's part


def explore(schedules: int, first: int) -> int:
    """Print violations, and how much was looked at. Return whether there were any."""
    steps, found, began = 0, Counter[str](), time.process_time()
    for seed in range(first, first + schedules):
        try:
            steps += run(seed)
        except Violation as violation:
            found[str(violation).partition(":")[0]] += 1
            if found.total() <= 10:
                print(seed, violation, flush=True)
    took_s = time.process_time() - began
    print(f"{schedules} schedules, {steps} steps, {took_s:.0f} s of processor time, violations: {dict(found)}")
    return bool(found)


def schedule(seed: int, rule: Rule, trace: list[str] | None = None) -> Schedule:
    """Give a schedule that leaves out a rule, with the faults that the rule is for."""
    return Schedule(seed, frozenset({rule.name} - {""}), tuple(rule.faults.split()), trace)


def violation(seed: int, rule: Rule, skip: frozenset[int] = frozenset()) -> str:
    """Return the violation of a schedule, "" if there is none."""
    try:
        schedule(seed, rule).run(skip)
    except Violation as found:
        return str(found)
    return ""


def mutate(schedules: int, names: list[str]) -> int:
    """Print the first schedule that fails without each rule. Return how many rules are not missed."""
    missed = 0
    for rule in RULES:
        if names and rule.name not in names:
            continue
        seeds = [*([rule.seed] if rule.seed is not None else []), *range(schedules)]
        first = next(((seed, found) for seed in seeds if (found := violation(seed, rule))), None)
        missed += first is None and not rule.note
        print(f"{rule.name:28} {first[0] if first else '-':>7}  {first[1] if first else 'not caught'}", flush=True)
    return missed


def minimise(seed: int, rule: Rule) -> frozenset[int]:
    """Leave out steps as long as the same invariant is violated; return the steps that are left out."""
    kind = violation(seed, rule).partition(":")[0]
    skip: frozenset[int] = frozenset()
    size = 64
    while size and kind:
        for start in range(1, LONGEST + 1, size):
            more = skip | frozenset(range(start, start + size))
            if more != skip and violation(seed, rule, more).partition(":")[0] == kind:
                skip = more
        size //= 2
    return skip


def replay(seed: int, rule: Rule, skip: frozenset[int] = frozenset()) -> None:
    trace: list[str] = []
    try:
        schedule(seed, rule, trace).run(skip)
    except Violation as found:
        trace.append(str(found))
    print("\n".join(trace))


def named(names: list[str]) -> Rule:
    return next((rule for rule in RULES if [rule.name] == names), NO_RULE)


def main() -> int:
    match sys.argv[1:]:
        case ["replay", seed, *names]:
            replay(int(seed), named(names))
        case ["minimise", seed, *names]:
            replay(int(seed), named(names), minimise(int(seed), named(names)))
        case ["mutate", *args]:
            return mutate(int(args[0]) if args else 3000, args[1:]) > 0
        case args:
            return explore(int(args[0]) if args else 1000, int(args[1]) if args[1:] else 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
