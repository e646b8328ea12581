"""What a page's text costs, side by side: the visible text, the main content and the language.

    python -m benchmarks.texts [--pages N]

Each of N pages of python3-doc and of rust-doc is read in each way, in turns, in one process. So what else the computer
does slows all ways alike. `benchmarks.merge` prints it, too.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import corpus
from fscrawl.parse import links
from fscrawl.parse.language import language
from fscrawl.parse.text import read

SITES = ("python3-doc", "rust-doc")
PAGES = 400


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.texts", description="The cost of a page's text.")
    parser.add_argument("--pages", type=int, default=PAGES, help=f"of each site (default {PAGES})")
    arguments = parser.parse_args()
    corpus.install()
    side_by_side(arguments.pages)


def side_by_side(count: int) -> None:
    """Print the table."""
    head = f"{'':12} {'pages':>5} {'KB/page':>8} {'visible':>8} {'main':>8} {'language':>9}"
    print(f"{head}   CPU ms per page", flush=True)
    for name in SITES:
        pages = _pages((corpus.DOC / name / "html").resolve(), count)
        visible, trafilatura, detected = (1000 * seconds / len(pages) for seconds in _spent(pages))
        row = f"{name:12} {len(pages):5} {sum(map(len, pages)) / len(pages) / 1000:8.1f} {visible:8.2f}"
        print(f"{row} {trafilatura:8.2f} {detected:9.2f}", flush=True)


def _pages(directory: Path, count: int) -> list[bytes]:
    paths = sorted(directory.rglob("*.html"))
    chosen = random.Random(1).sample(paths, min(count, len(paths)))
    return [links.readable(path.read_bytes(), "utf-8") for path in chosen]


def _spent(pages: list[bytes]) -> list[float]:
    """Return the seconds of each way over all pages. The language is that of the visible text."""
    ways: list[Callable[[bytes], object]] = [partial(read, how=how) for how in ("visible", "main")]
    for way in ways:
        way(pages[0])  # loads its library
    language("word " * 100)
    sums = [0.0] * (len(ways) + 1)
    for page in pages:
        text = read(page).text
        for number, task in enumerate([*(partial(way, page) for way in ways), partial(language, text)]):
            began = time.thread_time()
            task()
            sums[number] += time.thread_time() - began
    return sums


if __name__ == "__main__":
    main()
