"""The lanes in which pages wait for a browser, so that hosts whose pages take long do not keep the others waiting.

A page waits among the quick ones, unless the last page of its host has taken longer than `QUICK_S`. One that takes
longer while other quick ones wait gives way, and then waits among the slow ones. The first browser of a machine takes
quick pages only, if there is another one.
"""

from __future__ import annotations

from enum import IntEnum

from fscrawl.util.lru import Lru

QUICK_S = 5.0
_HOSTS = 10_000


class Lane(IntEnum):
    QUICK = 0
    SLOW = 1


class HostTimes:
    """How long the last page of each host has taken in a browser. Threads may share it."""

    def __init__(self) -> None:
        self._took_s: Lru[str, float] = Lru(_HOSTS)

    def lane(self, host: str) -> Lane:
        """Give the lane for the next page of a host."""
        return Lane.SLOW if (self._took_s.get(host) or 0.0) > QUICK_S else Lane.QUICK

    def note(self, host: str, seconds: float) -> None:
        """Take in how long a page has kept its browser, whether it was rendered or not."""
        self._took_s.put(host, seconds)
