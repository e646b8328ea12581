"""A large frontier of one machine: its memory, how fast URLs are added, and how fast they are taken.

    python -m benchmarks.frontier [--count N…] [--hosts H]

Each number of URLs is measured in a process that does nothing else. URLs come as pages have them: some of the page's
own host, some of other hosts. In the hardest case for all caches, each URL is of any host. Rates are per second of CPU
(`time.process_time`), so other work on the machine counts little. The cost of making the URLs is left out.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from benchmarks import measure
from fscrawl.config import settings
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.task import Task

COUNTS = (1_000_000, 10_000_000)
WANTED_BYTES = {1_000_000: 150_000_000, 10_000_000: 1 << 30}
WANTED_AFTER_BYTES = {1_000_000: 150_000_000}
WANTED_IDLE_BYTES = 200
WANTED_ADDED = 200_000
WANTED_TAKEN = 5_000
_CHUNK = 20_000  # URLs made at once: some 2 MB that do not belong to the frontier
_PAGE = 20  # new links of a page
_OWN = 15  # of these are of the page's own host
_HARDEST = 500_000  # URLs of any host, after the others
_FETCHES = 200_000
_IDLE_HOSTS = 500_000
_IN_FLIGHT = 128
_SETTINGS = settings.apply(settings.Settings(), ["politeness.delay=1", "politeness.robots=false", "crawl.scope=any"])
_REFERRER = "599370d5687c3fd078c314ad"
_TOPS = ("com", "org", "net", "de", "co.uk", "io", "fr", "edu")
_SECTIONS = (
    "news/archive",
    "articles",
    "wiki",
    "docs/reference",
    "blog/posts",
    "products/catalogue",
    "people",
    "forum",
)


def main() -> None:
    arguments = _arguments()
    if arguments.measure is not None:
        print(json.dumps(_measure(arguments.measure, arguments.hosts) if arguments.measure else _measure_idle()))
        return
    print(f"{arguments.hosts:,} hosts, delay 1 s; URLs of 60 to 80 characters, all new; load {os.getloadavg()[0]:.1f}")
    for count in arguments.count:
        _report(count, _in_a_process(count, arguments.hosts))
    _report_idle(_in_a_process(0, 0))


def _in_a_process(count: int, hosts: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.frontier", "--measure", str(count), "--hosts", str(hosts)]
    done = subprocess.run(command, check=True, cwd=measure.PROJECT, stdout=subprocess.PIPE, timeout=1800)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier", description="A large frontier.")
    parser.add_argument("--count", type=int, nargs="+", default=COUNTS, help="URLs (default 1 and 10 millions)")
    parser.add_argument("--hosts", type=int, default=100_000, help="of them (default 100,000)")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)  # the process that is measured; 0: idle hosts
    return parser.parse_args()


def links(first: int, end: int, hosts: int, *, own: int = _OWN) -> Iterator[str]:
    """Make the URLs from `first` to before `end`, all different; of each page's, `own` are of one host."""
    rng = random.Random(first)
    page_host = 0
    for number in range(first, end):
        in_page = number % _PAGE
        if in_page == 0:
            page_host = rng.randrange(hosts)
        host = page_host if in_page < own else rng.randrange(hosts)
        yield (
            f"https://www.site-{host:06}.{_TOPS[host & 7]}/{_SECTIONS[number & 7]}/"
            f"some-longer-title-{number:08x}{'.html' if number & 8 else ''}"
        )


