"""What logs say: terms, the three kinds of lines, promises, and places in logs.

A shard and a URL are small numbers: URL u belongs to shard u % SHARDS, and a shard is one host. Time is counted in
steps of the schedule, and no listing and no reading is older than STALE steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

SHARDS = 3
STALE = 10  # C of the protocol: how old a listing or a reading may be, in steps
FAR = 99  # a depth that is not known

Place = tuple[int, int]  # segment, blocks of it


def shard_of(url: int) -> int:
    return url % SHARDS


class Config(NamedTuple):
    """`crawl.toml` and `seeds.txt`. `limit`: pages of a host, in no term."""

    wide: bool
    max_depth: int | None
    limit: int | None
    seeds: tuple[int, ...]


class Term(NamedTuple):
    """The settings behind a told mark. `generation`: the mark of a generation, see `Share.advance`."""

    wide: bool
    max_depth: int | None
    generation: int

    def covers(self, other: Term) -> bool:
        """Return whether links filtered by this term are all that `other` asks for."""
        if self.generation != other.generation or self.wide < other.wide:
            return False
        if self.max_depth is None or other.max_depth is None:  # without a limit, shorter ways are not kept
            return self.max_depth is None and other.max_depth is None
        return self.max_depth >= other.max_depth


class Found(NamedTuple):
    """A `u` line. `again`: the time of the failure that a retry wants to be tried again."""

    shard: int
    url: int
    depth: int
    again: int | None = None


class Told(NamedTuple):
    """A `t` line. `spent`: the retries that are answered by it; `failed_at`: of the error record that it tells of."""

    shard: int
    url: int
    depth: int
    term: Term
    spent: tuple[int, ...] = ()
    failed_at: int | None = None


class Surveyed(NamedTuple):
    """An `s` line."""

    shard: int
    generation: int


class Promise(NamedTuple):
    """What the writer had read of all logs when it wrote the marks after this line. `number`: of its generation."""

    shard: int
    number: int
    places: dict[str, Place]


Line = Any  # Found | Told | Surveyed | Promise: mypy is not asked about a hot loop
