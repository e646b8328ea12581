"""The places of one browser: which lane the next free one is for, and which page gives way. Pure: no clock, no sockets.

Promises:
- One place is for quick pages alone, if there have been any in the last minute and the browser has more places. A quick
  page that turns out slow keeps its place, and then the next free one is theirs.
- No lane starves. The next place is for the lane that has had the least time of places lately, for its share. Quick
  pages have the largest share, since most pages come of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from fscrawl.render.lanes import GIVES_WAY_AFTER_S, QUICK_S, Lane

_KEPT_S = 60.0
_HALVES_S = 60.0  # what a lane has had counts half after so long
_SHARES = {Lane.QUICK: 4, Lane.NEW: 2, Lane.MIDDLE: 2, Lane.SLOW: 1}


class Place:
    """A place that is taken. `since`: monotonic time."""

    def __init__(self, lane: Lane, since: float) -> None:
        self.lane = lane
        self.since = since


def gives_way(places: Iterable[Place], now: float) -> Place | None:
    """Give the place of the page that gives way first, if others wait; None if each of them has its time still."""
    over_s = {place: now - place.since - GIVES_WAY_AFTER_S[place.lane] for place in places}
    first = max(over_s, key=over_s.__getitem__, default=None)
    return None if first is None or over_s[first] < 0 else first


class Places:
    """All times are monotonic, in seconds."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._taken: set[Place] = set()
        self._had_s = dict.fromkeys(Lane, 0.0)  # by pages that are over
        self._had_at = 0.0
        self._kept_until = float("-inf")

    def take(self, lane: Lane, now: float) -> Place:
        """Give a page of a lane its place. `order` has named the lane."""
        place = Place(lane, now)
        self._taken.add(place)
        if lane is Lane.QUICK:
            self._kept_until = now + _KEPT_S
        return place

    def leave(self, place: Place, now: float) -> None:
        self._taken.discard(place)
        self._had_s = {lane: self._counts_s(lane, now) for lane in Lane}
        self._had_at = now
        self._had_s[place.lane] += now - place.since

    def order(self, now: float) -> list[Lane]:
        """Give the lanes of which a page may take a place now, the one whose turn it is first."""
        if len(self._taken) >= self._count:
            return []
        if self._is_kept(now):
            return [Lane.QUICK]
        return sorted(Lane, key=lambda lane: (self._weighed_s(lane, now), lane))

    def _is_kept(self, now: float) -> bool:
        """Tell whether only the place for quick pages is left."""
        others = sum(place.lane is not Lane.QUICK or now - place.since > QUICK_S for place in self._taken)
        return now < self._kept_until and self._count > 1 and others >= self._count - 1

    def _weighed_s(self, lane: Lane, now: float) -> float:
        have_s = sum(now - place.since for place in self._taken if place.lane is lane)
        return (self._counts_s(lane, now) + have_s) / _SHARES[lane]

    def _counts_s(self, lane: Lane, now: float) -> float:
        halved: float = 0.5 ** ((now - self._had_at) / _HALVES_S)
        return self._had_s[lane] * halved
