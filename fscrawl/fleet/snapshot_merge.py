"""A new snapshot is made of the one before and the lines that have been written since then.

Both are sorted by fingerprint. The lines since then are put together in memory; the snapshot before is read and copied
in chunks. So memory grows with the number of new lines only, and most of the work is the copying of bytes.

Vocabulary:
  touched   fingerprints of which some new line speaks: their entries before are taken out, the new ones are put in
  section   the told URLs of a snapshot, as columns: fingerprints, and depths where they are kept

Promise: the result is what all lines, in any order, come to: those before the snapshot before, and those since then.
Nothing appears under the name of the snapshot unless it is whole.
"""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import msgspec

from fscrawl.errors import RecordError
from fscrawl.fleet.lines import Found, Line, Surveyed
from fscrawl.fleet.snapshot_file import GROUP, NO_DEPTH, Columns, Snapshot, SnapshotHead, column_bytes
from fscrawl.fleet.url_state import (
    DIGITS,
    FAILED,
    KIND_AT,
    TOLD,
    WAITING,
    UrlState,
    fact_of_entry,
    fact_of_found,
    fact_of_told,
)
from fscrawl.store import TreeFiles

_COUNT_OF_KIND = {WAITING: "waiting", FAILED: "failed"}


def write(
    files: TreeFiles,
    previous: Snapshot | None,
    lines: Iterable[Line],
    *,
    generation: int,
    shard: int,
    epoch: int,
    number: int,
    deep: bool,
    at: Mapping[str, int],
    go_on: Callable[[], None] = lambda: None,
) -> SnapshotHead:
    """Write a snapshot; return its head.

    previous   the shard's snapshot before; None: there is none, and `lines` are all lines of the shard
    lines      the shard's lines in all logs from `previous.head.at` to `at`, in any order; lines of other shards are
               left out. They take some 200 bytes of memory each
    deep       the link rules of the generation have a limit of depth
    at         the places up to which the lines have been read; none of them may lie behind what was flushed
    go_on      called before each chunk is written; what it raises ends the work, and leaves nothing behind

    RecordError: the one before is damaged; the caller takes an older one. TreeError: it could not be written.
    """
    facts: list[bytes] = []
    surveyed = previous is not None and previous.head.surveyed
    for line in lines:
        if line.shard != shard:
            continue
        if isinstance(line, Surveyed):
            surveyed = True
        elif isinstance(line, Found):
            facts.append(fact_of_found(line))
        else:
            facts.append(fact_of_told(line))
    facts.sort()
    head = SnapshotHead(generation, shard, epoch, number, deep, surveyed, dict(at))
    try:
        merge = _Merge(previous, facts, head)
        files.publish_chunks(head.path, lambda: _watched(merge.chunks(), go_on))
    except (ValueError, LookupError, OverflowError) as error:
        raise RecordError(f"{head.path}: the snapshot before it is damaged: {error}") from error
    return merge.head


def _watched(chunks: Iterator[bytes], go_on: Callable[[], None]) -> Iterator[bytes]:
    for chunk in chunks:
        go_on()
        yield chunk


class _Merge:
    """The merge of one snapshot and the facts since then.

    head   of the new snapshot
    """

    def __init__(self, previous: Snapshot | None, facts: list[bytes], head: SnapshotHead) -> None:
        self._previous = previous
        self._columns = head.columns
        self._deep = head.deep
        self._touched: array[int] = array("Q", (int(digits, 16) for digits, _ in groupby(facts, _digits_of)))
        self._new_text: dict[bytes, bytes] = {}  # digits of the fingerprint → line
        self._new_told: dict[int, tuple[int, ...]] = {}  # fingerprint → depths
        self._sizes: Counter[str] = Counter()
        self._put_together(facts)
        sizes: dict[str, Any] = dict(self._sizes)
        self.head = msgspec.structs.replace(head, **sizes)

    # -- what changes

    def _put_together(self, facts: list[bytes]) -> None:
        before = self._take_out()
        for digits, group in groupby(facts, _digits_of):
            state = UrlState()
            last = before.pop(int(digits, 16), b"")
            if last:
                state.take(last)
            for fact in group:
                if fact != last:  # lines are often repeated
                    state.take(fact)
                    last = fact
            self._put(digits, state)

    def _take_out(self) -> dict[int, bytes]:
        """Find the touched URLs in the snapshot before, as facts; set the sizes to what is left there."""
        if self._previous is None:
            return {}
        old, sizes = self._previous.head, self._sizes
        sizes.update(text_bytes=old.text_bytes, waiting=old.waiting, failed=old.failed, told=old.told)
        found: dict[int, bytes] = {}
        for line in _touched_lines(self._previous.text(), self._touched):
            found[_fingerprint_of(line)] = line
            sizes["text_bytes"] -= len(line) + 1
            sizes[_COUNT_OF_KIND[chr(line[KIND_AT])]] -= 1
        for fingerprint, *depths in _touched_rows(self._told_before(), self._touched):
            found[fingerprint] = fact_of_entry(fingerprint, _known(depths), depths[1] if depths else 0)
            sizes["told"] -= 1
        return found

    def _put(self, digits: bytes, state: UrlState) -> None:
        kind = state.kind(deep=self._deep)
        known = NO_DEPTH if state.known is None else _clamped(state.known)
        if kind == TOLD:
            self._new_told[int(digits, 16)] = (known, _clamped(state.told or 0)) if self._deep else ()
            self._sizes["told"] += 1
        elif kind is not None:
            line = self._new_text[digits] = state.text(digits.decode(), deep=self._deep)
            self._sizes["text_bytes"] += len(line) + 1
            self._sizes[_COUNT_OF_KIND[kind]] += 1

    def _told_before(self) -> Iterator[Columns]:
        return self._previous.told_groups() if self._previous else iter(())

    # -- the file

    def chunks(self) -> Iterator[bytes]:
        """Give the file in chunks; RecordError if the snapshot before is not as its head says."""
        digest, size = hashlib.sha256(), 0
        for chunk in self._content():
            digest.update(chunk)
            size += len(chunk)
            yield chunk
        end = digest.hexdigest().encode() + b"\n"
        if size + len(end) != len(self.head.to_json()) + self.head.body_bytes:
            raise RecordError(f"{self.head.path}: the snapshot before it is damaged")
        yield end

    def _content(self) -> Iterator[bytes]:
        yield self.head.to_json()
        before = self._previous.text() if self._previous else iter(())
        yield from _merged_lines(before, self._touched, self._new_text)
        told = _merged_columns(self._told_before(), self._touched, self._new_told, self._columns)
        yield from map(column_bytes, _in_groups(told, self._columns))


