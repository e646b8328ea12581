"""What past runs have left and is in packs by now: who reads a log need not know where it is.

Each run leaves a heartbeat log and a log of URLs. After weeks there are thousands of them, and to open each one costs a
start, or `status`, some calls of the share. A pack has those of many runs (`packing` makes it), and is read at once.

Vocabulary:
  packed      what a run has left is in a pack that this process has read
  lost        a pack that is listed, or that some machine has known, and that cannot be read. What is in it is not known

Promise: what is packed never changes. A file that is missing because it was packed is found in its pack, since each
pack was there for longer than any view of a directory is old when the first file was removed.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from fscrawl.errors import PlantedError
from fscrawl.fleet.pack import MOST_BYTES, Run, runs_in
from fscrawl.storage.layout import MACHINES, pack_name, pack_of
from fscrawl.storage.numbering import believable

_KEPT = 4  # packs whose content is in memory
_LOOK_S = 5.0  # between two looks for packs because a file is missing; a pack is older when its files are removed
_MOST_PACKS = 10_000  # that are looked for because a heartbeat says so
_DOUBT_S = 120.0  # for so long a pack that cannot be read is tried again: it may be an old view of it


class Files(Protocol):
    """The part of `TreeFiles` that is used here."""

    def names(self, path: str) -> list[str]: ...
    def read(self, path: str, most: int | None = None) -> bytes | None: ...


class _Where(NamedTuple):
    """In which pack a run is, and what of it: the sizes of its log's segments, None without them; figures by label."""

    pack: int
    segments: dict[int, int] | None
    labelled: bool


class PastRuns:
    """One process's view of all packs. Any thread may use it."""

    def __init__(self, files: Files, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = files
        self._clock = clock
        self._lock = threading.RLock()
        self._runs: dict[str, _Where] = {}
        self._packs: set[int] = set()  # that were read
        self._kept: OrderedDict[int, dict[str, Run]] = OrderedDict()
        self._unreadable: dict[int, float] = {}  # pack → since when
        self._expected = 0
        self._looked_at = float("-inf")

    # -- which packs there are

    def expect(self, packs: int) -> None:
        """Take in that some machine has known so many packs: those that are not listed are lost."""
        self._expected = max(self._expected, min(packs, _MOST_PACKS))

    def look(self, names: Iterable[str] | None = None) -> None:
        """Read the packs that are new. `names`: of the directory, if it was just listed."""
        with self._lock:
            self._looked_at = self._clock()
            listed = self._files.names(MACHINES) if names is None else names
            for number in believable(n for name in listed if (n := pack_of(name)) is not None):
                if number not in self._packs and not self._is_given_up(number):
                    self._load(number)

    def found_more(self) -> bool:
        """Look for packs because a file is missing, unless that was done a moment ago; tell whether there are more."""
        with self._lock:
            if self._clock() - self._looked_at < _LOOK_S:
                return False
            before = len(self._packs)
            self.look()
            return len(self._packs) > before

    def _is_given_up(self, number: int) -> bool:
        since = self._unreadable.get(number)
        return since is not None and self._clock() - since > _DOUBT_S

    def _load(self, number: int) -> dict[str, Run]:
        """Read a pack; give its runs, none if it cannot be read."""
        try:
            data = self._files.read(f"{MACHINES}/{pack_name(number)}", MOST_BYTES)
        except PlantedError:
            data = b""
        if data is None:  # somebody has removed it, or the listing is newer than the view of the file
            data = b""
        try:
            runs = runs_in(data)
        except ValueError:
            self._unreadable.setdefault(number, self._clock())
            return {}
        self._unreadable.pop(number, None)
        if number not in self._packs:
            self._packs.add(number)
            for machine, run in runs.items():
                sizes = None if run.log is None else {segment: len(data) for segment, data in run.log.items()}
                self._runs.setdefault(machine, _Where(number, sizes, bool(run.labels)))
        self._kept[number] = runs
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return runs

    @property
    def lost(self) -> list[int]:
        """The packs that cannot be read, or are not there any more."""
        return sorted({*self._unreadable, *(set(range(1, self._expected + 1)) - self._packs)})

    @property
    def packs(self) -> list[int]:
        """The packs that were read."""
        return sorted(self._packs)

    @property
    def newest(self) -> int:
        """The highest number that a pack has, or had; 0 if there is none."""
        return max([*self._packs, *self._unreadable, self._expected])

    # -- what is in them

    def where(self, machine: str) -> int | None:
        """Give the pack that a machine's run is in; None if it is not packed."""
        where = self._runs.get(machine)
        return None if where is None else where.pack

    def machines_of(self, number: int) -> list[str]:
        """Give the machines of the runs in a pack."""
        return [machine for machine, where in self._runs.items() if where.pack == number]

    def read_again(self, number: int) -> dict[str, Run]:
        """Read a pack from its file, whatever is remembered of it; none of its runs if it cannot be read any more."""
        with self._lock:
            self._kept.pop(number, None)
            return self._load(number)

    def machines(self) -> list[str]:
        """Give the machines of all packed runs. In this order, each pack is read once."""
        return list(self._runs)

    def with_logs(self) -> list[str]:
        """Give those whose logs of URLs are packed, too, in the same order."""
        return [machine for machine, where in self._runs.items() if where.segments]

    def labelled(self) -> list[str]:
        """Give those that have figures by label, in the same order."""
        return [machine for machine, where in self._runs.items() if where.labelled]

    def segments(self, machine: str) -> dict[int, int] | None:
        """Give the sizes of the segments of a log that is packed; None if it is not."""
        where = self._runs.get(machine)
        return None if where is None else where.segments

    def run(self, machine: str) -> Run | None:
        """Give what a run has left; None if it is not packed, or somebody has removed the pack."""
        with self._lock:
            where = self._runs.get(machine)
            if where is None:
                return None
            runs = self._kept.get(where.pack)
            return (self._load(where.pack) if runs is None else runs).get(machine)
