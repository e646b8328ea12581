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
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

from msgspec.structs import replace

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
C = TypeVar("C")
K = TypeVar("K", bytes, int)
_Cut = tuple[int, int, bool]  # a touched fingerprint: where in a chunk it is or would be, and whether it is there
_COUNT_OF_KIND = {WAITING: "waiting", FAILED: "failed"}


class Snapshots:
    """One machine's view of all snapshots. Two threads may use it: one that reads, and one that makes and removes."""

    def __init__(
        self,
        files: TreeFiles,
        logs: UrlLogs,
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
        self._reader = LogReader(logs)  # its own: a thread must not disturb the live reading
        self._listed: dict[int, list[tuple[int, int]]] = {}
        self._listed_at = float("-inf")
        self._made: dict[int, tuple[int, int]] = {}  # shard → the last one made here, which a listing may not show yet
        self._last: dict[int, tuple[int, int]] = {}  # shard → `size_of` and `covered_bytes_of`: a head may be large
        self._stopped = False
        self._unreadable: set[tuple[int, int, int]] = set()  # snapshots that could not be read to their end

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
                self._remember(snapshot.head)
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
        return sorted((name for name in names if (shard, *name) not in self._unreadable), reverse=True)

    def could_not_read(self, head: SnapshotHead) -> None:
        """Pass over a snapshot that was whole, and was removed meanwhile; or somebody has made it up."""
        self._unreadable.add((head.shard, head.epoch, head.number))

    def _remember(self, head: SnapshotHead) -> None:
        self._last[head.shard] = head.urls, sum(head.at.values())

    def size_of(self, shard: int) -> int:
        """Give how many URLs are in the snapshot of a shard that was read or made last; 0 if there was none."""
        return self._last.get(shard, (0, 0))[0]

    def covered_bytes_of(self, shard: int) -> int:
        """Give how much all machines had said, in bytes, when that snapshot was made; 0 if there was none."""
        return self._last.get(shard, (0, 0))[1]

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
        places = {machine: place for machine, place in at.items() if place}
        head = SnapshotHead(self._generation, shard, epoch, max(numbers, default=0) + 1, self._deep, at=places)
        try:
            head = write(self._files, previous, self._lines(shard, before, at), head, self._go_on)
        except _GaveUpError:
            return None
        except (RecordError, ValueError) as error:
            if previous is not None:
                self.could_not_read(previous.head)
            raise RecordError(f"no snapshot of shard {shard} was made: {error}") from error
        self._made[shard] = (epoch, head.number)
        self._remove_old(shard)
        self._remember(head)
        return head

    def stop(self) -> None:
        """Make no snapshot any more. One that another thread is making ends soon, and leaves nothing behind."""
        self._stopped = True

    def _go_on(self) -> None:
        if self._stopped:
            raise _GaveUpError

    def _lines(self, shard: int, starts: Mapping[str, int], ends: Mapping[str, int]) -> Iterator[Line]:
        """Give the shard's lines in all logs from `starts` to `ends`."""
        for machine, end in ends.items():
            self._go_on()
            self._reader.missed.pop(machine, None)  # it may have been an old view, or in another part
            yield from self._reader.read_shards(machine, {shard}, starts.get(machine, 0), end)
            if machine in self._reader.missed:
                raise _GaveUpError

    def _remove_old(self, shard: int) -> None:
        """Remove the snapshots of a shard but the newest one, and the one before, which others may just be reading."""
        for old in self._names(shard)[2:]:
            self._files.remove(snapshot_path(self._generation, shard, *old))


class _GaveUpError(Exception):
    """A log seems to be damaged, or the machine leaves."""


def write(
    files: TreeFiles,
    previous: Snapshot | None,
    lines: Iterable[Line],
    head: SnapshotHead,
    go_on: Callable[[], None] = lambda: None,
) -> SnapshotHead:
    """Write a snapshot; return its head.

    previous   the shard's snapshot before; None: there is none, and `lines` are all lines of the shard
    lines      the shard's lines in all logs from `previous.head.at` to `head.at`, in any order. They take some 200
               bytes of memory each
    head       what is known of it before: none of its places may lie behind what was flushed
    go_on      called before each chunk is written; what it raises ends the work, and leaves nothing behind

    RecordError: the one before is damaged; the caller takes an older one. TreeError: it could not be written.
    """
    facts: list[bytes] = []
    surveyed = previous is not None and previous.head.surveyed
    for line in lines:
        if isinstance(line, Surveyed):
            surveyed = True
        elif isinstance(line, Found):
            facts.append(fact_of_found(line))
        else:
            facts.append(fact_of_told(line))
    facts.sort()
    head = replace(head, surveyed=surveyed)
    try:
        merge = _Merge(previous, facts, head)
        files.publish_chunks(head.path, lambda: merge.chunks(go_on))
    except (ValueError, LookupError, OverflowError) as error:
        raise RecordError(f"{head.path}: the snapshot before it is damaged: {error}") from error
    return merge.head


class _Merge:
    """The merge of one snapshot and the facts since then.

    head   of the new snapshot
    """

    def __init__(self, previous: Snapshot | None, facts: list[bytes], head: SnapshotHead) -> None:
        self._previous = previous
        self._columns = head.columns
        self._deep = head.deep
        self._touched: array[int] = array("Q", (int(digits, 16) for digits, _ in groupby(facts, _digits_of)))
        self._new_text: dict[int, bytes] = {}  # fingerprint → line
        self._new_told: dict[int, tuple[int, ...]] = {}  # fingerprint → depths
        self._sizes: Counter[str] = Counter()
        self._put_together(facts)
        self.head = replace(head, **self._sizes)

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
            self._put(int(digits, 16), state)

    def _take_out(self) -> dict[int, bytes]:
        """Find the touched URLs in the snapshot before, as facts; set the sizes to what is left there."""
        if self._previous is None:
            return {}
        old, sizes = self._previous.head, self._sizes
        sizes.update(text_bytes=old.text_bytes, waiting=old.waiting, failed=old.failed, told=old.told)
        found: dict[int, bytes] = {}
        for lines, cuts in self._text_before():
            for fingerprint, place, is_there in cuts:
                if is_there:
                    line = found[fingerprint] = lines[place]
                    sizes["text_bytes"] -= len(line) + 1
                    sizes[_COUNT_OF_KIND[chr(line[KIND_AT])]] -= 1
        for columns, cuts in self._told_before():
            for fingerprint, place, is_there in cuts:
                if is_there:
                    known, told = (columns[1][place], columns[2][place]) if len(columns) > 1 else (NO_DEPTH, 0)
                    found[fingerprint] = fact_of_entry(fingerprint, None if known == NO_DEPTH else known, told)
                    sizes["told"] -= 1
        return found

    def _put(self, fingerprint: int, state: UrlState) -> None:
        kind = state.kind(deep=self._deep)
        known = NO_DEPTH if state.known is None else _clamped(state.known)
        if kind == TOLD:
            self._new_told[fingerprint] = (known, _clamped(state.told or 0)) if self._deep else ()
            self._sizes["told"] += 1
        elif kind is not None:
            line = self._new_text[fingerprint] = state.text(f"{fingerprint:016x}", deep=self._deep)
            self._sizes["text_bytes"] += len(line) + 1
            self._sizes[_COUNT_OF_KIND[kind]] += 1

    def _text_before(self) -> Iterator[tuple[list[bytes], list[_Cut]]]:
        before = self._previous.text() if self._previous else ()
        return _cut(before, self._touched, lambda lines: [_digits_of(line) for line in lines], b"%016x".__mod__, [])

    def _told_before(self) -> Iterator[tuple[Columns, list[_Cut]]]:
        before = self._previous.told() if self._previous else ()
        return _cut(before, self._touched, itemgetter(0), int, _empty(self._columns))

    # -- the file

    def chunks(self, go_on: Callable[[], None]) -> Iterator[bytes]:
        """Give the file in chunks; RecordError if the snapshot before is not as its head says."""
        digest, size = hashlib.sha256(), 0
        for chunk in self._content():
            go_on()
            digest.update(chunk)
            size += len(chunk)
            yield chunk
        end = digest.hexdigest().encode() + b"\n"
        if size + len(end) != len(self.head.to_json()) + self.head.body_bytes:
            raise RecordError(f"{self.head.path}: the snapshot before it is damaged")
        yield end

    def _content(self) -> Iterator[bytes]:
        yield self.head.to_json()
        for lines, cuts in self._text_before():
            merged, at = [], 0
            for fingerprint, place, is_there in cuts:
                merged += lines[at:place]
                at = place + is_there
                if fingerprint in self._new_text:
                    merged.append(self._new_text[fingerprint])
            yield b"".join(line + b"\n" for line in (*merged, *lines[at:]))
        yield from map(column_bytes, self._merged_groups())

    def _merged_groups(self) -> Iterator[Columns]:
        """Give the rows of those that are told, without the touched ones, and the new ones in their places."""
        merged = _empty(self._columns)
        for columns, cuts in self._told_before():
            at = 0
            for fingerprint, place, is_there in cuts:
                _extend(merged, [column[at:place] for column in columns])
                at = place + is_there
                if fingerprint in self._new_told:
                    _extend(merged, [[value] for value in (fingerprint, *self._new_told[fingerprint])])
            _extend(merged, [column[at:] for column in columns])
            while len(merged[0]) >= GROUP:
                yield tuple(column[:GROUP] for column in merged)
                merged = tuple(column[GROUP:] for column in merged)
        if merged[0]:
            yield merged


def _cut(
    before: Iterable[C], touched: array[int], keys_of: Callable[[C], Sequence[K]], key_of: Callable[[int], K], empty: C
) -> Iterator[tuple[C, list[_Cut]]]:
    """Give sorted chunks, each with the places of the touched ones that are not above its last key.

    Behind them, those that are above all come with empty chunks.
    """
    first = 0
    for chunk in before:
        keys, cuts, place = keys_of(chunk), [], 0
        end = bisect_right(touched, keys[-1], first, key=key_of)
        for fingerprint in touched[first:end]:
            key = key_of(fingerprint)
            place = bisect_left(keys, key, place)
            cuts.append((fingerprint, place, keys[place] == key))
        first = end
        yield chunk, cuts
    for start in range(first, len(touched), GROUP):
        yield empty, [(fingerprint, 0, False) for fingerprint in touched[start : start + GROUP]]


def _clamped(depth: int) -> int:
    return min(depth, NO_DEPTH - 1)


def _digits_of(fact: bytes) -> bytes:
    return fact[:DIGITS]


def _empty(kinds: str) -> Columns:
    return tuple(array(kind) for kind in kinds)


def _extend(columns: Columns, more: Iterable[Iterable[int]]) -> None:
    for column, part in zip(columns, more, strict=True):
        column.extend(part)
