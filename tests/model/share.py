"""The files below `.fscrawl`, as the server has them, and what may happen to them.

Everything has the time at which it was written, so that a reader can be shown what was there some steps ago, and a
backup of some steps ago can be put back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.model.lines import SHARDS, Line, Place, Term


@dataclass
class Block:
    """A block of a log. `place`: where its writer believes that it stands.

    Not `whole`: its end is missing. `lost`: the server has lost it, so that the log is shorter than it was.
    """

    place: Place
    lines: list[tuple[bool, Line]]  # in the part for its own shards, the line
    at: int
    whole: bool = True
    lost: bool = False


@dataclass
class Segment:
    """`counts`: how many blocks of the segment before count, says the first line."""

    counts: int
    at: int
    blocks: list[Block] = field(default_factory=list)
    removed_at: int | None = None


@dataclass
class Log:
    at: int
    segments: list[Segment] = field(default_factory=list)

    def size(self) -> Place:
        """Give the size of the last segment, as `fstat` does: half a block of a failed append counts, too."""
        return len(self.segments), self.blocks_of(-1) if self.segments else 0

    def blocks_of(self, number: int) -> int:
        blocks = self.segments[number].blocks
        return len(blocks) - (bool(blocks) and blocks[-1].lost)

    def append(self, block: Block) -> None:
        """Append a block. Behind half of a lost one it stands elsewhere than its writer believes."""
        blocks = self.segments[-1].blocks
        if blocks and blocks[-1].lost:
            blocks.pop()
        blocks.append(block)

    def first(self) -> int:
        """Give the first segment that was not removed."""
        for number, segment in enumerate(self.segments):
            if segment.removed_at is None:
                return number
        return len(self.segments)

    def end(self) -> Place:
        if not self.segments:
            return 0, 0
        blocks = self.segments[-1].blocks
        return len(self.segments) - 1, len(blocks) - (bool(blocks) and not blocks[-1].whole)


@dataclass
class Lease:
    """`beats`: how many beats of the giver have to be read for the rests of its hosts."""

    holder: str
    at: int
    giver: str = ""
    beats: int = 0


@dataclass
class Beat:
    at: int
    idle: bool = False
    places: dict[str, Place] = field(default_factory=dict)
    held: dict[int, int] = field(default_factory=dict)
    config: Any = None
    sent: Place = (0, 0)
    rests: dict[int, int] = field(default_factory=dict)
    bye: bool = False


@dataclass
class Generation:
    """`mark`: what terms and `s` lines name. `refresh`: pages that were fetched before are fetched again."""

    number: int
    mark: int
    at: int
    refresh: int = -1
    cut: tuple[str, Place] | None = None


@dataclass
class Snapshot:
    """`told`: least depth, for the one term of its head. `generation`: the number of the head's."""

    at: int
    places: dict[str, Place]
    term: Term
    generation: int
    known: dict[int, int]
    told: dict[int, int]
    again: dict[int, set[int]]
    surveyed: set[int]
    torn: bool = False
    removed_at: int | None = None


class Share:
    """One `.fscrawl`. Whoever deletes it makes another `Share`."""

    def __init__(self, machinery: int) -> None:
        self.machinery = machinery
        self.logs: dict[str, Log] = {}
        self.beats: dict[str, list[Beat]] = {}
        self.leases: dict[int, dict[int, Lease]] = {shard: {} for shard in range(SHARDS)}
        self.snapshots: dict[int, list[Snapshot]] = {shard: [] for shard in range(SHARDS)}
        self.generations: list[Generation] = []
        self.finished: list[tuple[int, dict[str, Place], Any]] = []  # when, and what that machine had read and believed
        self.is_format_2 = False  # format 1 refuses it
        self.old_again: list[tuple[int, int]] = []  # retries that stand in feeds of format 1

    def newest_epoch(self, shard: int) -> int:
        return max(self.leases[shard], default=0)

    def newest_generation(self) -> Generation | None:
        return self.generations[-1] if self.generations else None

    def readable(self, shard: int, seen_at: int) -> Iterator[Snapshot]:
        """Give the snapshots that a reader can use who sees what was there at a time, newest first."""
        for each in reversed(self.snapshots[shard]):
            if each.at <= seen_at and not each.torn and each.removed_at is None:
                yield each

    # -- what happens to files

    def lose_tail(self, name: str, blocks: int, *, torn: bool, now: int) -> None:
        """Lose the last blocks of a log, as after a power loss of a server that had not written them to its disk."""
        log = self.logs[name]
        for _ in range(blocks):
            while log.segments and not log.segments[-1].blocks and len(log.segments) - 1 > log.first():
                log.segments.pop()
            if not log.segments or not log.segments[-1].blocks or log.segments[-1].removed_at is not None:
                return
            lost = log.segments[-1].blocks.pop()
        if torn:
            log.segments[-1].blocks.append(Block(lost.place, [], now, whole=False, lost=True))

    def restore(self, times: dict[str, int], *, in_place: bool) -> None:
        """Put a backup back. `times`: for each file or folder, the time at which it was copied."""
        self.logs = {name: log for name, log in self.logs.items() if log.at <= times[name]}
        for name, log in self.logs.items():
            self.logs[name] = _log_at(log, times[name], in_place=in_place)
        for name, beats in list(self.beats.items()):
            kept = [beat for beat in beats if beat.at <= times[name]]
            if in_place:
                beats[:] = kept
            else:
                self.beats[name] = kept
        for leases in self.leases.values():
            for epoch in [epoch for epoch, lease in leases.items() if lease.at > times["leases"]]:
                del leases[epoch]
        for snapshots in self.snapshots.values():
            snapshots[:] = [each for each in snapshots if each.at <= times["snapshots"]]
            for each in snapshots:
                if each.removed_at is not None and each.removed_at > times["snapshots"]:
                    each.removed_at = None
        self.generations = [each for each in self.generations if each.at <= times["generations"]]
        self.finished = []


def _log_at(log: Log, time: int, *, in_place: bool) -> Log:
    if not in_place:
        log = Log(log.at, [Segment(each.counts, each.at, each.blocks[:], each.removed_at) for each in log.segments])
    log.segments[:] = [each for each in log.segments if each.at <= time]
    for segment in log.segments:
        segment.blocks[:] = [block for block in segment.blocks if block.at <= time]
        if segment.removed_at is not None and segment.removed_at > time:
            segment.removed_at = None
    return log
