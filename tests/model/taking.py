"""Taking a shard, and putting it together again after an edit or a generation: one path (rules K1 to K6)."""

from __future__ import annotations

from tests.model import sending
from tests.model.fold import Fold
from tests.model.lines import STALE, Found, Place, Promise, Surveyed, shard_of
from tests.model.machine import Machine, Result
from tests.model.reading import Blocks, Cut, believes, walk
from tests.model.share import Snapshot


def arrive(machine: Machine) -> bool:
    """Put one shard together: wait for what is in flight, flush, read the snapshot and the logs from there on."""
    if not machine.is_up() or machine.share is not machine.world.share:
        return False
    for shard in sorted(machine.arriving):
        if machine.is_busy_with(shard) and not machine.without("retake_waits"):
            continue
        if not _has_heard_of_rests(machine, shard):
            continue
        if machine.buffer and not machine.without("retake_flushes"):
            return sending.flush(machine)
        if _catch_up(machine, shard):
            machine.arriving.discard(shard)
            machine.suspects = {key: since for key, since in machine.suspects.items() if key[0] != shard}
            machine.note(f"has {shard}")
            return True
    return False


def _has_heard_of_rests(machine: Machine, shard: int) -> bool:
    """A host's rest goes with its shard: beats are read as far as the lease says."""
    seen_at = machine.world.lag()
    lease = machine.share.leases[shard].get(machine.held[shard])
    for name, beats in machine.share.beats.items():
        is_giver = lease is not None and name == lease.giver  # others' last beats are older than any cache
        shown = [beat for beat in beats if beat.at <= seen_at or not is_giver]
        late = is_giver and lease and len(shown) < lease.beats and machine.world.now <= lease.at + STALE
        if late and not machine.without("rests_by_lease"):
            return False
        rest = shown[-1].rests.get(shard, 0) if shown else 0
        if shard not in machine.taken_at:
            machine.rests[shard] = max(machine.rests.get(shard, 0), machine.world.now + rest)
    return True


def _catch_up(machine: Machine, shard: int) -> bool:
    """K1: the newest snapshot that can be read, and then all logs from there to where this machine reads."""
    world = machine.world
    fold = Fold(machine.term, world.web.is_inside, world.without)
    snapshot = next(machine.share.readable(shard, world.lag()), None)
    if snapshot:
        fold.load(snapshot)
    before = dict(machine.owed)
    for name in list(machine.share.logs):
        if not _read_range(machine, fold, shard, name, snapshot):
            machine.owed = before
            return False
    if snapshot and not _reaches(machine, shard, snapshot):
        return False
    for seed in machine.config.seeds:
        if shard_of(seed) == shard:
            fold.known[seed] = 0
    machine.folds[shard] = fold
    if snapshot:
        for name in snapshot.places.keys() & machine.share.logs.keys():
            place = min(snapshot.places[name], machine.share.logs[name].end())
            machine.in_snapshots[name] = max(place, machine.in_snapshots.get(name, (0, 0)))
    _take(machine, shard, fold)
    return True


def _take(machine: Machine, shard: int, fold: Fold) -> None:
    if shard not in machine.taken_at or not machine.without("retake_lists_again"):
        machine.listed.pop(shard, None)
    machine.taken_at[shard] = machine.world.now
    machine.surveys.pop(shard, None)
    if fold.needs_survey(machine.term.generation) and not machine.without("survey"):
        machine.surveys[shard] = None
    published = [r.first_at for u, r in machine.world.records.items() if shard_of(u) == shard]
    machine.world.accounts.over_limit[shard] += sum(machine.world.now - at <= 2 * STALE for at in published)


def _read_range(machine: Machine, fold: Fold, shard: int, name: str, snapshot: Snapshot | None) -> bool:
    """Read a log from the snapshot's place on. Return False while it may be cut and this is not sure yet."""
    log = machine.share.logs[name]
    until = machine.places.get(name, (log.first(), 0))
    place: Place = (0, 0)
    if snapshot:
        place = snapshot.places.get(name, (0, 0))
    elif machine.held[shard] == 1 or machine.without("gap"):  # never held before: what was removed says nothing of it
        place = (log.first(), 0)
    while place < until:
        try:
            _read_blocks(machine, fold, shard, walk(machine, log, place, machine.world.now), until)
        except Cut as cut:
            old = snapshot is not None and snapshot.generation < machine.number
            if not old and not believes(machine, shard, cut.found, name):
                return False
            if cut.on <= place:
                return True
            place = cut.on
        else:
            return True
    return True


