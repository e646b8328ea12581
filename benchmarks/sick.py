"""Sixty of a hundred hosts are dead, slow or overwhelmed: how fast are the others crawled?

    python -m benchmarks.sick [--runs N]

The forty healthy hosts are crawled alone, and then among the sick ones, with the shortest politeness delay that a crawl
of them alone can keep. Wanted: 90 % of their pages in the time that they take alone, and 90 % of the speed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.corpus import exit_on_terminate
from tests.support import ward

WANTED = 0.9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="pairs of crawls (1)")
    arguments = parser.parse_args()
    exit_on_terminate()
    kept = [_pair() for _ in range(arguments.runs)]
    sys.exit(not all(kept))


def _pair() -> bool:
    with tempfile.TemporaryDirectory(prefix="fscrawl-sick-") as directory:
        alone = ward.crawl_alone(Path(directory, "alone"))
        among = ward.crawl_among_sick(Path(directory, "among"))
    if (alone.done.code, among.done.code) != (0, 0):
        raise SystemExit(f"a crawl failed: {alone.done} {among.done}")
    share, pace = ward.in_time(alone, among), alone.served_s[-1] / among.served_s[-1]
    is_kept = min(share, pace) >= WANTED
    print(f"{len(alone.served_s)} pages of healthy hosts: alone {alone.served_s[-1]:.2f} s, among sick ones", end=" ")
    print(f"{among.served_s[-1]:.2f} s: pace {pace:.3f}, in time {share:.1%}: {'ok' if is_kept else 'NO'}", flush=True)
    return is_kept


if __name__ == "__main__":
    main()
