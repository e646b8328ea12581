"""The memory of this process: how it takes it from the kernel, and how much it has."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # malloc.h
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_CGROUP = Path("/sys/fs/cgroup")
_KEPT_BYTES = 32 * 1024 * 1024
_RARELY = (50_000, 20, 20)  # new objects, and rounds, until the garbage collector looks


def keep_freed_memory() -> None:
    """Let malloc keep memory that a parsed page has freed.

    The next page needs it again, and getting it from the kernel bit by bit costs a third of the parsing. One arena is
    enough, because only one thread runs at a time.
    """
    with contextlib.suppress(OSError, AttributeError):  # another libc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_ARENA_MAX, 1)


def look_for_cycles_rarely() -> None:
    """Let the garbage collector look seldom, and never at what is loaded by now.

    It would find next to nothing: modules stay, pending URLs stay for long, and a page's nodes and values are in no
    cycle, so they go without it. But each look costs time, with half a million pending URLs a lot.
    """
    gc.freeze()
    gc.set_threshold(*_RARELY)


def restrain_libraries() -> None:
    """Let Arrow take memory as all else does, here and in children: its own pool would hold a quarter more.

    And let numpy start no thread for each processor: nothing here would use them, each process would have them, and
    where the system gives none, OpenBLAS ends the process by SIGINT. Before Arrow and numpy are loaded.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def limit_bytes(cgroup: Path = _CGROUP) -> int:
    """Return how much memory this process may have at most: of the computer, or of the container (cgroup 2)."""
    computer = os.sysconf("SC_PHYS_PAGES") * _PAGE_BYTES
    try:
        return min(computer, int((cgroup / "memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):  # no container, or "max"
        return computer


def anonymous_bytes() -> int:
    """Return the unshared memory of this process and its descendants; 0 if /proc does not show it."""
    total = 0
    ahead = [os.getpid()]
    while ahead:
        pid = ahead.pop()
        with contextlib.suppress(OSError, ValueError, IndexError):
            resident, shared = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1:3]
            total += (int(resident) - int(shared)) * _PAGE_BYTES
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                ahead += map(int, children.read_text(encoding="ascii").split())
    return total
