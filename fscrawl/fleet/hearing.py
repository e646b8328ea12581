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
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.ownership import Fleet
from fscrawl.fleet.peer import Peer

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
        self._next_listing = 0.0

    @property
    def least_pause_s(self) -> float:
        """How long a pass over all heartbeats should take at least, so that passes cost little."""
        return self._live / _LOOKS_A_SECOND

    def beat_s(self, settings: FleetSettings) -> float:
        """Give the time between two heartbeats: where machines are many, each one's are read by all others."""
        return max(settings.beat, min(self.least_pause_s, settings.dead_after * _MOST_OF_DEAD_AFTER))

    def hear_all(self, now: float) -> None:
        """Read the heads of all logs that there are; to begin with."""
        ends: dict[str, Place | None] = dict.fromkeys([*self._ledger.machines(), *self._fleet.peers])
        for peer in self._fleet.peers.values():
            if peer.bye is not None:
                self._looked_at[peer.machine] = now
                ends[peer.machine] = said_end(peer)
        self._ledger.meet(ends)

    def hear(self, now: float, *, starved: bool) -> None:
        """Read what is new."""
        live = self._fleet.live_peers(now)
        self._live = len(live)
        self.somebody_is_hungry = any(peer.last().pending == 0 for peer in live)
        ends: dict[str, Place | None] = {peer.machine: said_end(peer) for peer in live if peer.last().log}
        ends |= {machine: self._said_end(machine) for machine in self._silent_ones(now)}
        ends |= dict.fromkeys(self._unsigned_ones(now))
        for machine in self._ledger.doubted:  # it may have been an old view: nothing else would show that it was one
            ends.setdefault(machine, self._said_end(machine) if machine in self._fleet.peers else None)
        if starved:
            for idle, most in ((False, _LOOKS_A_ROUND), (True, _LOOKS_AT_IDLE)):
                machines = [peer.machine for peer in live if peer.last().idle is idle]
                ends |= dict.fromkeys(filter(self._ledger.has_grown, self._some_of(machines, most, idle=idle)))
        self._ledger.hear(ends)

    def _silent_ones(self, now: float) -> list[str]:
        """Give machines that are not live, and whose logs may have lines that were not read yet."""
        chosen = []
        for peer in self._fleet.peers.values():
            if not peer.left and self._fleet.is_live(peer.machine, now):
                self._looked_at.pop(peer.machine, None)
                continue
            looked_at = self._looked_at.get(peer.machine)
            if looked_at is not None and not is_worth_a_look(now, looked_at, peer.grown_at, self._caches_s):
                continue
            is_read = peer.bye is not None and self._said_end(peer.machine) is None
            if looked_at is None or now - looked_at >= (self._fleet.dead_after_s if is_read else 0.0):
                self._looked_at[peer.machine] = now
                chosen.append(peer.machine)
        return chosen

    def _unsigned_ones(self, now: float) -> list[str]:
        """Give machines that have a log and no heartbeats, now and then.

        A command that is killed before it signs its log leaves one. Whoever joins later reads it, and machines that
        have not read the same do not agree that the crawl is over.
        """
        if now < self._next_listing:
            return []
        self._next_listing = now + self._fleet.dead_after_s
        return [machine for machine in self._ledger.machines() if machine not in self._fleet.peers]

    def _said_end(self, machine: str) -> Place | None:
        """Give the end of a log by its machine's last words, if it was not read so far: it may have been cut."""
        end = said_end(self._fleet.peers[machine])
        return end if end is not None and self._ledger.read_to(machine) < end else None

    def _some_of(self, machines: list[str], most: int, *, idle: bool) -> list[str]:
        """Give the machines whose turn it is."""
        if len(machines) <= most:
            return machines
        ordered = sorted(machines)
        start = self._next[idle] % len(ordered)
        self._next[idle] = start + most
        return (ordered[start:] + ordered[:start])[:most]


def said_end(peer: Peer) -> Place | None:
    """Give where a machine's log ends by its last words; None if they do not say."""
    log = peer.last().log
    return None if log is None else Place(*log)
