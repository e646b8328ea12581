"""Which machines are live, for a process that only watches them, by the rules of `fleet.ownership`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fscrawl.fleet import heartbeat
from fscrawl.fleet.machinery import Machinery
from fscrawl.fleet.ownership import Fleet

_GLANCE_S = 1.0


class Liveness:
    """What the heartbeat logs have shown since this object was made."""

    def __init__(
        self,
        machinery: Machinery,
        machine: str,
        dead_after_s: float,
        shards: int,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._fleet = Fleet(machinery, machine, dead_after_s, shards)
        self._clock = clock
        self._sleep = sleep
        self._watched = False
        self.look()
        self._first = {peer.machine: peer.offset for peer in self._fleet.peers.values()}
        self._since = clock()

    def look(self) -> None:
        """Read the new lines of the logs."""
        self._fleet.observe(self._clock())

    @property
    def live(self) -> frozenset[str]:
        """Machines that are not known to be dead."""
        return frozenset(name for name in self._fleet.peers if not self.is_dead(name))

    def ends(self) -> dict[str, tuple[int, int]]:
        """Give, by machine, its generation and how many bytes its log has, by its last line."""
        last = ((name, peer.last()) for name, peer in self._fleet.peers.items())
        return {name: (beat.generation, beat.log) for name, beat in last if beat.log}

    def is_dead(self, machine: str) -> bool:
        """Tell whether a machine is certainly dead. If it has no log, this is usually known only after `watch`."""
        peer = self._fleet.peers.get(machine)
        if peer is None:
            return self._watched or heartbeat.is_gone_by_name(machine)
        return peer.left or (self._watched and not self.is_seen(machine))

    def is_seen(self, machine: str) -> bool:
        """Tell whether it is certainly alive: its process runs here, or its log has grown since the first look."""
        peer = self._fleet.peers.get(machine)
        if peer is None or peer.left:
            return False
        return heartbeat.runs_here(peer.greeting) or peer.offset > self._first.get(machine, 0)

    def doubtful(self, owners: Iterable[str] = ()) -> set[str]:
        """Return the machines that are neither dead nor certainly alive: of those with a log, and of `owners`."""
        return {name for name in {*self._fleet.peers, *owners} if not (self.is_dead(name) or self.is_seen(name))}

    def limit_s(self, machines: Iterable[str]) -> float:
        """Return for how many seconds machines may be silent before they are dead: the longest `dead_after`."""
        return max(map(self._fleet.dead_after_of, machines))

    def watch(self, owners: Iterable[str]) -> None:
        """Watch the logs until no machine is doubtful, at most `limit_s` seconds since the first look."""
        while (names := self.doubtful(owners)) and (left_s := self._since + self.limit_s(names) - self._clock()) >= 0:
            self._sleep(min(left_s + 0.01, _GLANCE_S))
            self.look()
        self._watched = True