def _clamped(depth: int) -> int:
    return min(depth, NO_DEPTH - 1)


def _known(depths: list[int]) -> int | None:
    return depths[0] if depths and depths[0] != NO_DEPTH else None


def _digits_of(fact: bytes) -> bytes:
    return fact[:DIGITS]


def _fingerprint_of(line: bytes) -> int:
    return int(line[:DIGITS], 16)


def _end_of(touched: array[int], last: int, first: int) -> int:
    """Give the index behind the touched fingerprints that are not above `last`."""
    return bisect_left(touched, last + 1, first)


# -- text


def _touched_lines(before: Iterator[list[bytes]], touched: array[int]) -> Iterator[bytes]:
    """Give the touched ones among sorted lines."""
    first = 0
    for lines in before:
        end = _end_of(touched, _fingerprint_of(lines[-1]), first)
        for fingerprint in touched[first:end]:
            digits = b"%016x" % fingerprint
            line = lines[bisect_left(lines, digits)]
            if line.startswith(digits):
                yield line
        first = end


def _merged_lines(before: Iterator[list[bytes]], touched: array[int], new: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """Give text: the sorted lines, without the touched ones, and the new ones in their places."""
    first = 0
    for lines in before:
        end = _end_of(touched, _fingerprint_of(lines[-1]), first)
        merged: list[bytes] = []
        at = 0
        for fingerprint in touched[first:end]:
            digits = b"%016x" % fingerprint
            place = bisect_left(lines, digits, at)
            merged += lines[at:place]
            at = place + lines[place].startswith(digits)
            if digits in new:
                merged.append(new[digits])
        merged += lines[at:]
        first = end
        yield b"".join(line + b"\n" for line in merged)
    for start in range(first, len(touched), GROUP):
        rest = (b"%016x" % fingerprint for fingerprint in touched[start : start + GROUP])
        yield b"".join(new[digits] + b"\n" for digits in rest if digits in new)


# -- sections


def _touched_rows(before: Iterator[Columns], touched: array[int]) -> Iterator[tuple[int, ...]]:
    """Give the touched ones among the rows of sorted columns."""
    first = 0
    for columns in before:
        fingerprints = columns[0]
        end = _end_of(touched, fingerprints[-1], first)
        for fingerprint in touched[first:end]:
            at = bisect_left(fingerprints, fingerprint)
            if fingerprints[at] == fingerprint:
                yield tuple(column[at] for column in columns)
        first = end


def _merged_columns(
    before: Iterator[Columns], touched: array[int], new: Mapping[int, tuple[int, ...]], kinds: str
) -> Iterator[Columns]:
    """Give the sorted rows, without the touched ones, and the new ones in their places."""
    first = 0
    for columns in before:
        fingerprints = columns[0]
        end = _end_of(touched, fingerprints[-1], first)
        merged = _empty(kinds)
        at = 0
        for fingerprint in touched[first:end]:
            place = bisect_left(fingerprints, fingerprint, at)
            _extend(merged, [column[at:place] for column in columns])
            at = place + (fingerprints[place] == fingerprint)
            if fingerprint in new:
                _append(merged, (fingerprint, *new[fingerprint]))
        _extend(merged, [column[at:] for column in columns])
        first = end
        yield tuple(merged)
    rest = (fingerprint for fingerprint in touched[first:] if fingerprint in new)
    yield from _columns_of(((fingerprint, *new[fingerprint]) for fingerprint in rest), kinds)


def _columns_of(rows: Iterable[tuple[int, ...]], kinds: str) -> Iterator[Columns]:
    """Give rows as columns of these kinds; the values of a row that have no column are left out."""
    columns = _empty(kinds)
    for row in rows:
        _append(columns, row)
        if len(columns[0]) == GROUP:
            yield tuple(columns)
            columns = _empty(kinds)
    if columns[0]:
        yield tuple(columns)


def _in_groups(section: Iterator[Columns], kinds: str) -> Iterator[Columns]:
    """Give the same rows in groups of the right size."""
    columns = _empty(kinds)
    for each in section:
        _extend(columns, each)
        while len(columns[0]) >= GROUP:
            yield tuple(column[:GROUP] for column in columns)
            columns = [column[GROUP:] for column in columns]
    if columns[0]:
        yield tuple(columns)


def _empty(kinds: str) -> list[array[int]]:
    return [array(kind) for kind in kinds]


def _extend(columns: list[array[int]], more: Iterable[array[int]]) -> None:
    for column, part in zip(columns, more, strict=True):
        column.extend(part)


def _append(columns: list[array[int]], row: tuple[int, ...]) -> None:
    for column, value in zip(columns, row, strict=False):
        column.append(value)
