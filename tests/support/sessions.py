"""Who lives in a session: a command under test and all processes that it has started."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

GONE_S = 5.0  # so long after its parent a process of a pool may live


def session(leader: int) -> list[int]:
    """Give the processes of a session that are no zombies."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, _, rest = path.read_text().partition(" ")
            state, _, _, owner = rest.rpartition(")")[2].split()[:4]
            if int(owner) == leader and state not in "ZX":
                found.append(int(pid))
    return found


def await_end(leader: int) -> None:
    """Wait until nobody of a session lives; the test fails past the deadline."""
    deadline = time.monotonic() + GONE_S
    while left := session(leader):
        assert time.monotonic() < deadline, f"still there after {GONE_S} s: {left}"
        time.sleep(0.02)
