"""Leases: who fetches. Looking, claiming, handing over, and coming back from behind the fence (A4 and A5 are given)."""

from __future__ import annotations

from tests.model.lines import shard_of
from tests.model.machine import Machine
from tests.model.share import Lease


def look(machine: Machine, *, fresh: bool = False) -> bool:
    """Look at leases by a listing that may be old. `fresh`: by listing and by name."""
    share, world = machine.world.share, machine.world
    if not machine.is_up() or machine.share is not share:
        return False
    seen_at = world.lag(fresh=fresh)
    for shard, leases in share.leases.items():
        newest = max((epoch for epoch, lease in leases.items() if lease.at <= seen_at), default=0)
        if newest <= machine.seen[shard]:
            continue
        machine.seen[shard], machine.holder[shard] = newest, leases[newest].holder
        if machine.holder[shard] != machine.name:
            if shard in machine.held:
                machine.drop(shard)
        elif newest + 1 not in leases:
            if shard in machine.held:  # it was away: a hand-over whose reply was lost, and then it came back
                if machine.without("came_back"):
                    continue
                machine.drop(shard)
            machine.hold(shard, newest)
            machine.note(f"adopts {shard} epoch {newest}")
    return True


def observe(machine: Machine) -> bool:
    """Take silent machines for dead: only those whose permit has surely run out."""
    if not machine.may_change_leases():
        return False
    share, old = machine.share, machine.world.old
    live = set()
    for other in machine.world.machines:
        if other is machine:
            continue
        if (not other.alive or not other.permit) and not other.beaten_again:
            machine.thinks_dead.add(other.name)
        if other.alive and not other.done and other.share is share:
            live.add(other.name)
    if old is not None and old.permit:
        live.add(old.name)
    machine.thinks_dead |= (set(machine.holder.values()) | share.beats.keys()) - live - {machine.name}
    return True


def _must_wait(machine: Machine) -> bool:
    """Return whether permits of another `.fscrawl` may still hold: it is new over pages, or was put back."""
    others = [other for other in machine.world.machines if other is not machine]
    stale = [other for other in others if other.alive and other.permit and not other.done and other.is_stale()]
    if not stale:
        return False
    return not machine.without("grace")


def claim(machine: Machine) -> bool:
    """Claim a shard whose holder is dead, or that nobody has."""
    if not machine.may_change_leases() or _must_wait(machine):
        return False
    world = machine.world
    for shard in world.rng.sample(list(world.shards()), len(world.shards())):
        holder = machine.holder.get(shard, "")
        free = not machine.seen[shard] or holder in machine.thinks_dead
        if shard in machine.held or not free or holder == machine.name:
            continue
        epoch = machine.seen[shard] + 1
        if epoch in machine.share.leases[shard] or epoch < machine.share.newest_epoch(shard):
            return False  # link() says that it is there, or the next name does
        machine.share.leases[shard][epoch] = Lease(machine.name, world.now)
        machine.note(f"claims {shard} epoch {epoch}")
        if machine.append_fault == "link":  # the reply is lost: the next look shows who won
            machine.append_fault = ""
            return True
        machine.seen[shard], machine.holder[shard] = epoch, machine.name
        machine.hold(shard, epoch)
        return True
    return False


def hand_over(machine: Machine) -> bool:
    """Stop handing out, wait for what is in flight, tell of rests, and claim the next epoch in another's name."""
    world = machine.world
    if not machine.may_change_leases() or not machine.held:
        return False
    if not machine.releasing:
        others = [other for other in world.machines if other is not machine and other.may_change_leases()]
        ready = sorted(machine.held.keys() - machine.arriving - machine.surveys.keys())
        if not others or not ready:
            return False
        machine.releasing[world.rng.choice(ready)] = world.rng.choice(others).name
        return True
    shard, to = next(iter(machine.releasing.items()))
    if shard in machine.arriving or shard in machine.surveys:
        return False
    if machine.is_busy_with(shard) and not machine.without("hand_over_waits"):
        return False
    rests = machine.rests.get(shard, 0) > world.now and not machine.without("rests_beaten")
    if rests and (not machine.beats or shard not in machine.beats[-1].rests):
        return False
    _pass_on(machine, shard, to)
    return True


def _pass_on(machine: Machine, shard: int, to: str) -> None:
    leases = machine.share.leases[shard]
    epoch = machine.held[shard] + 1
    if machine.share.newest_epoch(shard) >= epoch:
        machine.drop(shard)
        return
    leases[epoch] = Lease(to, machine.world.now, machine.name, len(machine.beats))
    machine.note(f"hands {shard} to {to} epoch {epoch}")
    if machine.append_fault == "link":  # the reply is lost: it hands out nothing until it knows
        machine.append_fault = ""
        if machine.without("unclear_hand_over_stops"):
            del machine.releasing[shard]
        return
    machine.seen[shard], machine.holder[shard] = epoch, to
    moving = {url: task for url, task in machine.in_flight.items() if shard_of(url) == shard}
    for url in moving:
        del machine.in_flight[url]
    machine.drop(shard)
    machine.in_flight.update(moving)


def _holds_what_it_held(machine: Machine) -> bool:
    """Return whether its leases are there and name it: a backup may have been put back."""
    leases = machine.share.leases
    return all(
        epoch in leases[shard] and leases[shard][epoch].holder == machine.name for shard, epoch in machine.held.items()
    )


def come_back(machine: Machine) -> bool:
    """After a fence and one more beat: leases by listing and by name, and then it goes on with what it holds."""
    if not (machine.is_up() and machine.fenced and machine.beaten_again and machine.share is machine.world.share):
        return False
    if not machine.without("one_more_beat"):  # who rested on older looks has acted, or must look again
        for other in machine.world.machines:
            other.thinks_dead.discard(machine.name)
    look(machine, fresh=not machine.without("look_after_fence"))
    if not machine.without("held_leases_are_there") and not _holds_what_it_held(machine):
        machine.rejoin()
        return True
    machine.fenced, machine.beaten_again, machine.permit = False, False, True
    machine.note("comes back")
    return True
