"""What was seen: sets of 64-bit fingerprints, exact and compact; and a memory of the latest items, bounded. Pure.

A million fingerprints take 9 MB, ten million 87 MB. A Python set of the same integers takes eight times as much.
"""

from __future__ import annotations

import itertools
import threading
from array import array
from bisect import bisect_left
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

_FIRST_BITS = 4
_MORE_BITS = 4
_CROWDED = 512  # entries in a bucket, on average; with more, to move them costs more than to find them


class SeenSet:
    """A set of integers below 2**64 that look random, as the first bytes of a hash do.

    The numbers are in sorted arrays; the upper bits of a number choose the array. A search is one bisection within some
    hundred numbers, an insertion moves a few hundred bytes. When the arrays get crowded, each is cut into sixteen.

    >>> seen = SeenSet()
    >>> seen.add(7), seen.add(7), 7 in seen, len(seen)
    (True, False, True, 1)
    """

    __slots__ = ("_buckets", "_limit", "_shift", "_size")

    def __init__(self) -> None:
        self._size = 0
        self._shift = 64 - _FIRST_BITS
        self._buckets: list[array[int]] = [array("Q") for _ in range(1 << _FIRST_BITS)]
        self._limit = _CROWDED << _FIRST_BITS

    def add(self, fingerprint: int) -> bool:
        """Add `fingerprint`; tell whether it was new."""
        bucket = self._buckets[fingerprint >> self._shift]
        index = bisect_left(bucket, fingerprint)
        if index < len(bucket) and bucket[index] == fingerprint:
            return False
        bucket.insert(index, fingerprint)
        self._size += 1
        if self._size > self._limit:
            self._cut()
        return True

    def _cut(self) -> None:
        self._shift -= _MORE_BITS
        self._limit <<= _MORE_BITS
        buckets: list[array[int]] = []
        for bucket in self._buckets:
            first = len(buckets)
            ends = [bisect_left(bucket, (first + i) << self._shift) for i in range(1 << _MORE_BITS)] + [len(bucket)]
            buckets += [bucket[start:end] for start, end in itertools.pairwise(ends)]
        self._buckets = buckets

    def __contains__(self, fingerprint: int) -> bool:
        bucket = self._buckets[fingerprint >> self._shift]
        index = bisect_left(bucket, fingerprint)
        return index < len(bucket) and bucket[index] == fingerprint

    def __len__(self) -> int:
        return self._size


class RecentDepths(Generic[T]):
    """A bounded memory of what was seen lately, each item with its least depth. Threads may share it.

    It has two generations of at most `size` items. When the young one is full, it replaces the old one.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: dict[T, int] = {}
        self._old: dict[T, int] = {}
        self._lock = threading.Lock()

    def add(self, item: T, depth: int) -> bool:
        """Add `item`; tell whether it was new, or had only been added with greater depths."""
        before = self._young.get(item, self._old.get(item))
        if before is not None and before <= depth:
            return False
        with self._lock:
            self._young[item] = depth
            if len(self._young) >= self._size:
                self._old, self._young = self._young, {}
        return True
