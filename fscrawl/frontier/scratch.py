"""Local files for the pending URLs that have no room in memory. What is no longer needed goes back to the disk.

Vocabulary:
  block      bytes that were written together; it is given back as a whole or from either end, bit by bit
  place      where a block begins: its segment and the position in it, in one number
  segment    a file without a name; blocks are only appended. It goes when nothing in it is in use any more
  wasteful   a segment of which so little is in use that it is better to write that again elsewhere

The files are a cache of this process on its local disk, never in the tree. They have no names, so they are gone when
the process ends, whatever ends it. Promise: if wasteful segments are emptied after each writing, all files together
have at most twice the bytes in use, and two segments more.
"""

from __future__ import annotations

import os
import tempfile
from typing import IO

_SEGMENT_BYTES = 8 * 1024 * 1024
_MOST_SEGMENTS = 32  # about; with more bytes in use, segments are larger, because each is an open file
_POSITION_BITS = 40
_FIRST_LOOK_BYTES = 256  # nearly every line is shorter


class _Segment:
    def __init__(self, directory: str | None) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="fscrawl-", dir=directory)  # noqa: SIM115 - lives on
        self.size = 0
        self.in_use = 0


class Scratch:
    """Blocks of bytes on the local disk.

    size, in_use    bytes in the files, and how many of them were not given back
    """

    def __init__(self, directory: str | None = None, segment_bytes: int = _SEGMENT_BYTES) -> None:
        """`directory`: by default the system's directory for temporary files."""
        self.size = 0
        self.in_use = 0
        self._directory = directory
        self._least_bytes = segment_bytes
        self._newest = 0
        self._segments = {0: _Segment(directory)}

    @property
    def _segment_bytes(self) -> int:
        return max(self._least_bytes, 2 * self.in_use // _MOST_SEGMENTS)

    def write(self, data: bytes | bytearray) -> int:
        """Write a block; give its place."""
        segment = self._segments[self._newest]
        if segment.size >= self._segment_bytes:
            self._newest += 1
            segment = self._segments[self._newest] = _Segment(self._directory)
            self._close_if_empty(self._newest - 1)
        place = self._newest << _POSITION_BITS | segment.size
        segment.file.write(data)
        segment.size += len(data)
        segment.in_use += len(data)
        self.size += len(data)
        self.in_use += len(data)
        return place

    def read(self, place: int, size: int) -> bytes:
        """Read `size` bytes from a place."""
        segment = self._segments[place >> _POSITION_BITS]
        segment.file.flush()
        return os.pread(segment.file.fileno(), size, place & (1 << _POSITION_BITS) - 1)

    def first_line(self, place: int, size: int) -> bytes:
        """Read the first line of a block of whole lines, with its newline."""
        data = self.read(place, min(_FIRST_LOOK_BYTES, size))
        while not (end := data.find(b"\n") + 1):
            data = self.read(place, min(8 * len(data), size))
        return data[:end]

    def last_line(self, place: int, size: int) -> bytes:
        """Read the last line of a block of whole lines, with its newline."""
        data = self.read(place + max(0, size - _FIRST_LOOK_BYTES), min(_FIRST_LOOK_BYTES, size))
        while not (begin := data.rfind(b"\n", 0, -1) + 1) and len(data) < size:
            wanted = min(8 * len(data), size)
            data = self.read(place + size - wanted, wanted)
        return data[begin:]

    def free(self, place: int, size: int) -> None:
        """Give back `size` bytes at a place: they are not read again."""
        number = place >> _POSITION_BITS
        self._segments[number].in_use -= size
        self.in_use -= size
        self._close_if_empty(number)

    def _close_if_empty(self, number: int) -> None:
        segment = self._segments[number]
        if not segment.in_use and number != self._newest:
            segment.file.close()
            self.size -= segment.size
            del self._segments[number]

    def wasteful(self) -> frozenset[int]:
        """Choose the segments to be emptied by `move`: none if at least half of all bytes are in use."""
        size, allowed = self.size, 2 * (self.in_use + self._segment_bytes)
        chosen = set()
        for number in sorted(self._segments.keys() - {self._newest}, key=self._share_in_use):
            if size <= allowed:
                break
            chosen.add(number)
            size -= self._segments[number].size - self._segments[number].in_use
        return frozenset(chosen)

    def _share_in_use(self, number: int) -> float:
        return self._segments[number].in_use / self._segments[number].size

    def move(self, place: int, size: int, segments: frozenset[int]) -> int:
        """Write a block again elsewhere if it is in one of `segments`; give its place."""
        if place >> _POSITION_BITS not in segments:
            return place
        data = self.read(place, size)
        self.free(place, size)
        return self.write(data)

    def close(self) -> None:
        for segment in self._segments.values():
            segment.file.close()
