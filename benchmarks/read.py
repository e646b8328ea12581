"""How fast is a tree read from Python, beside a loop over its files? And in how much memory?

    python -m benchmarks.read [--pages N] [--large N] [--mount-pages N] [--call-ms MS] [--pairs N] [--work DIR]
                             [--distant-pages N] [--round-trip-ms MS]

    for page in fscrawl.open(root).pages(): page.url, page.fetch_status      "records"
    for page in fscrawl.open(root).pages(): … page.markup                    "with HTML"

The loops do the same with `glob` (or, stricter, `scandir`), `json.load` and `open`. The tree is made by the store's own
writer: records with 20 links and bodies of 6 KB, of 50 hosts. All runs of a pair follow each other, and each is a
process of its own; the best of all pairs counts. On the mount (see `slow_mount`) each call takes a while. The distant
server is a real sshd behind a relay (`tests.support.shares.distance`), mounted anew by sshfs for each run, with its
default options: nothing is in a cache yet, of the loop's files or of ours.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import json
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import measure
from fscrawl import urls
from fscrawl.config.settings import Settings, render
from fscrawl.storage.records import FORMAT, PageRecord, TreeRecord, new_machinery
from fscrawl.store import Tree, create
from fscrawl.util import waiting
from tests.support.faults import Fault
from tests.support.passthrough import Passthrough, missing
from tests.support.shares import sshfs
from tests.support.shares.distance import Distance

WANTED_SLOW = 5.0  # times as fast as the loop, where calls are slow
MOST_GROWTH_BYTES = 8e6  # from --pages to --large pages
HOSTS = 50
_LINKS = 20
_LOOP_PAGES = 150  # on the mount, where the loop is slow
_DISTANT_PAIRS = 3
_HOW = {"without threads": math.inf, "by threads": -1.0}  # from how many seconds of waiting threads read
_ASKED = 50  # names, to see how long a round trip takes


def main() -> None:
    arguments = _arguments()
    if arguments.recipe:
        if arguments.how:
            waiting.LONG_S = _HOW[arguments.how]
        print(json.dumps(_timed(arguments.recipe, arguments.root, arguments.most)))
        return
    directory = Path(tempfile.mkdtemp(prefix="fscrawl-read-", dir=arguments.work))
    try:
        tree = make(directory / "tree", arguments.pages)
        _bench_disk(tree, arguments.pages, arguments.pairs)
        _bench_mount(directory / "mounted", arguments.mount_pages, arguments.call_ms)
        _bench_distant(directory / "distant", arguments.distant_pages, arguments.round_trip_ms)
        if arguments.large:
            _bench_memory(make(directory / "large", arguments.large), arguments.pages, arguments.large)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.read", description="Reading a tree from Python.")
    parser.add_argument("--pages", type=int, default=20_000, help="of the tree (default 20000)")
    parser.add_argument("--large", type=int, default=200_000, help="for memory (default 200000); 0: without")
    parser.add_argument("--mount-pages", type=int, default=4_000, help="on the slow mount (default 4000)")
    parser.add_argument("--call-ms", type=float, default=5.0, help="what a call takes on this mount (default 5)")
    parser.add_argument("--distant-pages", type=int, default=600, help="on a distant sshfs (default 600)")
    parser.add_argument("--round-trip-ms", type=float, default=5.0, help="to this server and back (default 5)")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each (default 5)")
    parser.add_argument("--work", type=Path, help="where the trees go (default: the temporary directory)")
    parser.add_argument("--recipe", choices=_RECIPES, help=argparse.SUPPRESS)  # the process that is measured
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--most", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--how", choices=_HOW, help=argparse.SUPPRESS)
    return parser.parse_args()


# -- what is measured


def _ours(root: Path, most: int | None) -> int:
    import fscrawl

    pages = 0
    for page in itertools.islice(fscrawl.open(root).pages(), most):
        pages += bool(page.url and page.fetch_status)
    return pages


def _ours_html(root: Path, most: int | None) -> int:
    import fscrawl

    pages = 0
    for page in itertools.islice(fscrawl.open(root).pages(), most):
        pages += bool(page.url and page.fetch_status and page.markup)
    return pages


def _by_glob(root: Path) -> Iterator[Path]:
    return root.glob("links/*/*.json")


def _by_scandir(root: Path) -> Iterator[os.DirEntry[str]]:
    for host in os.scandir(root / "links"):
        yield from os.scandir(host)


def _loop(listed: Callable[[Path], Iterator[os.PathLike[str]]], root: Path, most: int | None) -> int:
    pages = 0
    for path in itertools.islice(listed(root), most):
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as people write it
            record = json.load(file)
        pages += bool(record["url"] and record["status"])
    return pages


def _loop_html(listed: Callable[[Path], Iterator[os.PathLike[str]]], root: Path, most: int | None) -> int:
    pages = 0
    for path in itertools.islice(listed(root), most):
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as people write it
            record = json.load(file)
        *_, host, name = os.fspath(path).split("/")
        with open(f"{root}/htmls/{host}/{name[:-5]}.html", encoding=record["encoding"]) as file:  # noqa: PTH123
            html = file.read()
        pages += bool(record["url"] and record["status"] and html)
    return pages


_RECIPES: dict[str, Callable[[Path, int | None], int]] = {
    "fscrawl, records": _ours,
    "glob, records": lambda root, most: _loop(_by_glob, root, most),
    "scandir, records": lambda root, most: _loop(_by_scandir, root, most),
    "fscrawl, with HTML": _ours_html,
    "glob, with HTML": lambda root, most: _loop_html(_by_glob, root, most),
    "scandir, with HTML": lambda root, most: _loop_html(_by_scandir, root, most),
}


def _timed(recipe: str, root: Path, most: int | None) -> tuple[int, float, float]:
    """Run a recipe; give pages, seconds, and seconds of processor time, without the start of Python."""
    import fscrawl

    with tempfile.TemporaryDirectory() as other:
        next(fscrawl.open(make(Path(other) / "tree", 1)).pages())  # loads its modules
    began, cpu = time.perf_counter(), time.process_time()
    pages = _RECIPES[recipe](root, most)
    return pages, time.perf_counter() - began, time.process_time() - cpu


def _run(recipe: str, root: Path, most: int | None = None, how: str | None = None) -> tuple[int, float, float, float]:
    """Give pages, seconds, processor seconds and the peak of memory of a run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.read", "--recipe", recipe, "--root", str(root)]
    command += ["--most", str(most)] if most else []
    command += ["--how", how] if how else []
    cost = measure.run(command)
    line = cost.message.strip().rpartition("\n")[2]
    if cost.exit_code:
        sys.exit(f"{recipe}: ended with {cost.exit_code}:\n{cost.message}")
    pages, wall_s, cpu_s = json.loads(line)
    return pages, wall_s, cpu_s, cost.peak_bytes


