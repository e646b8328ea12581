"""The pending URLs of one host: packed in memory, and moved to the local disk when there are many.

Vocabulary:
  line      b"<depth> <referrer> <url>[ <flags>]": a normal form has no blank, so a line is read by splitting it
  flags     what is special about a URL (`flags.py`); most have none
  tail      the newest lines, in one bytearray: a third of the memory that as many objects take
  block     a tail that was moved to the local disk (`Scratch`); its lines are read one by one, as they are needed
  head      lines that were split, to be handed out in random order
  foreign   a URL to which a page of another host links; or a sitemap: a host may name thousands, and all may fail

Own URLs and foreign ones take turns. A page may link to 100,000 URLs that its author has made up: in one order with all
others, the pages of the hosts that they name would wait behind them for a day.
"""

from __future__ import annotations

import os
import random
import tempfile
from array import array
from typing import IO, NamedTuple

from fscrawl.frontier.flags import NO_FLAGS, Flags, format_flags, parse_flags


class Line(NamedTuple):
    """A pending URL: its depth, the key of the page that linked to it ("" for a seed), its normal form, its flags.

    `foreign`: it was pushed as such.
    """

    depth: int
    referrer: str
    url: str
    flags: Flags = NO_FLAGS
    foreign: bool = False


class _Lane:
    """Pending lines in one order. `memory_bytes`: of its lines in memory."""

    __slots__ = ("_blocks", "_head", "_tail", "count", "memory_bytes")

    def __init__(self) -> None:
        self.count = 0
        self.memory_bytes = 0
        self._tail: bytearray | None = None
        self._head: list[bytes] | None = None
        self._blocks: array[int] | None = None  # place and size of each, oldest first

    def push(self, depth: int, referrer: str, url: str, flags: Flags = NO_FLAGS) -> int:
        """Add a URL as the newest; give the size of its line in bytes."""
        if flags is NO_FLAGS:
            line = f"{depth} {referrer} {url}\n".encode()
        else:
            line = f"{depth} {referrer} {url} {format_flags(flags)}\n".encode()
        if self._tail is None:
            self._tail = bytearray(line)
        else:
            self._tail += line
        self.count += 1
        self.memory_bytes += len(line)
        return len(line)

    def spill(self, scratch: Scratch) -> None:
        """Move all lines from memory to the local disk."""
        if self._head:
            self._tail = bytearray(b"\n".join([*self._head, self._tail or b""]))
            self._head = None
        if self._tail:
            if self._blocks is None:
                self._blocks = array("Q")
            self._blocks.extend((scratch.write(self._tail), len(self._tail)))
            self._tail = None
        self.memory_bytes = 0

    def move(self, scratch: Scratch, segments: frozenset[int]) -> None:
        """Write blocks that are in one of `segments` again elsewhere."""
        blocks = self._blocks or array("Q")
        for i in range(0, len(blocks), 2):
            blocks[i] = scratch.move(blocks[i], blocks[i + 1], segments)

    def clear(self, scratch: Scratch) -> None:
        """Forget all lines, and give their room on the local disk back."""
        blocks = self._blocks or array("Q")
        for i in range(0, len(blocks), 2):
            scratch.free(blocks[i], blocks[i + 1])
        self.count = self.memory_bytes = 0
        self._tail = self._head = self._blocks = None

    def pop(self, order: str, scratch: Scratch, rng: random.Random) -> Line:
        """Take the next line: the oldest ("breadth"), the newest ("depth"), or any in memory ("random")."""
        if order == "random" or self._head:
            line = self._pop_any(scratch, rng)
        elif self._tail and (order == "depth" or not self._blocks):
            line = self._pop_from_tail(self._tail, order)
        else:
            line = self._pop_from_block(scratch, order)
        self.count -= 1
        depth, referrer, url, *word = line[:-1].decode().split(" ")
        return Line(int(depth), referrer, url, parse_flags(word[0]) if word else NO_FLAGS)

    def _pop_from_tail(self, tail: bytearray, order: str) -> bytes:
        part = slice(tail.rfind(b"\n", 0, -1) + 1, None) if order == "depth" else slice(0, tail.index(b"\n") + 1)
        line = bytes(tail[part])
        del tail[part]  # also at the beginning this moves nothing
        self._tail = tail or None
        self.memory_bytes -= len(line)
        return line

    def _pop_from_block(self, scratch: Scratch, order: str) -> bytes:
        blocks = self._blocks
        assert blocks is not None
        at = len(blocks) - 2 if order == "depth" else 0
        place, size = blocks[at : at + 2]
        line = (scratch.last_line if order == "depth" else scratch.first_line)(place, size)
        scratch.free(place, len(line))
        blocks[at + 1] = size - len(line)
        if order != "depth":
            blocks[at] = place + len(line)
        if size == len(line):
            del blocks[at : at + 2]
            self._blocks = blocks or None
        return line

    def _pop_any(self, scratch: Scratch, rng: random.Random) -> bytes:
        head = self._head or []
        head += bytes(self._tail or b"").split(b"\n")[:-1]
        self._tail = None
        if not head and self._blocks:
            at = 2 * rng.randrange(len(self._blocks) // 2)
            place, size = self._blocks[at : at + 2]
            head = scratch.read(place, size).split(b"\n")[:-1]
            scratch.free(place, size)
            del self._blocks[at : at + 2]
            self._blocks = self._blocks or None
            self.memory_bytes += size
        chosen = rng.randrange(len(head))
        head[chosen], head[-1] = head[-1], head[chosen]
        line = head.pop() + b"\n"
        self._head = head or None
        self.memory_bytes -= len(line)
        return line


class Queue(_Lane):
    """The pending lines of one host: own ones, and beside them foreign ones. `count` and `memory_bytes`: of both."""

    __slots__ = ("_foreign", "_is_foreign_turn")

    def __init__(self) -> None:
        super().__init__()
        self._foreign: _Lane | None = None
        self._is_foreign_turn = False

    def push(self, depth: int, referrer: str, url: str, flags: Flags = NO_FLAGS, *, foreign: bool = False) -> int:
        """Add a URL as the newest; give the size of its line in bytes."""
        if not foreign:
            return super().push(depth, referrer, url, flags)
        if self._foreign is None:
            self._foreign = _Lane()
        size = self._foreign.push(depth, referrer, url, flags)
        self.count += 1
        self.memory_bytes += size
        return size

    def spill(self, scratch: Scratch) -> None:
        """Move all lines from memory to the local disk."""
        super().spill(scratch)
        if self._foreign is not None:
            self._foreign.spill(scratch)

    def move(self, scratch: Scratch, segments: frozenset[int]) -> None:
        """Write blocks that are in one of `segments` again elsewhere."""
        super().move(scratch, segments)
        if self._foreign is not None:
            self._foreign.move(scratch, segments)

    def clear(self, scratch: Scratch) -> None:
        """Forget all lines, and give their room on the local disk back."""
        super().clear(scratch)
        if self._foreign is not None:
            self._foreign.clear(scratch)
            self._foreign = None

    def pop(self, order: str, scratch: Scratch, rng: random.Random) -> Line:
        """Take the next line: of the lane whose turn it is, unless it has none."""
        lane = self._foreign
        if lane is None or (lane.count < self.count and not self._is_foreign_turn):
            self._is_foreign_turn = True
            return super().pop(order, scratch, rng)
        self._is_foreign_turn = False
        before_bytes = lane.memory_bytes
        line = lane.pop(order, scratch, rng)
        self.count -= 1
        self.memory_bytes += lane.memory_bytes - before_bytes
        if not lane.count:
            self._foreign = None
        return line._replace(foreign=True)


# -- local files for what has no room in memory


_SEGMENT_BYTES = 8 * 1024 * 1024
_MOST_SEGMENTS = 32  # about; with more bytes in use, segments are larger, because each is an open file
_POSITION_BITS = 40
_FIRST_LOOK_BYTES = 256  # nearly every line is shorter


class _Segment:
    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="fscrawl-")  # noqa: SIM115 - lives on
        self.size = 0
        self.in_use = 0


