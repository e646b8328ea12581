"""The heartbeat logs of a tree's machines, and their status files (the logs of URLs: `url_logs`).

Vocabulary:
  log       a file with one writer that only grows (see `storage.append_log`)

Promise: a reader gets a prefix of what the writer wrote, in whole lines.
"""

from __future__ import annotations

from fscrawl.errors import PlantedError
from fscrawl.fleet.beat import HELLO_BYTES
from fscrawl.fleet.status_file import StatusFile, read_status
from fscrawl.storage.append_log import Log
from fscrawl.storage.layout import MACHINES, heartbeat_path, machine_of, status_of
from fscrawl.store import Tree

_NEWEST_BYTES = 1 << 12  # several beats; who is behind needs only the last two


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