# -- the figures


def _bench_disk(root: Path, pages: int, pairs: int) -> None:
    print(f"{pages:,} pages on a local disk, from the page cache; the best of {pairs} runs in turn\n")
    print(f"{'':22}{'pages/s':>10}{'CPU µs/page':>13}{'peak MB':>9}")
    best: dict[str, list[float]] = {}
    for _ in range(pairs):
        for recipe in _RECIPES:
            found, wall_s, cpu_s, peak = _run(recipe, root)
            assert found == pages, (recipe, found)
            row = [wall_s, cpu_s, peak]
            best[recipe] = [min(pair) for pair in zip(best.get(recipe, row), row, strict=True)]
    for recipe, (wall_s, cpu_s, peak) in best.items():
        print(f"{recipe:22}{pages / wall_s:10,.0f}{1e6 * cpu_s / pages:13.1f}{peak / 1e6:9.0f}")
    for what in ("records", "with HTML"):
        for loop in ("glob", "scandir"):
            ratio = best[f"{loop}, {what}"][1] / best[f"fscrawl, {what}"][1]
            print(f"{what}: {ratio:.2f} times as fast as the loop with {loop}, by processor time")
    print(flush=True)


def _bench_mount(root: Path, pages: int, call_ms: float) -> None:
    if lacking := missing():
        print(f"mount with {call_ms:g} ms a call: not measured, without {' and '.join(lacking)}\n")
        return
    make(root, pages)
    print(f"{pages:,} pages on a mount where each call takes {call_ms:g} ms\n")
    with Passthrough(root) as mount:
        mount.inject(Fault("slow", every=1, seconds=call_ms / 1000))
        for what in ("records", "with HTML"):
            found, loop_s, *_ = _run(f"scandir, {what}", mount.path, _LOOP_PAGES)
            loop = found / loop_s
            found, ours_s, cpu_s, _ = _run(f"fscrawl, {what}", mount.path)
            ours = found / ours_s
            ratio = ours / loop
            enough = "yes" if ratio >= WANTED_SLOW else "NO"
            print(f"{what:10} loop {loop:8.1f} pages/s   fscrawl {ours:8.1f} pages/s, CPU {1e6 * cpu_s / found:.0f} µs")
            print(f"{'':10} ratio {ratio:.1f}; wanted ≥ {WANTED_SLOW:g}: {enough}")
    print(flush=True)


