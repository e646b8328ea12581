"""The fence: a machine that could not beat for long fetches and publishes nothing, until it knows what it still holds.

Another machine takes the shards of one that was silent for `dead_after`. The silent one cannot know, so it stops by
itself after half of that time. When it can beat again, it waits for one more beat: whoever rested its claim on older
looks has claimed by then, or must look again. Then it reads the leases, and goes on with what is left.

Promise: while the fence is up, no request is sent and no page is published. Lines of the log may be written: they are
true, whoever holds the shard by now.
"""

from __future__ import annotations

from collections.abc import Callable

from fscrawl.fleet.heartbeat import Heartbeat


class Fence:
    """Whether this machine is fenced. Only the main loop uses it."""

    def __init__(self, heart: Heartbeat, warn: Callable[[str], None]) -> None:
        self.is_up = False
        self._heart = heart
        self._warn = warn
        self._beating_since: float | None = None
        self._gaps = 0  # of the heart, at the last look

    @property
    def is_due(self) -> bool:
        """It is up, or will be at the next look: the file system may have hung since the last one."""
        return self.is_up or self._heart.suspended or self._heart.age_s() > self._heart.lease_s

    def may_end(self, now: float) -> bool:
        """Put the fence up if the heart fails; tell whether it may be taken down, once the leases were read."""
        if self._gaps < self._heart.gaps:  # the machine may have stood still again, and beaten before this look
            self._gaps, self._beating_since = self._heart.gaps, None
        if self._heart.age_s() > self._heart.lease_s:
            self._put_up()
            self._beating_since = None
        elif self.is_up or self._heart.suspended:
            self._put_up()
            self._beating_since = self._beating_since or now
            return now - self._beating_since > self._heart.beat_s
        return False

    def _put_up(self) -> None:
        if not self.is_up:
            self.is_up = True
            self._warn("no heartbeat could be written for a while; this machine fetches nothing until it can write one")

    def take_down(self) -> None:
        """The leases were read: go on, unless the machine has stood still once more since `may_end`."""
        self._heart.readmit(self._gaps)
        if not self._heart.suspended:
            self.is_up = False
            self._beating_since = None
            self._warn("heartbeats can be written again; this machine goes on with the shards that it still holds")
