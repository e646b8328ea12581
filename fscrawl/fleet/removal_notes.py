"""Removal notes: up to where segments of logs may be gone, and for which shards that is no answer.

A segment is removed if the snapshots of all shards are beyond it. A shard without a snapshot has no line in it. So who
reads of such a shard begins behind what was removed. The note says where that is, and names the shards that had a
snapshot then. If one of them has none any more, it is lost, and what was removed is missing. So it is if somebody else
removes a segment.

Promise: a note is true of all that the notes before it are true of, and a note is never changed. What it names is
removed only when no view of any machine can be without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fscrawl.storage.layout import SNAP, is_machine, removal_of, removal_path
from fscrawl.store import TreeFiles


class Note(NamedTuple):
    """What a note says.

    begins    machine → the segment of its log with which it begins; those before may be gone
    shards    that have lines in what was removed, for all that the note knows
    """

    begins: Mapping[str, int] = {}
    shards: frozenset[int] = frozenset()

    def begins_of(self, shard: int) -> Mapping[str, int]:
        """Give where logs begin for a shard without a snapshot. A log that is not in it begins with segment 0."""
        return {} if shard in self.shards else self.begins

    def to_json(self) -> bytes:
        return json.dumps({"logs": self.begins, "shards": sorted(self.shards)}).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> Note:
        """Read a note. ValueError if it is none."""
        try:
            facts = json.loads(data)
            begins, shards = dict(facts["logs"]), frozenset(facts["shards"])
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(error) from error
        if not all(map(is_machine, begins)) or not all(type(each) is int for each in (*begins.values(), *shards)):
            raise ValueError(data[:80])
        return cls(begins, shards)


NO_NOTE = Note()


class RemovalNotes:
    """One process's view of the notes of a tree."""

    def __init__(self, files: TreeFiles) -> None:
        self._files = files

    def numbers(self) -> list[int]:
        """List the notes, in order."""
        return numbers_in(self._files.names(SNAP))

    def read(self, number: int) -> Note | None:
        """Read a note; None if it is torn, or gone."""
        try:
            return Note.from_json(self._files.read_or_torn(removal_path(number)) or b"")
        except ValueError:
            return None

    def add(self, number: int, note: Note) -> bool:
        """Make a note; tell whether no other machine has just made one of this number."""
        return self._files.claim(removal_path(number), note.to_json(), fsync=True)

    def remove(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._files.remove(removal_path(number))


def numbers_in(names: Iterable[str]) -> list[int]:
    """Give the numbers of the notes among the names of files, in order."""
    return sorted(number for name in names if (number := removal_of(name)) is not None)
