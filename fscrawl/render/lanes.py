"""The lanes in which pages wait for a browser, so that hosts whose pages cost much do not keep the others waiting.

A page waits among the quick ones, unless the last page of its host took longer than `QUICK_S` or has failed. One
that takes longer while other quick ones wait gives way, and then waits among the slow ones. The first browser of a
machine takes quick pages only, if there is another one.
"""

from __future__ import annotations

from enum import IntEnum

from fscrawl.util.lru import Lru

QUICK_S = 3.0
_HOSTS = 10_000


class Lane(IntEnum):
    QUICK = 0
    SLOW = 1


class Lanes:
    """In which lane the next page of each host waits. Threads may share it."""

    def __init__(self) -> None:
        self._next: Lru[str, Lane] = Lru(_HOSTS)

    def of(self, host: str) -> Lane:
        return self._next.get(host) or Lane.QUICK

    def note(self, host: str, took_s: float) -> None:
        """Note how long a page was in its browser; for ever, if it has failed or given way."""
        self._next.put(host, Lane.QUICK if took_s <= QUICK_S else Lane.SLOW)
