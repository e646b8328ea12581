"""Reading logs: live, for the shards that are held; and in ranges, for whoever takes a shard (H1, K1, CUT)."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.lines import STALE, Line, Place, Promise
from tests.model.machine import Machine
from tests.model.share import Block, Log

Blocks = Iterator[tuple[Place, Block | None]]


class Cut(Exception):  # noqa: N818 (no error: what a reader finds)
    """A log holds less than somebody has read, or than the log itself says.

    found    what there is
    on       where reading goes on
    removed  segments are missing at the beginning of the log
    """

    def __init__(self, found: Place, on: Place, *, removed: bool = False) -> None:
        super().__init__(found)
        self.found, self.on, self.removed = found, on, removed


def is_torn(machine: Machine, log: Log, place: Place) -> bool:
    """Return whether a block does not count: its end is missing, or it does not stand where its writer believed."""
    block = log.segments[place[0]].blocks[place[1]]
    return not block.whole or (block.place != place and not machine.without("place_in_head"))


def walk(machine: Machine, log: Log, place: Place, seen_at: int) -> Blocks:
    """Give whole blocks from a place on, each with the place behind it. Raise Cut where the log breaks."""
    number, at = place
    if number < log.first():
        if number + 1 == log.first() < len(log.segments) and at >= log.segments[number + 1].counts:
            number, at = number + 1, 0
            yield (number, at), None  # the end of a segment that has a next one is the beginning of that
        else:
            raise Cut((log.first(), 0), (log.first(), 0), removed=True)
    if (number, at) > (0, 0) and (len(log.segments) <= number or log.blocks_of(number) < at):
        raise Cut(log.end(), log.end())
    while number < len(log.segments):
        blocks = log.segments[number].blocks
        while at < len(blocks) and blocks[at].at <= seen_at and not is_torn(machine, log, (number, at)):
            at += 1
            yield (number, at), blocks[at - 1]
        if at < len(blocks) and blocks[at].at > seen_at:
            return
        following = log.segments[number + 1] if number + 1 < len(log.segments) else None
        if following is not None and following.at > seen_at:
            return
        torn = at < len(blocks)
        if following is None and (not torn or (at + 1 == len(blocks) and not blocks[at].whole)):
            return  # the end; or half a block, of which the rest may come
        if following is None or (following.counts > at and not machine.without("first_line")):
            raise Cut((number, at), _behind(log, number, at))
        number, at = number + 1, 0
        yield (number, at), None


def _behind(log: Log, number: int, at: int) -> Place:
    """Give where reading goes on behind what is broken."""
    return (number, at + 1) if at < len(log.segments[number].blocks) else (number + 1, 0)


def read(machine: Machine, *, fresh: bool = False) -> bool:
    """H1: take in what logs have grown by."""
    if not machine.is_up() or machine.share is not machine.world.share:
        return False
    seen_at = machine.world.lag(fresh=fresh)
    for name, log in list(machine.share.logs.items()):
        if name == machine.name or (name not in machine.places and log.at > seen_at):
            continue
        try:
            for place, block in walk(machine, log, machine.places.setdefault(name, (log.first(), 0)), seen_at):
                machine.places[name] = place
                for own, line in block.lines if block else ():
                    _hear(machine, line, own=own)
            machine.suspects.pop(("live", name), None)
        except Cut as cut:
            if cut.removed:  # the snapshots of its shards are beyond them
                machine.places[name] = cut.on
                machine.arriving |= machine.held.keys()
            elif believes(machine, "live", cut.found, name):
                machine.places[name] = cut.on
    _look_at_promises(machine, seen_at)
    return True


def _hear(machine: Machine, line: Line, *, own: bool) -> None:
    if type(line) is Promise:  # it stands in the part for own shards, which only takers read
        return
    machine.needed.add(line.shard)
    fold = machine.active(line.shard)
    if fold is not None and not (own and machine.without("own_part_read")):
        fold.take(line)


def _look_at_promises(machine: Machine, seen_at: int) -> None:
    """PROMISE: what the writer of a mark had read must be there."""
    for name, place in machine.owed.items():
        log = machine.share.logs.get(name)
        end = log.end() if log else (0, 0)
        if machine.places.get(name, (0, 0)) >= place or end >= place:
            machine.suspects.pop(("owed", name), None)
        elif believes(machine, "owed", end, name):
            machine.owed[name] = (0, 0)


def believes(machine: Machine, who: object, found: Place, name: str) -> bool:
    """CUT: what is missing for longer than C is lost. Then all is told again, in a new generation."""
    if (name, found) in machine.believed:
        return True
    now, key = machine.world.now, (who, name)
    since = machine.suspects.setdefault(key, now)
    if now - since <= STALE and not machine.without("cut_waits"):
        return False
    del machine.suspects[key]
    machine.believed.add((name, found))
    machine.note(f"cut: {name} has {found}")
    if not machine.without("cut") and not any(each.cut == (name, found) for each in machine.share.generations):
        machine.advance(cut=(name, found))
    return True
