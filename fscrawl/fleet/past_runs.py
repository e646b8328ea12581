"""What past runs have left and is in packs by now: who reads a log need not know where it is.

Each run leaves a heartbeat log and a log of URLs. After weeks there are thousands of them, and to open each one costs a
start, or `status`, some calls of the share. A pack has those of many runs (`packing` makes it), and is read at once.

Vocabulary:
  packed      what a run has left is in a pack that this process has read
  lost        a pack that is listed, or that some machine has known, and that cannot be read. What is in it is not known

Promise: what is packed never changes. A file that is missing because it was packed is found in its pack, since each
pack was there for longer than any view of a directory is old when the first file was removed. Who asks for what is not
packed never waits for another thread that reads a pack.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import count
from typing import NamedTuple

from fscrawl.errors import PlantedError
from fscrawl.fleet.heartbeat import is_worth_a_look
from fscrawl.fleet.pack import MOST_BYTES, Run, runs_in
from fscrawl.storage.layout import MACHINES, pack_name, pack_of
from fscrawl.storage.numbering import believable
from fscrawl.store import TreeFiles
from fscrawl.util.waiting import in_turn_if_slow

_KEPT_BYTES = 16 * 1024 * 1024  # of packs whose content is in memory, and one pack at least
_READERS = 4  # threads that read packs, where one has to wait for them: eight are in memory then
_LOOK_S = 5.0  # between two looks for packs because a file is missing; a pack is older when its files are removed
_MOST_PACKS = 10_000  # that are looked for because a heartbeat says so
_DOUBT_S = 120.0  # for so long a pack that cannot be read is tried again often: it may be an old view of it


class _Where(NamedTuple):
    """In which pack a run is, and what of it: the sizes of its log's segments, None without them."""

    pack: int
    segments: dict[int, int] | None


class _Unread(NamedTuple):
    """Since when a pack cannot be read, and when that was tried last."""

    since: float
    tried_at: float


