"""Beats, and the end (rules E1 to E5)."""

from __future__ import annotations

from tests.model.lines import STALE, Place, shard_of
from tests.model.machine import Machine
from tests.model.share import Beat
from tests.model.working import wanted


def state(machine: Machine) -> Beat:
    """Give what a beat says."""
    now = machine.world.now
    rests = {shard: until - now for shard, until in machine.rests.items() if until > now}
    places = {name: place for name, place in machine.places.items() if place > (0, 0)}
    config = machine.term if machine.without("end_by_config") else (machine.term, machine.config)
    return Beat(now, is_idle(machine), places, dict(machine.held), config, sent_of(machine), rests)


def sent_of(machine: Machine) -> Place:
    return (machine.counted[0] - 1, machine.counted[1]) if machine.counted > (0, 0) else (0, 0)


def is_idle(machine: Machine) -> bool:
    """E1."""
    waits = machine.arriving or machine.releasing or machine.surveys or machine.fenced or machine.is_new
    suspects = machine.suspects and not machine.without("end_waits_for_cuts")
    owes = any(machine.places.get(name, (0, 0)) < place for name, place in machine.owed.items())
    return not (waits or suspects or owes or machine.in_flight or machine.results or machine.buffer or wanted(machine))


def beat(machine: Machine) -> bool:
    if not machine.is_up():
        return False
    if machine.is_gone():
        machine.rejoin()
        return True
    if machine.share is not machine.world.share:
        return False
    if not machine.permit:
        machine.fenced = machine.beaten_again = True
    machine.beats.append(state(machine))
    machine.beaten += 1
    return True


def end(machine: Machine) -> bool:
    """Leave if all is over."""
    world, share = machine.world, machine.world.share
    if not machine.may_change_leases() or not is_idle(machine):
        return False
    if not machine.without("end_looks_at_settings"):
        newest = share.newest_generation()
        if machine.config != world.config or newest is not machine.generation:
            return False
    now = state(machine)
    before = [
        (places, config)
        for at, places, config in share.finished
        if at >= machine.joined_at or machine.without("end_by_finished_while_here")
    ]
    if (now.places, now.config) not in before and not (_leases_are_held(machine) and _peers_agree(machine, now)):
        return False
    machine.done = True
    machine.note("leaves")
    share.finished.append((world.now, now.places, now.config))
    machine.beats.append(Beat(world.now, bye=True, rests=now.rests))
    machine.beaten += 1
    if machine.config == world.config or machine.without("end_looks_at_settings"):
        world.check_missing(machine.name)
    return True


def _leases_are_held(machine: Machine) -> bool:
    """E3: each needed shard's newest lease names this machine, which has put it together, or a live one."""
    share, world = machine.share, machine.world
    fresh = not machine.without("end_looks_at_leases")
    stored = {shard_of(url) for url in world.records.keys() | world.errors.keys()}
    for shard in machine.needed | stored | {shard_of(seed) for seed in machine.config.seeds}:
        epoch = share.newest_epoch(shard) if fresh else machine.seen[shard]
        if not epoch or epoch not in share.leases[shard]:
            return False
        holder = share.leases[shard][epoch].holder
        if (holder == machine.name) != (shard in machine.held) and not machine.without("end_adopts_first"):
            return False
        if holder != machine.name and (holder in machine.thinks_dead or _last_beats(machine, holder) is None):
            return False
    return True


def _last_beats(machine: Machine, name: str) -> list[Beat] | None:
    """Give the last two beats of a machine, as far as they are seen; None if it has left or has none."""
    seen_at = machine.world.lag()
    beats = [beat for beat in machine.share.beats.get(name, ()) if beat.at <= seen_at][-2:]
    return None if not beats or beats[-1].bye else beats


def _peers_agree(machine: Machine, now: Beat) -> bool:
    """E4: of every live machine, the last two beats are idle, equal, and as this machine sees the fleet."""
    share, world = machine.share, machine.world
    since = world.now - STALE
    holders = {leases[max(leases)].holder for leases in share.leases.values() if leases}
    for name, beats in share.beats.items():
        if name == machine.name or name in machine.thinks_dead or not beats or beats[-1].bye:
            continue
        if beats[0].at > since and name not in holders:  # it is new, and no listing shows it yet
            continue
        last = _last_beats(machine, name) or []
        if machine.without("two_beats"):
            last = last[-1:] * 2
        if len(last) < 2 or not all(_agrees(machine, name, each, now) for each in last):
            return False
    return True


def _agrees(machine: Machine, name: str, said: Beat, now: Beat) -> bool:
    if not said.idle or said.config != now.config:
        return False
    if not machine.without("end_by_places") and (
        said.places != now.places or said.sent != machine.places.get(name, (0, 0))
    ):
        return False
    leases = machine.share.leases
    held = {shard: max(each) for shard, each in leases.items() if each and each[max(each)].holder == name}
    return machine.without("end_looks_at_leases") or said.held == held
