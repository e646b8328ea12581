"""What it costs to feed the HTML parser in pieces, so that no page can hang it: beside the parser's own time.

    python -m benchmarks.guard [--pages N]

Each page of python3-doc, and N pages of rust-doc, is parsed five times each way, in turns. The least processor time of
each way counts, summed over all pages: other work on the computer makes single runs slower, and none faster.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from benchmarks import corpus
from fscrawl.parse.html_limits import limit_html
from fscrawl.parse.trees import tree

_SITES = ("python3-doc", "rust-doc")
_RUNS = 5
_GOAL = 0.10


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description="The guard beside the parser.")
    parser.add_argument("--pages", type=int, default=4000, help="of rust-doc (default 4000)")
    arguments = parser.parse_args()
    corpus.install()
    print(f"{'':12} {'pages':>6} {'parser':>10} {'guarded':>10} {'guard/parser':>13} {'exact look':>11}   ms per page")
    worst = 0.0
    for name in _SITES:
        pages = _pages((corpus.DOC / name / "html").resolve(), arguments.pages)
        own, guarded, exact = (1000 * seconds / len(pages) for seconds in _least(pages))
        ratio = guarded / own - 1
        worst = max(worst, ratio)
        print(f"{name:12} {len(pages):6} {own:10.3f} {guarded:10.3f} {ratio:13.3f} {exact:11.3f}", flush=True)
    sys.exit(f"the guard takes more than {_GOAL:.0%} of the parser's time" if worst > _GOAL else 0)


def _pages(directory: Path, count: int) -> list[bytes]:
    paths = sorted(directory.rglob("*.html"))
    return [path.read_bytes() for path in random.Random(1).sample(paths, min(count, len(paths)))]


def _least(pages: list[bytes]) -> list[float]:
    ways: list[Callable[[bytes], object]] = [LexborHTMLParser, tree, limit_html]
    sums = [0.0] * len(ways)
    for page in pages:
        times = [[_spent(way, page) for way in ways] for _ in range(_RUNS)]
        sums = [total + min(runs) for total, runs in zip(sums, zip(*times, strict=True), strict=True)]
    return sums


def _spent(way: Callable[[bytes], object], page: bytes) -> float:
    began = time.thread_time()
    way(page)
    return time.thread_time() - began


if __name__ == "__main__":
    main()
