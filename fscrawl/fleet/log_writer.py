"""The writing end of this machine's log in one generation (its layout: `lines`).

Promise: what `flush` has written stands in the log, in one block, and can be read by all machines when it returns. A
write that fails is made again at the same place with the same bytes, so no block comes twice.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from fscrawl.errors import MemoryGone
from fscrawl.fleet.generations import UrlLogs
from fscrawl.fleet.lines import Line, encode_block, format_line
from fscrawl.storage.block_log import LogEnd

_TAIL_BYTES = 256  # of a log, by which it is known again: the end of the last block


def hash_of_places(places: Mapping[str, int]) -> str:
    """Give a hash of places in logs: of how many bytes of each were read. A log without any says nothing.

    >>> hash_of_places({"a": 7, "b": 0}) == hash_of_places({"a": 7})
    True
    """
    text = "".join(f"{machine} {place}\n" for machine, place in sorted(places.items()) if place)
    return hashlib.sha224(text.encode()).hexdigest()[:16]


class _Flushed(NamedTuple):
    """What counts of the log: how many bytes, and the last of them."""

    place: int
    tail: bytes


class LogWriter:
    """Writes this machine's log. `check` may be called from another thread while this one flushes."""

    def __init__(
        self,
        logs: UrlLogs,
        machine: str,
        *,
        holder_of: Callable[[int], str] = lambda shard: "",  # noqa: ARG005
    ) -> None:
        """`holder_of`: who is believed to hold a shard; lines of one holder's shards stand together in a block."""
        self._logs = logs
        self._machine = machine
        self._holder_of = holder_of
        self._foreign: dict[int, list[bytes]] = {}
        self._own: dict[int, list[bytes]] = {}
        self._unflushed_bytes = 0
        self._block = b""  # that is being written, or was not written to its end
        self._end: LogEnd | None = None
        self._flushed = _Flushed(0, b"")

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
        return not (self._unflushed_bytes or self._block)

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
    def place(self) -> int:
        """How many bytes of the log are flushed."""
        return self._flushed.place

    def open(self) -> None:
        """Make the log before there is anything to write: on sshfs, a listing shows a new file 20 s late."""
        self._logs.retry(self._machine, self._opened)

    def flush(self) -> None:
        """Write the lines that were added, by one write and one fsync. TreeError: they stay here. MemoryGone."""
        if self._block:
            self._write()
        if self._unflushed_bytes:
            self._block = encode_block(self._foreign, self._own, self._holder_of)
            self._foreign, self._own = {}, {}
            self._unflushed_bytes = 0
            self._write()

    def _write(self) -> None:
        self._logs.retry(self._machine, self._write_once)

    def _write_once(self) -> None:
        end, block, begin = self._opened(), self._block, self._flushed.place
        try:
            size = end.write(block, begin)
        except OSError:
            self.close()
            raise
        self._expect(size, begin + len(block))
        self._flushed = _Flushed(size, (self._flushed.tail + block[-_TAIL_BYTES:])[-_TAIL_BYTES:])
        self._block = b""

    def _opened(self) -> LogEnd:
        """Open the file by its name; MemoryGone if it has another size than this writer has seen to."""
        if self._end is None:
            end = self._logs.open_end(self._machine)
            self._end = end
            begin = self._flushed.place
            self._expect(end.size, min(max(begin, end.size), begin + len(self._block)))
        return self._end

    def _expect(self, there: int, counted: int) -> None:
        if there != counted:
            raise _changed(self._logs.path(self._machine), counted, f"{there} bytes are there")

    def check(self) -> None:
        """Look at the log by its name; MemoryGone if it is not as this writer left it.

        It must have the bytes that were counted, and end with the same ones. The inode number is not compared. On sshfs
        it stands for the name, not for the file: it stays the same when another file gets the name, and may change when
        the client's cache forgets it. The last bytes find what a size does not: a server that came back with zeros.
        """
        flushed = self._flushed
        if not flushed.place:
            return
        path, view = self._logs.path(self._machine), self._logs.open_view(self._machine)
        if view is None:
            raise _changed(path, flushed.place, "it is gone")
        try:
            if view.size < flushed.place:
                raise _changed(path, flushed.place, f"{view.size} bytes are there")
            if view.read(flushed.place - len(flushed.tail), len(flushed.tail)) != flushed.tail:
                raise _changed(path, flushed.place, "it ends with other bytes than were written")
        finally:
            view.close()

    def close(self) -> None:
        """Close the file. Nothing is flushed."""
        if self._end is not None:
            self._end.close()
            self._end = None


def _changed(path: str, counted: int, found: str) -> MemoryGone:
    """Say that somebody has changed the own log, or that its server has lost a part of it."""
    return MemoryGone.at(path, f"{found}, after {counted} were written")
