"""How long `fscrawl status` takes on a tree with the heartbeats of 20 machines and one day.

    python -m benchmarks.status [DIRECTORY]

The logs say that there are a million pages. Only a few thousand are there, because status does not read them. Prints
the seconds of the whole command, the fastest and the slowest of five runs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fscrawl import store
from fscrawl.config.settings import Settings, render
from fscrawl.fleet.beat import Beat, Hello, line_of
from fscrawl.storage.records import FORMAT, TreeRecord, new_machinery, timestamp

MACHINES = 20
BEAT_S = 10
DAY_S = 86_400
PAGES = 1_000_000
FILES = 5_000
RUNS = 5


def build(root: Path) -> int:
    """Make the tree; return the bytes of its logs."""
    record = TreeRecord(FORMAT, "bench", timestamp(0), 512, "host", new_machinery())
    store.create(root, record, render(Settings()), "http://a.example/\n")
    for host in range(FILES // 100):
        directory = root / "links" / f"h{host}.example"
        directory.mkdir()
        for number in range(100):
            (directory / f"{number:024x}.json").touch()
    beats = b"".join(line_of(_beat(number)) for number in range(DAY_S // BEAT_S))
    total = 0
    for machine in range(MACHINES):
        name = f"machine{machine:02}-{1000 + machine}-{machine:016x}"
        hello = Hello(name, "far", "another", "another", 1, "1", time.time() - DAY_S, FORMAT)
        total += (root / ".fscrawl" / "machines" / f"{name}.log").write_bytes(line_of(hello) + beats)
    return total


def _beat(number: int) -> Beat:
    part = (number + 1) * BEAT_S / DAY_S
    return Beat(
        number,
        generation=1,
        log=number * 997,
        read="0" * 16,
        held="0" * 16,
        rules="0" * 16,
        shards=25,
        dead_after=60.0,
        pages=int(PAGES / MACHINES * part),
        bytes=int(2e10 * part),
        errors={"http-4xx": number // 9},
        pending=50_000,
        in_flight=32,
        hosts=850,
        memory=250_000_000,
        settings="0" * 8,
        settings_at=timestamp(time.time()),
        resting=3,
        gave_up=1,
        at=time.time() - DAY_S + (number + 1) * BEAT_S,
    )


def measure(root: Path, *flags: str) -> list[float]:
    """Give the seconds of each run, ascending."""
    taken = []
    for _ in range(RUNS):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "fscrawl", "status", "--root", str(root), *flags],
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=60,
        )
        taken.append(time.perf_counter() - began)
    return sorted(taken)


def main() -> None:
    where = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=where) as directory:
        log_bytes = build(Path(directory) / "tree")
        print(f"{MACHINES} machines, {PAGES:,} pages by their logs, {log_bytes / 1e6:.0f} MB of logs")
        for flags in ((), ("--json",)):
            taken = measure(Path(directory) / "tree", *flags)
            print(f"status {' '.join(flags):<8} {taken[0]:.2f} to {taken[-1]:.2f} s")


if __name__ == "__main__":
    main()
