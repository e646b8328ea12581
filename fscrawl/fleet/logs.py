"""The logs in `.fscrawl`: each machine's heartbeats, and the URLs that it has found.

Vocabulary:
  log       a file with one writer that only grows (see `storage.append_log`)
  feed      a machine's log of URLs, in segments: `<machine>.log`, `<machine>.1.log`, …
  segment   one file of a feed, of at most 64 MiB and the last flush

Promise: a reader gets a prefix of what the writer wrote, in whole lines.
"""

from __future__ import annotations

from fscrawl.storage.append_log import Log
from fscrawl.storage.layout import FEED, MACHINES, feed_of, feed_path, heartbeat_path, machine_of
from fscrawl.store import Tree

SEGMENT_BYTES = 64 * 1024 * 1024
_NEWEST_BYTES = 1 << 12  # several beats; who is behind needs only the last two


class Logs:
    """One process's view of the logs of a tree."""

    def __init__(self, tree: Tree) -> None:
        self._files = tree.files

    # -- heartbeats

    def take_name(self) -> bool:
        """Make this machine's heartbeat log, empty; tell whether no other machine has its id."""
        return self._files.take_name(heartbeat_path(self._files.machine))

    def heartbeat_log(self) -> Log:
        """Open this machine's heartbeat log."""
        return self._files.log(heartbeat_path(self._files.machine))

    def machines(self) -> list[str]:
        """List the machines that have a heartbeat log."""
        return [machine for name in self._files.names(MACHINES) if (machine := machine_of(name)) is not None]

    def read_heartbeats(self, machine: str, offset: int, most: int | None = None) -> bytes:
        """Read a heartbeat log's whole lines from `offset`, at most `most` bytes of them."""
        return self._files.tail(heartbeat_path(machine), offset, most)

    def read_newest_heartbeats(self, machine: str, offset: int, most: int = _NEWEST_BYTES) -> tuple[bytes, int]:
        """Read a heartbeat log's newest lines from `offset`, about `most` bytes; return them, and the offset behind."""
        return self._files.newest(heartbeat_path(machine), offset, most)

    def heartbeats_size(self, machine: str) -> int:
        """Give the size of a heartbeat log; 0 if it is missing."""
        return self._files.size(heartbeat_path(machine))

    # -- feeds

    def feed_log(self, segment: int) -> Log:
        """Open a segment of this machine's feed."""
        return self._files.log(feed_path(self._files.machine, segment))

    def feeds(self) -> dict[str, int]:
        """List the feeds: machine → number of its last segment."""
        last: dict[str, int] = {}
        for name in self._files.names(FEED):
            feed = feed_of(name)
            if feed is not None:
                machine, segment = feed
                last[machine] = max(last.get(machine, 0), segment)
        return last

    def read_feed(self, machine: str, segment: int, offset: int) -> bytes:
        """Read whole lines of a feed's segment from `offset`, some MiB at most."""
        return self._files.tail(feed_path(machine, segment), offset)
