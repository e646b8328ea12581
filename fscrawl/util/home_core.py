"""The core of the processor that all threads of this process run on: its home.

Only one thread of a Python process runs at a time. If its threads are spread over the cores, each call of the system
hands the interpreter's lock to a thread on another core, which has to wake up first. At home, the thread that has
called mostly goes on. That saves an eighth of the CPU time of a crawl of fast hosts.

Promise: a process that has work, but must share its home, moves to a core that is idle, within seconds. What somebody
else says (`taskset`, a container) holds: then this process goes where the system puts it, as it does where the system
cannot bind processes to cores.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_LOOK_EVERY_S = 1.0
_HAS_WORK = 0.1  # of a core: what takes less does not care where it is
_IS_FULL = 0.9  # of a core that has no time left for us
_IS_SHARED = 0.25  # so much of our home is taken by others
_IS_IDLE = 0.5
_STAT, _THREADS = Path("/proc/stat"), "/proc/self/task"
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_IDLE, _WAITS_FOR_DISK = 3, 4  # columns of /proc/stat, of which the first eight are the whole time


class Ticks(NamedTuple):
    """What a core has counted since the system began."""

    idle: int
    all: int


def homes(processes: int) -> list[int | None]:
    """Choose the homes of several processes, each another core if there are so many; None: a process has none.

    Another machine on this computer begins elsewhere, by chance.
    """
    try:
        cores = os.sched_getaffinity(0)
    except (OSError, AttributeError):
        return [None] * processes
    if len(cores) == 1:
        return [None] * processes
    order = sorted(cores, key=lambda core: (_rank(core), core))
    first = os.getpid()
    return [order[(first + number) % len(order)] for number in range(processes)]


def _rank(core: int) -> int:
    """Give the place of a core among those that share its circuits: two of them together do little more than one."""
    with contextlib.suppress(OSError, ValueError):
        first = Path(_SIBLINGS.format(core)).read_text(encoding="ascii").replace("-", ",").split(",")[0]
        return int(core != int(first))
    return 0


class HomeCore:
    """Keeps this process at home. One thread uses it: the main one."""

    def __init__(self, core: int | None, rng: random.Random | None = None) -> None:
        """`core`: None if the process has no home."""
        self._core = core
        self._rng = rng or random.Random()
        self._allowed: set[int] = set()
        self._due = 0.0
        self._looked_at = self._used_s = 0.0
        self._ticks: Mapping[int, Ticks] | None = None  # at the last look, if there was work then

    @property
    def core(self) -> int | None:
        """The home; None if there is none (any more)."""
        return self._core

    def settle(self) -> None:
        """Bring all threads home. Threads and processes that they start are there, too."""
        if self._core is None:
            return
        try:
            self._allowed = os.sched_getaffinity(0)
            self._bring(self._core)
        except OSError:
            self._core = None

    def look(self, now: float) -> None:
        """Move if that is better and a second has passed; call it often. `now`: monotonic time."""
        if self._core is None or now < self._due:
            return
        self._due = now + _LOOK_EVERY_S
        if os.sched_getaffinity(0) != {self._core}:  # somebody else has said where to be
            self._core = None
            return
        used_s = time.process_time()
        own = (used_s - self._used_s) / max(now - self._looked_at, _LOOK_EVERY_S)
        self._looked_at, self._used_s = now, used_s
        before, self._ticks = self._ticks, read_ticks() if own > _HAS_WORK else None
        if before is not None and self._ticks is not None:
            better = better_cores(self._core, own, before, self._ticks) & self._allowed
            if better and self._rng.random() < 0.5:  # of two that share a home, one is to go
                self._move(self._rng.choice(sorted(better)))

    def _move(self, core: int) -> None:
        self._ticks = None
        with contextlib.suppress(OSError):
            self._bring(core)
            self._core = core

    def _bring(self, core: int) -> None:
        os.sched_setaffinity(0, {core})
        for thread in os.listdir(_THREADS):  # noqa: PTH208 - names are enough
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.sched_setaffinity(int(thread), {core})


def read_ticks() -> dict[int, Ticks]:
    """Give what each core has counted; {} if the system does not tell."""
    found = {}
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in _STAT.read_text(encoding="ascii").splitlines():
            name, *words = line.split()
            if name.startswith("cpu") and name != "cpu":
                ticks = list(map(int, words[:8]))
                found[int(name.removeprefix("cpu"))] = Ticks(ticks[_IDLE] + ticks[_WAITS_FOR_DISK], sum(ticks))
    return found


def better_cores(home: int, own: float, before: Mapping[int, Ticks], after: Mapping[int, Ticks]) -> set[int]:
    """Give the cores that are better than `home`, if it is full and shared. `own`: the part of it that we have taken.

    >>> before = {0: Ticks(50, 1000), 1: Ticks(700, 1000)}
    >>> better_cores(0, 0.5, before, {0: Ticks(50, 1100), 1: Ticks(790, 1100)})
    {1}
    >>> better_cores(0, 1.0, before, {0: Ticks(50, 1100), 1: Ticks(790, 1100)})
    set()
    """
    idle = {}
    for core in before.keys() & after.keys():
        passed = after[core].all - before[core].all
        if passed > 0:
            idle[core] = (after[core].idle - before[core].idle) / passed
    busy = 1 - idle.get(home, 1.0)
    if busy < _IS_FULL or busy - own < _IS_SHARED:
        return set()
    return {core for core, share in idle.items() if core != home and share > _IS_IDLE}
