"""Pages per second, CPU and memory of `fscrawl merge`, beside the scripts that one would write without it.

    python -m benchmarks.merge [--pages N] [--large N] [--quick] [--only-mount] [--call-ms MS] [--work DIR]
    python -m benchmarks.merge --compare DATASET DATASET

A tree of rust-doc is crawled from nginx on loopback, and a larger tree is made from it. Neither is measured. Every run
reads from the page cache: the trees have just been written, and all of them are read once before. At the end, a tree
is read from a mount where each call takes a while (`slow_mount`). `--compare` measures nothing: are the rows of two
datasets the same (`same_rows`)?
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import corpus, measure, same_rows, slow_mount
from benchmarks.crawlers import CRAWLERS
from fscrawl import urls
from fscrawl.storage import records

PROCESSES = 2
_QUICK = (2000, 6000)  # pages of the two trees
_SOUP_PAGES, _TRAFILATURA_PAGES, _MAIN_PAGES = 200, 1000, 1000
_SAMPLE_S = 0.2
_WHOLE_SITE = (
    20_000  # pages; smaller crawls have the pages near the front page, which are four times as large as the mean
)
_MEMORY_BYTES = 600e6
_TREE_BYTES = 50_000  # on the disk for each page: body, record, and what is made of them

_HEAD = f"{'tree':>7} {'what':30} {'pages':>7} {'wall s':>7} {'pages/s':>8} {'CPU ms/page':>12}"
_HEAD += f" {'largest MB':>11} {'all MB':>7} {'load':>5}  wanted"


@dataclass(frozen=True, slots=True)
class Tree:
    root: Path
    pages: int


@dataclass(frozen=True, slots=True)
class Task:
    """One merge: its `arguments`, the `pages_per_s` that are wanted, and whether its memory must be `bounded`."""

    name: str
    arguments: tuple[str, ...]
    pages_per_s: float | None = None
    bounded: bool = False


_PARQUET = Task("parquet, text, near-duplicates", ("--format", "parquet"), 1600, bounded=True)
_WARC = Task("warc", ("--format", "warc"), 2500, bounded=True)
_JSONL = Task("jsonl", ("--format", "jsonl"))
_TEXTS = (
    Task("parquet, --text main", ("--format", "parquet", "--text", "main")),
    Task("parquet, --language", ("--format", "parquet", "--language")),
)


def main() -> None:
    arguments = _arguments()
    if arguments.recipe:
        _RECIPES[arguments.recipe](arguments.root, arguments.sample, arguments.out)
        return
    if arguments.compare:
        sys.exit(same_rows.compare(*arguments.compare))
    corpus.exit_on_terminate()
    corpus.install()
    pages, large = _QUICK if arguments.quick else (arguments.pages, arguments.large)
    directory = Path(tempfile.mkdtemp(prefix="fscrawl-merge-", dir=arguments.work))
    try:
        _refuse_small_disk(directory, pages + large)
        tree = _crawled(directory / "tree", pages)
        if not arguments.only_mount:
            _bench(tree, directory, large)
        _bench_mount(tree, directory, arguments.call_ms)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.merge", description="Speed and memory of merge.")
    parser.add_argument("--pages", type=int, default=20_000, help="to crawl of rust-doc (default 20000)")
    parser.add_argument("--large", type=int, default=200_000, help="of the tree that is made of them; 0: without")
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK[0]} and {_QUICK[1]} pages")
    parser.add_argument("--work", type=Path, help="where trees and datasets go (default: the temporary directory)")
    parser.add_argument("--recipe", choices=_RECIPES, help=argparse.SUPPRESS)  # the process that is measured
    parser.add_argument("--only-mount", action="store_true", help="measure only the mount with slow calls")
    ms = slow_mount.CALL_MS
    parser.add_argument("--call-ms", type=float, default=ms, help=f"what a call takes on this mount (default {ms:g})")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="DATASET", help="compare two datasets row by row")
    for name, kind in (("root", Path), ("out", Path), ("sample", int)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    return parser.parse_args()


def _refuse_small_disk(directory: Path, pages: int) -> None:
    needed, free = pages * _TREE_BYTES, shutil.disk_usage(directory).free
    if free < needed:
        sys.exit(f"{directory} has {free / 1e9:.0f} GB, and {needed / 1e9:.0f} GB are needed; see --work and --large")


def _bench_mount(tree: Tree, directory: Path, call_ms: float) -> None:
    sample = multiplied(tree, directory / "mounted", min(slow_mount.PAGES, tree.pages))
    slow_mount.bench(sample.root, sample.pages, directory, PROCESSES, call_ms)


def _bench(tree: Tree, directory: Path, large: int) -> None:
    print(f"{PROCESSES} processes, {os.cpu_count()} cores; page cache warm for all\n\n{_HEAD}", flush=True)
    for task in (_PARQUET, _WARC, _JSONL):
        _merge(tree, task, directory)
    for name, sample in (("soup", _SOUP_PAGES), ("trafilatura", _TRAFILATURA_PAGES)):
        _recipe(tree, name, sample, directory)
    sample = multiplied(tree, directory / "sample", min(_MAIN_PAGES, tree.pages))
    for task in _TEXTS:
        _merge(sample, task, directory, tree.pages)
    if large:
        many = multiplied(tree, directory / "large", large)
        for task in (_PARQUET, _WARC):
            _merge(many, task, directory)
    print(f"\n{_NOTE}")


_NOTE = """\
largest: peak RSS of the largest process. all: peak PSS of all processes, sampled. Loops run in one process.
A sample has the pages with the first keys. These are hashes, so the sample is spread over the site,
and the time for all pages is in proportion."""


# -- trees


def _crawled(root: Path, pages: int) -> Tree:
    with corpus.serve() as served:
        cost = measure.run(CRAWLERS[0].command(served.rust, root, pages))
    if cost.exit_code:
        sys.exit(f"fscrawl ended with {cost.exit_code}:\n{cost.message}")
    return Tree(root, warm(root))


def warm(root: Path) -> int:
    """Read a tree once; give its number of pages."""
    for path in root.glob("htmls/*/*.html"):
        path.read_bytes()
    return sum(len(path.read_bytes()) > 0 for path in root.glob("links/*/*.json"))


def multiplied(tree: Tree, root: Path, pages: int) -> Tree:
    """Make a larger tree: more hosts with the pages of the one in `tree`, each body with a line that names its host.

    So no two pages have the same body; pages with the same path are near-duplicates.
    """
    (host,) = (path.name for path in (tree.root / "links").iterdir())
    known = [path.read_bytes() for path in sorted((tree.root / "links" / host).iterdir())]
    origin = f"http://{host.replace('_', ':')}/"
    addresses = {record["key"]: record["url"] for record in map(json.loads, known)}
    shutil.copytree(
        tree.root, root, ignore=lambda directory, names: names if Path(directory).name in _DIRECTORIES else []
    )
    copies = itertools.product(range(-(-pages // len(known))), known)
    for number, data in itertools.islice(copies, pages):
        _copy(tree.root / "htmls" / host, data, root, f"site-{number:03}.example", origin, addresses)
    return Tree(root, pages)


_DIRECTORIES = frozenset({"htmls", "links", "errs"})


def _copy(bodies: Path, data: bytes, root: Path, host: str, origin: str, addresses: dict[str, str]) -> None:
    """Write a copy of a page, as a page of `host`."""
    new = f"http://{host}/"
    record = json.loads(data.decode().replace(origin, new))
    if record["sha256"]:
        body = (bodies / f"{record['key']}.html").read_bytes() + f"\n<p>This copy is of {host}.</p>\n".encode()
        record |= {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    record["key"] = urls.key(record["url"])
    if record["referrer"]:
        record["referrer"] = urls.key(addresses[record["referrer"]].replace(origin, new))
    for directory in ("htmls", "links"):
        (root / directory / host).mkdir(exist_ok=True)
    if record["sha256"]:
        (root / "htmls" / host / f"{record['key']}.html").write_bytes(body)
    (root / "links" / host / f"{record['key']}.json").write_bytes(records.PageRecord.from_json(_json(record)).to_json())


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


# -- runs


def _merge(tree: Tree, task: Task, directory: Path, of: int = 0) -> None:
    """Measure a merge of `tree`, which may be a sample of a tree with `of` pages."""
    out = Path(tempfile.mkdtemp(dir=directory))
    command = [sys.executable, "-m", "fscrawl", "merge", "--root", str(tree.root), "--out", str(out)]
    command += ["--processes", str(PROCESSES), *task.arguments]
    cost, load = _run(command, task.name)
    pages = json.loads((out / "manifest.json").read_bytes())["counts"]["records"]
    wanted = []
    if task.pages_per_s and tree.pages >= _WHOLE_SITE:
        wanted.append(f"≥ {task.pages_per_s:g} pages/s: {_yes(pages / cost.wall_s >= task.pages_per_s)}")
    if task.bounded:
        wanted.append(f"all ≤ {_MEMORY_BYTES / 1e6:.0f} MB: {_yes(cost.sum_peak_bytes <= _MEMORY_BYTES)}")
    _print(tree, task.name, pages, cost, load, ", ".join(wanted) or _extrapolated(of, pages, cost))


def _recipe(tree: Tree, name: str, sample: int, directory: Path) -> None:
    out = Path(tempfile.mkdtemp(dir=directory)) / "pages.jsonl"
    command = [sys.executable, "-m", "benchmarks.merge", "--recipe", name, "--root", str(tree.root)]
    cost, load = _run([*command, "--sample", str(sample), "--out", str(out)], name)
    pages = len(out.read_bytes().splitlines())
    words = {"soup": "loop: Beautiful Soup, html5lib", "trafilatura": "loop: trafilatura"}[name]
    _print(tree, words, pages, cost, load, _extrapolated(tree.pages, pages, cost))


def _run(command: list[str], name: str) -> tuple[measure.Cost, float]:
    """Run a command; give its cost and the load before it."""
    os.sync()  # the writes of the run before must not slow this one down
    load = os.getloadavg()[0]
    cost = measure.run(command, sample_s=_SAMPLE_S)
    if cost.exit_code:
        sys.exit(f"{name} ended with {cost.exit_code}:\n{cost.message}")
    return cost, load


def _yes(is_reached: bool) -> str:
    return "yes" if is_reached else "NO"


def _extrapolated(whole: int, pages: int, cost: measure.Cost) -> str:
    if pages >= whole:
        return ""
    return f"a sample: all {whole} would take {cost.wall_s * whole / pages / 60:.1f} minutes"


def _print(tree: Tree, name: str, pages: int, cost: measure.Cost, load: float, wanted: str) -> None:
    row = f"{tree.pages:7} {name:30} {pages:7} {cost.wall_s:7.1f} {pages / cost.wall_s:8.1f}"
    row += f" {1000 * cost.cpu_s / pages:12.2f} {cost.peak_bytes / 1e6:11.0f} {cost.sum_peak_bytes / 1e6:7.0f}"
    print(f"{row} {load:5.1f}  {wanted}".rstrip(), flush=True)


# -- what one would write without merge: a loop over the pages that writes a line of JSON for each


def _soup(root: Path, sample: int, out: Path) -> None:
    from bs4 import BeautifulSoup  # here, so that each recipe pays for its own

    _write(out, ((r, BeautifulSoup(body, "html5lib").get_text()) for r, body in _stored(root, sample)))


def _trafilatura(root: Path, sample: int, out: Path) -> None:
    import trafilatura

    _write(out, ((r, trafilatura.extract(body.decode("utf-8", "replace"))) for r, body in _stored(root, sample)))


_RECIPES = {"soup": _soup, "trafilatura": _trafilatura}


def _stored(root: Path, sample: int) -> Iterator[tuple[dict[str, object], bytes]]:
    """Give records and bodies."""
    for path in itertools.islice(sorted(root.glob("links/*/*.json")), sample):
        body = root / "htmls" / path.parent.name / f"{path.stem}.html"
        if body.exists():
            yield json.loads(path.read_bytes()), body.read_bytes()


def _write(out: Path, pages: Iterable[tuple[dict[str, object], str | None]]) -> None:
    with out.open("w", encoding="utf-8", errors="replace") as file:
        file.writelines(json.dumps({**record, "text": text}, ensure_ascii=False) + "\n" for record, text in pages)


if __name__ == "__main__":
    main()