def _bench_distant(root: Path, pages: int, round_trip_ms: float) -> None:
    """Print how fast both are on sshfs with its default options, mounted anew for each run."""
    if lacking := sshfs.missing():
        print(f"sshfs at {round_trip_ms:g} ms: not measured, without {' and '.join(lacking)}\n")
        return
    make(root, pages)
    with sshfs.Sshd() as sshd, Distance(sshd.port, round_trip_ms / 2000) as port:

        def cold(who: str, what: str) -> float:
            with sshd.mount(root, port=port) as mounted:
                found, wall_s, *_ = _run(f"{who}, {what}", mounted)
            assert found == pages, (who, what, found)
            return found / wall_s

        with sshd.mount(root, port=port) as mounted:
            measured_ms = 1000 * _round_trip_s(mounted)
        print(f"{pages:,} pages on sshfs, a round trip takes {measured_ms:.1f} ms; best of {_DISTANT_PAIRS} in turn\n")
        for what in ("records", "with HTML"):
            pairs = [(cold("scandir", what), cold("fscrawl", what)) for _ in range(_DISTANT_PAIRS)]
            loop, ours = map(max, zip(*pairs, strict=True))
            enough = "yes" if ours >= WANTED_SLOW * loop else "NO"
            print(f"{what:10} loop {loop:8.1f} pages/s   fscrawl {ours:8.1f} pages/s")
            print(f"{'':10} ratio {ours / loop:.1f}; wanted ≥ {WANTED_SLOW:g}: {enough}")
    print(flush=True)


def _round_trip_s(mounted: Path) -> float:
    """Ask for names that are not there, each of which is one question to the server; give the median."""
    took = []
    for number in range(_ASKED):
        began = time.perf_counter()
        with contextlib.suppress(FileNotFoundError):
            (mounted / f"none-{number}").stat()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _bench_memory(root: Path, few: int, many: int) -> None:
    """Print the peak of memory of reading some pages of a large tree, and all of them; without threads, and by them.

    Who reads is fixed: else it would be a matter of chance whether a busy disk brings in the threads, and their memory.
    """
    for how in _HOW:
        for recipe in ("fscrawl, records", "fscrawl, with HTML"):
            before, after = (_run(recipe, root, most, how)[3] for most in (few, None))
            flat = "flat" if after - before <= MOST_GROWTH_BYTES else "NOT FLAT"
            print(
                f"{recipe}, {how}: peak {before / 1e6:.1f} MB after {few:,} pages, {after / 1e6:.1f} MB after {many:,}:"
                f" {flat}",
                flush=True,
            )


# -- the tree


def make(root: Path, pages: int) -> Path:
    """Make a tree by the store's own writer."""
    record = TreeRecord(FORMAT, "0b5e", "2026-11-01T00:00:00.000Z", 512, "host", new_machinery())
    root.mkdir()
    create(root, record, render(Settings()), "", "bench-1-0b5e", lambda text: record)  # noqa: ARG005
    tree = Tree(root, "bench-1-0b5e")
    for number in range(pages):
        tree.put_page(*page(number, pages))
    return root


def page(number: int, pages: int) -> tuple[str, PageRecord, bytes]:
    """Make a page: its host, its record and its body."""
    host = f"host-{number % HOSTS}.example"
    url = f"http://{host}/page/{number}"
    links = tuple(f"http://{host}/page/{(number * 7 + each * HOSTS) % pages}" for each in range(_LINKS))
    words = "".join(f"<p>Paragraph {number} of <a href='{link}'>a page</a>, {'words ' * 40}</p>" for link in links)
    body = f"<html><head><title>Page {number}</title></head><body>{words}</body></html>".encode()
    record = PageRecord(
        url=url,
        key=urls.key(url),
        depth=1,
        referrer="",
        fetched_at="2026-11-01T00:00:00.000Z",
        machine="bench-1-0b5e",
        status=200,
        headers={"content-type": "text/html; charset=utf-8", "server": "bench", "content-length": str(len(body))},
        bytes=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        elapsed=0.125,
        links=links,
        encoding="utf-8",
        title=f"Page {number}",
        ip="127.0.0.1",
    )
    return urls.host(url), record, body


if __name__ == "__main__":
    main()
