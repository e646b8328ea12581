"""The set of known URLs: 64-bit fingerprints, exact and compact. Pure: memory only.

A million entries take 9 MB, ten million 87 MB; a Python set of the same integers takes eight times as much.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left


class Known:
    """A set of integers below 2**64 that look random, as the beginnings of a hash do.

    65,536 sorted arrays, chosen by the upper 16 bits: a search is one bisection within some hundred numbers, an
    insertion moves a few hundred bytes.

    >>> known = Known()
    >>> known.add(7), known.add(7), 7 in known, len(known)
    (True, False, True, 1)
    """

    def __init__(self) -> None:
        self._buckets: list[array[int] | None] = [None] * 65536
        self._size = 0

    def add(self, fingerprint: int) -> bool:
        """Add `fingerprint`; tell whether it was new."""
        bucket = self._buckets[fingerprint >> 48]
        if bucket is None:
            self._buckets[fingerprint >> 48] = array("Q", (fingerprint,))
        else:
            index = bisect_left(bucket, fingerprint)
            if index < len(bucket) and bucket[index] == fingerprint:
                return False
            bucket.insert(index, fingerprint)
        self._size += 1
        return True

    def __contains__(self, fingerprint: int) -> bool:
        bucket = self._buckets[fingerprint >> 48]
        if bucket is None:
            return False
        index = bisect_left(bucket, fingerprint)
        return index < len(bucket) and bucket[index] == fingerprint

    def __len__(self) -> int:
        return self._size
