"""The pending URLs of one host: packed in memory, and moved to the local disk when there are many.

Vocabulary:
  line      b"<depth> <referrer> <url>[ <flags>]": a normal form has no blank, so a line is read by splitting it
  flags     what is special about a URL (`flags.py`); most have none
  tail      the newest lines, in one bytearray: a third of the memory that as many objects take
  block     a tail that was moved to the local disk (`scratch.py`); its lines are read one by one, as they are needed
  head      lines that were split, to be handed out in random order
  foreign   a URL to which a page of another host links; or a sitemap: a host may name thousands, and all may fail

Own URLs and foreign ones take turns. A page may link to 100,000 URLs that its author has made up: in one order with all
others, the pages of the hosts that they name would wait behind them for a day.
"""

from __future__ import annotations

import random
from array import array
from typing import NamedTuple

from fscrawl.frontier.flags import NO_FLAGS, Flags, format_flags, parse_flags
from fscrawl.frontier.scratch import Scratch


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
