"""Shards go to another machine: to one that should hold them, or to one that has taken them.

To release a shard, this machine lets go of it in the frontier, waits for its pages in flight, lets a beat name its
hosts that rest, flushes its log, and claims the next epoch in the other machine's name. A shard that is being put
together is not released, because the next holder would have to begin anew.

Promise: when the next epoch is claimed, nothing of the shard is in flight here, and all that this machine knows of it
can be read by the next holder.
"""

from __future__ import annotations

from collections.abc import Collection

from fscrawl.fleet.heartbeat import Heartbeat
from fscrawl.fleet.intake import Intake
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.rests import Rests
from fscrawl.frontier.frontier import Frontier


class Handover:
    """Lets go of shards. `releasing`: those that are on their way. Only the main loop uses it."""

    def __init__(
        self, fleet: Fleet, frontier: Frontier, ledger: Ledger, intake: Intake, rests: Rests, heart: Heartbeat
    ) -> None:
        self.releasing: set[int] = set()
        self._fleet = fleet
        self._frontier = frontier
        self._ledger = ledger
        self._intake = intake
        self._rests = rests
        self._heart = heart

    def lose(self, shards: Collection[int]) -> None:
        """Forget shards that another machine has taken."""
        self.releasing.difference_update(shards)
        self._intake.forget(shards)

    def release(self, now: float) -> None:
        """Go on with the release of all shards that another machine should hold."""
        unwanted = self._fleet.unwanted(now)
        new = {shard for shard in unwanted.keys() - self.releasing if self._intake.is_complete(shard)}
        self.releasing |= new
        self._intake.drop(new)
        for shard, to in unwanted.items():
            if shard in self.releasing:
                self._release(shard, to, now)
        self._keep(self.releasing - unwanted.keys())

    def _release(self, shard: int, to: str, now: float) -> None:
        if self._frontier.in_flight_of(shard):
            return
        told = self._heart.written[-1].rests if self._heart.written else {}
        if not self._rests.were_told(shard, told, now):
            self._heart.beat_now()
            return
        self._ledger.flush()
        self.lose([shard])
        self._fleet.hand_over(shard, to)

    def _keep(self, shards: set[int]) -> None:
        """Take shards back whose next holder is gone before they were handed over."""
        self.releasing -= shards
        self._intake.begin(shards & self._fleet.held.keys(), {})
