"""Pages per second and CPU per page: fscrawl and other crawlers on the same sites.

    python -m benchmarks.speed [--pages N | --full] [--repeat N] [--only NAME…] [--sites NAME…]
        [--base DIR]

They run on the same machine and nginx, one after the other, in an order that is reversed from site to site and repeat
to repeat. It counts HTML files on the disk, and the time from process start to exit.
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import corpus, measure
from benchmarks.crawlers import CLASSICAL_PAGES, CRAWLERS, THREADS, WORKERS, Crawler, base
from benchmarks.peers import PEERS

_HEAD = f"{'site':12} {'crawler':13} {'pages':>6} {'KB/page':>8} {'wall s':>7} {'pages/s':>8}"
_HEAD += f" {'CPU ms/page':>12} {'nginx':>6} {'peak MB':>8}  fscrawl ÷ it: pages/s (wanted), CPU"


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl. `server_cpu_s`: the CPU that nginx used meanwhile; it is not in `cost`."""

    site: str
    crawler: Crawler
    pages: int
    stored_bytes: int
    cost: measure.Cost
    server_cpu_s: float

    @property
    def rate(self) -> float:
        return self.pages / self.cost.wall_s

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.cost.cpu_s / max(self.pages, 1)


def main() -> None:
    arguments = _arguments()
    corpus.exit_on_terminate()
    corpus.install()
    crawlers = (*CRAWLERS, base(arguments.base.resolve())) if arguments.base else CRAWLERS
    chosen = [crawler for crawler in crawlers if not arguments.only or crawler.name in arguments.only]
    print(f"Python {platform.python_version()}; {WORKERS * THREADS} requests at a time")
    for peer in PEERS:
        if any(crawler.peer is peer for crawler in chosen):
            print(peer.install(), flush=True)
    chosen = [crawler for crawler in chosen if not crawler.peer or crawler.peer.ready()]
    print(f"{os.cpu_count()} cores, load before: {os.getloadavg()[0]:.1f}\n\n{_HEAD}", flush=True)
    for checkout in {crawler.directory for crawler in crawlers}:
        compileall.compile_dir(checkout / "fscrawl", quiet=1)  # or the first run of each would do it
    with corpus.serve() as served, tempfile.TemporaryDirectory(prefix="fscrawl-speed-") as trees:
        for number, site in enumerate(s for s in served.sites if not arguments.sites or s.name in arguments.sites):
            _warm(site.root)
            limit = 0 if arguments.full or site is served.python else arguments.pages
            runs: list[Run] = []
            for repeat in range(arguments.repeat):
                order = chosen if (number + repeat) % 2 == 0 else chosen[::-1]
                runs += [_run(crawler, site, limit, served, Path(trees)) for crawler in order]
            _print_site(runs)
    print(f"\nclassical: at most {CLASSICAL_PAGES} pages. wget2: about as many as the others, with images and styles.")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description="fscrawl and others, side by side.")
    parser.add_argument("--pages", type=int, default=3000, help="of rust-doc, which has 21,600 (default 3000)")
    parser.add_argument("--full", action="store_true", help="all of rust-doc; Scrapy takes minutes")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the table shows medians (default 1)")
    parser.add_argument("--base", type=Path, metavar="DIR", help="a checkout of an older fscrawl, which runs, too")
    names = [*(crawler.name for crawler in CRAWLERS), "base"]
    parser.add_argument("--only", nargs="+", choices=names, help="some of the crawlers")
    parser.add_argument("--sites", nargs="+", choices=["python3-doc", "rust-doc"], help="one of the sites")
    return parser.parse_args()


def _warm(root: Path) -> None:
    """Read the site once, so that the first crawler need not wait for the disk more than the others."""
    for file in root.rglob("*.html"):
        file.read_bytes()


def _run(crawler: Crawler, site: corpus.Site, limit: int, served: corpus.Served, trees: Path) -> Run:
    """Run a crawler in a directory of its own below `trees`.

    All of them are removed at the end: ext4 creates files several times slower while inodes have just been freed.
    """
    directory = Path(tempfile.mkdtemp(dir=trees))
    os.sync()  # the writes of the run before must not slow this one down
    before = served.cpu_s()
    cost = measure.run(crawler.command(site, directory / "out", limit), cwd=crawler.directory)
    server_cpu_s = served.cpu_s() - before
    if cost.exit_code not in crawler.good_exits:
        sys.exit(f"{crawler.name} ended with {cost.exit_code} on {site.name}:\n{cost.message}")
    sizes = [file.stat().st_size for file in directory.rglob("*.html")]
    return Run(site.name, crawler, len(sizes), sum(sizes), cost, server_cpu_s)


def _print_site(runs: list[Run]) -> None:
    names = list(dict.fromkeys(run.crawler.name for run in runs))
    grouped = {name: [run for run in runs if run.crawler.name == name] for name in names}
    ours = grouped.pop("fscrawl", [])
    for own in ([ours] if ours else []) + [group for group in grouped.values() if group]:
        print(_row(own, ours), flush=True)


def _row(runs: list[Run], ours: list[Run]) -> str:
    last = runs[-1]
    row = f"{last.site:12} {last.crawler.name:13} {_median(r.pages for r in runs):6.0f}"
    row += f" {_median(r.stored_bytes / max(r.pages, 1) / 1000 for r in runs):8.1f}"
    row += f" {_median(r.cost.wall_s for r in runs):7.1f} {_median(r.rate for r in runs):8.1f}"
    row += f" {_median(r.cpu_ms for r in runs):12.2f}"
    row += f" {_median(1000 * r.server_cpu_s / max(r.pages, 1) for r in runs):6.2f}"
    row += f" {_median(r.cost.peak_bytes / 1e6 for r in runs):8.0f}"
    return row if runs is ours or not ours else f"{row}  {_ratios(runs, ours)}"


def _ratios(runs: list[Run], ours: list[Run]) -> str:
    rate = _median(r.rate for r in ours) / _median(r.rate for r in runs)
    cpu = _median(r.cpu_ms for r in ours) / _median(r.cpu_ms for r in runs)
    wanted = runs[0].crawler.wanted.get(runs[0].site)
    verdict = f" (≥ {wanted:g}: {'yes' if rate >= wanted else 'NO'})" if wanted else ""
    return f"{rate:.2f}×{verdict}, {cpu:.2f}× the CPU"


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


if __name__ == "__main__":
    main()
