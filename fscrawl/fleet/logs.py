"""The logs in `.fscrawl`: each machine's heartbeats, and what it says about URLs.

Vocabulary:
  log       a file with one writer that only grows (see `storage.append_log`); or what a machine says about URLs, in
            segments (see `blocks`): `log/<machine>/0.log`, `log/<machine>/1.log`, …

Promise: a reader gets a prefix of what the writer wrote, in whole lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from fscrawl.errors import PlantedError
from fscrawl.fleet.beat import HELLO_BYTES
from fscrawl.fleet.status_file import StatusFile, read_status
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

    def __init__(self, tree: Tree) -> None:
        self._files = tree.files

    def log_machines(self) -> list[str]:
        """List the machines that have a log, by their names."""
        entries = self._files.entries(LOG)  # somebody may have put a file of his own there
        return sorted(name for name, kind in entries if kind == "directory" and is_machine(name))

    def log_segments(self, machine: str) -> list[int]:
        segments = (log_segment_of(name) for name in self._files.names(log_directory(machine)))
        return sorted(segment for segment in segments if segment is not None)

    def segment_size(self, machine: str, segment: int) -> int | None:
        """Give the size of a segment by its name; None if it is missing."""
        return self._files.size_if_there(log_path(machine, segment))

    def open_segment(self, machine: str, segment: int) -> SegmentView | None:
        return self._files.segment_view(log_path(machine, segment))

    def open_segment_end(self, machine: str, segment: int) -> SegmentEnd:
        """Open a segment for appending; it is made if it is missing, and its name is durable. Raises OSError."""
        return self._files.segment_end(log_path(machine, segment))

    def remove_segment(self, machine: str, segment: int) -> None:
        """Remove a segment; it may be missing."""
        self._files.remove(log_path(machine, segment))

    def remove_empty_log(self, machine: str) -> None:
        """Remove a log that has one segment, with its directory."""
        self.remove_segment(machine, 0)
        self._files.remove_empty_directory(log_directory(machine))

    def retry_log(self, machine: str, call: Callable[[], T]) -> T:
        """Make a call that raises OSError again and again, within the limits of the tree."""
        return self._files.retrying(self._files.absolute(log_directory(machine)), call)


class Logs:
    """One process's view of the logs of a tree."""

    def __init__(self, tree: Tree) -> None:
        self._files = tree.files

    # -- heartbeats

    def take_name(self) -> bool:
        """Make this machine's heartbeat log, empty; tell whether no other machine has its id."""
        return self._files.reserve_name(heartbeat_path(self._files.machine))

    def heartbeat_log(self) -> Log:
        """Open this machine's heartbeat log."""
        return self._files.log(heartbeat_path(self._files.machine))

    def machines(self) -> list[str]:
        """List the machines that have a heartbeat log."""
        return [machine for name in self._files.names(MACHINES) if (machine := machine_of(name)) is not None]

    def with_status(self) -> list[str]:
        """List the machines that have a status file."""
        return [machine for name in self._files.names(MACHINES) if (machine := status_of(name)) is not None]

    def status(self, machine: str) -> StatusFile:
        """Read a machine's status file; an empty one if it has none."""
        return read_status(self._files, machine)

    def read_heartbeats(self, machine: str, offset: int, most: int | None = None) -> bytes:
        """Read a heartbeat log's whole lines from `offset`, at most `most` bytes of them."""
        return self._files.tail(heartbeat_path(machine), offset, most)

    def read_newest_heartbeats(self, machine: str, offset: int, most: int = _NEWEST_BYTES) -> tuple[bytes, int]:
        """Read a heartbeat log's newest lines from `offset`, about `most` bytes; return them, and the offset behind."""
        return self._files.newest(heartbeat_path(machine), offset, most)

    def is_planted(self, machine: str) -> bool:
        """Tell whether a heartbeat log that seems to have no lines is none: nobody works who has such a log."""
        try:
            data = self._files.read_range(heartbeat_path(machine), 0, HELLO_BYTES) or b""
        except PlantedError as error:
            return not error.denied
        return len(data) == HELLO_BYTES and b"\n" not in data

    def heartbeats_size(self, machine: str) -> int:
        """Give the size of a heartbeat log; 0 if it is missing."""
        return self._files.size(heartbeat_path(machine))
