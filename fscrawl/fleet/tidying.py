"""Removing what dead machines were writing.

A machine that was killed leaves a few temporary files. Each is of a URL that was in flight, so of a host that has work
for whoever took the shard: this machine looks when its frontier meets such a host, or when it surveys one.

Promise: a temporary file is removed only if its writer is known to be dead. If all machines have left by themselves,
nothing is looked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.recovery import remove_temporaries_of_the_dead
from fscrawl.frontier.shards import StoredOnTree
from fscrawl.store import Tree


class Tidying:
    """Looks for temporary files of dead machines, one host at a step. Only the main loop uses it."""

    def __init__(self, tree: Tree, fleet: Fleet, stored: StoredOnTree, clock: Callable[[], float]) -> None:
        """`stored`: tells which hosts were met. `clock`: that of the fleet."""
        self._tree = tree
        self._fleet = fleet
        self._stored = stored
        self._clock = clock
        self._hosts: deque[str] = deque()

    @property
    def is_done(self) -> bool:
        return not (self._hosts or self._stored.met)

    def step(self, now: float) -> None:
        """Look at one of the hosts that were met, if a machine has died."""
        met = self._stored.take_met()
        if met and self._fleet.has_dead(now):
            self._hosts += met
        if self._hosts:
            self.host(self._hosts.popleft())

    def host(self, host: str) -> None:
        """Look at a host's pages."""
        self._remove(self._tree.all_temporaries(host))

    def machinery(self) -> None:
        """Look at all that is not of a host."""
        self._remove(self._tree.machinery_temporaries())

    def _remove(self, temporaries: list[tuple[str, str]]) -> None:
        remove_temporaries_of_the_dead(temporaries, self._fleet, self._tree, self._clock())
