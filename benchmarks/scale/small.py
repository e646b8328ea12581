"""A small web that a fleet shares: how much do its machines read for it, all together?"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.scale.tally import BEATS, CHECKS, PAGES, Tally
from benchmarks.scale.web import SmallWeb
from benchmarks.scale.world import World

_RATE = 8.0
_LONGEST_S = 3600.0
_SHARDS = 512


@dataclass
class SmallFigures:
    """One whole crawl, to its end.

    own_bytes      of the fleet's own files (heartbeats aside) that all machines read, per page
    twice          pages that were fetched more than once
    """

    machines: int
    pages: int
    seconds: float
    own_bytes: float
    calls: float
    twice: int


def crawl(machines: int, seed: int) -> SmallFigures:
    """Let some machines crawl 60 hosts of 40 pages."""
    world = World(SmallWeb(seed=seed), _SHARDS, seeds=1)
    with world.open():
        for _ in range(machines):
            world.join(_RATE)
        seconds = world.run(_LONGEST_S, lambda: not world.live())
        spent = Tally()
        for machine in world.machines:
            spent = spent.plus(machine.tally)
    pages = len(world.fetched)
    own = spent.read.total() - spent.read[BEATS] - spent.read[PAGES] - spent.read[CHECKS]
    calls = spent.calls.total() - spent.calls[PAGES]
    twice = sum(world.fetched.values()) - pages
    return SmallFigures(machines, pages, seconds, own / pages, calls / pages, twice)
