"""When the crawl is over: no machine has work left, and none can get any.

A machine leaves when all of these hold (the numbers are those of `docs/design/fleet.md`):
  1  it is idle: nothing pending, in flight, unsaid, unflushed, arriving, being read or surveyed, and it is not fenced
  2  settings, generation, leases and heartbeats are as it believes, looked at anew (the caller does that last)
  3  each shard that has URLs is held by this machine, which has put it together, or by a live one
  4  the last two beats of every live machine are idle, and agree with this machine: they have read the same logs as far
     as this one, judge by the same rules, have no line in their log that this one has not read, and hold what the
     leases say
  5  or, in place of 3 and 4, a machine said that the crawl is over while this one was there, having read the same, and
     no seeds or settings have changed since

Sums of bytes are not enough for 4: two different readings can have one sum. So each beat has a hash of all places.

Promise: no machine says that the crawl is over while any machine has work, or has said something that a live machine
has not read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from fscrawl.fleet.beat import Beat
from fscrawl.fleet.heartbeat import Heartbeat
from fscrawl.fleet.intake import Intake
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.ownership import Fleet
from fscrawl.frontier.frontier import Frontier

_DUE = 0.9  # of the time between two beats


class Told(NamedTuple):
    """One machine as this one sees it: its last beats, how far its log was read here, and a hash of its leases."""

    beats: list[Beat]
    read_to: int
    held: str


def held_hash(leases: Iterable[tuple[int, int]]) -> str:
    """Give a hash of (shard, epoch) pairs.

    >>> held_hash([(1, 2), (3, 4)]) == held_hash([(3, 4), (1, 2)])
    True
    """
    text = " ".join(f"{shard}.{epoch}" for shard, epoch in sorted(leases))
    return hashlib.sha224(text.encode()).hexdigest()[:16]


def all_agree(own: Beat, machines: Iterable[Told]) -> bool:
    """Tell whether condition 4 holds. `own`: the state of this machine now; `machines`: all live ones, this one too."""
    return all(len(told.beats) == 2 and all(_agrees(beat, own, told) for beat in told.beats) for told in machines)


def _agrees(beat: Beat, own: Beat, told: Told) -> bool:
    same = (beat.read, beat.rules) == (own.read, own.rules)
    return beat.idle and same and beat.log == told.read_to and beat.held == told.held


class Ending:
    """Finds out whether the crawl is over, as far as one machine knows. Only the main loop uses it."""

    def __init__(self, fleet: Fleet, ledger: Ledger, intake: Intake, frontier: Frontier) -> None:
        self._fleet = fleet
        self._ledger = ledger
        self._intake = intake
        self._frontier = frontier

    def seems_reached(self, own: Beat, own_beats: list[Beat], now: float) -> bool:
        """Tell whether conditions 3 and 4, or 5, hold. `own`: the state of this machine now; it is idle."""
        if self.was_said(own):
            return True
        if not all(self._is_held(shard, now) for shard in self._ledger.needed):
            return False
        leases = self._fleet.leases_by_holder()
        told = [
            Told(peer.beats, self._ledger.read_to(peer.machine), held_hash(leases.get(peer.machine, ())))
            for peer in self._fleet.live_peers(now)
        ]
        return not told or all_agree(own, [*told, Told(own_beats, self._ledger.place, own.held)])

    def may_wait_s(self, own: Beat, heart: Heartbeat, now: float) -> float:
        """Give for how many seconds the next beat of an idle machine need not be looked for: until it is due.

        0 if it may show that the crawl is over: all are idle, and do not agree yet.
        """
        all_idle = own.idle and all(peer.last().idle for peer in self._fleet.live_peers(now))
        return 0.0 if all_idle and not self.seems_reached(own, heart.written, now) else _DUE * heart.beat_s

    def was_said(self, own: Beat) -> bool:
        """Tell whether condition 5 holds. Then nobody need take the shards of the machine that said so."""
        finished = (peer.last() for peer in self._fleet.finished_peers)
        return own.idle and any((last.read, last.rules) == (own.read, own.rules) for last in finished)

    def is_said_once(self, own: Beat, own_beats: list[Beat]) -> bool:
        """Tell whether only the last of the own beats says this state: others may go by it after one more beat."""
        told = Told(own_beats, self._ledger.place, own.held)
        return own.idle and _agrees(own_beats[-1], own, told) and not all_agree(own, [told]) if own_beats else False

    def _is_held(self, shard: int, now: float) -> bool:
        """Tell whether a live machine holds a shard. If it is this one, it must have put it together."""
        if shard in self._fleet.held:
            return self._intake.is_complete(shard) and self._frontier.holds(shard)
        return self._fleet.is_live(self._fleet.holder(shard), now)
