"""Snapshots, and the removal of segments that every shard's snapshot is beyond."""

from __future__ import annotations

from tests.model.fold import Fold
from tests.model.lines import FAR, STALE, Found, Line, Place, Surveyed, Told
from tests.model.machine import Machine
from tests.model.reading import Cut, walk
from tests.model.share import Log, Snapshot


def write_snapshot(machine: Machine) -> bool:
    """Merge the snapshot before with the shard's lines of all logs, up to where this machine reads."""
    if not machine.may_change_leases() or not machine.held:
        return False
    world, share = machine.world, machine.share
    shard = world.rng.choice(sorted(machine.held))
    if share.newest_epoch(shard) != machine.held[shard]:
        return False
    before = next(share.readable(shard, world.lag()), None)
    if before is None and machine.held[shard] > 1 and any(log.first() for log in share.logs.values()):
        return False
    places = {name: place for name, place in machine.places.items() if name in share.logs}
    made = Snapshot(world.now, places, machine.term, machine.number, {}, {}, {}, set())
    try:
        _merge(machine, shard, before, made)
    except Cut:
        return False
    if machine.without("snapshot_where_read"):
        made.places = {name: log.end() for name, log in share.logs.items()}
    share.snapshots[shard].append(made)
    machine.note(f"snapshot of {shard} at {made.places}")
    return True


def _merge(machine: Machine, shard: int, before: Snapshot | None, made: Snapshot) -> None:
    """Fill a snapshot. It claims only what some mark that covers its own term says."""
    known = dict(before.known) if before else {}
    made.again = {url: set(times) for url, times in before.again.items()} if before else {}
    made.told = dict(before.told) if before else {}
    made.surveyed |= before.surveyed if before else set()
    lost: set[int] = set()
    if before and not before.term.covers(made.term):  # of what is told, it has no URLs, only fingerprints
        lost, made.told = set(made.told), {}
        known = {url: depth for url, depth in known.items() if url not in lost}
    lines = _lines(machine, shard, before, made)
    _add(made, known, lines, failures_count=machine.without("failure_is_no_page"))
    if machine.without("snapshot_keeps_retries"):
        made.again = {url: times for url, times in made.again.items() if url not in made.told}
    if machine.without("snapshot_keeps_aside"):
        fold = Fold(made.term, machine.world.web.is_inside, machine.world.without)
        known = {url: depth for url, depth in known.items() if fold.asks_for(url, depth)}
    if made.term.max_depth is None:  # of what is told, depths are not kept
        known = {url: FAR if url in made.told else depth for url, depth in known.items()}
    made.known = known
    if lost - made.told.keys() and not machine.without("snapshot_resurveys"):
        made.surveyed = set()


def _add(made: Snapshot, known: dict[int, int], lines: list[Line], *, failures_count: bool) -> None:
    """Add lines to what a snapshot says."""
    marks: dict[int, list[Told]] = {}
    for line in lines:
        if type(line) is Found:
            known[line.url] = min(line.depth, known.get(line.url, FAR))
            if line.again is not None:
                made.again.setdefault(line.url, set()).add(line.again)
        elif type(line) is Surveyed:
            made.surveyed.add(line.generation)
        elif type(line) is Told:
            marks.setdefault(line.url, []).append(line)
    for url, said in marks.items():
        spent = {failed_at for mark in said for failed_at in mark.spent}
        made.again[url] = made.again.get(url, set()) - spent
        is_page = any(mark.failed_at is None for mark in said) and not failures_count
        depths = [mark.depth for mark in said if mark.term.covers(made.term)]
        if is_page:  # a failure's mark vouches for no link
            depths = [mark.depth for mark in said if mark.term.covers(made.term) and mark.failed_at is None]
        if url in made.told and not (spent and not failures_count):
            depths.append(made.told[url])
        made.told.pop(url, None)
        if depths:
            made.told[url] = min(depths)
    made.again = {url: times for url, times in made.again.items() if times}


def _lines(machine: Machine, shard: int, before: Snapshot | None, made: Snapshot) -> list[Line]:
    found: list[Line] = []
    for name, until in list(made.places.items()):
        log = machine.share.logs[name]
        place: Place = before.places.get(name, (0, 0)) if before else (log.first(), 0)
        made.places[name] = min(max(place, until), log.end())
        found += _range(machine, shard, log, place, until)
    for name, place in before.places.items() if before else ():
        made.places.setdefault(name, place)
    if machine.without("snapshot_of_files"):
        found += [line for _, line in machine.buffer if line.shard == shard]
    return found


def _range(machine: Machine, shard: int, log: Log, place: Place, until: Place) -> list[Line]:
    """Read a range of a log, over what is known to be broken."""
    found: list[Line] = []
    while place < until:
        try:
            for behind, block in walk(machine, log, place, machine.world.now):
                if behind > until:
                    return found
                place = behind
                found += [line for _, line in block.lines if line.shard == shard] if block else []
            return found
        except Cut as cut:
            if not place < cut.on <= until or cut.removed:
                raise
            place = cut.on
    return found


def remove(machine: Machine) -> bool:
    """The holder of shard 0 removes old snapshots, and the segments that every shard's snapshot is beyond."""
    if not machine.may_change_leases() or 0 not in machine.held:
        return False
    share, now = machine.share, machine.world.now
    newest: dict[int, Snapshot] = {}
    for shard, snapshots in share.snapshots.items():
        old = now if machine.without("old_snapshot") else now - 2 * STALE
        ripe = [each for each in snapshots if each.at <= old and not each.torn and each.removed_at is None]
        if ripe:
            newest[shard] = ripe[-1]
            for each in ripe[:-1]:
                each.removed_at = now
    for name, log in share.logs.items():
        _remove_segments(machine, name, log, newest)
    return True


def _remove_segments(machine: Machine, name: str, log: Log, newest: dict[int, Snapshot]) -> None:
    places = [newest[shard].places.get(name, (0, 0)) if shard in newest else None for shard in machine.world.shards()]
    for number in range(log.first(), len(log.segments) - 1):
        segment = log.segments[number]
        named = {line.shard for block in segment.blocks for _, line in block.lines}
        asked = [place or (0, 0) for shard, place in enumerate(places) if place or shard in named]
        chosen = max if machine.without("every_snapshot") else min
        if (asked or named) and (not asked or chosen(asked) < (number + 1, 0)):
            return
        segment.removed_at = machine.world.now
        machine.note(f"removes {name}/{number}")
