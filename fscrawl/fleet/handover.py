"""Shards go to another machine: to one that should hold them, or to one that has taken them.

To release a shard, this machine lets go of it in the frontier, waits for its pages in flight, flushes its log, and
claims the next epoch in the other machine's name. That lease names the shard's hosts that must be left alone for a
while. A machine that leaves claims one in its own name for that. A shard that is being put together is not released,
because the next holder would have to begin anew.

Promise: when the next epoch is claimed, nothing of the shard is in flight here, and all that this machine knows of it
can be read by the next holder. Rests are told as seconds that remain, since clocks are never compared. The next holder
counts them from the moment when it takes the shard, so a rest may be too long and is never too short.
"""

from __future__ import annotations

from collections.abc import Collection

from fscrawl.config.watcher import EditWatcher
from fscrawl.fleet.intake import Intake
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.survey import may_have_pages_of
from fscrawl.frontier.frontier import Frontier
from fscrawl.storage.records import TreeRecord

_LONG_REST_S = 5.0  # shorter rests are over before another machine could begin
# Of all host names that a lease tells: 200 of usual length. Servers decide how long names are, and how many hosts rest.
_TOLD_CHARS = 4000


class Handover:
    """Lets go of shards. `releasing`: those that are on their way. Only the main loop uses it."""

    def __init__(
        self,
        fleet: Fleet,
        frontier: Frontier,
        ledger: Ledger,
        intake: Intake,
        record: TreeRecord,
        watch: EditWatcher,
    ) -> None:
        self.releasing: set[int] = set()
        self._fleet = fleet
        self._frontier = frontier
        self._ledger = ledger
        self._intake = intake
        self._record = record
        self._watch = watch

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
        kept = self.releasing - unwanted.keys()  # the next holder is gone before they were handed over
        self.releasing -= kept
        self._intake.begin(kept & self._fleet.held.keys(), {})

    def _release(self, shard: int, to: str, now: float) -> None:
        if self._frontier.in_flight_of(shard):
            return
        self._ledger.flush()
        self.lose([shard])
        self._fleet.hand_over(shard, to, self._rests_of(shard, now))

    def say_rests(self, now: float) -> None:
        """Before the goodbye: tell whoever holds the shards next which of their hosts must be left alone."""
        for shard in list(self._fleet.held):
            if rests := self._rests_of(shard, now):
                self._fleet.hand_over(shard, self._fleet.machine, rests)

    # -- hosts that must be left alone for a while

    def _rests_of(self, shard: int, now: float) -> dict[str, float]:
        """Give the hosts of a shard with a long rest, in seconds that remain."""
        told: dict[str, float] = {}
        budget = _TOLD_CHARS
        for host, seconds in self._frontier.scheduler.rests(now).items():
            if seconds > _LONG_REST_S and may_have_pages_of(self._record, host, {shard}):
                budget -= len(host)
                if budget < 0:
                    break
                told[host] = round(seconds, 1)
        return told

    def heed(self, shards: Collection[int], now: float) -> None:
        """Let the hosts of shards that were just taken rest as their leases say, counted from now.

        No host rests longer than the settings allow: what somebody else has written must not let one rest for ever.
        """
        politeness = self._watch.settings.politeness
        longest_s = max(politeness.max_rest, politeness.delay)
        for shard in shards:
            for host, seconds in self._fleet.rests_of(shard):
                if may_have_pages_of(self._record, host, {shard}):
                    self._frontier.scheduler.rest(host, now + min(seconds, longest_s))
