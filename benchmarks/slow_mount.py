"""How fast does `fscrawl merge` read a tree on a mount where each call takes a while, beside a loop over its files?

    python -m benchmarks.merge --only-mount [--call-ms MS]

The mount is a file system of our own (FUSE, `tests.support.passthrough`), which passes each call on after that time
and keeps nothing: like sshfs or NFS on a distant server when nothing is in its caches. The loop opens and reads the
record of a page and then its body, one file after the other, and does nothing with them.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import measure
from tests.support.faults import Fault
from tests.support.passthrough import Passthrough, missing

CALL_MS = 5.0
WANTED = 10  # times as fast as the loop
PAGES = 4000
_LOOP_PAGES = 150


def bench(tree: Path, pages: int, directory: Path, processes: int, call_ms: float) -> None:
    """Print how fast both are, and the ratio."""
    if lacking := missing():
        print(f"\nmount with {call_ms:g} ms a call: not measured, without {' and '.join(lacking)}")
        return
    with Passthrough(tree) as mount:
        mount.inject(Fault("slow", every=1, seconds=call_ms / 1000))
        loop, files = _loop(mount.path)
        before = mount.calls()
        merged, cpu_s = _merge(mount.path, Path(tempfile.mkdtemp(dir=directory)), processes)
        calls = (mount.calls() - before).total()
    print(f"\nmount with {call_ms:g} ms a call, {pages} pages, {processes} processes, {calls / pages:.1f} calls a page")
    print(f"loop, one file after the other: {loop:8.1f} pages/s ({_LOOP_PAGES} pages, {files} files)")
    print(f"merge, parquet with text:       {merged:8.1f} pages/s, CPU {1000 * cpu_s / pages:.2f} ms/page")
    print(f"ratio: {merged / loop:.1f}; wanted ≥ {WANTED}: {'yes' if merged >= WANTED * loop else 'NO'}", flush=True)


def _loop(root: Path) -> tuple[float, int]:
    """Read some pages; give pages per second, and the number of files."""
    records = list(itertools.islice(sorted(root.glob("links/*/*.json")), _LOOP_PAGES))
    began, files = time.monotonic(), 0
    for path in records:
        record = json.loads(path.read_bytes())
        if record["sha256"]:
            (root / "htmls" / path.parent.name / f"{path.stem}.html").read_bytes()
            files += 1
    return len(records) / (time.monotonic() - began), files + len(records)


def _merge(root: Path, out: Path, processes: int) -> tuple[float, float]:
    """Merge all pages; give pages per second, with the start of Python, and CPU seconds."""
    command = [sys.executable, "-m", "fscrawl", "merge", "--root", str(root), "--out", str(out)]
    cost = measure.run([*command, "--processes", str(processes)])
    if cost.exit_code:
        sys.exit(f"merge ended with {cost.exit_code}:\n{cost.message}")
    pages = json.loads((out / "manifest.json").read_bytes())["counts"]["records"]
    return pages / cost.wall_s, cost.cpu_s