class PastRuns:
    """One process's view of all packs. Any thread may use it."""

    def __init__(self, files: TreeFiles, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = files
        self._clock = clock
        self._lock = threading.RLock()  # held while a pack is read, so that only one thread reads it
        self._runs: dict[str, _Where] = {}
        self._packs: dict[int, list[str]] = {}  # that were read, each with the machines of its runs
        self._kept: OrderedDict[int, tuple[dict[str, Run], int]] = OrderedDict()  # with its bytes
        self._unreadable: dict[int, _Unread] = {}
        self._expected = 0
        self._looked_at = float("-inf")

    # -- which packs there are

    def expect(self, packs: int) -> None:
        """Take in that some machine has known so many packs: those that are not listed are lost."""
        self._expected = max(self._expected, min(packs, _MOST_PACKS))

    def look(self) -> list[str]:
        """Read the packs that are new; give the names in the directory in which they are."""
        now = self._clock()  # before the listing: the process may be stopped for a while behind it
        names = self._files.names(MACHINES)
        listed = believable(number for name in names if (number := pack_of(name)) is not None)
        if any(map(self._is_wanted, listed)):
            with self._lock:
                wanted = list(filter(self._is_wanted, listed))
                with contextlib.closing(in_turn_if_slow(self._read, wanted, _READERS)) as found:
                    for number, data in zip(wanted, found, strict=True):
                        self._take_in(number, data)
        self._looked_at = max(now, self._looked_at)
        return names

    def look_by_name(self) -> None:
        """Ask by name for packs that are newer than those that are known: a listing may be out of date."""
        while self._files.exists(f"{MACHINES}/{pack_name(number := self.next_number)}"):
            with self._lock:
                self._load(number)

    def _is_wanted(self, number: int) -> bool:
        unread = self._unreadable.get(number)
        if unread is None:
            return number not in self._packs
        return is_worth_a_look(self._clock(), unread.tried_at, unread.since, _DOUBT_S)

    def _look_for(self, machine: str) -> None:
        """Look for packs because a file of a machine is missing, unless that was done a moment ago."""
        if not self._may_be_new(machine):
            return
        with self._lock:  # who comes while another thread looks waits for what it finds
            if self._may_be_new(machine):
                self.look()

    def _may_be_new(self, machine: str) -> bool:
        return machine not in self._runs and self._clock() - self._looked_at >= _LOOK_S

    def _load(self, number: int) -> dict[str, Run]:
        """Read a pack; give its runs, none if it cannot be read."""
        return self._take_in(number, self._read(number))

    def _read(self, number: int) -> bytes:
        """Give the bytes of a pack; b"" if it is missing: somebody has removed it, or the listing is newer."""
        try:
            return self._files.read(f"{MACHINES}/{pack_name(number)}", MOST_BYTES) or b""
        except PlantedError:
            return b""

    def _take_in(self, number: int, data: bytes) -> dict[str, Run]:
        """Take in what was read of a pack; give its runs, none if it is none."""
        try:
            runs = runs_in(data)
        except ValueError:
            now, unread = self._clock(), self._unreadable.get(number)
            self._unreadable[number] = _Unread(now if unread is None else unread.since, now)
            return {}
        self._unreadable.pop(number, None)
        if number not in self._packs:
            self._take(number, runs)
        self._keep(number, runs, len(data))
        return runs

    def _take(self, number: int, runs: Mapping[str, Run]) -> None:
        for machine, run in runs.items():
            sizes = None if run.log is None else {segment: len(data) for segment, data in run.log.items()}
            known = self._runs.get(machine)
            if known is None or (known.segments is None and sizes is not None):  # two machines may have packed it
                self._runs[machine] = _Where(number, sizes)
        self._packs[number] = list(runs)

    def _keep(self, number: int, runs: dict[str, Run], size: int) -> None:
        self._kept[number] = runs, size
        while len(self._kept) > 1 and sum(bytes_ for _, bytes_ in self._kept.values()) > _KEPT_BYTES:
            self._kept.popitem(last=False)

    @property
    def lost(self) -> list[int]:
        """The packs that cannot be read, or are not there any more."""
        return sorted({*self._unreadable, *(set(range(1, self._expected + 1)) - self._packs.keys())})

    @property
    def packs(self) -> list[int]:
        """The packs that were read."""
        return sorted(self._packs)

    @property
    def newest(self) -> int:
        """The highest number of a pack that some machine has read; 0 if there is none."""
        return max([*self._packs, self._expected])

    @property
    def next_number(self) -> int:
        """The number that the next pack may have, as far as is known. What cannot be read has taken its own one."""
        return next(number for number in count(self.newest + 1) if number not in self._unreadable)

    # -- what is in them

    def where(self, machine: str) -> int | None:
        """Give the pack that a machine's run is in; None if it is not packed."""
        where = self._runs.get(machine)
        return None if where is None else where.pack

    def machines_of(self, number: int) -> list[str]:
        """Give the machines of the runs in a pack. A run that is in two packs is given once."""
        return [machine for machine in self._packs.get(number, ()) if self._runs[machine].pack == number]

    def read_again(self, number: int) -> dict[str, Run]:
        """Read a pack from its file, whatever is remembered of it; none of its runs if it cannot be read any more."""
        with self._lock:
            self._kept.pop(number, None)
            return self._load(number)

    def is_lost_by_now(self, number: int) -> bool:
        """Tell whether this process has read a pack before, and cannot read it any more."""
        return number in self._packs and not self.read_again(number)

    # Another thread may add runs meanwhile: only a copy can be gone through.

    def machines(self) -> list[str]:
        """Give the machines of all packed runs. In this order, each pack is read once."""
        return list(self._runs)

    def with_logs(self) -> list[str]:
        """Give those whose logs of URLs are packed, too, in the same order."""
        return [machine for machine, where in self._runs.copy().items() if where.segments]

    def segments(self, machine: str) -> dict[int, int] | None:
        """Give the sizes of the segments of a log that is packed; None if it is not."""
        where = self._runs.get(machine)
        return None if where is None else where.segments

    def segments_by_now(self, machine: str) -> dict[int, int] | None:
        """Give the same after a look for new packs: a file of the log is missing."""
        self._look_for(machine)
        return self.segments(machine)

    def run(self, machine: str) -> Run | None:
        """Give what a run has left; None if it is not packed, or somebody has removed the pack."""
        if machine not in self._runs:
            return None
        with self._lock:
            number = self._runs[machine].pack
            kept = self._kept.get(number)
            return (self._load(number) if kept is None else kept[0]).get(machine)

    def run_by_now(self, machine: str) -> Run | None:
        """Give the same after a look for new packs: its heartbeat log is missing."""
        self._look_for(machine)
        return self.run(machine)
