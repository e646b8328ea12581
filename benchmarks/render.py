"""How fast are pages rendered, what does one cost, and does the memory grow?

    python -m benchmarks.render [--pages N] [--memory-pages N]

The same site of single-page applications is crawled from its front page by fscrawl with four and eight browsers, by a
short loop with Playwright, and by scrapy-playwright, one after the other; these two have four pages at a time.
All use the same Chromium. The other two do not see what comes late, so they miss the text and the links of some pages;
all pages that they open count. Wanted: 1.5 times the pages per second of scrapy-playwright. Then fscrawl crawls more
pages, and its memory in the last hundred is compared with the first, browser included.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import scrapy_venv
from benchmarks.measure import PROJECT, Cost, descendants, pss_bytes, run
from fscrawl.render.executable import find
from tests.support.crawling import pages as stored_pages

HOST, PORT = "127.0.66.1", 8466
WANTED, WANTED_MEMORY = 1.5, 0.10
AT_A_TIME = 4
_LIMIT_S = 900


@contextlib.contextmanager
def serve(count: int) -> Iterator[str]:
    """Serve the site from another process; give its front page."""
    words = [sys.executable, "-m", "benchmarks.spa_web", HOST, str(PORT), str(count), str(_LIMIT_S)]
    with subprocess.Popen(words, cwd=PROJECT, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()
        try:
            yield f"http://{HOST}:{PORT}/"
        finally:
            server.terminate()


def of_fscrawl(root: Path, seed: str, browsers: int) -> list[str]:
    """Give the command that crawls the site into `root`."""
    settings = {
        "politeness.delay": "0",
        "politeness.per_host": "16",
        "fetch.allow_addresses": '["127.0.0.0/8"]',
        "render.hosts": f'["{HOST}:{PORT}"]',
        "render.browsers": str(browsers),
    }
    words = [
        sys.executable,
        str(PROJECT / "crawl.py"),
        "--root",
        str(root),
        "--workers",
        "2",
        "--seed",
        seed,
        "--quiet",
    ]
    return [*words, *(word for name, value in settings.items() for word in ("--set", f"{name}={value}"))]


def _row(name: str, opened: int, good: int, cost: Cost) -> float:
    """Print one line, and give the pages per second. `good`: how many of the pages that were opened had their text."""
    if cost.exit_code:
        raise SystemExit(f"{name} failed: {cost.message}")
    speed = opened / cost.wall_s
    costs = f"{speed:6.2f}/s  {cost.cpu_s / opened:6.3f} s of CPU a page"
    print(f"{name:22} {opened:5} pages, {opened - good:3} without their text  {costs}", flush=True)
    return speed


def compare(count: int) -> bool:
    """Measure all of them on the same pages; tell whether fscrawl is fast enough."""
    browser = find()
    if browser is None:
        raise SystemExit("no Chromium is installed: apt-get install chromium-headless-shell")
    python, speeds = scrapy_venv.python(), {}
    with tempfile.TemporaryDirectory(prefix="fscrawl-render-") as directory, serve(count) as seed:
        for browsers in (AT_A_TIME, 2 * AT_A_TIME):
            root = Path(directory, f"tree{browsers}")
            cost = run(of_fscrawl(root, seed, browsers), limit_s=_LIMIT_S)
            titles = [record.title for record in stored_pages(root).values()]
            good = sum(title != "loading" for title in titles)
            speeds[f"fscrawl {browsers}"] = _row(f"fscrawl, browsers: {browsers}", len(titles), good, cost)
        for name, script in (
            ("Playwright, a loop", "playwright_loop"),
            ("scrapy-playwright", "scrapy_playwright_spider"),
        ):
            printed = Path(directory, script)
            words = f'"$0" "$@" > {printed}'
            argument = [python, f"benchmarks/{script}.py", browser, seed, str(count), str(AT_A_TIME)]
            cost = run(["sh", "-c", words, *argument], limit_s=_LIMIT_S)
            opened, good = map(int, printed.read_text().split()[-2:])
            speeds[name] = _row(name, opened, good, cost)
    ratio = max(speed for name, speed in speeds.items() if "fscrawl" in name) / speeds["scrapy-playwright"]
    print(f"beside scrapy-playwright: {ratio:.2f} times: {'ok' if ratio >= WANTED else 'NO'}", flush=True)
    return ratio >= WANTED


def memory(count: int) -> bool:
    """Crawl `count` pages, and compare the memory of the crawl and its browser in the first and the last hundred."""
    with tempfile.TemporaryDirectory(prefix="fscrawl-render-") as directory, serve(count) as seed:
        root, samples, over = Path(directory, "tree"), [], threading.Event()
        with subprocess.Popen(of_fscrawl(root, seed, AT_A_TIME), cwd=PROJECT) as crawl:
            while crawl.poll() is None and not over.wait(0.25):
                done = sum(1 for _ in (root / "links").rglob("*.json"))
                samples.append((done, _bytes_of_all(crawl.pid)))
        found = stored_pages(root).values()
        done, whole = len(found), sum(record.title != "loading" for record in found)
    first = [size for pages, size in samples if 5 <= pages <= 100 and size]
    last = [size for pages, size in samples if done - 100 <= pages < done and size]
    means = [sum(each) / len(each) / 1e6 for each in (first, last)]
    growth = means[1] / means[0] - 1
    first_and_last = f"{means[0]:.0f} MB in the first hundred, {means[1]:.0f} MB in the last"
    print(
        f"memory over {done} pages: {first_and_last}: {growth:+.1%}; {done - whole} pages without their text",
        flush=True,
    )
    return growth <= WANTED_MEMORY and done == whole == count


def _bytes_of_all(pid: int) -> int:
    return sum(map(pss_bytes, [pid, *descendants(pid)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=200, metavar="N", help="pages that all crawl (200)")
    parser.add_argument("--memory-pages", type=int, default=1000, metavar="N", help="pages for the memory (1000)")
    arguments = parser.parse_args()
    began = time.monotonic()
    kept = [compare(arguments.pages), memory(arguments.memory_pages)]
    print(f"on {os.cpu_count()} cores, in {time.monotonic() - began:.0f} s")
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
