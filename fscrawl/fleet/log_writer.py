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

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from fscrawl.errors import MemoryGone
from fscrawl.fleet.blocks import First, encode_block, format_first
from fscrawl.fleet.lines import Line, format_line
from fscrawl.fleet.logs import TreeLogs
from fscrawl.storage.layout import log_path
from fscrawl.storage.segments import SegmentEnd

SEGMENT_BYTES = 16 * 1024 * 1024
_LONG = 1 / 16  # of a full segment: so much of a run that is over may stay for good
_TAIL_BYTES = 256  # of a segment, by which it is known again: the end of the last block, and a short log's first line


class Place(NamedTuple):
    """A place in a log: bytes from the beginning of a segment. (0, 0) is the beginning of the log."""

    segment: int
    bytes: int


def hash_of_places(places: Mapping[str, Place]) -> str:
    """Give a hash of places in logs; one at the beginning says nothing.

    >>> hash_of_places({"a": Place(0, 7), "b": Place(0, 0)}) == hash_of_places({"a": Place(0, 7)})
    True
    """
    said = ((machine, place) for machine, place in sorted(places.items()) if place > (0, 0))
    text = "".join(f"{machine} {place.segment} {place.bytes}\n" for machine, place in said)
    return hashlib.sha224(text.encode()).hexdigest()[:16]


class _Flushed(NamedTuple):
    """What counts of the log: where it ends, and the bytes before that place."""

    place: Place
    tail: bytes


class LogWriter:
    """Writes this machine's log. `check` may be called from another thread while this one flushes."""

    def __init__(
        self,
        files: TreeLogs,
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
        self._is_appending = False
        self._flushed = _Flushed(Place(0, 0), b"")

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

    def unflushed_lines(self) -> Counter[int]:
        """Give the number of lines that wait for a flush, by shard."""
        counts = Counter({shard: len(lines) for shard, lines in self._own.items()})
        counts.update({shard: len(lines) for shard, lines in self._foreign.items()})
        return counts

    @property
    def has_foreign(self) -> bool:
        """A line that waits for a flush is for another machine."""
        return bool(self._foreign)

    # -- the file

    @property
    def place(self) -> Place:
        """Where the flushed part of the log ends."""
        return self._flushed.place

    def open(self) -> None:
        """Make the first segment before there is anything to write: on sshfs, a listing shows a new file 20 s late."""
        if self._end is None:
            self._write(b"")

    def flush(self) -> None:
        """Write the lines that were added, by one write and one fsync. TreeError: they stay here. MemoryGone."""
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
        data = block if self._counted else self._first_line() + block
        self._is_appending = True
        try:
            self._append(self._end, data)
        finally:
            self._is_appending = False

    def _append(self, end: SegmentEnd, data: bytes) -> None:
        try:
            size = end.append(data)
        except OSError:
            self._spoilt = True
            raise
        self._expect(size - len(data))
        before = self._flushed.tail if self._counted else b""
        self._counted = size
        self._flushed = _Flushed(Place(self._segment, size), (before + data[-_TAIL_BYTES:])[-_TAIL_BYTES:])

    def _leave_segment(self) -> None:
        """Go on to the next segment. It is made later: if that fails, and is done again, the segment is the same."""
        self.close()
        before = () if self._counted or self._segment == 0 else self._counts
        self._counts = (self._counted, *before)
        self._segment += 1
        self._counted = 0
        self._spoilt = False  # after the number: see `_may_have_grown`

    def leave_long_segment(self) -> None:
        """Begin another segment if the last one is long. Nothing is flushed.

        The last segment of a log is never removed. So a log that may be over should end with a short one.
        """
        if self._counted >= _LONG * self._segment_bytes and self._counted > len(self._first_line()):
            self._leave_segment()
            self._write(b"")

    def _first_line(self) -> bytes:
        return format_first(First(self._machine, self._segment, self._counts))

    def _expect(self, counted: int) -> None:
        """Raise MemoryGone if the segment held another number of bytes than this writer counted."""
        if counted != self._counted:
            self._spoilt = True
            raise _changed(self._machine, Place(self._segment, self._counted), f"{counted} bytes are there")

    def check(self) -> None:
        """Look at the last segment by its name; MemoryGone if it is not as this writer left it.

        It must have the size that was counted, or more if its last append failed, and end with the same bytes.
        The inode number is not compared. On sshfs it stands for the name, not for the file: it stays the same when
        another file gets the name, and may change when the client's cache forgets it. Where a file was put back with
        the same content, nothing is lost so far. What is appended to the old one afterwards is missing by name, which
        the next look finds. The last bytes find what a size does not: a server that came back with zeros.
        """
        flushed = self._flushed
        segment, counted = flushed.place
        if not counted:
            return
        view = self._files.open_segment(self._machine, segment)
        if view is None:
            raise _changed(self._machine, flushed.place, "it is gone")
        try:
            if view.size < counted or (view.size > counted and not self._may_have_grown(flushed)):
                raise _changed(self._machine, flushed.place, f"{view.size} bytes are there")
            if view.read(counted - len(flushed.tail), len(flushed.tail)) != flushed.tail:
                raise _changed(self._machine, flushed.place, "it ends with other bytes than were written")
        finally:
            view.close()

    def _may_have_grown(self, flushed: _Flushed) -> bool:
        """Tell whether this writer may itself have added something behind what was `flushed`, or is adding it.

        Another thread may be flushing. It changes these values in the order in which they are asked for here, so one of
        them tells.
        """
        return (
            self._is_appending or self._spoilt or self._segment != flushed.place.segment or self._flushed is not flushed
        )

    def close(self) -> None:
        """Close the file. Nothing is flushed."""
        if self._end is not None:
            self._end.close()
            self._end = None


def _changed(machine: str, place: Place, found: str) -> MemoryGone:
    """Say that somebody has changed the own log, or that its server has lost a part of it."""
    return MemoryGone.at(log_path(machine, place.segment), f"{found}, after {place.bytes} were written")
