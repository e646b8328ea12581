"""What a machine knows of the URLs of one shard, by 64-bit fingerprint, exact and compact. Pure.

Vocabulary:
  known      some page links to the URL, or it is a seed
  told       its links are in the logs
  failed     its failure is in the logs. That says nothing of links, and so counts at any depth
  there      the tree has a page record or an error record of it
  pushed     it was made pending once. A URL that is known, pushed and not settled is pending or in flight
  settled    told, or failed and never told: nothing is left to do. In a deep table it must be told at a depth that is
             not greater than its known depth; otherwise its links must be told again, one level less deep
  deep       the table keeps depths: the crawl has `max_depth`, so a shorter way to a page may open new pages

The order of calls does not matter: known and told depths only fall, and nothing is forgotten. A million URLs take 9 MB,
ten million 87 MB; in a deep table half as much again.
"""

from __future__ import annotations

import itertools
import operator
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

_FIRST_BITS = 4  # the upper bits that choose a bucket at first
_MORE_BITS = 4
_CROWDED = 512  # entries in a bucket, on average; with more, to move them costs more than to find them

# An entry is a fingerprint without its first four bits, which its bucket tells, and then four bits of state.
_STATE_BITS = _FIRST_BITS
_KNOWN, _TOLD, _THERE, _PUSHED = 1, 2, 4, 8
_ALL_STATES = (1 << _STATE_BITS) - 1
_REST_OF_FINGERPRINT = (1 << (64 - _STATE_BITS)) - 1

# In a deep table each entry has a number of 32 bits: the known depth, then the told depth. Greater depths count as
# _DEEPEST; it also stands where there is no depth yet.
_DEEPEST = 0xFFFF


class UrlState(NamedTuple):
    """What is known of a URL. Depths are None if it is not known or not told, and 0 in a table that is not deep."""

    known: int | None
    told: int | None
    there: bool
    pushed: bool = False
    failed: bool = False

    @property
    def is_settled(self) -> bool:
        if self.told is None:
            return self.failed
        return self.known is None or self.told <= self.known


class Standing(NamedTuple):
    """What counts when a URL is handed out.

    settled    nothing is left to do
    recorded   the tree may have a record of it
    known      the least depth at which it is known; None if it is not, and in a table that is not deep
    """

    settled: bool
    recorded: bool
    known: int | None


def _pair(known: int, told: int) -> int:
    """Give the number that holds two depths."""
    return min(known, _DEEPEST) << 16 | min(told, _DEEPEST)


