"""Is this checkout slower than another one? Crawl and merge of both, side by side in one run.

    python -m benchmarks.versions --base DIR [--pairs N] [--only NAME…] [--json]

Vocabulary: a *workload* is one command with its input; the *base* is the other checkout, *this* is the one that the
benchmark belongs to. A *pair* is one run of each; which of them goes first alternates from pair to pair, so that a
drift of the computer's speed cancels out.

The main figure is the CPU seconds of the whole process tree, per page: other work on the computer changes it far less
than the pages per second. Ratios are this ÷ base, taken pair by pair.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import corpus, measure, slow_web
from benchmarks.crawlers import THREADS, WORKERS
from benchmarks.merge import Tree, multiplied, warm
from benchmarks.slow_web import SlowWeb

LIMIT_S = 300.0  # of one run, which takes seconds
_HOSTS = 50  # of the made-up web
_SETTINGS = (
    "politeness.delay=0",
    f"politeness.per_host={WORKERS * THREADS}",
    "fetch.allow_addresses=['127.0.0.0/8']",
    "crawl.scope=host",
)
_HEAD = f"{'workload':22} {'pages':>6}  {'CPU ms/page':^24}  {'pages/s':^24}\n"
_HEAD += f"{'':22} {'':>6}  {'base':>6} {'this':>6} {'ratio':>10}  {'base':>6} {'this':>6} {'ratio':>10}  ratios of CPU"


@dataclass(frozen=True, slots=True)
class Checkout:
    """One of the two versions: its directory and the Python that runs it."""

    name: str
    root: Path
    python: str

    def command(self, *words: str | os.PathLike[str]) -> list[str]:
        """Return the words of a command, which must be run in `root`: Python then finds the package there."""
        return [self.python, "-m", "fscrawl", *map(os.fspath, words)]


@dataclass(frozen=True, slots=True)
class Workload:
    """`words(of, out)`: the command of the checkout named `of`, which writes below `out`.

    `pages(out)`: how many pages are there afterwards.
    """

    name: str
    words: Callable[[str, Path], list[str]]
    pages: Callable[[Path], int]


@dataclass(frozen=True, slots=True)
class Run:
    pages: int
    cpu_s: float
    wall_s: float

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.cpu_s / self.pages

    @property
    def rate(self) -> float:
        return self.pages / self.wall_s


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio this ÷ base over all pairs. `mean` is geometric, `error` its standard error (0 with one pair only)."""

    mean: float
    error: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: list[float]) -> Ratio:
        logs = [math.log(value) for value in values]
        mean = math.exp(statistics.fmean(logs))
        error = mean * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0
        return cls(mean, error, min(values), max(values))


@dataclass(frozen=True, slots=True)
class Comparison:
    """All pairs of one workload, each as (base, this)."""

    workload: str
    pairs: list[tuple[Run, Run]]

    @property
    def cpu(self) -> Ratio:
        return Ratio.of([this.cpu_ms / base.cpu_ms for base, this in self.pairs])

    @property
    def rate(self) -> Ratio:
        return Ratio.of([this.rate / base.rate for base, this in self.pairs])

    def median(self, side: int, figure: str) -> float:
        """Return the median of a figure of base (side 0) or this (side 1)."""
        return statistics.median(getattr(pair[side], figure) for pair in self.pairs)

    def as_json(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "pages": self.pairs[0][0].pages,
            "pairs": len(self.pairs),
            **{
                f"{figure}_{name}": round(self.median(side, figure), 4)
                for figure in ("cpu_ms", "rate")
                for side, name in enumerate(("base", "this"))
            },
            **{
                f"{figure}_ratio": {name: round(getattr(ratio, name), 4) for name in Ratio.__slots__}
                for figure, ratio in (("cpu", self.cpu), ("rate", self.rate))
            },
        }

    def row(self) -> str:
        cpu, rate = self.cpu, self.rate
        row = f"{self.workload:22} {self.pairs[0][0].pages:6}"
        row += f"  {self.median(0, 'cpu_ms'):6.3f} {self.median(1, 'cpu_ms'):6.3f} {_ratio(cpu):>10}"
        row += f"  {self.median(0, 'rate'):6.0f} {self.median(1, 'rate'):6.0f} {_ratio(rate):>10}"
        return f"{row}  {cpu.lowest:.3f} to {cpu.highest:.3f}"


