"""The snapshots of a generation, as one machine uses them: it reads the newest, makes new ones, and removes old ones.

What is in a snapshot is told in `snapshot_file`. A snapshot is only a cache of what the logs say: nobody must wait for
one, and all of them may be deleted at any time.

A new snapshot is made of the one before and the lines that have been written since then. Both are sorted by
fingerprint. The lines since then are put together in memory; the snapshot before is read and copied in chunks. So
memory grows with the number of new lines only, and most of the work is the copying of bytes.

Vocabulary:
  touched   fingerprints of which some new line speaks: their entries before are taken out, the new ones are put in
  section   the told URLs of a snapshot, as columns: fingerprints, and depths where they are kept

Promise: a snapshot that is torn or damaged is skipped, and the one before it is used, or the logs from their
beginnings. A snapshot is made only if the logs gave all that they should. The result is what all lines, in any
order, come to: those before the snapshot before, and those since then. Nothing appears under the name of the snapshot
unless it is whole.
"""

from __future__ import annotations

import hashlib
import time
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from fscrawl.errors import RecordError
from fscrawl.fleet.generations import UrlLogs
from fscrawl.fleet.lines import Found, Line, Surveyed
from fscrawl.fleet.log_reader import Damage, LogReader
from fscrawl.fleet.snapshot_file import (
    DIGITS,
    FAILED,
    GROUP,
    KIND_AT,
    NO_DEPTH,
    TOLD,
    WAITING,
    Columns,
    Snapshot,
    SnapshotHead,
    UrlState,
    column_bytes,
    fact_of_entry,
    fact_of_found,
    fact_of_told,
    list_snapshots,
    open_snapshot,
)
from fscrawl.storage.layout import snapshot_path
from fscrawl.store import TreeFiles

_LISTING_S = 1.0  # so long a listing is used again: many shards are taken at once
_TRIES = 2  # of reading a snapshot that is whole by its digest


class Snapshots:
    """One machine's view of all snapshots. Two threads may use it: one that reads, and one that makes and removes."""

    def __init__(
        self,
        files: TreeFiles,
        logs: UrlLogs,
        machine: str,
        *,
        deep: bool,
        warn: Callable[[str], None] = lambda text: None,  # noqa: ARG005
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`deep`: the link rules have a limit of depth. `warn`: is told of snapshots that are damaged."""
        self._files = files
        self._generation = logs.generation
        self._deep = deep
        self._warn = warn
        self._clock = clock
        self._reader = LogReader(logs, machine)  # its own: a thread must not disturb the live reading
        self._listed: dict[int, list[tuple[int, int]]] = {}
        self._listed_at = float("-inf")
        self._made: dict[int, tuple[int, int]] = {}  # shard → the last one made here, which a listing may not show yet
        self._heads: dict[int, _Last] = {}
        self._stopped = False
        self._failures: Counter[tuple[int, int, int]] = Counter()  # snapshots that could not be read to their end

    # -- reading

    def newest(self, shard: int) -> Snapshot | None:
        """Open a shard's newest snapshot that is whole, and check all of it; None if there is none."""
        for epoch, number in self._names(shard):
            try:
                snapshot = open_snapshot(self._files, self._generation, shard, epoch, number)
                snapshot.check()
            except RecordError as error:
                self._warn(f"{error}; an older snapshot or the logs are read instead")
            else:
                self._heads[shard] = _Last.of(snapshot.head)
                return snapshot
        return None

    def _names(self, shard: int) -> list[tuple[int, int]]:
        """Give the (epoch, number) of a shard's snapshots, the newest first."""
        if self._clock() - self._listed_at >= _LISTING_S:
            self._listed = list_snapshots(self._files, self._generation)
            self._listed_at = self._clock()
        names = set(self._listed.get(shard, ()))
        if shard in self._made:
            names.add(self._made[shard])
        return sorted((name for name in names if self._failures[shard, *name] < _TRIES), reverse=True)

    def could_not_read(self, head: SnapshotHead) -> None:
        """Take in that a snapshot was whole, and could not be read all the same.

        It may have been removed meanwhile. If that happens again, somebody has made it up, and it is passed over.
        """
        self._failures[head.shard, head.epoch, head.number] += 1

    def size_of(self, shard: int) -> int:
        """Give how many URLs are in the snapshot of a shard that was read or made last; 0 if there was none."""
        return self._heads.get(shard, _NO_LAST).urls

    def covered_bytes_of(self, shard: int) -> int:
        """Give how much all machines had said, in bytes, when that snapshot was made; 0 if there was none."""
        return self._heads.get(shard, _NO_LAST).covered_bytes

    # -- making

    @property
    def damaged(self) -> Mapping[str, Damage]:
        """By machine, the logs that are damaged: no snapshot is made of them."""
        return self._reader.missed

    def make(self, shard: int, epoch: int, ends: Mapping[str, int]) -> SnapshotHead | None:
        """Make a snapshot of all that logs say of a shard up to `ends`, and remove old ones; give its head.

        None if a log seems to be damaged, or `stop` was called.

        epoch   in which this machine holds the shard
        ends    by machine, how far this machine has read its log; of its own the flushed end
        """
        previous = self.newest(shard)
        numbers = [number for its_epoch, number in self._names(shard) if its_epoch == epoch]
        before = previous.head.at if previous else {}
        at = {machine: max(ends.get(machine, 0), before.get(machine, 0)) for machine in {*ends, *before}}
        try:
            head = write(
                self._files,
                previous,
                self._lines(shard, before, at),
                generation=self._generation,
                shard=shard,
                epoch=epoch,
                number=max(numbers, default=0) + 1,
                deep=self._deep,
                at={machine: place for machine, place in at.items() if place},
                go_on=self._go_on,
            )
        except (_DamageError, _StoppedError):
            return None
        except (RecordError, ValueError) as error:
            if previous is not None:
                self.could_not_read(previous.head)
            raise RecordError(f"no snapshot of shard {shard} was made: {error}") from error
        self._made[shard] = (epoch, head.number)
        self._remove_old(shard)
        self._heads[shard] = _Last.of(head)
        return head

    def stop(self) -> None:
        """Make no snapshot any more. One that another thread is making ends soon, and leaves nothing behind."""
        self._stopped = True

    def _go_on(self) -> None:
        if self._stopped:
            raise _StoppedError

    def _lines(self, shard: int, starts: Mapping[str, int], ends: Mapping[str, int]) -> Iterator[Line]:
        """Give the shard's lines in all logs from `starts` to `ends`."""
        for machine, end in ends.items():
            self._go_on()
            self._reader.missed.pop(machine, None)  # it may have been an old view, or in another part
            yield from self._reader.read_shards(machine, {shard}, starts.get(machine, 0), end)
            if machine in self._reader.missed:
                raise _DamageError

    def _remove_old(self, shard: int) -> None:
        """Remove the snapshots of a shard but the newest one, and the one before, which others may just be reading."""
        for old in self._names(shard)[2:]:
            self._files.remove(snapshot_path(self._generation, shard, *old))


class _Last(NamedTuple):
    """What is remembered of the snapshot of a shard that was read or made last. Its head may be large."""

    urls: int = 0
    covered_bytes: int = 0

    @classmethod
    def of(cls, head: SnapshotHead) -> _Last:
        return cls(head.urls, sum(head.at.values()))


_NO_LAST = _Last()


class _DamageError(Exception):
    """A log seems to be damaged."""


class _StoppedError(Exception):
    """The machine leaves."""


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
