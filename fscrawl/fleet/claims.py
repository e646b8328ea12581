"""Free shards are claimed by the machine that should hold them.

If `.fscrawl` was made anew where pages are stored, machines of the one before may still be fetching. Then nothing is
claimed until their permits are over (`anchor`).

Somebody may remove leases by hand, which look like locks that were left behind. Each machine makes its own again in its
next round. Until then nobody who has joined since can know who holds what, and so claims nothing.

Promise: a claim rests on a look at the last holder's heartbeats that is not older than half a beat.
"""

from __future__ import annotations

from collections.abc import Callable

from fscrawl.fleet.anchor import must_wait_s, note_waited
from fscrawl.fleet.ownership import Fleet
from fscrawl.storage.layout import LEASES
from fscrawl.store import Tree
from fscrawl.util.humanize import number_of


class Claims:
    """Claims shards for one machine. Only the main loop uses it."""

    def __init__(
        self, tree: Tree, fleet: Fleet, caches_s: float, warn: Callable[[str], None], confirm: Callable[[], bool]
    ) -> None:
        """`caches_s`: how long a listing may be old; `confirm`: as for `Fleet.put_back`."""
        self._tree = tree
        self._fleet = fleet
        self._caches_s = caches_s
        self._warn = warn
        self._confirm = confirm
        self._claims_from = 0.0
        self._must_note = False  # that the time until then has passed

    def wait_for_old_permits(self, now: float) -> None:
        """Claim nothing as long as machines of a `.fscrawl` that was deleted may still be fetching."""
        wait_s = must_wait_s(self._tree, self._fleet.dead_after_s, self._caches_s)
        if wait_s:
            self._must_note = True
            self._claims_from = now + wait_s
            self._warn(f".fscrawl is new, and pages are stored: waiting {wait_s:.0f} s for machines of the old one")

    def put_back(self, now: float) -> None:
        """Make own leases again that somebody has removed."""
        if removed := self._fleet.put_back(now, self._confirm):
            self._warn(f"{LEASES}: somebody has removed {number_of(removed, 'lease')} of this machine; made again")

    def claim(self, needed: set[int], beat_s: float, clock: Callable[[], float]) -> list[int]:
        """Claim those of the needed shards that are free and that this machine should hold; return those it won.

        A claim rests on a look at the last holder's heartbeats that is not older than half a beat.
        """
        now = clock()
        if now < self._claims_from or self._fleet.are_some_to_be_put_back(now):
            return []
        if self._must_note:
            note_waited(self._tree)
            self._must_note = False
        return [shard for shard in self._fleet.claimable(needed, now) if self._claim_one(shard, beat_s, clock())]

    def _claim_one(self, shard: int, beat_s: float, now: float) -> bool:
        self._fleet.look_at_holder(shard, now, beat_s / 2)
        return self._fleet.is_free(shard, now) and self._fleet.claim(shard)
