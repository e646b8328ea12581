"""The reading end of all machines' logs in one generation (their layout: `lines`).

A call costs a round trip, and every byte is read by many machines. So a look reads the head of a block by one small
call, and then only the ranges that are wanted. Across a small gap it reads on.

Vocabulary:
  place      how many bytes of a log were read: the end of a block
  until      how many bytes its writer has said that it has
  damage     a log holds less than was read or said, or bytes that cannot be read as blocks. An old view of the file
             looks the same, so the caller waits before it believes that. Then the next generation begins
  tail       the beginning of a block, behind all that was said: its machine is writing, or was killed then. It counts
             for nobody, and is no damage

Promise: the lines of a block are given whole or not at all, and in the log's order. Nothing behind damage is read.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from fscrawl.fleet.generations import UrlLogs
from fscrawl.fleet.lines import HEAD_BEGINS, Head, Line, Part, parse_head, parse_lines
from fscrawl.storage.block_log import LogView

# The first call at a block's head. Most heads are shorter; on a small web, where blocks are short, too, every machine
# reads as much of every block that is not for it. A longer head is read by the next call as a whole, or nearly so.
HEAD_BYTES = 1024
GAP_BYTES = 512  # between two wanted ranges: read, rather than spend a call
_MOST_HEAD_BYTES = 1 << 20  # of 60,000 shards. A line that is longer is none


class ShrunkError(Exception):
    """The log has become shorter than it was when it was opened."""


class Window:
    """A view of a log, and the last range that was read of it.

    size     bytes in the log
    limit    nothing is read behind it
    """

    def __init__(self, view: LogView, most: int | None = None) -> None:
        self.size = view.size
        self.limit = view.size if most is None else min(view.size, most)
        self._view = view
        self._begin = 0
        self._data = b""

    def close(self) -> None:
        self._view.close()

    def get(self, begin: int, end: int, ahead: int = 0) -> bytes:
        """Give a range, which must be below the limit. `ahead`: read up to there if a call is needed anyway."""
        have = self._begin + len(self._data)
        if not self._begin <= begin <= have:
            self._begin, self._data, have = begin, b"", begin
        if end > have:
            wanted = min(max(end, ahead), self.limit) - have
            more = self._view.read(have, wanted)
            self._data = self._data[begin - self._begin :] + more
            self._begin = begin
            if len(more) < wanted:
                self.size = self.limit = have + len(more)
                raise ShrunkError
        return self._data[begin - self._begin : end - self._begin]

    def head(self, begin: int, first: int = HEAD_BYTES) -> bytes | None:
        """Give the line of a head, with its newline; None if it is not whole. ValueError if it begins as no head does.

        `first`: how much is read first.
        """
        have = self._begin + len(self._data)
        length = have - begin if self._begin <= begin < have else first
        while True:
            end = min(begin + length, self.limit)
            data = self.get(begin, end)
            newline = data.find(b"\n")
            if data[: len(HEAD_BEGINS)] != HEAD_BEGINS[: len(data)] or len(data) > _MOST_HEAD_BYTES:
                raise ValueError(data[:80])
            if newline >= 0:
                return data[: newline + 1]
            if end == self.limit:
                return None
            length = max(first, 2 * length)


class Damage(NamedTuple):
    """A log cannot be read from byte `place` on, although it should have `until` bytes."""

    path: str
    place: int
    until: int

    @property
    def text(self) -> str:
        """What is missing, for people."""
        return f"{self.path}: {self.place:,} of {self.until:,} bytes can be read"


class LogReader:
    """Reads logs.

    places    up to where each log of other machines was read by `read`; 0 for those that are not named
    needed    shards of the tree that some head named
    damaged   by machine, what `read` has found; a log that is whole at a later look is not there any more
    missed    by machine, what `read_shards` has found: whoever asked for these lines does not have all of them
    """

    def __init__(self, logs: UrlLogs, shards: int = 0) -> None:
        """`shards`: how many the tree has, for `needed`."""
        self.places: dict[str, int] = {}
        self.needed: set[int] = set()
        self.damaged: dict[str, Damage] = {}
        self.missed: dict[str, Damage] = {}
        self._logs = logs
        self._shards = shards
        self._head_bytes: dict[str, int] = {}  # that the next head of a log may have

    def read(self, machine: str, shards: Container[int], *, until: int | None = None) -> Iterator[Line]:
        """Read the new whole blocks of a log; give their lines of `shards`, and move its place on.

        Of `shards` the writer's own lines are given, too: a former holder may write some late. `until`: nothing behind
        it is read; None: as much as is there.
        """
        begin = self.places.get(machine, 0)
        if until is not None and until <= begin and machine not in self.damaged:
            return
        self.damaged.pop(machine, None)
        for place, lines in self._blocks(machine, shards, begin, until, self.damaged):
            yield from lines
            self.places[machine] = place

    def has_grown(self, machine: str) -> bool:
        """Tell whether a log has more, or less, than was read of it."""
        return (self._logs.size(machine) or 0) != self.places.get(machine, 0)

    def read_shards(self, machine: str, shards: Container[int], start: int, end: int) -> Iterator[Line]:
        """Give the lines of `shards` in the blocks from `start` to `end`. Moves no place."""
        if start < end:
            for _, lines in self._blocks(machine, shards, start, end, self.missed):
                yield from lines

    def _blocks(
        self, machine: str, shards: Container[int], begin: int, until: int | None, damaged: dict[str, Damage]
    ) -> Iterator[tuple[int, list[Line]]]:
        """Give the end and the wanted lines of one block after the other; put damage into `damaged`."""
        place, size, expected = begin, 0, max(begin, until or 0)
        view = self._logs.open_view(machine) if expected or until is None else None
        is_damaged = False
        if view is not None:
            window = Window(view, until)
            try:
                while place < window.limit and (block := self._block(machine, window, place, shards)) is not None:
                    place, lines = block
                    yield place, lines
            except (ValueError, ShrunkError):
                is_damaged = True
            finally:
                size = window.size
                window.close()
        readable = min(place, size)
        if is_damaged or readable < expected:
            damaged[machine] = Damage(self._logs.path(machine), readable, max(expected, readable + 1))

    def _block(self, machine: str, window: Window, begin: int, shards: Container[int]) -> tuple[int, list[Line]] | None:
        """Give a block's end and its lines; None if it is not whole. ValueError if it is damaged."""
        ahead = self._head_bytes.get(machine, HEAD_BYTES)
        line = window.head(begin, ahead)
        if line is None:
            return None
        head = parse_head(line)
        self._head_bytes[machine] = ahead = max(HEAD_BYTES, len(line) + len(line) // 8)
        end = begin + head.bytes
        if end > window.limit:
            return None
        lines = _lines(window, begin, head, shards, ahead)
        self.needed.update(part.shard for part in (*head.foreign, *head.own) if part.shard < self._shards)
        return end, lines


def _lines(window: Window, begin: int, head: Head, shards: Container[int], ahead: int) -> list[Line]:
    """Read the parts of a block that are wanted. The last call may bring the next head, too, of `ahead` bytes."""
    lines: list[Line] = []
    end = begin + head.bytes
    groups = _groups(head.parts(shards))
    for group in groups:
        goes_on = group is groups[-1] and head.bytes - group[-1].end < GAP_BYTES and end < window.limit
        window.get(begin + group[0].begin, begin + group[-1].end, end + ahead if goes_on else 0)
        for part in group:
            lines += parse_lines(part.shard, window.get(begin + part.begin, begin + part.end))
    return lines


def _groups(parts: list[Part]) -> list[list[Part]]:
    """Put together parts that are read by one call."""
    groups: list[list[Part]] = []
    for part in parts:
        if groups and part.begin - groups[-1][-1].end < GAP_BYTES:
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups
