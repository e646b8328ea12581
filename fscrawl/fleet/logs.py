"""The logs in `.fscrawl`: each machine's heartbeats, and what it says about URLs.

Vocabulary:
  log       a file with one writer that only grows (see `storage.append_log`); or what a machine says about URLs, in
            segments (see `blocks`): `log/<machine>/0.log`, `log/<machine>/1.log`, …

  packed    what a past run has left stands in a pack, and its own files may be gone (see `past_runs`)

Promise: a reader gets a prefix of what the writer wrote, in whole lines. Of a past run with very many heartbeats, some
in the middle may be left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from typing import Protocol, TypeVar

from fscrawl.errors import MemoryGone, PlantedError
from fscrawl.fleet.beat import HELLO_BYTES
from fscrawl.fleet.past_runs import PastRuns
from fscrawl.fleet.status_file import StatusFile, read_status, status_in
from fscrawl.storage.append_log import Log
from fscrawl.storage.layout import (
    LOG,
    MACHINES,
    heartbeat_path,
    is_machine,
    log_directory,
    log_path,
    log_segment_of,
    machine_of,
    pack_name,
    status_of,
)
from fscrawl.storage.segments import SegmentEnd
from fscrawl.store import Tree

_NEWEST_BYTES = 1 << 12  # several beats; who is behind needs only the last two

T = TypeVar("T")


class SegmentView(Protocol):
    """One look at a segment."""

    size: int  # when it was opened

    def read(self, offset: int, length: int) -> bytes:
        """Read a range; less, if the file ends before."""

    def close(self) -> None: ...


class Segments(Protocol):
    """What one way through a log needs of its files."""

    def log_segments(self, machine: str) -> list[int]:
        """List the segments of a log, in order."""

    def open_segment(self, machine: str, segment: int) -> SegmentView | None:
        """Open a segment for reading; None if it is missing."""


class TreeLogs:
    """The logs of a tree's machines. Raises TreeError, where nothing else is said. Any answer may be out of date."""

    def __init__(self, tree: Tree, past: PastRuns | None = None) -> None:
        """`past`: what is known of packs; None: nothing is yet."""
        self._files = tree.files
        self._past = PastRuns(tree.files) if past is None else past

    def log_machines(self) -> list[str]:
        """List the machines that have a log: those first that are packed, and then the others, by their names."""
        self._past.look()
        entries = self._files.entries(LOG)  # somebody may have put a file of his own there
        there = sorted(name for name, kind in entries if kind == "directory" and is_machine(name))
        return list(dict.fromkeys([*self._past.with_logs(), *there]))

    def log_segments(self, machine: str) -> list[int]:
        packed = self._past.segments(machine)
        if packed is None:
            segments = (log_segment_of(name) for name in self._files.names(log_directory(machine)))
            if found := sorted(segment for segment in segments if segment is not None):
                return found
            packed = self._past.segments_by_now(machine)
        return sorted(packed or ())

    def segment_size(self, machine: str, segment: int) -> int | None:
        """Give the size of a segment by its name; None if it is missing."""
        packed = self._past.segments(machine)
        if packed is None:
            size = self._files.size_if_there(log_path(machine, segment))
            if size is not None:
                return size
            packed = self._past.segments_by_now(machine)
        return None if packed is None else packed.get(segment)

    def open_segment(self, machine: str, segment: int) -> SegmentView | None:
        if self._past.segments(machine) is None:
            view = self._files.segment_view(log_path(machine, segment))
            if view is not None or self._past.segments_by_now(machine) is None:
                return view
        run = self._past.run(machine)
        data = None if run is None else (run.log or {}).get(segment)
        return None if data is None else InMemory(data)

    def open_segment_end(self, machine: str, segment: int) -> SegmentEnd:
        """Open a segment for appending; it is made if it is missing, and its name is durable. Raises OSError."""
        return self._files.segment_end(log_path(machine, segment))

    def lost_packs(self) -> list[int]:
        """List the packs that cannot be read: what past runs have said may be lost with them."""
        return self._past.lost

    def packed_in(self, machine: str) -> int:
        """Give the pack that has a machine's log; 0 if none has it."""
        return 0 if self._past.segments(machine) is None else self._past.where(machine) or 0

    def check_known(self, packs: Container[int]) -> None:
        """MemoryGone if one of these packs was read before, and cannot be read any more.

        This process knows what was in it, and those that join later do not. So they would never agree.
        """
        for number in (each for each in self._past.packs if each in packs and self._past.is_lost_by_now(each)):
            raise MemoryGone(f"{MACHINES}/{pack_name(number)}: it cannot be read any more")

    def retry_log(self, machine: str, call: Callable[[], T]) -> T:
        """Make a call that raises OSError again and again, within the limits of the tree."""
        return self._files.retrying(self._files.absolute(log_directory(machine)), call)


