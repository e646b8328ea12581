"""The layout of a log of URLs: blocks. Pure.

    B <foreign bytes> <own bytes> <shard>:<bytes> … | <shard>:<bytes> …\n   the head of a block
    <lines of foreign shards, by shard in the head's order>
    <lines of own shards, by shard in the head's order>

Vocabulary:
  block      what one flush writes: lines, sorted by shard. It counts whole or not at all
  head       a block's first line: how many bytes of lines each shard has. ` | …` is missing if there are no own lines
  foreign    of a shard that another machine is believed to hold. Shards of one machine stand together, so that it reads
             its lines with one call
  own        of a shard that the writer itself holds

Promise: what is written here is read back equal; anything else is a ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

_ENTRY = rb"(?: [0-9]{1,12}:[1-9][0-9]{0,11})"
_HEAD = re.compile(rb"B ([0-9]{1,12}) ([0-9]{1,12})(%b*)(?: \|(%b+))?\n" % (_ENTRY, _ENTRY))
HEAD_BEGINS = b"B "


class Part(NamedTuple):
    """The lines of a shard in a block: bytes `begin` to `end`, from the beginning of the block."""

    shard: int
    begin: int
    end: int


class Head(NamedTuple):
    """The head of a block. `bytes`: of the whole block, the head among them. Parts are in the block's order."""

    bytes: int
    foreign: tuple[Part, ...]
    own: tuple[Part, ...]

    def parts(self, shards: Container[int]) -> list[Part]:
        """Give the parts of some shards, in the block's order."""
        return [part for parts in (self.foreign, self.own) for part in parts if part.shard in shards]


def encode_block(
    foreign: Mapping[int, Sequence[bytes]],
    own: Mapping[int, Sequence[bytes]],
    holder_of: Callable[[int], str] = lambda shard: "",  # noqa: ARG005
) -> bytes:
    """Give a block of whole lines, by shard. `holder_of`: who is believed to hold a shard.

    >>> encode_block({7: [b"s\\n"]}, {2: [b"s\\n", b"s\\n"]})
    b'B 2 4 7:2 | 2:4\\ns\\ns\\ns\\n'
    """
    foreign_parts = [(shard, b"".join(foreign[shard])) for shard in sorted(foreign, key=lambda s: (holder_of(s), s))]
    own_parts = [(shard, b"".join(own[shard])) for shard in sorted(own)]
    foreign_list, foreign_bytes = _listed(foreign_parts)
    own_list, own_bytes = _listed(own_parts)
    head = f"B {foreign_bytes} {own_bytes}{foreign_list}{' |' if own_parts else ''}{own_list}\n".encode("ascii")
    return b"".join([head, *(data for _, data in foreign_parts), *(data for _, data in own_parts)])


def _listed(parts: Iterable[tuple[int, bytes]]) -> tuple[str, int]:
    sizes = [(shard, len(data)) for shard, data in parts]
    return "".join(f" {shard}:{size}" for shard, size in sizes), sum(size for _, size in sizes)


def parse_head(line: bytes) -> Head:
    """Read the head of a block, with its newline; ValueError if it is none, or its numbers do not fit together."""
    match = _HEAD.fullmatch(line)
    if match is None:
        raise ValueError(line[:80])
    foreign_bytes, own_bytes, foreign_list, own_list = match.groups()
    middle = len(line) + int(foreign_bytes)
    foreign = _parts(foreign_list, len(line), middle)
    own = _parts(own_list or b"", middle, middle + int(own_bytes))
    return Head(middle + int(own_bytes), foreign, own)


def _parts(listed: bytes, begin: int, end: int) -> tuple[Part, ...]:
    parts = []
    for entry in listed.split():
        shard, _, size = entry.partition(b":")
        parts.append(Part(int(shard), begin, begin + int(size)))
        begin = parts[-1].end
    if begin != end:
        raise ValueError(f"the parts of a block end at {begin}, and not at {end}")
    return tuple(parts)
