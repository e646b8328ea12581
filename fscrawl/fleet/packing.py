"""Packing: what past runs have left goes into packs, and then its own files are removed (`pack` is the format).

Vocabulary:
  past      a run that is over: its machine has said goodbye, or was silent for weeks
  silent    a run whose machine is dead, and did not say goodbye. It may be suspended, and wake up
  settled   a pack that this machine has known for so long that no view of any machine can be without it
  odd       what a past run has left, if it is not what its last line says: it stays as it is

Promise: a file is removed only if a settled pack, read once more for that, has as many bytes of it as are there; one
that its machine has replaced again and again, only if the pack has the same bytes. Packs are never changed, and never
removed. A silent run is packed only if its heartbeat log has not changed for weeks by the clock of the share, and is
found to be as long as before at the moment when the pack is made. A machine that wakes up later learns that it was
packed before it claims anything (`Membership`), and joins anew.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Container, Mapping

from fscrawl.errors import PlantedError
from fscrawl.fleet.beat import Goodbye, parse_line
from fscrawl.fleet.beats_left import beats_left
from fscrawl.fleet.log_walk import Walk
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.logs import InMemory
from fscrawl.fleet.pack import Run, pack
from fscrawl.fleet.past_runs import PastRuns
from fscrawl.storage.layout import (
    LOG,
    MACHINES,
    heartbeat_path,
    log_directory,
    log_path,
    log_segment_of,
    machine_of,
    pack_name,
    status_path,
)
from fscrawl.store import TreeFiles
from fscrawl.util.parallel import READERS
from fscrawl.util.waiting import in_turn_if_slow

FEWEST = 64  # runs in a pack, unless they are long: so there are few packs, and few files that are not packed yet
_PACK_BYTES = 4 * 1024 * 1024  # a pack is read and checked as a whole
_MOST_LOG_BYTES = 256 * 1024  # of a run: a longer log stays, since readers need only parts of it
_MOST_STATUS_BYTES = 8 * 1024 * 1024
_OVER_S = 14 * 86400.0  # of silence by the times of the share: shorter ones are those of computers that are suspended
_ALL_SHARDS = range(10**12)


class Packing:
    """Packs and removes for one machine, in the thread that does its housekeeping."""

    def __init__(self, files: TreeFiles, past: PastRuns, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = files
        self._past = past
        self._clock = clock
        self._seen_at: dict[int, float] = {}
        self._odd: set[str] = set()
        self._now_there: float | None = None  # by the clock of the share
        self._over_at: dict[str, float] = {}  # silent run → when it will be over, if it goes on like that
        self._stopped = False

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopped = True

    def is_due(self, past: Collection[str], silent: Collection[str] = ()) -> bool:
        """Tell whether a pack can be made. `past`: machines that have said goodbye; `silent`: other dead ones."""
        return sum(map(self._is_left, past)) + sum(map(self._may_be_over, silent)) >= FEWEST

    # -- making

    def pack(self, past: Mapping[str, Place | None], silent: Mapping[str, Place | None] | None = None) -> None:
        """Make packs of what is not packed yet, by machine.

        past     where its log ends, as its goodbye says
        silent   where its log goes at least, as its last line says
        """
        there = {machine_of(name) for name in self._past.look()}
        silent = {machine: end or Place(0, 0) for machine, end in (silent or {}).items() if self._may_be_over(machine)}
        left = [(machine, end) for machine, end in past.items() if self._is_left(machine)] + list(silent.items())
        left = [(machine, end) for machine, end in left if machine in there]
        if silent:
            self._now_there = self._files.modified_at(heartbeat_path(self._files.machine))
        runs: dict[str, Run] = {}
        length = 0
        read = in_turn_if_slow(lambda each: (each[0], self._run(*each, signed=each[0] in past)), left, READERS)
        with contextlib.closing(read) as found:
            for machine, run in found:
                if run is None:
                    if self._may_be_over(machine):
                        self._odd.add(machine)
                    continue
                runs[machine] = run
                length += run.bytes
                if self._stopped and len(runs) >= FEWEST:  # many runs are short: a few packs are made all the same
                    break
                if length >= _PACK_BYTES:
                    self._write(runs, silent)
                    runs, length = {}, 0
        if len(runs) >= FEWEST:
            self._write(runs, silent)

    def _is_left(self, machine: str) -> bool:
        return machine not in self._odd and self._past.where(machine) is None

    def _may_be_over(self, machine: str) -> bool:
        return self._is_left(machine) and self._clock() >= self._over_at.get(machine, float("-inf"))

    def _is_over(self, machine: str) -> bool:
        """Tell whether a silent run has been so for weeks: its log is so much older than the one of this machine."""
        its = self._files.modified_at(heartbeat_path(machine))
        if its is None or self._now_there is None:
            return False
        left_s = _OVER_S - (self._now_there - its)
        self._over_at[machine] = self._clock() + left_s
        return left_s <= 0

    def _write(self, runs: dict[str, Run], silent: Container[str] = ()) -> None:
        """Make a pack, unless another machine has just made one of its number: then the next time is soon enough."""
        path = f"{MACHINES}/{pack_name(self._past.next_number)}"
        unsigned = [machine for machine in runs if machine in silent]
        for machine, is_over in in_turn_if_slow(lambda each: (each, self._is_as_read(each, runs)), unsigned, READERS):
            if not is_over:
                del runs[machine]
        if runs:
            self._files.claim(path, pack(runs), fsync=True)
            self._past.look()

    def _is_as_read(self, machine: str, runs: Mapping[str, Run]) -> bool:
        """Look at a silent run once more: it may have woken up. To open the file shows what is there now."""
        path = heartbeat_path(machine)
        return not self._files.tail(path, runs[machine].beats_bytes) and self._is_over(machine)

    def _run(self, machine: str, end: Place | None, *, signed: bool) -> Run | None:
        """Read what a past run has left; None if it is odd, or is silent and not over."""
        if not (signed or self._is_over(machine)):
            return None
        beats, size = beats_left(self._files, heartbeat_path(machine))
        last = parse_line(beats[:-1].rpartition(b"\n")[2])
        if last is None or isinstance(last, Goodbye) != signed:
            return None
        status = self._read(status_path(machine), _MOST_STATUS_BYTES)
        if len(status) != self._files.size(status_path(machine)):
            return None
        return Run(beats, size, self._log(machine, end, signed=signed), status)

    def _log(self, machine: str, said: Place | None, *, signed: bool) -> dict[int, bytes] | None:
        """Read a log; None if it is long, or is not whole up to where it should end. A silent one may be longer.

        A share may show an old view: a segment that is gone by now, or zeros in place of what was just written.
        """
        names = self._files.names(log_directory(machine))
        segments = sorted(segment for name in names if (segment := log_segment_of(name)) is not None)
        if said is None or not segments:
            return None
        sizes = [self._files.size(log_path(machine, segment)) for segment in segments]
        end = Place(segments[-1], sizes[-1])
        if sum(sizes) > _MOST_LOG_BYTES or end < said or (signed and end != said):
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
        if run.status and self._read(status_path(machine), _MOST_STATUS_BYTES) == run.status:
            self._files.remove(status_path(machine))
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
