"""Which logs are read when: those that have grown by their machines' beats, and from time to time all others.

A machine with work reads a log only if a beat says that it has grown. A machine that has nothing to do looks at the
files themselves, because a beat may be old; a few at a time, so that a thousand hungry machines do not keep the file
server busy with questions. Of machines that say they are idle it looks at still fewer: they have little to say, and if
one gets work, its next beat tells. Logs of dead machines are looked at more and more seldom.

Vocabulary:
  hungry, starved   without anything to fetch: another machine, this one

Promise: every log is read to its end at some time, also that of a machine that died.
"""

from __future__ import annotations

from fscrawl.config.settings import FleetSettings
from fscrawl.fleet.heartbeat import is_worth_a_look
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.machinery import Peer
from fscrawl.fleet.ownership import Fleet

_LOOKS_A_ROUND = 50
_LOOKS_AT_IDLE = 8
_LOOKS_A_SECOND = 50
_MOST_OF_DEAD_AFTER = 1 / 3  # between two beats: half of it without one, and the workers stop


class Hearing:
    """Reads logs for one machine. Only the main loop uses it."""

    def __init__(self, fleet: Fleet, ledger: Ledger, caches_s: float) -> None:
        self.somebody_is_hungry = False
        self._fleet = fleet
        self._ledger = ledger
        self._caches_s = caches_s
        self._looked_at: dict[str, float] = {}  # log of a machine that is not live → when it was last read
        self._live = 0
        self._next = {True: 0, False: 0}  # which log a hungry machine looks at first, of idle ones and of others
        self._listed: frozenset[str] = frozenset()  # machines with a log in this generation
        self._next_listing = 0.0

    @property
    def least_pause_s(self) -> float:
        """How long a pass over all heartbeats should take at least, so that passes cost little."""
        return self._live / _LOOKS_A_SECOND

    def beat_s(self, settings: FleetSettings) -> float:
        """Give the time between two heartbeats: where machines are many, each one's are read by all others."""
        return max(settings.beat, min(self.least_pause_s, settings.dead_after * _MOST_OF_DEAD_AFTER))

    def hear_all(self, now: float) -> None:
        """Read the heads of all logs of a generation; to begin with."""
        self._looked_at.clear()
        self._list(now)
        self._ledger.meet({machine: self._said_end(machine) for machine in self._listed})

    def _list(self, now: float) -> None:
        self._next_listing = now + self._fleet.dead_after_s
        self._listed = frozenset(self._ledger.machines())

    def hear(self, now: float, *, starved: bool) -> None:
        """Read what is new."""
        live = self._fleet.live_peers(now)
        self._live = len(live)
        self.somebody_is_hungry = any(peer.last().pending == 0 for peer in live)
        here = [peer for peer in live if peer.last().generation == self._ledger.rules.generation]
        ends: dict[str, int | None] = {peer.machine: said_end(peer) for peer in here if peer.last().log}
        if now >= self._next_listing:
            self._list(now)
        ends |= {machine: self._said_end(machine) for machine in self._silent_ones(now)}
        for machine in self._ledger.damaged:  # it may have been an old view: nothing else would show that it was one
            ends.setdefault(machine, self._said_end(machine))
        if starved:
            for idle, most in ((False, _LOOKS_A_ROUND), (True, _LOOKS_AT_IDLE)):
                machines = [peer.machine for peer in here if peer.last().idle is idle]
                ends |= dict.fromkeys(filter(self._ledger.has_grown, self._some_of(machines, most, idle=idle)))
        self._ledger.hear(ends)

    def _silent_ones(self, now: float) -> list[str]:
        """Give machines that are not live, and whose logs may have lines that were not read yet.

        One that has left may have come after the last listing: its last words say that it has a log here. A command
        that is killed before it signs its log leaves one without heartbeats. Whoever joins later reads it, and machines
        that have not read the same do not agree that the crawl is over.
        """
        chosen = []
        here = self._ledger.rules.generation
        last = [(peer.machine, peer.last()) for peer in self._fleet.peers.values()]
        for machine in self._listed.union(name for name, beat in last if beat.generation == here and beat.log):
            if self._fleet.is_live(machine, now):
                self._looked_at.pop(machine, None)
                continue
            peer, looked_at = self._fleet.peers.get(machine), self._looked_at.get(machine)
            is_due = peer is None or looked_at is None or is_worth_a_look(now, looked_at, peer.grown_at, self._caches_s)
            is_read = peer is None or (peer.bye is not None and self._ledger.read_to(machine) >= said_end(peer))
            pause_s = self._fleet.dead_after_s if is_read else 0.0
            if is_due and (looked_at is None or now - looked_at >= pause_s):
                self._looked_at[machine] = now
                chosen.append(machine)
        return chosen

    def _said_end(self, machine: str) -> int | None:
        """Give how long a log is by its machine's last words, if it was not read so far; None: as long as its file."""
        peer = self._fleet.peers.get(machine)
        if peer is None or peer.last().generation != self._ledger.rules.generation:
            return None
        end = said_end(peer)
        return end if self._ledger.read_to(machine) < end else None

    def _some_of(self, machines: list[str], most: int, *, idle: bool) -> list[str]:
        """Give the machines whose turn it is."""
        if len(machines) <= most:
            return machines
        ordered = sorted(machines)
        start = self._next[idle] % len(ordered)
        self._next[idle] = start + most
        return (ordered[start:] + ordered[:start])[:most]


def said_end(peer: Peer) -> int:
    """Give how long a machine's log is by its last words."""
    return peer.last().log or 0
