"""Packing: what past runs have left goes into packs, and then its own files are removed (`pack` is the format).

Vocabulary:
  past      a run whose machine has said goodbye: it writes nothing any more
  settled   a pack that this machine has known for so long that no view of any machine can be without it
  odd       what a past run has left, if it is not what its goodbye says: it stays as it is

Promise: a file is removed only if a settled pack, read once more for that, has as many bytes of it as are there; one
that its machine has replaced again and again, only if the pack has the same bytes. Packs are never changed, and never
removed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from fscrawl.errors import PlantedError
from fscrawl.fleet.beat import Goodbye, parse_line
from fscrawl.fleet.log_walk import Walk
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.logs import InMemory
from fscrawl.fleet.pack import Run, pack, thinned
from fscrawl.fleet.past_runs import PastRuns
from fscrawl.storage.layout import (
    LOG,
    MACHINES,
    heartbeat_path,
    labels_path,
    log_directory,
    log_path,
    log_segment_of,
    machine_of,
    pack_name,
)
from fscrawl.util.parallel import READERS
from fscrawl.util.waiting import in_turn_if_slow

FEWEST = 64  # runs in a pack, unless they are long: so there are few packs, and few files that are not packed yet
_PACK_BYTES = 4 * 1024 * 1024  # a pack is read and checked as a whole
_MOST_LOG_BYTES = 256 * 1024  # of a run: a longer log stays, since readers need only parts of it
_MOST_BEATS_BYTES = 16 * 1024  # of a run: more are thinned
_MOST_LABELS_BYTES = 4 * 1024 * 1024
_ALL_SHARDS = range(10**12)
_MOST_READ_BYTES = 4 * 1024 * 1024  # of heartbeats, before they are thinned: eight threads read them at a time


class Files(Protocol):
    """The part of `TreeFiles` that is used here."""

    def names(self, path: str) -> list[str]: ...
    def entries(self, path: str) -> list[tuple[str, str]]: ...
    def read(self, path: str, most: int | None = None) -> bytes | None: ...
    def size(self, path: str) -> int: ...
    def size_if_there(self, path: str) -> int | None: ...
    def claim(self, path: str, data: bytes, *, fsync: bool = False) -> bool: ...
    def remove(self, path: str) -> None: ...
    def remove_empty_directory(self, path: str) -> None: ...


class Packing:
    """Packs and removes for one machine, in the thread that does its housekeeping."""

    def __init__(self, files: Files, past: PastRuns, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = files
        self._past = past
        self._clock = clock
        self._seen_at: dict[int, float] = {}
        self._odd: set[str] = set()
        self._stopped = False

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopped = True

    def is_due(self, past: Collection[str]) -> bool:
        """Tell whether a pack can be made. `past`: the machines that have said goodbye."""
        return sum(map(self._is_left, past)) >= FEWEST

    # -- making

    def pack(self, past: Mapping[str, Place | None]) -> None:
        """Make packs of what is not packed yet. `past`: by machine, where its log ends, as its goodbye says."""
        names = self._past.look()
        there = {machine_of(name) for name in names}
        left = [each for each in past.items() if each[0] in there and self._is_left(each[0])]
        runs: dict[str, Run] = {}
        length = 0
        with contextlib.closing(in_turn_if_slow(lambda each: (each[0], self._run(*each)), left, READERS)) as found:
            for machine, run in found:
                if run is None:
                    self._odd.add(machine)
                    continue
                runs[machine] = run
                length += run.bytes
                if self._stopped and len(runs) >= FEWEST:  # many runs are short: a few packs are made all the same
                    break
                if length >= _PACK_BYTES:
                    self._write(runs)
                    runs, length = {}, 0
        if len(runs) >= FEWEST:
            self._write(runs)

    def _is_left(self, machine: str) -> bool:
        return machine not in self._odd and self._past.where(machine) is None

    def _write(self, runs: Mapping[str, Run]) -> None:
        """Make a pack, unless another machine has just made one of its number: then the next time is soon enough."""
        path = f"{MACHINES}/{pack_name(self._past.next_number)}"
        self._files.claim(path, pack(runs), fsync=True)
        self._past.look()

    def _run(self, machine: str, end: Place | None) -> Run | None:
        """Read what a past run has left; None if it is odd."""
        beats = self._read(heartbeat_path(machine), _MOST_READ_BYTES)
        last = None if not beats.endswith(b"\n") else parse_line(beats[:-1].rpartition(b"\n")[2])
        if not isinstance(last, Goodbye):
            return None
        labels = self._read(labels_path(machine), _MOST_LABELS_BYTES)
        if len(labels) != self._files.size(labels_path(machine)):
            return None
        return Run(thinned(beats, _MOST_BEATS_BYTES), len(beats), self._log(machine, end), labels)

    def _log(self, machine: str, end: Place | None) -> dict[int, bytes] | None:
        """Read a log; None if it is long, or is not whole up to where it should end.

        A share may show an old view: a segment that is gone by now, or zeros in place of what was just written.
        """
        names = self._files.names(log_directory(machine))
        segments = sorted(segment for name in names if (segment := log_segment_of(name)) is not None)
        if end is None or not segments or segments[-1] != end.segment:
            return None
        sizes = [self._files.size(log_path(machine, segment)) for segment in segments]
        if sum(sizes) > _MOST_LOG_BYTES or sizes[-1] != end.bytes:
            return None
        log = {segment: self._read(log_path(machine, segment), _MOST_LOG_BYTES) for segment in segments}
        return log if _is_whole(log, machine, end) else None

    def _read(self, path: str, most: int) -> bytes:
        try:
            return self._files.read(path, most) or b""
        except PlantedError:  # or larger
            return b""

    # -- removing

    def remove(self, wait_s: float) -> None:
        """Remove the files of packed runs. `wait_s`: a pack is settled when it was seen so long ago."""
        names = self._past.look()
        now = self._clock()
        self._seen_at = {number: self._seen_at.get(number, now) for number in self._past.packs}
        there = {machine_of(name) for name in names} | {name for name, _ in self._files.entries(LOG)}
        for number, seen_at in self._seen_at.items():
            machines = [machine for machine in self._past.machines_of(number) if machine in there]
            if now - seen_at < wait_s or not machines:
                continue
            runs = self._past.read_again(number)
            for machine in machines:
                if self._stopped:
                    return
                if machine in runs:
                    self._remove(machine, runs[machine])

    def _remove(self, machine: str, run: Run) -> None:
        for segment, data in (run.log or {}).items():
            self._remove_file(log_path(machine, segment), len(data))
        if run.log is not None:
            self._files.remove_empty_directory(log_directory(machine))
        if run.labels and self._read(labels_path(machine), _MOST_LABELS_BYTES) == run.labels:
            self._files.remove(labels_path(machine))
        self._remove_file(heartbeat_path(machine), run.beats_bytes)

    def _remove_file(self, path: str, size: int) -> None:
        if self._files.size_if_there(path) == size:
            self._files.remove(path)


class _Log:
    """A log that is in memory: `logs.Segments`."""

    def __init__(self, log: Mapping[int, bytes]) -> None:
        self._log = log

    def log_segments(self, machine: str) -> list[int]:  # noqa: ARG002
        return list(self._log)

    def open_segment(self, machine: str, segment: int) -> InMemory | None:  # noqa: ARG002
        return InMemory(self._log[segment]) if segment in self._log else None


def _is_whole(log: Mapping[int, bytes], machine: str, end: Place) -> bool:
    """Tell whether all blocks of a log are there and can be read."""
    begin = Place(min(log), 0)
    walk = Walk(_Log(log), machine, _ALL_SHARDS, set(), begin, end, forgiven=Place(0, 0), skips=False)
    for _ in walk.blocks():
        pass
    return walk.cut is None and walk.place == end
