"""The writing end of this machine's log."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fscrawl.errors import FscrawlError
from fscrawl.fleet.lines import Line
from fscrawl.fleet.logs import LogFiles

SEGMENT_BYTES = 16 * 1024 * 1024


class Place(NamedTuple):
    """A place in a log: bytes from the beginning of a segment. (0, 0) is the beginning of the log."""

    segment: int
    bytes: int


class LogChanged(FscrawlError):  # noqa: N818 - it is a state of the log, found by a look
    """The own log is not as this writer left it. The machine must not go on under this id."""

    stop = True


class LogWriter:
    """Writes this machine's log."""

    def __init__(
        self,
        files: LogFiles,
        machine: str,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        holder_of: Callable[[int], str] = lambda shard: "",  # noqa: ARG005
    ) -> None:
        """`holder_of`: who is believed to hold a shard; lines of one holder's shards stand together in a block."""
        raise NotImplementedError

    def open(self) -> None:
        """Make the first segment before there is anything to write, so that listings show it early."""
        raise NotImplementedError

    def add(self, line: Line, *, own: bool) -> bool:
        """Take a line for the next block. False: a log cannot hold it (a blank in its URL), and it is left out."""
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        """All lines that were added have been flushed."""
        raise NotImplementedError

    @property
    def unflushed_bytes(self) -> int:
        """Bytes of the lines that wait for a flush."""
        raise NotImplementedError

    @property
    def has_foreign(self) -> bool:
        """A line that waits for a flush is for another machine."""
        raise NotImplementedError

    @property
    def place(self) -> Place:
        """Where the flushed part of the log ends."""
        raise NotImplementedError

    def flush(self) -> None:
        """Write the lines that were added as one block. TreeError: they stay. LogChanged: see there."""
        raise NotImplementedError

    def check(self) -> None:
        """Look at the last segment by name; LogChanged if it is not as this writer left it."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file. Nothing is flushed."""
        raise NotImplementedError
