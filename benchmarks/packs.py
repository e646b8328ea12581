"""What the two layouts of a tree cost, side by side: files, bytes, and the seconds of what people do with a tree.

The seconds are those of the clock, and in brackets those of processors, which a busy computer changes less.

    python -m benchmarks.packs [--pages N] [--hosts N] [--work DIR] [--no-merge] [--call-ms MS]

Makes a tree of N small pages in each layout, through `Tree.put_page`. The commands are measured whole, each as a
process of its own, with a warm page cache. The first machine surveys all records, the second one reads the logs. The
tree of files is packed at last, and the other one compacted and unpacked. So what is deleted as packs was files, and
the other way round.

`--call-ms`: another measurement, in its place. A crawl stores the pages over sshfs on a server so far away, and a merge
reads them there; calls are the requests that reach the server.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fscrawl import store, urls
from fscrawl.config.settings import Settings, apply, render
from fscrawl.storage.records import FORMAT, PageRecord, TreeRecord, new_machinery, timestamp
from fscrawl.store import Tree
from tests.support.shares.distance import Distance
from tests.support.shares.sshfs import Sshd
from tests.support.web import Web, linked_site

BODY_BYTES = 4_000
WRITERS = 4  # each is a process of a crawl, and has packs of its own


def make(root: Path, layout: str, pages: int, hosts: int) -> None:
    record = TreeRecord(FORMAT, "bench", timestamp(0), 512, "host", new_machinery(), layout)
    store.create(root, record, render(apply(Settings(), [f"store.layout={layout}"])), "http://h0.example/0\n")
    trees = [Tree(root, f"bench-{number}-aa", record=record) for number in range(WRITERS)]
    for number in range(pages):
        host = f"h{number % hosts}.example"
        tree = trees[number % hosts % WRITERS]
        url = f"http://{host}/{number}"
        words = "".join(hashlib.sha224(f"{url} {part}".encode()).hexdigest() for part in range(BODY_BYTES // 112))
        body = f"<title>{number}</title><p>{words}<p>{'all pages have this. ' * (BODY_BYTES // 42)}".encode()
        tree.put_page(host, _record(url, body), body)
    for tree in trees:
        tree.close()


def _record(url: str, body: bytes) -> PageRecord:
    headers = {"content-type": "text/html; charset=utf-8", "server": "bench", "date": "Sat, 21 Nov 2026 10:00:00 GMT"}
    return PageRecord(
        url=url,
        key=urls.key(url),
        depth=1,
        referrer="",
        fetched_at=timestamp(1.8e9),
        machine="bench-1-aa",
        status=200,
        headers=headers,
        bytes=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        elapsed=0.1,
        links=(),
        encoding="utf-8",
        encoding_source="declared",
    )


def size(root: Path) -> tuple[int, float]:
    """Give the files of a tree, and the megabytes that they take on the disk."""
    found = [(Path(above) / name).lstat() for above, _, names in os.walk(root) for name in names]
    return len(found), sum(each.st_blocks for each in found) * 512 / 1e6


def took(work: Callable[[], object]) -> tuple[float, float]:
    """Do some work; give the seconds of the clock, and those of processors with all processes that have ended."""
    began, before = time.monotonic(), os.times()
    work()
    after = os.times()
    return time.monotonic() - began, sum(after[:4]) - sum(before[:4])


def fscrawl(*words: str | Path) -> Callable[[], object]:
    def run() -> None:
        done = subprocess.run(
            [sys.executable, "-m", "fscrawl", *map(str, words)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--work", type=Path, help="a directory on the disk to measure")
    parser.add_argument("--no-merge", action="store_true", help="leave the merge out, which takes longest")
    parser.add_argument("--call-ms", type=float, help="crawl and merge over sshfs, where each call takes so long")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        if options.call_ms:
            on_slow_mount(Path(work), options.pages, options.hosts, options.call_ms)
            return
        rows = measured(Path(work), options.pages, options.hosts, merges=not options.no_merge)
    print(f"{options.pages:,} pages of {BODY_BYTES:,} bytes on {options.hosts:,} hosts, {WRITERS} writers\n")
    print("| | files | packs |\n|---|---|---|")
    for name, values in rows.items():
        print(f"| {name} | {values.get('files', '')} | {values.get('packs', '')} |")


def measured(work: Path, pages: int, hosts: int, *, merges: bool) -> dict[str, dict[str, str]]:
    rows: dict[str, dict[str, str]] = {}

    def note(name: str, layout: str, work_: Callable[[], object]) -> None:
        clock_s, processor_s = took(work_)
        rows.setdefault(f"{name}, s", {})[layout] = f"{clock_s:.2f} ({processor_s:.2f})"
        print(f"{layout}: {name}: {clock_s:.2f} ({processor_s:.2f})", file=sys.stderr, flush=True)

    roots = {layout: work / layout for layout in ("files", "packs")}
    for layout, root in roots.items():
        note("make", layout, lambda layout=layout, root=root: make(root, layout, pages, hosts))  # type: ignore[misc]
        files, megabytes = size(root)
        rows.setdefault("files", {})[layout] = f"{files:,}"
        rows.setdefault("MB on the disk", {})[layout] = f"{megabytes:.0f}"
        note("show of one page", layout, fscrawl("show", "--root", root, "http://h0.example/0"))
        note("first machine, which surveys", layout, fscrawl("crawl", "--root", root))
        note("another machine", layout, fscrawl("crawl", "--root", root))
        note("audit", layout, fscrawl("audit", "--root", root))
        if merges:
            note("merge to Parquet", layout, fscrawl("merge", "--root", root, "--out", work / f"{layout}-data"))
    note("pack", "files", fscrawl("pack", "--root", roots["files"]))
    note("compact", "packs", fscrawl("compact", "--root", roots["packs"]))
    note("unpack", "packs", fscrawl("unpack", "--root", roots["packs"]))
    os.sync()
    note("delete", "files", lambda: shutil.rmtree(roots["packs"]))
    note("delete", "packs", lambda: shutil.rmtree(roots["files"]))
    return rows


def on_slow_mount(work: Path, pages: int, hosts: int, call_ms: float) -> None:
    addresses = [f"127.0.88.{number}" for number in range(1, hosts + 1)]
    settings = ["politeness.delay=0", 'fetch.allow_addresses=["127.0.0.0/8"]', "crawl.scope=host"]
    print(f"{pages:,} pages on {hosts} hosts, {WRITERS} workers, {call_ms:g} ms a call of sshfs\n")
    print("| layout | crawl, pages/s | calls a page | merge, pages/s | calls a page |\n|---|---|---|---|---|")
    with Web(linked_site(pages // hosts, 10, body_bytes=BODY_BYTES), addresses) as web:
        for layout in ("files", "packs"):
            backing = work / layout
            backing.mkdir()
            with (
                Sshd(counting=True) as sshd,
                Distance(sshd.port, call_ms / 2000) as port,
                sshd.mount(backing, port=port) as mount,
            ):
                root = mount / "tree"
                chosen = [*settings, f"store.layout={layout}"]
                words = [word for each in chosen for word in ("--set", each)]
                seeds = [f"http://{address}:{web.port}/" for address in addresses]
                crawl = fscrawl("crawl", "--root", root, "--workers", str(WRITERS), *words, *seeds)
                before = sshd.requests()
                crawl_s, crawl_calls = took(crawl)[0], (sshd.requests() - before).total()
                before = sshd.requests()
                merge_s = took(fscrawl("merge", "--root", root, "--out", work / f"{layout}-data"))[0]
                merge_calls = (sshd.requests() - before).total()
            rates = (
                f"{pages / crawl_s:.0f} | {crawl_calls / pages:.2f} | {pages / merge_s:.0f} | {merge_calls / pages:.2f}"
            )
            print(f"| {layout} | {rates} |", flush=True)


if __name__ == "__main__":
    main()