def rss_bytes() -> int:
    """Memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _measure(count: int, hosts: int) -> dict[str, float]:
    """Fill a frontier, add again what it has seen, take from it; give bytes and rates."""
    gc.collect()
    before = rss_bytes()
    frontier = Frontier(_SETTINGS)
    for shard in range(256):  # alone on its tree, a machine holds them all
        frontier.hold(shard)
    added_s = _add(frontier, links(0, count, hosts), new=True)
    gc.collect()
    figures = {
        "bytes": rss_bytes() - before,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before,
        "added": count / added_s,
    }
    assert frontier.known == frontier.pending == count
    again = min(count, 500_000)
    figures["seen"] = again / _add(frontier, links(0, again, hosts), new=False)
    fetches = min(_FETCHES, count)
    figures["taken"] = fetches / _take(frontier, hosts, fetches)
    figures["bytes_after"] = rss_bytes() - before
    figures["hardest"] = _HARDEST / _add(frontier, links(count, count + _HARDEST, hosts, own=0), new=True)
    frontier.close()
    return figures


def _measure_idle() -> dict[str, float]:
    """Fetch the only page of many hosts; give the bytes that are kept of each, and the rate."""
    gc.collect()
    before = rss_bytes()
    frontier = Frontier(_SETTINGS)
    for shard in range(256):
        frontier.hold(shard)
    spent_s, now = 0.0, 10.0
    for number, url in enumerate(links(0, _IDLE_HOSTS, 1 << 60, own=0)):
        begin = time.process_time()
        frontier.add(url, 3, _REFERRER)
        task = frontier.take(now)
        assert task is not None
        frontier.finish(task, now, stored=True)
        if number % 1000 == 0:  # a round
            now += 10
            frontier.forget_what_is_over(now)
        spent_s += time.process_time() - begin
    gc.collect()
    met = len(frontier.scheduler)
    frontier.close()
    return {"hosts": met, "bytes": (rss_bytes() - before) / met, "rate": met / spent_s}


def _add(frontier: Frontier, urls: Iterator[str], *, new: bool) -> float:
    """Add URLs as `membership.discover` does; give the CPU seconds of that alone."""
    spent_s = 0.0
    while chunk := [url for _, url in zip(range(_CHUNK), urls)]:  # noqa: B905 - the range ends first
        begin = time.process_time()
        for url in chunk:
            location = frontier.location(url)
            if frontier.holds(location.shard) and frontier.add(url, 3, _REFERRER, location) is not new:
                raise AssertionError(url)
        spent_s += time.process_time() - begin
    return spent_s


def _take(frontier: Frontier, hosts: int, fetches: int) -> float:
    """Take and finish with some in flight, as fast as the delays allow; give the CPU seconds."""
    in_flight: deque[Task] = deque()
    now = 10.0
    begin = time.process_time()
    for _ in range(fetches):
        while (task := frontier.take(now)) is None:
            if in_flight:
                frontier.finish(in_flight.popleft(), now, stored=True)
            else:
                now = frontier.next_at() or now
        in_flight.append(task)
        if len(in_flight) > _IN_FLIGHT:
            frontier.finish(in_flight.popleft(), now, stored=True)
        now += 1 / hosts
    return time.process_time() - begin


def _report(count: int, figures: dict[str, float]) -> None:
    print(f"\n{count:,} URLs, all pending")
    wanted = WANTED_BYTES.get(count)
    more = f"wanted ≤ {wanted / 1e6:.0f}: {_verdict(figures['peak_bytes'] <= wanted)}" if wanted else ""
    print(f"  memory at its most    {figures['peak_bytes'] / 1e6:9.0f} MB  {more}")
    print(f"  when filled           {figures['bytes'] / 1e6:9.0f} MB  {figures['bytes'] / count:.0f} bytes a URL")
    wanted = WANTED_AFTER_BYTES.get(count)
    more = f"wanted ≤ {wanted / 1e6:.0f}: {_verdict(figures['bytes_after'] <= wanted)}" if wanted else ""
    print(f"  after the fetches     {figures['bytes_after'] / 1e6:9.0f} MB  {more}")
    _rate("adding new URLs", figures["added"], WANTED_ADDED)
    _rate("adding seen URLs", figures["seen"], WANTED_ADDED)
    _rate("… new, of any host", figures["hardest"], None)
    _rate("taking and finishing", figures["taken"], WANTED_TAKEN)


def _report_idle(figures: dict[str, float]) -> None:
    verdict = f"wanted ≤ {WANTED_IDLE_BYTES}: {_verdict(figures['bytes'] <= WANTED_IDLE_BYTES)}"
    print(f"\n{figures['hosts']:,} hosts of one page each, all fetched")
    print(f"  memory                {figures['bytes']:9.0f} bytes a host, its URL included; {verdict}")
    _rate("pages of new hosts", figures["rate"], None)


def _rate(name: str, rate: float, wanted: float | None) -> None:
    verdict = f"; wanted ≥ {wanted:,}: {_verdict(rate >= wanted)}" if wanted else ""
    print(f"  {name:22}{rate:9,.0f} /s  {1e6 / rate:.2f} µs each{verdict}")


def _verdict(good: bool) -> str:
    return "yes" if good else "NO"


if __name__ == "__main__":
    main()
