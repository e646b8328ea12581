"""The command line; see the package."""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.component.schedules.schedule import Schedule
from tests.component.schedules.world import Violation


def main() -> int:
    args = sys.argv[1:]
    if args[:1] == ["--replay"]:
        try:
            Schedule(int(args[1]), trace=print).run()
        except Violation as violation:
            print(violation)
        return 0
    seconds, seed = float(args[0]), int(args[1])
    began, found, n, steps = time.process_time(), Counter(), 0, 0
    while time.process_time() - began < seconds:
        try:
            steps += Schedule(seed).run()
        except Violation as violation:
            first = str(violation).partition("\n")[0]
            found[first[:1]] += 1
            print(seed, first[:300], flush=True)
        seed += 1
        n += 1
    print(n, steps, found)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
