"""Hosts that must be left alone for a while: a shard's holder says so in its beats, and the next holder heeds it.

Promise: times are told as seconds that remain, since clocks are never compared. The next holder counts them from the
moment when it takes the shard, so a rest may be too long and is never too short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fscrawl.config.settings import PolitenessSettings
from fscrawl.frontier.frontier import Frontier
from fscrawl.storage.records import TreeRecord

_LONG_REST_S = 5.0  # shorter rests are over before another machine could begin
# Of all host names that a beat tells: 200 of usual length. A log gets a beat every few seconds for weeks, and servers
# decide how long names are, and how many hosts rest.
_TOLD_CHARS = 4000


class Rests:
    """The long rests of this machine's hosts, in seconds: clocks are never compared."""

    def __init__(self, frontier: Frontier, record: TreeRecord, politeness: Callable[[], PolitenessSettings]) -> None:
        """`politeness`: gives the settings that are in force."""
        self._frontier = frontier
        self._record = record
        self._politeness = politeness

    def to_tell(self, now: float) -> dict[str, float]:
        """Give the hosts with a long rest, for their next holder; another thread may call this."""
        told: dict[str, float] = {}
        budget = _TOLD_CHARS
        for host, seconds in self._frontier.rests(now).items():
            if seconds > _LONG_REST_S:
                budget -= len(host)
                if budget < 0:
                    break
                told[host] = round(seconds, 1)
        return told

    def were_told(self, shard: int, told: Mapping[str, float], now: float) -> bool:
        """Tell whether a beat with the rests `told` has named those of a shard."""
        rests = self.to_tell(now)
        return all(told.get(host, 0.0) >= s for host, s in rests.items() if self._may_be_of(host, {shard}))

    def heed(self, shards: set[int], told: Iterable[Mapping[str, float]], now: float) -> None:
        """Let the hosts of newly taken shards rest as others said, counted from now: that is on the safe side.

        No host rests longer than the settings allow: what somebody else has written must not let one rest for ever.
        """
        politeness = self._politeness()
        longest_s = max(politeness.max_rest, politeness.delay)
        for rests in told:
            for host, seconds in rests.items():
                if self._may_be_of(host, shards):
                    self._frontier.rest(host, now + min(seconds, longest_s))

    def _may_be_of(self, host: str, shards: set[int]) -> bool:
        return self._record.partition == "url" or self._record.shard_of(host) in shards