class UrlTable:
    """Fingerprints, which look random as the first bytes of a hash do, each with its state.

    The entries are in sorted arrays; the upper bits of a fingerprint choose the array. A search is one bisection within
    some hundred numbers, an insertion moves a few hundred bytes. When the arrays get crowded, each is cut into sixteen.

    >>> table = UrlTable(deep=True)
    >>> table.known(7, 3), table.known(7, 4), table.known(7, 2)
    (True, False, True)
    >>> table.told(7, 3)
    >>> table.settled(7), table.state(7)
    (False, UrlState(known=2, told=3, there=False, pushed=False, failed=False))
    """

    __slots__ = ("_buckets", "_depths", "_failed", "_limit", "_shift", "_size", "deep")

    def __init__(self, *, deep: bool = False) -> None:
        self.deep = deep
        self._size = 0
        self._shift = 64 - _FIRST_BITS
        self._buckets: list[array[int]] = [array("Q") for _ in range(1 << _FIRST_BITS)]
        self._depths: list[array[int]] = [array("I") for _ in self._buckets] if deep else []
        self._limit = _CROWDED << _FIRST_BITS
        self._failed: UrlTable | None = None  # few URLs fail: they need no bit in the table of all

    def __len__(self) -> int:
        """Tell how many URLs are known, told or there."""
        return self._size

    # -- what is learned

    def known(self, fingerprint: int, depth: int) -> bool:
        """Take in that a URL is known at `depth`; tell whether that is news: it was not, or in a deep table deeper."""
        return self._mark(fingerprint, _KNOWN, depth, _DEEPEST)

    def learn(self, fingerprint: int, depth: int, *, wanted_again: bool) -> tuple[bool, bool]:
        """Take in a way to a URL. Returns whether that is news, and whether the URL is to be made pending.

        `wanted_again`: it is both in any case. What was told before it was known is news, and nothing is left to do.
        """
        if not self.deep:
            state = self._mark_shallow(fingerprint, _KNOWN)
            news = not state & _KNOWN
            is_open = news and not (state & _TOLD or self.has_failed(fingerprint))
            return news or wanted_again, is_open or wanted_again
        # What is known need not have been pending: of some URLs only the depth is known, from a snapshot.
        before = self.state(fingerprint)
        news = self.known(fingerprint, depth)
        is_waiting = before.pushed and not before.is_settled
        wanted = wanted_again or not (is_waiting or self.settled(fingerprint))
        if wanted:
            self.mark_pushed(fingerprint)
        return news or wanted_again, wanted

    def told(self, fingerprint: int, depth: int) -> None:
        """Take in that a URL was told at `depth`."""
        self._mark(fingerprint, _TOLD, _DEEPEST, depth)

    def failed(self, fingerprint: int) -> None:
        """Take in that a URL has failed."""
        if self._failed is None:
            self._failed = UrlTable()
        self._failed.mark_there(fingerprint)

    def has_failed(self, fingerprint: int) -> bool:
        return self._failed is not None and self._failed.state(fingerprint).there

    def mark_there(self, fingerprint: int) -> None:
        """Take in that the tree has a record of a URL."""
        self._mark(fingerprint, _THERE, _DEEPEST, _DEEPEST)

    def mark_pushed(self, fingerprint: int) -> None:
        """Take in that a URL is made pending."""
        self._mark(fingerprint, _PUSHED, _DEEPEST, _DEEPEST)

    def _mark_shallow(self, fingerprint: int, state: int) -> int:
        """Set a bit of state in a table without depths; return the bits that were set before."""
        bucket = self._buckets[fingerprint >> self._shift]
        entry = (fingerprint & _REST_OF_FINGERPRINT) << _STATE_BITS
        index = bisect_left(bucket, entry)
        if index < len(bucket):
            before = bucket[index] - entry
            if before <= _ALL_STATES:
                bucket[index] |= state
                return before
        bucket.insert(index, entry | state)
        self._size += 1
        if self._size > self._limit:
            self._cut()
        return 0

    def _mark(self, fingerprint: int, state: int, known: int, told: int) -> bool:
        """Set a bit of state, and lower the depths; tell whether anything changed."""
        number = fingerprint >> self._shift
        bucket = self._buckets[number]
        entry = (fingerprint & _REST_OF_FINGERPRINT) << _STATE_BITS
        index = bisect_left(bucket, entry)
        if index < len(bucket):
            found = bucket[index]
            if found - entry <= _ALL_STATES:
                lower = self.deep and self._lower(number, index, known, told)
                if found & state:
                    return lower
                bucket[index] = found | state
                return True
        bucket.insert(index, entry | state)
        if self.deep:
            self._depths[number].insert(index, _pair(known, told))
        self._size += 1
        if self._size > self._limit:
            self._cut()
        return True

    def _lower(self, number: int, index: int, known: int, told: int) -> bool:
        """Keep the lesser of the depths; tell whether one fell."""
        before = self._depths[number][index]
        after = _pair(min(before >> 16, known), min(before & _DEEPEST, told))
        self._depths[number][index] = after
        return after != before

    def _cut(self) -> None:
        """Cut each bucket into sixteen."""
        self._shift -= _MORE_BITS
        self._limit <<= _MORE_BITS
        buckets: list[array[int]] = []
        depths: list[array[int]] = []
        for number, bucket in enumerate(self._buckets):
            firsts = [(number << _MORE_BITS | i) << self._shift for i in range(1 << _MORE_BITS)]
            starts = [(first & _REST_OF_FINGERPRINT) << _STATE_BITS for first in firsts]
            ends = [bisect_left(bucket, start) for start in starts] + [len(bucket)]
            buckets += [bucket[start:end] for start, end in itertools.pairwise(ends)]
            if self.deep:
                depths += [self._depths[number][start:end] for start, end in itertools.pairwise(ends)]
        self._buckets, self._depths = buckets, depths

    # -- what is asked

    def is_known(self, fingerprint: int) -> bool:
        """Tell whether a URL is known; asked for each link of a page."""
        bucket = self._buckets[fingerprint >> self._shift]
        entry = (fingerprint & _REST_OF_FINGERPRINT) << _STATE_BITS
        index = bisect_left(bucket, entry)
        if index == len(bucket):
            return False
        state = bucket[index] - entry
        return state <= _ALL_STATES and bool(state & _KNOWN)

    def state(self, fingerprint: int) -> UrlState:
        """Tell all that is known of a URL."""
        state, depths = self._look_up(fingerprint)
        return UrlState(
            depths >> 16 if state & _KNOWN else None,
            depths & _DEEPEST if state & _TOLD else None,
            bool(state & _THERE),
            bool(state & _PUSHED),
            self.has_failed(fingerprint),
        )

    def settled(self, fingerprint: int, depth: int = _DEEPEST) -> bool:
        """Tell whether nothing is left to do for a URL. `depth`: ask as if it were known at that depth, too."""
        state, depths = self._look_up(fingerprint)
        if state & _TOLD:
            return (depths & _DEEPEST) <= min(depths >> 16, depth)
        return self.has_failed(fingerprint)

    def standing(self, fingerprint: int) -> Standing:
        """Tell what counts when a URL is handed out."""
        state, depths = self._look_up(fingerprint)
        failed = self._failed is not None and self.has_failed(fingerprint)
        if not self.deep:
            told = bool(state & _TOLD)
            return Standing(told or failed, told or failed or bool(state & _THERE), None)
        settled = (depths & _DEEPEST) <= depths >> 16 if state & _TOLD else failed
        recorded = failed or bool(state & (_TOLD | _THERE))
        return Standing(settled, recorded, depths >> 16 if state & _KNOWN else None)

    def told_enough(self, fingerprint: int) -> bool:
        """Tell whether a URL is settled since its links are in the logs, and not since it has failed."""
        state, depths = self._look_up(fingerprint)
        return bool(state & _TOLD) and (depths & _DEEPEST) <= depths >> 16

    def _look_up(self, fingerprint: int) -> tuple[int, int]:
        """Give the state bits of a URL and its depths, 0 and 0 if nothing is known of it."""
        number = fingerprint >> self._shift
        bucket = self._buckets[number]
        entry = (fingerprint & _REST_OF_FINGERPRINT) << _STATE_BITS
        index = bisect_left(bucket, entry)
        if index == len(bucket) or bucket[index] - entry > _ALL_STATES:
            return 0, 0
        return bucket[index] - entry, self._depths[number][index] if self.deep else 0

    # -- many at once

    def load(
        self, fingerprints: Sequence[int], known: Sequence[int] | None = None, told: Sequence[int] | None = None
    ) -> None:
        """Take in many URLs that are known and told. ValueError if the fingerprints do not ascend.

        `known`, `told`: their depths, for a deep table; other tables ignore them.
        """
        if any(map(operator.ge, fingerprints, itertools.islice(fingerprints, 1, None))):
            raise ValueError("fingerprints must ascend")
        depths = [0] * len(fingerprints)
        if self.deep:
            assert known is not None
            assert told is not None
            depths = [_pair(*both) for both in zip(known, told, strict=True)]
        start = 0
        while start < len(fingerprints):
            number = fingerprints[start] >> self._shift
            end = bisect_left(fingerprints, (number + 1) << self._shift, start)
            self._load_bucket(number, fingerprints[start:end], depths[start:end])
            start = end

    def _load_bucket(self, number: int, fingerprints: Sequence[int], depths: Sequence[int]) -> None:
        """Take in URLs of one bucket; in a table that was empty they only need to be appended."""
        bucket = self._buckets[number]
        entries = [(each & _REST_OF_FINGERPRINT) << _STATE_BITS | _KNOWN | _TOLD for each in fingerprints]
        if bucket and bucket[-1] | _ALL_STATES >= entries[0]:
            for fingerprint, pair in zip(fingerprints, depths, strict=True):
                self.known(fingerprint, pair >> 16)
                self.told(fingerprint, pair & _DEEPEST)
            return
        bucket.extend(entries)
        if self.deep:
            self._depths[number].extend(depths)
        self._size += len(entries)
        while self._size > self._limit:
            self._cut()