class InMemory:
    """One look at a segment that is in memory: `SegmentView`."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._data = data

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]

    def close(self) -> None:
        pass


class Logs:
    """One process's view of the logs of a tree."""

    def __init__(self, tree: Tree, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = tree.files
        self.past = PastRuns(tree.files, clock)
        self._with_status: frozenset[str] = frozenset()  # whose status files are there, and not only in a pack

    # -- heartbeats

    def is_packed(self, machine: str) -> bool:
        """Tell whether what a machine has left is in a pack: then its run is over, whatever it said last."""
        return self.past.where(machine) is not None

    def ask_for_packs(self) -> None:
        """Ask by name for packs that are not known yet: a listing may be out of date."""
        self.past.look_by_name()

    def take_name(self) -> bool:
        """Make this machine's heartbeat log, empty; tell whether no other machine has its id."""
        return self._files.reserve_name(heartbeat_path(self._files.machine))

    def heartbeat_log(self) -> Log:
        """Open this machine's heartbeat log."""
        return self._files.log(heartbeat_path(self._files.machine))

    def machines(self) -> list[str]:
        """List the machines that have a heartbeat log; those first that are packed."""
        names = self.past.look()
        there = [machine for name in names if (machine := machine_of(name)) is not None]
        return list(dict.fromkeys([*self.past.machines(), *there]))

    def with_status(self) -> list[str]:
        """List the machines that may have a status file; those first that are packed."""
        names = self.past.look()
        there = [machine for name in names if (machine := status_of(name)) is not None]
        self._with_status = frozenset(there)
        return list(dict.fromkeys([*self.past.machines(), *there]))

    def status(self, machine: str) -> StatusFile:
        """Read a machine's status file; an empty one if it has none.

        Machines replace it, and a share may show an old one for a while. So the one in a pack may be older than the
        last one, which is then still there.
        """
        run = None if machine in self._with_status else self.past.run(machine)
        return read_status(self._files, machine) if run is None else status_in(run.status)

    def read_heartbeats(self, machine: str, offset: int, most: int | None = None) -> bytes:
        """Read a heartbeat log's whole lines from `offset`, at most `most` bytes of them."""
        run = self.past.run(machine)
        if run is None:
            lines = self._files.tail(heartbeat_path(machine), offset, most)
            run = None if lines or offset else self.past.run_by_now(machine)
            if run is None:
                return lines
        data = run.beats[offset : None if most is None else offset + most]
        return data[: data.rfind(b"\n") + 1]

    def read_newest_heartbeats(self, machine: str, offset: int, most: int = _NEWEST_BYTES) -> tuple[bytes, int]:
        """Read a heartbeat log's newest lines from `offset`, about `most` bytes; return them, and the offset behind."""
        run = self.past.run(machine)
        if run is None:
            newest, end = self._files.newest(heartbeat_path(machine), offset, most)
            run = None if newest or offset else self.past.run_by_now(machine)
            if run is None:
                return newest, end
        if offset >= run.beats_bytes:
            return b"", offset
        lines = run.beats[offset:] if len(run.beats) == run.beats_bytes else run.beats
        newest = lines[-most:]
        newest = newest[newest.find(b"\n") + 1 :] if len(lines) > most else lines
        return newest if newest.count(b"\n") > 1 else lines, run.beats_bytes

    def is_planted(self, machine: str) -> bool:
        """Tell whether a heartbeat log that seems to have no lines is none: nobody works who has such a log."""
        try:
            data = self._files.read_range(heartbeat_path(machine), 0, HELLO_BYTES) or b""
        except PlantedError as error:
            return not error.denied
        return len(data) == HELLO_BYTES and b"\n" not in data

    def heartbeats_size(self, machine: str) -> int:
        """Give the size of a heartbeat log; 0 if it is missing. Of one that is packed, what is there of it."""
        run = self.past.run(machine)
        return self._files.size(heartbeat_path(machine)) if run is None else len(run.beats)
