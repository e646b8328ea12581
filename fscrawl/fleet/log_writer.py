"""The writing end of this machine's log (its layout: `blocks`).

Vocabulary:
  segment    a file of the log; the next one begins when it is full, and after every failed append
  counted    how many bytes of the segment this writer has flushed, without an error
  spoilt     an append to the segment failed, in any way. It is never appended to again: what that append left there is
             not known. The next segment's first line says how much of this one counts

Promise: what `flush` has written stands in the log, in one block, and can be read by all machines when it returns. If a
failed append had in fact written its block, readers see these lines twice, which does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fscrawl.errors import MemoryGone
from fscrawl.fleet.blocks import First, encode_block, format_first
from fscrawl.fleet.lines import Line, format_line
from fscrawl.fleet.logs import LogFiles, SegmentEnd
from fscrawl.storage.layout import log_path

SEGMENT_BYTES = 16 * 1024 * 1024
_TAIL_BYTES = 256  # of a segment, by which it is known again: the end of the last block, and a short log's first line


class Place(NamedTuple):
    """A place in a log: bytes from the beginning of a segment. (0, 0) is the beginning of the log."""

    segment: int
    bytes: int


class LogChanged(MemoryGone):
    """The own log is not as this writer left it. The machine must not go on under this id."""


class LogWriter:
    """Writes this machine's log. `open` must have been called before the first flush."""

    def __init__(
        self,
        files: LogFiles,
        machine: str,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        holder_of: Callable[[int], str] = lambda shard: "",  # noqa: ARG005
    ) -> None:
        """`holder_of`: who is believed to hold a shard; lines of one holder's shards stand together in a block."""
        self._files = files
        self._machine = machine
        self._segment_bytes = segment_bytes
        self._holder_of = holder_of
        self._foreign: dict[int, list[bytes]] = {}
        self._own: dict[int, list[bytes]] = {}
        self._unflushed_bytes = 0
        self._segment = 0
        self._counted = 0
        self._counts: tuple[int, ...] = (0,)  # of the segments before, as in their first line
        self._spoilt = False
        self._end: SegmentEnd | None = None
        self._place = Place(0, 0)  # in the last segment that something counts of
        self._tail = b""  # the bytes before that place

    # -- what waits for a flush

    def add(self, line: Line, *, own: bool) -> bool:
        """Take a line for the next block. False: a log cannot hold it (a blank in its URL), and it is left out.

        `own`: this machine holds the line's shard.
        """
        try:
            data = format_line(line)
        except ValueError:
            return False
        (self._own if own else self._foreign).setdefault(line.shard, []).append(data)
        self._unflushed_bytes += len(data)
        return True

    @property
    def is_empty(self) -> bool:
        """All lines that were added have been flushed."""
        return not self._unflushed_bytes

    @property
    def unflushed_bytes(self) -> int:
        """Bytes of the lines that wait for a flush."""
        return self._unflushed_bytes

    @property
    def has_foreign(self) -> bool:
        """A line that waits for a flush is for another machine."""
        return bool(self._foreign)

    # -- the file

    @property
    def place(self) -> Place:
        """Where the flushed part of the log ends."""
        return self._place

    def open(self) -> None:
        """Make the first segment before there is anything to write: on sshfs, a listing shows a new file 20 s late."""
        if self._end is None:
            self._write(b"")

    def flush(self) -> None:
        """Write the lines that were added, by one write and one fsync. TreeError: they stay here. LogChanged."""
        if self.is_empty:
            return
        self._write(encode_block(self._foreign, self._own, self._holder_of))
        self._foreign, self._own = {}, {}
        self._unflushed_bytes = 0

    def _write(self, block: bytes) -> None:
        self._files.retry_log(self._machine, lambda: self._write_once(block))

    def _write_once(self, block: bytes) -> None:
        if self._spoilt or self._counted >= self._segment_bytes:
            self._leave_segment()
        if self._end is None:
            end = self._files.open_segment_end(self._machine, self._segment)
            self._end = end
            self._expect(end.size)
        data = block if self._counted else format_first(First(self._machine, self._segment, self._counts)) + block
        try:
            size = self._end.append(data)
        except OSError:
            self._spoilt = True
            raise
        self._expect(size - len(data))
        self._tail = (self._tail * (self._counted > 0) + data[-_TAIL_BYTES:])[-_TAIL_BYTES:]
        self._counted = size
        self._place = Place(self._segment, size)

    def _leave_segment(self) -> None:
        """Go on to the next segment. It is made later: if that fails, and is done again, the segment is the same."""
        self.close()
        before = () if self._counted or self._segment == 0 else self._counts
        self._counts = (self._counted, *before)
        self._segment += 1
        self._counted = 0
        self._spoilt = False

    def _expect(self, counted: int) -> None:
        """Raise LogChanged if the segment held another number of bytes than this writer counted."""
        if counted != self._counted:
            self._spoilt = True
            raise LogChanged(_text_of(self._machine, Place(self._segment, self._counted), f"{counted} bytes are there"))

    def check(self) -> None:
        """Look at the last segment by its name; LogChanged if it is not as this writer left it.

        It must have the size that was counted, or more if its last append failed, and end with the same bytes.
        The inode number is not compared. On sshfs it stands for the name, not for the file: it stays the same when
        another file gets the name, and may change when the client's cache forgets it. Where a file was put back with
        the same content, nothing is lost so far. What is appended to the old one afterwards is missing by name, which
        the next look finds. The last bytes find what a size does not: a server that came back with zeros.
        """
        segment, counted = self._place
        if not counted:
            return
        view = self._files.open_segment(self._machine, segment)
        if view is None:
            raise LogChanged(_text_of(self._machine, self._place, "it is gone"))
        try:
            may_be_longer = self._spoilt or self._segment != segment
            if view.size < counted or (view.size > counted and not may_be_longer):
                raise LogChanged(_text_of(self._machine, self._place, f"{view.size} bytes are there"))
            if view.read(counted - len(self._tail), len(self._tail)) != self._tail:
                raise LogChanged(_text_of(self._machine, self._place, "it ends with other bytes than were written"))
        finally:
            view.close()

    def close(self) -> None:
        """Close the file. Nothing is flushed."""
        if self._end is not None:
            self._end.close()
            self._end = None


def _text_of(machine: str, place: Place, found: str) -> str:
    """Say what is wrong, for a person."""
    return (
        f"{log_path(machine, place.segment)}: {found}, after {place.bytes} were written; "
        "somebody has changed the file, or its server has lost a part of it"
    )
