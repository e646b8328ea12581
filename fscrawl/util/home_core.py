"""The core of the processor that all threads of this process run on: its home.

Only one thread of a Python process runs at a time. If its threads are spread over the cores, each call of the system
hands the interpreter's lock to a thread on another core, which has to wake up first. At home, the thread that has
called mostly goes on. That saves an eighth of the CPU time of a crawl of fast hosts.

Promise: a core is the home of one process at most, of all of fscrawl on this computer, since of two that share one, one
may keep the other waiting for seconds. A process that finds none runs anywhere, and so does one that somebody else has
bound to other cores (`taskset`, a container). One that must share its home with others moves to a core that is better
within seconds, if there is one. Containers with networks of their own do not see each other's homes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_LOOK_EVERY_S = 1.0
_IS_FULL = 0.9  # of a core that has no time left for us
_IS_SHARED = 0.25  # so much of our home is taken by others
_IS_WORTH_IT = 0.75  # of what we have at home: whoever stays there gets that in addition
_STAT, _THREADS = Path("/proc/stat"), "/proc/self/task"
_CORE = "/sys/devices/system/cpu/cpu{}"  # a directory; who holds its lock is at home there, until it ends
_SIBLINGS = "topology/thread_siblings_list"
_IDLE, _WAITS_FOR_DISK = 3, 4  # columns of /proc/stat, of which the first eight are the whole time


class Ticks(NamedTuple):
    """What a core has counted since the system began."""

    idle: int
    all: int


def homes(processes: int) -> list[list[int]]:
    """Give for each of several processes the cores that it may be at home on, in the order in which it tries them.

    If there are more processes than cores, none gets any: all cores have enough to do, and it would make no difference.
    """
    cores: set[int] = set()
    with contextlib.suppress(OSError, AttributeError):  # no Linux
        cores = os.sched_getaffinity(0)
    if len(cores) == 1 or processes > len(cores):
        return [[] for _ in range(processes)]
    order = sorted(cores, key=lambda core: (_rank(core), core))
    first = random.randrange(len(order))
    return [[order[(first + number + n) % len(order)] for n in range(len(order))] for number in range(processes)]


def _rank(core: int) -> int:
    """Give the place of a core among those that share its circuits: two of them together do little more than one."""
    with contextlib.suppress(OSError, ValueError):
        listed = Path(_CORE.format(core), _SIBLINGS).read_text(encoding="ascii")
        return int(core != int(listed.replace("-", ",").split(",")[0]))
    return 0


class HomeCore:
    """Keeps this process at home. One thread uses it: the main one."""

    def __init__(self, cores: Sequence[int]) -> None:
        """`cores`: see `homes`."""
        self._cores = cores
        self._core: int | None = None
        self._lock: int | None = None  # an open file
        self._due = 0.0
        self._looked_at = self._used_s = 0.0
        self._ticks: Mapping[int, Ticks] = {}  # at the last look

    @property
    def core(self) -> int | None:
        """The home; None if there is none."""
        return self._core

    def look(self, now: float) -> None:
        """Find a home, or move to a better one. Call it often: it does something once a second. `now`: monotonic."""
        if not self._cores or now < self._due:
            return
        self._due = now + _LOOK_EVERY_S
        expected = set(self._cores) if self._core is None else {self._core}
        if os.sched_getaffinity(0) != expected:  # somebody else has said where to be
            self._leave()
        elif self._core is None:
            self._move(self._cores)
        else:
            self._compare(self._core, now)

    def _compare(self, home: int, now: float) -> None:
        """Move if another core was better since the last look."""
        used_s = time.process_time()
        own = (used_s - self._used_s) / max(now - self._looked_at, _LOOK_EVERY_S)
        self._looked_at, self._used_s = now, used_s
        before, self._ticks = self._ticks, read_ticks()
        better = better_cores(home, own, before, self._ticks)
        self._move(core for core in self._cores if core in better)

    def _move(self, cores: Iterable[int]) -> None:
        """Be at home on the first of some cores that is nobody's."""
        for core in cores:
            lock = _take(core)
            if lock is not None:
                self._bring(core, lock)
                return

    def _bring(self, core: int, lock: int) -> None:
        """Move to a core; if that is impossible, stay, and do not try it again."""
        before = os.sched_getaffinity(0)
        try:
            _bind({core})
        except OSError:
            os.close(lock)
            with contextlib.suppress(OSError):
                _bind(before)  # those that have moved
            self._cores = [] if self._core is None else [self._core]
            return
        if self._lock is not None:
            os.close(self._lock)
        self._core, self._lock, self._ticks = core, lock, {}

    def _leave(self) -> None:
        """Have no home any more: all threads go where the main one was sent."""
        with contextlib.suppress(OSError):
            _bind(os.sched_getaffinity(0))
        if self._lock is not None:
            os.close(self._lock)
        self._cores, self._core, self._lock = [], None, None


def _bind(cores: set[int]) -> None:
    """Bind all threads of this process, and so those that they start."""
    bound: set[str] = set()
    while threads := set(os.listdir(_THREADS)) - bound:  # noqa: PTH208 - names are enough
        for thread in threads:  # one that was not bound yet may have started another one since
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.sched_setaffinity(int(thread), cores)
        bound |= threads


def _take(core: int) -> int | None:
    """Lock a core against all others who want to be at home there; None if somebody is."""
    try:
        lock = os.open(_CORE.format(core), os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


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
    least = max(_IS_SHARED, own * _IS_WORTH_IT)
    return {core for core, share in idle.items() if core != home and share > least}
