"""Removing what dead machines were writing.

A machine that was killed leaves a few temporary files. Each is of a URL that was in flight, so of a host that has work
for whoever took the shard: this machine looks when its frontier meets such a host, or when it surveys one.

Promise: a temporary file is removed only if its writer is known to be dead. If all machines have left by themselves,
nothing is looked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from fscrawl.fleet.heartbeat import is_gone_by_name
from fscrawl.fleet.ownership import Fleet
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
        """Remove those of `temporaries` (path, owner) whose owner is dead. Files of this machine itself stay."""
        now = self._clock()
        for path, owner in temporaries:
            peer = self._fleet.peers.get(owner)
            if peer is not None and peer.greeting is not None:
                is_dead = not self._fleet.is_live(owner, now)
            else:  # one that was killed at its start has said nothing
                is_dead = is_gone_by_name(owner)
            if is_dead and owner != self._tree.machine:
                self._tree.files.remove(path)


def remove_own_temporaries(hosts: Iterable[str], tree: Tree) -> None:
    """Remove the temporary files of this machine's dead workers. No worker may be writing any more."""
    for host in hosts:
        for path, owner in tree.all_temporaries(host):
            if owner == tree.machine:
                tree.files.remove(path)
