"""What an index of searches costs, and what it gives: pages of Debian's rust-doc, as many as asked for.

    python -m benchmarks.search [--pages N]

A dataset is made of the texts of rust-doc, again and again under other hosts until there are N pages, without a crawl.
Then an index is made, and asked by a process of its own, as a user does it. One merge more adds a hundredth.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks import corpus
from fscrawl import urls
from fscrawl.dataset import schema, search
from fscrawl.dataset.dataset_dir import MANIFEST, DatasetDir
from fscrawl.dataset.formats import Parquet
from fscrawl.dataset.manifest import Counts, Manifest, Part
from fscrawl.dataset.options import Options
from fscrawl.parse.text import read
from fscrawl.util.progress import SILENT

_PART_ROWS = 25_000
_ASKED = ("iterator", "borrow checker", '"hash map"', "str*", "the", "the of a -nothing", "xyzzy")
_MB = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description="The index of searches.")
    parser.add_argument("--pages", type=int, default=20_000, help="in the dataset (default 20000)")
    arguments = parser.parse_args()
    corpus.install()
    with tempfile.TemporaryDirectory(prefix="search-") as directory:
        _measure(Path(directory), arguments.pages)


def _measure(root: Path, count: int) -> None:
    directory = DatasetDir(root)
    pages = _pages()
    parts, text_bytes = _parts(directory, itertools.islice(pages, count))
    _indexed(directory, parts, f"{count:,} pages, {text_bytes / _MB:.0f} MB of text", text_bytes)
    more, text_bytes = _parts(directory, itertools.islice(pages, count // 100), len(parts))
    _indexed(directory, [*parts, *more], f"{count // 100:,} pages more", 0)
    for asked in _ASKED:
        _ask(root, asked)


def _pages() -> Iterator[dict[str, Any]]:
    """Give pages without end."""
    root = (corpus.DOC / "rust-doc" / "html").resolve()
    texts = []
    for path in sorted(root.rglob("*.html"))[::4]:
        found = read(path.read_bytes())
        texts.append((str(path.relative_to(root)), found.text))
    for host in itertools.count():
        for name, text in texts:
            url = f"http://h{host}.example/{name}"
            title = text[:60].partition("\n")[0]
            yield {"url": url, "key": urls.key(url), "fetch_time": datetime.now(UTC), "title": title, "text": text}


def _parts(directory: DatasetDir, rows: Iterator[dict[str, Any]], first: int = 0) -> tuple[list[Part], int]:
    parts: list[Part] = []
    text_bytes = 0
    columns = schema.pages([], Options(html=False))
    while chunk := list(itertools.islice(rows, _PART_ROWS)):
        name = f"pages/part-0001-{first + len(parts):05}.parquet"
        with directory.publish(name) as temporary:
            writer = Parquet(temporary, columns)
            for begin in range(0, len(chunk), 500):
                writer.write(pa.RecordBatch.from_pylist(chunk[begin : begin + 500], schema=columns))
            writer.close()
        parts.append(directory.part(name, len(chunk)))
        text_bytes += sum(len(row["text"].encode()) for row in chunk)
    return parts, text_bytes


def _indexed(directory: DatasetDir, parts: list[Part], what: str, text_bytes: int) -> None:
    made = Manifest(
        made_by="fscrawl",
        crawl="c1",
        options=Options(),
        counts=Counts(0, 0, 0, 0, 0),
        left_out={},
        fields={},
        runs=(),
        parts=tuple(parts),
    )
    directory.write_json(MANIFEST, made)
    directory.path("search").mkdir(exist_ok=True)
    before, began = time.process_time(), time.perf_counter()
    had = _memory()
    search.update(directory, made, SILENT)
    spent, took = time.process_time() - before, time.perf_counter() - began
    files = list(directory.path("search").iterdir())
    size = sum(path.stat().st_size for path in files)
    ratio = f", {size / text_bytes:.2f} of the text" if text_bytes else ""
    print(f"{what}: indexed in {took:.1f} s ({spent:.1f} s of CPU);")
    print(f"  {len(files)} files, {size / _MB:.0f} MB{ratio}; memory grew by {_memory() - had:.0f} MB", flush=True)


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _ask(root: Path, asked: str) -> None:
    """Ask as a user does, and show the time of the whole command and of the search in it."""
    words = [sys.executable, "-m", "fscrawl", "search", asked, "--dataset", str(root)]
    began = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    print(f"  {asked:20} {done.stdout.splitlines()[-1]}; the command {took:.2f} s", flush=True)


if __name__ == "__main__":
    main()
