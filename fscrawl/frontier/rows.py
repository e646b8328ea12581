"""A table of small rows by 64-bit keys, packed: a row takes its size and nine bytes. Pure."""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_left
from collections.abc import Iterator

_MORE_BITS = 4
_CROWDED = 512  # rows in a bucket, on average; with more, to move them costs more than to find them


class Rows:
    """Rows of `row_bytes` each, by integers below 2**64 that look random, as the first bytes of a hash do.

    The rows are in buckets, in the order of their keys; the upper bits of a key choose the bucket. When the buckets get
    crowded, each is cut into sixteen.

    >>> rows = Rows(2)
    >>> rows.put(7, b"ab"), rows.get(7), rows.take(7), rows.get(7), len(rows)
    (None, b'ab', b'ab', None, 0)
    """

    __slots__ = ("_buckets", "_count", "_shift", "_size")

    def __init__(self, row_bytes: int) -> None:
        self._size = row_bytes
        self._count = 0
        self._shift = 64
        self._buckets: list[tuple[array[int], bytearray]] = [(array("Q"), bytearray())]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[bytes]:
        """Give all rows, in the order of their keys."""
        for _, data in self._buckets:
            for at in range(0, len(data), self._size):
                yield bytes(data[at : at + self._size])

    def _find(self, key: int) -> tuple[array[int], bytearray, int, bool]:
        """Give a key's bucket, where the key is in it or should be, and whether it is there."""
        keys, data = self._buckets[key >> self._shift]
        index = bisect_left(keys, key)
        return keys, data, index, index < len(keys) and keys[index] == key

    def get(self, key: int) -> bytes | None:
        """Give a row, None if it is not there."""
        _, data, index, is_there = self._find(key)
        return bytes(data[index * self._size : (index + 1) * self._size]) if is_there else None

    def put(self, key: int, row: bytes) -> None:
        """Add or replace a row."""
        keys, data, index, is_there = self._find(key)
        at = index * self._size
        data[at : at + self._size * is_there] = row
        if not is_there:
            keys.insert(index, key)
            self._count += 1
            if self._count > _CROWDED * len(self._buckets):
                self._cut()

    def take(self, key: int) -> bytes | None:
        """Remove a row and give it, None if it is not there."""
        keys, data, index, is_there = self._find(key)
        if not is_there:
            return None
        part = slice(index * self._size, (index + 1) * self._size)
        row = bytes(data[part])
        del data[part], keys[index]
        self._count -= 1
        return row

    def _cut(self) -> None:
        self._shift -= _MORE_BITS
        buckets: list[tuple[array[int], bytearray]] = []
        for keys, data in self._buckets:
            first = len(buckets)
            ends = [bisect_left(keys, (first + i) << self._shift) for i in range(1 << _MORE_BITS)] + [len(keys)]
            for start, end in itertools.pairwise(ends):
                buckets.append((keys[start:end], data[start * self._size : end * self._size]))
        self._buckets = buckets