class Scratch:
    """Blocks of bytes on the local disk. What is no longer needed goes back to the disk.

      block      bytes that were written together; it is given back as a whole or from either end, bit by bit
      place      where a block begins: its segment and the position in it, in one number
      segment    a file without a name; blocks are only appended. It goes when nothing in it is in use any more
      wasteful   a segment of which so little is in use that it is better to write that again elsewhere

    The files are a cache of this process, in the system's directory for temporary files, never in the tree. They are
    gone when the process ends, whatever ends it. If wasteful segments are emptied after each writing, all files have
    together at most twice the bytes in use, and two segments more.

    size, in_use    bytes in the files, and how many of them were not given back
    """

    def __init__(self, segment_bytes: int = _SEGMENT_BYTES) -> None:
        self.size = 0
        self.in_use = 0
        self._least_bytes = segment_bytes
        self._newest = 0
        self._segments = {0: _Segment()}

    @property
    def _segment_bytes(self) -> int:
        return max(self._least_bytes, 2 * self.in_use // _MOST_SEGMENTS)

    def write(self, data: bytes | bytearray) -> int:
        """Write a block; give its place."""
        segment = self._segments[self._newest]
        if segment.size >= self._segment_bytes:
            self._newest += 1
            segment = self._segments[self._newest] = _Segment()
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
