"""A fleet at work: what a page costs while nothing else happens, and what a join and a killed machine cost.

Vocabulary:
  window     the time over which a page's cost is measured: after the start, before anything else happens
  by pages   costs that grow with the pages stored: their files, lines of logs
  by time    costs that come with each second: heartbeats, looks, settings, blocks of logs. Where machines are many,
             they store fewer pages a second here than real ones. So these costs are divided by a real second's pages
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.scale.full_rate import Look, full_rate_look
from benchmarks.scale.machines import Extra, Machine, Worker
from benchmarks.scale.tally import BEATS, CHECKS, HEADS, LEASES, LINES, PAGES, SETTINGS, SNAPSHOTS, Tally
from benchmarks.scale.web import ZipfWeb
from benchmarks.scale.world import World
from fscrawl.fleet.ownership import assign

FULL_RATE = 70.0  # pages a second of a real machine
MOST_REAL = 100
_OBSERVED = 16  # machines, where more than `MOST_REAL` are too many for one process
_BY_PAGES = (PAGES, CHECKS, SNAPSHOTS)
_BY_TIME = (BEATS, LEASES, SETTINGS)
_START_S = 30.0
_LONGEST_S = 400.0
_EXTRAS_FRONT_PAGES = 2_000


@dataclass
class Figures:
    """What was found with some number of machines.

    calls, read, written   per page and machine, at the full rate, by kind
    measured               the same as counted, at the rate of this run
    shares                 the fullest machine's shards, and pages, divided by the mean
    """

    machines: int
    real: int
    shards: int
    rate: float
    window_s: float
    pages: int
    pages_a_machine: float
    cpu_ms: float
    calls: dict[str, float]
    read: dict[str, float]
    written: dict[str, float]
    measured: dict[str, dict[str, float]]
    shares: dict[str, float]
    look: dict[str, float]
    join: dict[str, Any] = field(default_factory=dict)
    kill: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def shards_for(machines: int) -> int:
    """Give how many shards a tree should have: eight a machine, and not fewer than the default of the design.

    >>> shards_for(10), shards_for(1000)
    (512, 8192)
    """
    shards = 512
    while shards < 8 * machines:
        shards *= 2
    return shards


def hosts_for(machines: int) -> int:
    """Give how many hosts the web has: every machine has some."""
    return max(2_000, 20 * machines)


def flush_s(machines: int) -> float:
    """Give the time between two flushes of a busy machine."""
    return max(5.0, 0.06 * machines)


def measure(
    machines: int,
    pages: int,
    seed: int,
    rate: float | None = None,
    *,
    events: bool = True,
    window_s: float | None = None,
    like: int | None = None,
) -> Figures:
    """Let a fleet work.

    pages    of all machines in the window, about
    events   a join and a kill, too
    like     the web is that for a fleet of this size
    """
    window_s = window_s or max(60.0, 3 * flush_s(machines))
    hosts = hosts_for(like or machines)
    rate = min(FULL_RATE, pages / machines / window_s) if rate is None else rate
    real = machines if machines <= MOST_REAL else _OBSERVED
    world = World(ZipfWeb(hosts=hosts, seed=seed), shards_for(machines))
    world.fleet_size = machines
    with world.open():
        _start(world, machines, real, rate)
        shards, pass_s = world.record.shards, _pass_s(world)
        look = full_rate_look(machines, hosts, shards, FULL_RATE, flush_s(machines), pass_s, seed)
        before = [(machine, machine.tally.copy(), machine.pages, machine.cpu_s) for machine in world.machines]
        world.run(window_s)
        figures = _figures(world, machines, rate, window_s, look, before)
        if events and machines > 1:
            figures.join = _join(world, rate)
            if not world.extras:
                figures.kill = _kill(world)
        figures.warnings = sorted(set(world.warnings))[:5]
    return figures


def _pass_s(world: World) -> float:
    """Give how often a busy machine looks at all others."""
    membership = world.machines[0].membership
    return membership._pause_s(starved=False)  # noqa: SLF001


def _start(world: World, machines: int, real: int, rate: float) -> None:
    """Let all machines join within two seconds, and work until the costs of the start are over."""
    names = [world.new_name() for _ in range(machines)]
    if machines > real:
        _start_extras(world, names, real, rate)
    for name in names[len(world.machines) : real]:
        world.join(rate, name)
        world.run(2.0 / real)
    world.run(_START_S + 2 * flush_s(machines))


def _start_extras(world: World, names: list[str], real: int, rate: float) -> None:
    """Let all but the first machines be extras, which hold their shards from the beginning."""
    wanted = assign(world.record.shards, frozenset(names))
    held: dict[str, list[int]] = {name: [] for name in names}
    for shard, name in enumerate(wanted):
        held[name].append(shard)
        world.holders[shard] = name
    first = world.join(rate, names[0])  # whose rules they go by; nobody holds anything yet
    rules = first.membership.rules
    fronts: dict[int, list[str]] = {}
    for url in world.web.front_pages(world.web.hosts):
        fronts.setdefault(first.frontier.location(url).shard, []).append(url)
    for name in names[real:]:
        extra = Extra(world, name, rate, held[name], rules)
        extra.begin([url for shard in held[name] for url in fronts.get(shard, ())][:_EXTRAS_FRONT_PAGES])
        world.extras.append(extra)
        world.start(extra)


def _figures(
    world: World,
    machines: int,
    rate: float,
    window_s: float,
    look: Look,
    before: list[tuple[Machine, Tally, int, float]],
) -> Figures:
    spent = Tally()
    for machine, tally, _, _ in before:
        spent = spent.plus(machine.tally.minus(tally))
    pages = sum(machine.pages - stored for machine, _, stored, _ in before)
    cpu_s = sum(machine.cpu_s - cpu for machine, _, _, cpu in before)
    seconds = window_s * len(before)
    held = [len(worker.held) for worker in (*world.machines, *world.extras)]
    stored_by = [worker.pages for worker in (*world.machines, *world.extras)]
    return Figures(
        machines=machines,
        real=len(before),
        shards=world.record.shards,
        rate=rate,
        window_s=window_s,
        pages=pages,
        pages_a_machine=pages / len(before),
        cpu_ms=1000 * cpu_s / max(pages, 1),
        calls=_at_full_rate(spent.calls, pages, seconds) | {"logs": look.calls_a_second / FULL_RATE},
        read=_at_full_rate(spent.read, pages, seconds)
        | {LINES: look.line_bytes_a_second / FULL_RATE, HEADS: look.head_bytes_a_second / FULL_RATE},
        written=_at_full_rate(spent.written, pages, seconds) | {LINES: spent.written[LINES] / max(pages, 1)},
        measured={
            part: {kind: round(count / max(pages, 1), 2) for kind, count in getattr(spent, part).items()}
            for part in ("calls", "read", "written")
        },
        shares={"shards": max(held) * len(held) / sum(held), "pages": max(stored_by) * len(held) / sum(stored_by)},
        look=look.facts(),
    )


def _at_full_rate(counted: dict[str, int], pages: int, seconds: float) -> dict[str, float]:
    """Give costs per page of a machine that stores `FULL_RATE` pages a second."""
    by_pages = {kind: counted.get(kind, 0) / max(pages, 1) for kind in _BY_PAGES}
    return by_pages | {kind: counted.get(kind, 0) / seconds / FULL_RATE for kind in _BY_TIME}


# -- a join, and a killed machine


def _join(world: World, rate: float) -> dict[str, Any]:
    """Let one more machine join; tell what that costs it, and whether the others go on."""
    others: list[Worker] = [*world.machines, *world.extras]
    for each in others:
        each.most_calls = 0
    stored = sum(each.pages for each in others)
    newcomer = world.join(rate)
    names = frozenset(each.name for each in (*others, newcomer))
    wanted = assign(world.record.shards, names)
    share = {shard for shard, name in enumerate(wanted) if name == newcomer.name}
    to = dict(enumerate(wanted))
    moved = sum(len(each.held) for each in others)
    proven_s = newcomer.heart.beat_s + _pass_s(world)
    world.run(proven_s)
    for extra in world.extras:
        lost = {shard: to[shard] for shard in extra.held if to[shard] != extra.name}
        if lost:
            extra.act(lambda extra=extra, lost=lost: extra.hand_over(lost))  # type: ignore[misc]
    share &= newcomer.ledger.needed  # nobody holds a shard without URLs
    took_s = proven_s + world.run(_LONGEST_S, lambda: newcomer.held >= share and newcomer.is_complete)
    missing = len(share - newcomer.held)
    return {
        "seconds": took_s,
        "missing_shards": missing,
        "shards": len(newcomer.held),
        "moved_shards": moved - sum(len(each.held) for each in others),
        "calls": dict(newcomer.tally.calls),
        "read": dict(newcomer.tally.read),
        "cpu_s": newcomer.cpu_s,
        "most_calls_in_a_turn": newcomer.most_calls,
        "others_rate": (sum(each.pages for each in others) - stored) / (rate * took_s * len(others)),
        "others_most_calls_in_a_turn": max(each.most_calls for each in others),
    }


def _kill(world: World) -> dict[str, Any]:
    """Kill a machine; tell when others hold all its shards, and what was done twice."""
    dead = world.machines[0]
    left = world.machines[1:]
    fetched_twice = sum(world.fetched.values()) - len(world.fetched)
    before = [machine.tally.copy() for machine in left]
    told = sum(machine.told for machine in left)
    shards = dead.held & dead.ledger.needed
    world.kill(dead)

    def is_recovered() -> bool:
        held = set().union(*(machine.held for machine in left))
        return shards <= held and all(machine.is_complete for machine in left)

    took_s = world.run(_LONGEST_S, is_recovered)
    spent = Tally()
    for machine, tally in zip(left, before, strict=True):
        spent = spent.plus(machine.tally.minus(tally))
    return {
        "seconds": took_s,
        "recovered": is_recovered(),
        "shards": len(shards),
        "checks_calls": spent.calls[CHECKS],
        "checks_read": spent.read[CHECKS],
        "leases_calls": spent.calls[LEASES],
        "told_again": sum(machine.told for machine in left) - told,
        "fetched_twice": sum(world.fetched.values()) - len(world.fetched) - fetched_twice,
    }