def _read_blocks(machine: Machine, fold: Fold, shard: int, blocks: Blocks, until: Place) -> None:
    for behind, block in blocks:
        if behind > until:
            return
        for _, line in block.lines if block else ():
            if type(line) is Promise:
                _owe(machine, line)
            elif line.shard == shard:
                fold.take(line)


def _owe(machine: Machine, line: Promise) -> None:
    if line.number >= machine.number:
        for name, place in line.places.items():
            machine.owed[name] = max(place, machine.owed.get(name, (0, 0)))


def _reaches(machine: Machine, shard: int, snapshot: Snapshot) -> bool:
    """CUT: a log holds less than the snapshot has of it. In an older generation all is told again anyway."""
    for name, place in snapshot.places.items():
        log = machine.share.logs.get(name)
        end = log.end() if log else (0, 0)
        if end < place and snapshot.generation >= machine.number and not machine.without("cut_by_snapshot"):
            if not believes(machine, shard, end, name):
                return False
        else:
            machine.suspects.pop((shard, name), None)
    return True


def look_at_settings(machine: Machine, *, fresh: bool = False) -> bool:
    """Read `crawl.toml` and the generations. Another text or generation: every shard is put together anew."""
    world = machine.world
    if not machine.is_up() or machine.share is not world.share:
        return False
    seen_at = world.lag(fresh=fresh)
    config = next(config for at, config in reversed(world.configs) if at <= max(seen_at, machine.joined_at))
    newest = machine.share.newest_generation()
    if seen_at < machine.config_at or (config == machine.config and newest is machine.generation):
        return False
    machine.config_at = seen_at
    is_new = newest is not machine.generation
    machine.config, machine.generation = config, newest
    if newest:
        refreshes = [each.refresh for each in machine.share.generations]
        machine.refresh_before = newest.refresh if machine.without("all_refreshes") else max(refreshes)
    machine.note(f"knows {machine.term} {config}")
    if is_new:
        machine.sent, machine.in_snapshots, machine.owed, machine.suspects = {}, {}, {}, {}
    if not (machine.without("generation_retakes") if is_new else machine.without("edit_retakes")):
        for shard in machine.held:
            machine.retake(shard)
    return True


def survey(machine: Machine) -> bool:
    """K4: list what is stored of a shard, tell all of it that is not settled, and say so."""
    if not machine.may_go_on():
        return False
    for shard, todo in list(machine.surveys.items()):
        fold = machine.active(shard)
        if fold is None:
            continue
        if todo is None:
            if machine.world.now > machine.taken_at[shard] + STALE or machine.without("late_survey"):
                machine.surveys[shard] = sorted(machine.world.stored_by(shard, machine.world.lag()))
                return True
        elif todo:
            survey_one(machine, shard, fold, todo.pop())
            return True
        elif not any(shard_of(result.url) == shard for result in machine.results):
            del machine.surveys[shard]
            machine.note(f"has surveyed {shard}")
            sending.say(machine, Surveyed(shard, machine.term.generation))
            return True
    return False


def survey_one(machine: Machine, shard: int, fold: Fold, url: int) -> None:
    if fold.is_settled(url):
        return
    record, error = machine.world.records.get(url), machine.world.errors.get(url)
    if record:
        sending.say(machine, Found(shard, url, record.depth))
        if record.fetched_at >= machine.refresh_before:
            depth = fold.known.get(url, record.depth)
            again = fold.unspent(url)
            machine.results.append(Result(url, min(depth, record.depth), machine.term, record.links, again))
    elif error and error.failed_at not in fold.unspent(url):
        sending.say(machine, Found(shard, url, error.depth))
        depth = min(error.depth, fold.known.get(url, error.depth))
        machine.results.append(Result(url, depth, machine.term, (), fold.unspent(url), error.failed_at))
