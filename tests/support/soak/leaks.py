"""What a machine that nobody touches holds (file handles, threads, memory) must not grow with the crawl's troubles."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# A machine knows each URL by eight bytes, each other machine by its log and feed: tens of bytes for each of thousands.
# What really leaks does so with each of hundreds of takeovers.
GROWTH = {"handles": 24, "threads": 6, "memory_bytes": 64 << 20}
OPEN_PACKS = 256  # files that a process keeps open at most (`storage.packs`)
_WARM = 0.25  # of all samples: caches fill, and shards come in


@dataclass(frozen=True, slots=True)
class Sample:
    """All processes of one machine together. `memory_bytes`: private and a share of what is shared (PSS)."""

    at: float
    processes: int
    handles: int
    threads: int
    memory_bytes: int


def sample(pids: Sequence[int]) -> Sample:
    processes = handles = threads = memory = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            here = Path("/proc", str(pid))
            rollup = (here / "smaps_rollup").read_text(encoding="ascii")
            handles += sum(1 for _ in (here / "fd").iterdir())
            threads += sum(1 for _ in (here / "task").iterdir())
            memory += next(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))
            processes += 1
    return Sample(time.monotonic(), processes, handles, threads, memory)


def growth(samples: Sequence[Sample]) -> dict[str, int]:
    """Give what the last samples hold more than the first ones after the beginning; medians, for both fluctuate."""
    warm = list(samples[int(len(samples) * _WARM) :])
    if len(warm) < 2:
        return dict.fromkeys(GROWTH, 0)
    third = max(1, len(warm) // 3)
    grown = {}
    for name in GROWTH:
        values = [getattr(each, name) for each in warm]
        grown[name] = sorted(values[-third:])[third // 2] - sorted(values[:third])[third // 2]
    return grown


def leaks(samples: Sequence[Sample], *, in_packs: bool = False) -> list[str]:
    """Name what has grown beyond what is right. `in_packs`: processes keep the packs of others open."""
    grown = growth(samples)
    right = {**GROWTH, "handles": GROWTH["handles"] + in_packs * OPEN_PACKS * max(each.processes for each in samples)}
    return [
        f"the machine that was left alone holds {grown[name]} more {name}"
        for name in GROWTH
        if grown[name] > right[name]
    ]