def _ratio(ratio: Ratio) -> str:
    return f"{ratio.mean:.3f}±{ratio.error:.3f}"


def main() -> None:
    arguments = _arguments()
    corpus.exit_on_terminate()
    checkouts = (_checkout("base", arguments.base), _checkout("this", measure.PROJECT))
    directory = Path(tempfile.mkdtemp(prefix="fscrawl-versions-", dir=arguments.work))
    try:
        with ExitStack() as servers:
            found = _workloads(arguments, checkouts, directory, servers)
            workloads = [each for each in found if _is_chosen(each, arguments)]
            if not arguments.json:
                print(f"base {arguments.base}; load before: {os.getloadavg()[0]:.1f}\n\n{_HEAD}", flush=True)
            for workload in workloads:
                comparison = _compare(workload, checkouts, arguments.pairs, directory)
                print(json.dumps(comparison.as_json()) if arguments.json else comparison.row(), flush=True)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description="This checkout beside another.")
    parser.add_argument("--base", type=Path, required=True, metavar="DIR", help="the other checkout of fscrawl")
    parser.add_argument("--pairs", type=int, default=6, metavar="N", help="runs of each, per workload (default 6)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="workloads whose name has one of these")
    parser.add_argument("--pages", type=int, default=4000, metavar="N", help="of the made-up web (default 4000)")
    parser.add_argument("--merge-pages", type=int, default=4000, metavar="N", help="of the merges (default 4000)")
    parser.add_argument("--work", type=Path, metavar="DIR", help="where trees and datasets are written, for the time")
    parser.add_argument("--json", action="store_true", help="print one JSON object per workload")
    return parser.parse_args()


def _checkout(name: str, root: Path) -> Checkout:
    """Find a checkout's Python: that of its .venv, or the one that runs this."""
    root = root.resolve()
    own = root / ".venv" / "bin" / "python"
    checkout = Checkout(name, root, str(own) if own.exists() else sys.executable)
    words = [checkout.python, "-c", "import fscrawl; print(fscrawl.__file__)"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode or not Path(done.stdout.strip()).is_relative_to(root):
        sys.exit(f"{root}: {checkout.python} does not find fscrawl there: {done.stdout}{done.stderr}".strip())
    return checkout


def _is_chosen(workload: Workload, arguments: argparse.Namespace) -> bool:
    return not arguments.only or any(word in workload.name for word in arguments.only)


# -- workloads


def _workloads(
    arguments: argparse.Namespace, checkouts: Sequence[Checkout], directory: Path, servers: ExitStack
) -> Iterator[Workload]:
    """Start the servers, make the trees to merge, and return what can be compared on this computer.

    Each checkout merges a tree of its own: one may have another format than the other, and not read it.
    """
    port = servers.enter_context(_made_up_web(arguments.pages)).port
    seeds = [f"http://{address}:{port}/" for address in slow_web.addresses(_HOSTS)]
    small = _crawl("crawl, made-up web", seeds, directory)
    yield small
    source = small
    if corpus.missing():
        print(f"without {' '.join(corpus.missing())}: only the made-up web", file=sys.stderr)
    else:
        served = servers.enter_context(corpus.serve())
        source = _crawl("crawl, python3-doc", [served.python.url], directory)
        yield source
        yield _crawl("crawl, rust-doc", [served.rust.url], directory)
    trees = {each.name: _tree(each, source, directory, arguments.merge_pages) for each in checkouts}
    for style in ("parquet", "warc"):
        yield Workload(f"merge, {style}", _merge_words(trees, style), _merged_pages)


def _tree(checkout: Checkout, source: Workload, directory: Path, pages: int) -> Path:
    """Make a tree with a checkout's own crawl, which is not measured: that of `source`, or more of one host's pages."""
    origin, tree = directory / f"origin-{checkout.name}", directory / f"tree-{checkout.name}"
    words = source.words(checkout.name, origin)
    cost = measure.run(checkout.command(*words), cwd=checkout.root, limit_s=LIMIT_S)
    if cost.exit_code:
        sys.exit(f"{' '.join(words)}: exit code {cost.exit_code}\n{cost.message}")
    known = warm(origin)
    if len(list((origin / "links").iterdir())) > 1:
        return origin
    multiplied(Tree(origin, known), tree, pages)
    return tree


@contextmanager
def _made_up_web(pages: int) -> Iterator[SlowWeb]:
    """Serve small pages from many hosts, which answer at once: what they cost is fscrawl's own work."""
    web = SlowWeb(_HOSTS, max(2, pages // _HOSTS), 0)
    try:
        yield web
    finally:
        with suppress(ValueError):  # after Ctrl-C or `timeout` the server has ended, too, and printed nothing
            web.stop()


def _crawl(name: str, seeds: list[str], directory: Path) -> Workload:
    file = directory / f"{name.replace(', ', '-').replace(' ', '-')}.txt"
    file.write_text("".join(f"{url}\n" for url in seeds), encoding="ascii")

    def words(_: str, out: Path) -> list[str]:
        settings = [word for setting in _SETTINGS for word in ("--set", setting)]
        size = ["--workers", str(WORKERS), "--threads", str(THREADS)]
        return ["crawl", "--root", str(out), "--seeds", str(file), "--quiet", *size, *settings]

    return Workload(name, words, lambda out: sum(1 for _ in out.glob("htmls/*/*.html")))


def _merge_words(trees: Mapping[str, Path], style: str) -> Callable[[str, Path], list[str]]:
    return lambda of, out: [
        *("merge", "--root", str(trees[of]), "--out", str(out)),
        *("--format", style, "--processes", str(WORKERS)),
    ]


def _merged_pages(out: Path) -> int:
    counts = json.loads((out / "manifest.json").read_bytes())["counts"]
    return int(counts.get("records", counts["pages"]))  # an older fscrawl called all records pages


# -- runs


def _compare(workload: Workload, checkouts: tuple[Checkout, Checkout], number: int, directory: Path) -> Comparison:
    """Run both, once to warm the caches and then in pairs."""
    base, this = checkouts
    for checkout in checkouts:
        _run(workload, checkout, directory)
    pairs = []
    for pair in range(number):
        order = (base, this) if pair % 2 == 0 else (this, base)
        runs = {checkout.name: _run(workload, checkout, directory) for checkout in order}
        if runs["base"].pages != runs["this"].pages:
            sys.exit(f"{workload.name}: base has {runs['base'].pages} pages, this has {runs['this'].pages}")
        pairs.append((runs["base"], runs["this"]))
    return Comparison(workload.name, pairs)


def _run(workload: Workload, checkout: Checkout, directory: Path) -> Run:
    """Run a workload once, in a directory of its own.

    All of them are removed at the end: ext4 creates files several times slower while inodes have just been freed.
    """
    out = Path(tempfile.mkdtemp(dir=directory)) / "out"
    os.sync()  # the writes of the run before must not slow this one down
    # compiled modules are kept for both in one place, whatever the two checkouts have of their own
    environment = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(directory / "pycache")}
    command = checkout.command(*workload.words(checkout.name, out))
    cost = measure.run(command, cwd=checkout.root, limit_s=LIMIT_S, environment=environment)
    pages = 0 if cost.exit_code else workload.pages(out)
    if not pages:
        sys.exit(f"{workload.name}, {checkout.name}: exit code {cost.exit_code}, {pages} pages:\n{cost.message}")
    return Run(pages, cost.cpu_s, cost.wall_s)


if __name__ == "__main__":
    main()
