"""The lanes in which pages wait for a browser, so that hosts whose pages take long do not keep the others waiting.

Without them, an honest host would wait for a page of each hostile one before each page of its own. A page goes into
the lane of its host, by how long the last pages of that host have kept a place in a browser. One that takes much longer
than its lane is for gives way while others wait, and then waits again, with the slow ones.
"""

from __future__ import annotations

from enum import IntEnum

from fscrawl.util.lru import Lru

QUICK_S = 3.0
_SLOW_S = 10.0
_HOSTS = 10_000
_NEWEST = 0.3  # a share of the mean; so a host stays slow until several of its pages in a row were quick


class Lane(IntEnum):
    """How long pages of a host take, as a mean of the last ones.

    QUICK    at most `QUICK_S`
    NEW      not known: none of them has been rendered yet
    MIDDLE   longer
    SLOW     longer than `_SLOW_S`; and a page that has given way
    """

    QUICK = 0
    NEW = 1
    MIDDLE = 2
    SLOW = 3


GIVES_WAY_AFTER_S = {
    Lane.QUICK: _SLOW_S,
    Lane.NEW: QUICK_S,
    Lane.MIDDLE: 2 * _SLOW_S,
    Lane.SLOW: float("inf"),  # it would never be done
}


class HostTimes:
    """How long pages of each host have taken in a browser. Threads may share it."""

    def __init__(self) -> None:
        self._means: Lru[str, float] = Lru(_HOSTS)

    def lane(self, host: str) -> Lane:
        """Give the lane for the next page of a host.

        >>> times = HostTimes()
        >>> times.lane("a.example")
        <Lane.NEW: 1>
        >>> times.note("a.example", 0.5)
        >>> times.lane("a.example")
        <Lane.QUICK: 0>
        """
        mean_s = self._means.get(host)
        if mean_s is None:
            return Lane.NEW
        return Lane.QUICK if mean_s <= QUICK_S else Lane.MIDDLE if mean_s <= _SLOW_S else Lane.SLOW

    def note(self, host: str, seconds: float) -> None:
        """Take in how long a page has kept its place, whether it was rendered or not."""
        mean_s = self._means.get(host)
        self._means.put(host, seconds if mean_s is None else mean_s + _NEWEST * (seconds - mean_s))
