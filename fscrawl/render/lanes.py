"""The lanes in which pages wait for a browser, so that hosts whose pages cost much do not keep the others waiting.

A page waits among the quick ones, unless the last page of its host was not quick: it took longer than `QUICK_S`, or
more of the processor than `QUICK_PROCESSOR_S`, or has failed. One that is not quick gives way while others wait that
may be, and then waits among the slow ones. The first browser of a machine takes quick pages only, if there is another
one.
"""

from __future__ import annotations

from enum import IntEnum

from fscrawl.util.lru import Lru

QUICK_S = 3.0
QUICK_PROCESSOR_S = 1.5
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

    def note(self, host: str, *, is_quick: bool) -> None:
        """Note whether a page was quick."""
        self._next.put(host, Lane.QUICK if is_quick else Lane.SLOW)


def is_quick(took_s: float, processor_s: float) -> bool:
    """Tell whether a page is quick that has been in its browser for so long, and has taken so much of the processor."""
    return took_s <= QUICK_S and processor_s <= QUICK_PROCESSOR_S
