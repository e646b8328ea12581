"""The adversary: crashes, pauses, cuts, edits, restored backups, deletions, lost replies, and composites of these."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.model import ending, joining, keeping, leases, reading, sending, taking, working
from tests.model.lines import STALE, Found, shard_of
from tests.model.machine import Machine
from tests.model.share import Beat, Block, Log, Segment, Share
from tests.model.world import World


def _live(world: World) -> list[Machine]:
    return [machine for machine in world.machines if machine.alive and not machine.done]


def _some(world: World) -> Machine | None:
    live = _live(world)
    return world.rng.choice(live) if live else None


def _crash(machine: Machine) -> None:
    """End a machine, perhaps in the middle of a flush: the block is there, whole or torn, and nobody has counted it."""
    world = machine.world
    machine.note("crashes")
    if machine.buffer and machine.log.segments and world.rng.random() < 0.5:
        number, blocks = machine.counted
        lines, whole = machine.buffer, world.rng.random() < 0.5
        machine.log.append(Block((number - 1, blocks), lines if whole else [], world.now, whole))
    machine.excuse()
    machine.alive = machine.permit = False
    world.accounts.path_lost = True


def crash(world: World) -> None:
    if machine := _some(world):
        _crash(machine)


def power_loss(world: World) -> None:
    """All machines crash, and the server has not written the ends of some logs and the newest snapshots."""
    for machine in _live(world):
        _crash(machine)
    for name in sorted(world.share.logs):
        if world.rng.random() < 0.5:
            _cut(world, name)
    tear(world)


def pause(world: World) -> None:
    if machine := _some(world):
        machine.paused = True
        machine.note("stands still")


def expire(world: World) -> None:
    """Let permits run out of machines that stand still, or that beat into a deleted `.fscrawl`."""
    for machine in _live(world):
        if (machine.paused or machine.share is not world.share) and machine.permit and world.rng.random() < 0.6:
            _expire(machine)


def _expire(machine: Machine) -> None:
    machine.permit = machine.beaten_again = False
    machine.excuse()
    machine.world.accounts.path_lost = True
    machine.note("its permit is over")


def resume(world: World) -> None:
    for machine in _live(world):
        if machine.paused:
            machine.paused = False
            machine.note("goes on")
            if not machine.permit:
                machine.fenced = True
                machine.late, machine.in_flight = list(machine.in_flight.values()), {}
                machine.given_back |= {task.url for task in machine.late}


def late_publish(world: World) -> None:
    """A worker stood still between its look at the permit and the rename."""
    for machine in _live(world):
        for task in machine.late:
            failed_at = working.store(world, task, machine.rests, machine.name)
            machine.world.accounts.rest_until[shard_of(task.url)] = 0
            machine.world.accounts.excused[task.url] += failed_at is not None
            machine.world.accounts.over_limit[shard_of(task.url)] += 1
            if not machine.without("late_is_told"):  # it may have replaced a page of other links
                working.answer(machine, task, failed_at)
        machine.late = []


def takeover(world: World) -> None:
    """A machine stands still, is taken for dead, and wakes up."""
    live = _live(world)
    if len(live) < 2:
        return
    machine, other = world.rng.sample(live, 2)
    for _ in range(world.rng.randint(0, 5)):
        world.rng.choice((working.look_up, working.publish, working.publish, sending.tell))(machine)
    _take_from(machine, other, world.rng.randint(0, 3))
    resume(world)
    if world.rng.random() < 0.5:
        for act in (ending.beat, leases.come_back, working.look_up, working.look_up):
            act(machine)


def _take_from(machine: Machine, other: Machine, claims: int) -> None:
    machine.paused = True
    _expire(machine)
    leases.look(other, fresh=True)
    leases.observe(other)
    for _ in range(claims):
        leases.claim(other)
        taking.arrive(other)


def heir(world: World) -> None:
    """One machine reads the log of another and takes its shards; then the server loses the end of that log."""
    live, rng = _live(world), world.rng
    if len(live) < 2:
        return
    machine, other = rng.sample(live, 2)
    for act in (working.look_up, working.publish, sending.tell, sending.flush) * rng.randint(1, 2):
        act(machine)
    reading.read(other, fresh=True)
    _take_from(machine, other, rng.randint(1, 3))
    if rng.random() < 0.3:
        for _ in range(3):
            keeping.write_snapshot(other)
    resume(world)
    sending.tell(machine)
    _cut(world, machine.name)
    if rng.random() < 0.6:
        _crash(machine)
    if rng.random() < 0.3:
        _crash(other)


def race(world: World) -> None:
    """One machine learns of an edit before the others, and tells what it finds."""
    edit(world)
    if machine := _some(world):
        taking.look_at_settings(machine, fresh=True)
        for _ in range(world.rng.randint(1, 6)):
            for act in (taking.arrive, working.look_up, working.publish, sending.tell, sending.flush):
                act(machine)
    for other in _live(world):
        reading.read(other, fresh=True)


def cut(world: World) -> None:
    """The server has lost the end of a log."""
    if world.share.logs:
        _cut(world, world.rng.choice(sorted(world.share.logs)))


def _cut(world: World, name: str) -> None:
    if name not in world.share.logs:
        return
    world.accounts.path_lost = True
    world.accounts.retried.clear()  # the line of a retry stands nowhere else
    log = world.share.logs[name]
    if len(log.segments) - log.first() > 1 and world.rng.random() < 0.3:  # the segment before the last one
        log.segments[-2].blocks[-1:] = []
        world.note(f"{name} loses a block of its segment {len(log.segments) - 2}")
        return
    blocks, torn = world.rng.randint(1, 2), world.rng.random() < 0.3
    world.note(f"{name} loses {blocks} blocks {torn=}")
    world.share.lose_tail(name, blocks, torn=torn, now=world.now)


def tear(world: World) -> None:
    """The newest snapshot of a shard is torn or missing."""
    shard = world.rng.choice(list(world.shards()))
    for snapshot in world.share.snapshots[shard][-1:]:
        snapshot.torn = True
        world.note(f"the snapshot of {shard} at {snapshot.places} is torn")


def edit(world: World) -> None:
    config, rng = world.config, world.rng
    what = rng.random()
    if what < 0.4:
        config = config._replace(wide=not config.wide)
    elif what < 0.8:
        config = config._replace(max_depth=rng.choice([1, 2, 3, None]))
    elif what < 0.9 and config.limit is not None:
        config = config._replace(limit=rng.choice([1, 2, 3, None]))
    else:
        config = config._replace(seeds=tuple({*config.seeds, rng.choice(sorted(world.web.links))}))
    world.edit(config)


def join(world: World, *, refresh: int = -1) -> None:
    stale = any(machine.is_stale() and machine.permit for machine in _live(world))
    if len(_live(world)) < 3 and not stale:  # nobody starts a machine beside permits of a restored backup
        world.machines.append(Machine(world, refresh=refresh))


def refresh(world: World) -> None:
    """A person starts a machine that fetches again what is older than now."""
    join(world, refresh=world.now)


def retry(world: World) -> None:
    """A person has failures tried again: a log of its own."""
    asked = {url: error.failed_at for url, error in world.errors.items() if world.rng.random() < 0.7}
    if not asked:
        return
    world.names += 1
    name = f"retry{world.names}"
    lines = [(False, Found(shard_of(url), url, world.errors[url].depth, failed_at)) for url, failed_at in asked.items()]
    block = Block((0, 0), list(lines), world.now)
    world.share.logs[name] = Log(world.now, [Segment(0, world.now, [block])])
    world.share.beats[name] = [Beat(world.now, bye=True)]
    world.accounts.retry(asked.items())
    world.note(f"{name} of {asked}")


def delete(world: World) -> None:
    """A person deletes `.fscrawl`, and a machine makes another."""
    if world.rng.random() < 0.15:
        delete_now(world)


def delete_now(world: World) -> None:
    for machine in _live(world):
        machine.excuse()
    world.accounts.retried.clear()
    world.accounts.rest_until.clear()
    world.share = Share(world.share.machinery + 1)
    world.note("deleted")


def late_edit(world: World) -> None:
    """All machines have done all they can, and would leave; then there is an edit."""
    rounds = [joining.start, taking.look_at_settings, leases.look, leases.claim, reading.read, taking.arrive]
    rounds += [taking.survey, working.look_up, working.publish, sending.tell, sending.flush, ending.beat]
    for _ in range(20):
        for machine in _live(world):
            for act in rounds:
                world.now += 1
                act(machine)
    edit(world)
    for machine in _live(world):
        ending.end(machine)


def restore(world: World) -> None:
    """A person puts a backup of `.fscrawl` back under running machines. Its files were copied one after the other."""
    live = [machine for machine in _live(world) if machine.share is world.share and not machine.is_stale()]
    if not live or len(live) < len(_live(world)):
        return
    began = world.now - world.rng.randint(2, 6 * STALE)
    names = [*world.share.logs, "leases", "snapshots", "generations"]
    times = {name: began - world.rng.randint(0, STALE) for name in names}
    world.note(f"restored as of {times}")
    for machine in live:
        if machine.paused:
            _expire(machine)
        ending.beat(machine)  # the backup is older than the last beat of whoever has a permit
        machine.excuse()
    world.accounts.restored = world.accounts.path_lost = True
    world.accounts.retried.clear()
    world.accounts.rest_until.clear()
    world.share.restore(times, in_place=world.rng.random() < 0.3)


def old_stops(world: World) -> None:
    """The machine of format 1 leaves, is killed, or stands still until its permit is over and then goes on."""
    old = world.old
    if old and old.alive:
        what = world.rng.random()
        if what < 0.2:
            old.stop()
        elif what < 0.6:
            old.expire()
        else:
            old.paused = False


def old_retry(world: World) -> None:
    """A person has failures tried again, by format 1."""
    if world.old and world.old.share is world.share and not world.share.is_format_2:
        asked = [(url, error.failed_at) for url, error in world.errors.items()]
        world.share.old_again += asked
        world.accounts.retry(asked)


def old_works(world: World) -> None:
    if world.old:
        world.old.work()


def append_fault(world: World) -> None:
    """The next call of a machine fails, or seems to: it may have been made."""
    if machine := _some(world):
        machine.append_fault = world.rng.choice(["whole", "torn", "nothing", "record", "link"])
        machine.note(f"its next call fails: {machine.append_fault}")


def tidy(world: World) -> None:
    """Snapshots are written, and what they are beyond is removed."""
    for machine in _live(world):
        for _ in range(8):
            if not sending.flush(machine):
                keeping.write_snapshot(machine)
    world.now += 2 * STALE
    for machine in _live(world):
        keeping.remove(machine)


def snapshots(world: World) -> None:
    """Snapshots are written while something is not flushed."""
    for machine in _live(world):
        for act in (working.look_up, working.publish, sending.tell, *[keeping.write_snapshot] * 4):
            act(machine)


def host_rests(world: World) -> None:
    world.web.rests = True


def page_fails(world: World) -> None:
    world.web.failures[world.rng.choice(sorted(world.web.links))] = world.rng.randint(1, 2)


Fault = Callable[[World], None]
OLD: list[Fault] = [*[old_works] * 8, old_stops, old_retry]
FAULTS: list[Fault] = [
    crash, pause, expire, resume, resume, cut, edit, join, delete, late_publish, append_fault, append_fault, retry,
    refresh, tear, tidy, restore, power_loss,
]  # fmt: skip
FOCUS: list[list[Fault]] = [
    [takeover], [takeover, race], [race], [race, crash, join], [tidy, crash, join], [tidy, cut, crash, join, race],
    [edit], [edit, crash, join], [pause, expire, expire, resume], [crash, join], [cut, crash, join],
    [delete, delete, join], [tidy, crash, join, tear], [tidy, cut, crash, join, edit], [cut], [power_loss, join, join],
    [pause, expire, resume, late_publish], [retry, crash, join], [retry, takeover, late_publish, tidy], [refresh, join],
    [refresh, cut, join, crash], [append_fault], [append_fault, crash, join], [restore, join], [restore, cut, join],
    [heir, join], [heir, edit, join],
    [restore, tidy, join, edit], [refresh, retry, tidy, takeover], [tidy, edit, join, crash], [cut, tear, tidy, join],
]  # fmt: skip


def plan(rng: random.Random, *, old: bool) -> tuple[list[Fault], float]:
    """Choose which faults a schedule has, and how often: often a few kinds. `old`: a machine of format 1 is there."""
    if old:
        return [*OLD, *rng.choice([[], [crash, join], [pause, expire, resume], [edit], [cut]])], 0.3
    if rng.random() < 0.6:
        return rng.choice(FOCUS), rng.choice([0.05, 0.1, 0.2])
    faults = [fault for fault in FAULTS if rng.random() < 0.6]
    return faults, rng.choice([0.0, 0.02, 0.05, 0.15]) if faults else 0.0
