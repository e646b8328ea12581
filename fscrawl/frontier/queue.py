"""The pending URLs of one host: packed in memory, and moved to a local scratch file when there are many.

Vocabulary:
  line      b"<depth> <referrer> <url>[ <flags>]": a normal form has no blank, so a line is read by splitting it
  flags     what is special about a URL (`flags.py`); most have none
  tail      the newest lines, in one bytearray: a third of the memory that as many objects take
  block     a tail that was moved to the scratch file
  head      the lines that are handed out next, split

The scratch file is a cache of this process on its local disk, never in the tree. It has no name, so it is gone when the
process ends, whatever ends it.
"""

from __future__ import annotations

import os
import random
import tempfile
from array import array
from typing import NamedTuple

from fscrawl.frontier.flags import NO_FLAGS, Flags, format_flags, parse_flags


class Line(NamedTuple):
    """A pending URL: its depth, the key of the page that linked to it ("" for a seed), its normal form, its flags."""

    depth: int
    referrer: str
    url: str
    flags: Flags = NO_FLAGS


class Scratch:
    """An append-only local file without a name."""

    def __init__(self, directory: str | None = None) -> None:
        """`directory`: by default the system's directory for temporary files."""
        self._file = tempfile.TemporaryFile(prefix="fscrawl-", dir=directory)  # noqa: SIM115 - lives with the frontier
        self._end = 0

    def write(self, data: bytes | bytearray) -> int:
        """Append `data`; give the offset of its first byte."""
        offset = self._end
        self._file.write(data)
        self._end += len(data)
        return offset

    def read(self, offset: int, size: int) -> bytes:
        self._file.flush()
        return os.pread(self._file.fileno(), size, offset)

    def close(self) -> None:
        self._file.close()


class Queue:
    """The pending lines of one host."""

    __slots__ = ("_blocks", "_head", "_tail", "count")

    def __init__(self) -> None:
        self.count = 0
        self._tail: bytearray | None = None
        self._head: list[bytes] | None = None
        self._blocks: array[int] | None = None  # offset and size of each, oldest first

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
        return len(line)

    def spill(self, order: str, scratch: Scratch) -> None:
        """Move the tail to the scratch file; and the head, too, unless the order takes the oldest first."""
        if order != "breadth" and self._head:
            self._tail = bytearray(b"".join(line + b"\n" for line in self._head)) + (self._tail or b"")
            self._head = None
        if self._tail:
            if self._blocks is None:
                self._blocks = array("Q")
            self._blocks.extend((scratch.write(self._tail), len(self._tail)))
            self._tail = None

    def pop(self, order: str, scratch: Scratch, rng: random.Random) -> Line:
        """Take the next line: the oldest ("breadth"), the newest ("depth"), or any in memory ("random")."""
        head = self._head or []
        if order == "breadth":
            if not head:
                head = self._older(scratch, 0)[::-1]
        else:
            head += self._take_tail()
            if not head:
                blocks = len(self._blocks or ()) // 2
                head = self._older(scratch, blocks - 1 if order == "depth" else rng.randrange(blocks))
            if order == "random":
                chosen = rng.randrange(len(head))
                head[chosen], head[-1] = head[-1], head[chosen]
        line = head.pop()
        self._head = head or None
        self.count -= 1
        depth, referrer, url, *word = line.decode().split(" ")
        return Line(int(depth), referrer, url, parse_flags(word[0]) if word else NO_FLAGS)

    def _older(self, scratch: Scratch, index: int) -> list[bytes]:
        """Take the lines of a block, or of the tail if there is no block."""
        if not self._blocks:
            return self._take_tail()
        lines = scratch.read(*self._blocks[2 * index : 2 * index + 2]).split(b"\n")[:-1]
        del self._blocks[2 * index : 2 * index + 2]
        self._blocks = self._blocks or None
        return lines

    def _take_tail(self) -> list[bytes]:
        lines = bytes(self._tail or b"").split(b"\n")[:-1]
        self._tail = None
        return lines
