"""Which machine works on what: live machines, who should hold a shard, who holds it, and when all work is done.

Vocabulary:
  peer        another machine with a heartbeat log in the tree
  live        the machine is not known to have ended, and its log grew within `dead_after` seconds by this machine's
              clock. A newly seen machine counts as live for `dead_after` seconds, even if it crashed long ago
  proven      this machine has seen it appear or beat. Shards are handed over to proven machines only, because a log
              may be that of a dead machine
  wanted      the machine that should hold a shard (see `assignment`)
  holder      the machine that the highest epoch of a shard's lease names
  unread      a lease that is listed, and is torn or cannot be found. NFS may remember for a minute that a file was
              missing, and a live machine may hold the shard. Once no cache can be so old, nobody holds it
  free        a shard that no live machine holds, and whose lease is not unread
  needed      a shard that has URLs; other shards need no holder

Promise: a machine works on a shard only while it knows no higher epoch than its own, and only one machine can win an
epoch. A shard is taken only from a machine that has not beaten for `dead_after` seconds. A machine that has not beaten
for half of that time stops by itself (`engine/machine.py`). Clocks of two machines are never compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, KeysView, Mapping
from functools import lru_cache

import msgspec

from fscrawl.errors import MemoryGone
from fscrawl.fleet.assignment import assign
from fscrawl.fleet.beat import Hello
from fscrawl.fleet.heartbeat import is_gone, is_worth_a_look
from fscrawl.fleet.machinery import Heard, Lease, Machinery, Peer
from fscrawl.storage.layout import lease_path
from fscrawl.storage.mounts import CACHES_LIVE_S
from fscrawl.util.parallel import READERS, in_turn_if_slow

_UNREAD = ""
_KEPT = 8  # passed epochs of a shard: short runs pass one each, and none of them lives to see that its listing is fresh
_MOST_DROPS = 256  # in one look: the main loop waits for them
_GLANCE = 1 / 3  # of `dead_after`: the normal time between two looks at other machines' logs


class Changes(msgspec.Struct):
    """The changes that a look at the leases has found.

    adopted   shards that another machine handed over to this one
    lost      shards that this machine held and another machine holds now, or has held since then. A shard may have
              been away and come back: then it is adopted, too, and must be taken anew
    """

    adopted: list[int] = msgspec.field(default_factory=list)
    lost: list[int] = msgspec.field(default_factory=list)


class Fleet:
    """One machine's view of all machines. Not thread-safe: only the main loop uses it.

    held             shard → epoch
    peers            by id
    finished_peers   those that have left because the crawl was over, while this machine was there. One that had left
                     before does not count: that was the end of an earlier run, before new seeds were added
    pages_elsewhere  stored by all peers, in this and in earlier runs
    """

    def __init__(
        self,
        shared: Machinery,
        machine: str,
        dead_after_s: float,
        shards: int,
        gone: Callable[[Hello], bool] = is_gone,
        *,
        caches_s: float = CACHES_LIVE_S,
        clock: Callable[[], float] = lambda: float("-inf"),
    ) -> None:
        """`shards`: of the whole crawl; `gone(hello)`: whether the process that wrote it is known to have ended.

        `caches_s`: how long the file system may show what is no longer so; 0 on a local disk. `clock`: that of all
        times here; without it, nothing takes time.
        """
        self.machine = machine
        self.held: dict[int, int] = {}
        self.peers: dict[str, Peer] = {}
        self.dead_after_s = dead_after_s
        self._caches_s = caches_s
        self._clock = clock
        self._shared = shared
        self._shards = shards
        self._gone = gone
        self._assigned: dict[frozenset[str], list[str]] = {}  # machines → the holder that each shard should have
        self._newest: dict[int, Lease] = {}
        self._listed: frozenset[tuple[int, int]] = frozenset()  # (shard, epoch) of the leases, when it looked last
        self._unread_since: dict[int, float] = {}  # shards whose newest lease is unread
        self._superseded: dict[tuple[int, int], float] = {}
        self._observed_at: float | None = None
        self.finished_peers: list[Peer] = []
        self.pages_elsewhere = 0

    # -- who is there

    def observe(self, now: float, *, idle_s: float = 0.0) -> None:
        """Read new heartbeats; logs of dead machines are read less often. `now`: the time before the first is read.

        `idle_s`: the next heartbeat of a machine that says that it is idle is not looked for before so many seconds.

        On a slow share several logs are read at the same time: each past run has left one, and weeks leave thousands.
        """
        self._forgive_what_was_not_seen(now)
        due = []
        for machine in dict.fromkeys([*self._shared.machines(), *self.peers]):
            if machine == self.machine:
                continue
            if machine not in self.peers:
                self.peers[machine] = Peer(machine, now, proven=self._observed_at is not None)
            peer = self.peers[machine]
            if peer.left or not is_worth_a_look(now, peer.looked_at, peer.grown_at, self.dead_after_of(machine)):
                continue
            if not (peer.proven and peer.last().idle and now - peer.grown_at < idle_s) or self._is_gone(peer):
                due.append(peer)
        self._hear(due, now)
        self._observed_at = now

    def _forgive_what_was_not_seen(self, now: float) -> None:
        """A peer's silence counts only while this machine can look at the logs.

        Otherwise a machine that comes back from an outage would take all others for dead.
        """
        if self._observed_at is not None:
            unseen_s = now - self._observed_at - _GLANCE * self.dead_after_s
            for peer in self.peers.values() if unseen_s > 0 else ():
                peer.grown_at = min(peer.grown_at + unseen_s, now)

    def _hear(self, peers: list[Peer], now: float) -> None:
        """Read the logs of some peers; once more if a process has ended since, so that its last heartbeats are read."""
        while peers:
            with contextlib.closing(in_turn_if_slow(self._listen, peers, READERS)) as looks:
                for look in looks:
                    self._take(*look, now)
            peers = [peer for peer in peers if not peer.left and self._is_gone(peer)]

    def _listen(self, peer: Peer) -> tuple[Peer, bool, Heard]:
        """Read what a log has grown by; other threads read others. Nothing is taken in."""
        gone = self._is_gone(peer)  # asked before reading: what it wrote last is there
        return peer, gone, peer.listen(self._shared)

    def _take(self, peer: Peer, gone: bool, heard: Heard, now: float) -> None:
        peer.looked_at = now
        before, pages_before = peer.offset, peer.last().pages
        peer.hear(heard, now)
        if peer.offset > before:  # the file system may have hung: the machine may have beaten until a moment ago
            peer.grown_at = max(now, self._clock())
        peer.proven = peer.proven or 0 < before < peer.offset
        peer.gone = gone
        self.pages_elsewhere += peer.last().pages - pages_before
        if self._observed_at is not None and peer.bye is not None and peer.bye.finished:
            self.finished_peers.append(peer)

    def _is_gone(self, peer: Peer) -> bool:
        return peer.greeting is not None and self._gone(peer.greeting)

    def is_live(self, machine: str, now: float) -> bool:
        if machine == self.machine:
            return True
        peer = self.peers.get(machine)
        return peer is not None and not peer.left and now - peer.grown_at <= self.dead_after_of(machine)

    def has_dead(self, now: float) -> bool:
        """Tell whether a machine is dead that has not said goodbye, so that it may have left anything."""
        return any(peer.bye is None and not self.is_live(peer.machine, now) for peer in self.peers.values())

    def is_miscounted(self, now: float) -> bool:
        """Tell whether a machine is dead that could not say its last counts, and nobody who came later has counted.

        Not while others are at work: they store pages meanwhile. When machines came, their clocks say; if these are
        wrong, the tree is counted once more, or not.
        """
        came = [(peer.greeting.at, peer) for peer in self.peers.values() if peer.greeting is not None]
        counted_at = max((at for at, peer in came if peer.last().counted), default=0.0)
        late = [peer for at, peer in came if at > counted_at and peer.bye is None]
        return bool(late) and not any(self.is_live(peer.machine, now) for peer in late)

    def dead_after_of(self, machine: str) -> float:
        """Return after how many seconds of silence a machine is dead. It may run by longer settings than this one."""
        peer = self.peers.get(machine)
        return max(self.dead_after_s, peer.last().dead_after if peer else 0.0)

    def live_peers(self, now: float) -> list[Peer]:
        # Who has left is not looked up: weeks of past runs leave thousands of them.
        return [peer for peer in self.peers.values() if not peer.left and self.is_live(peer.machine, now)]

    def unwanted(self, now: float) -> dict[int, str]:
        """Give the held shards that another machine should hold, with that machine; only proven ones are given any."""
        wanted = self._assignment(peer.machine for peer in self.live_peers(now) if peer.proven)
        return {shard: wanted[shard] for shard in self.held if wanted[shard] != self.machine}

    def claimable(self, needed: Iterable[int], now: float) -> list[int]:
        """Give those of some shards that this machine should hold, and that nobody seems to hold."""
        wanted = self._assignment(peer.machine for peer in self.live_peers(now))
        return [shard for shard in sorted(needed) if wanted[shard] == self.machine and self.is_free(shard, now)]

    def _assignment(self, peers: Iterable[str]) -> list[str]:
        """Give the machine that should hold each shard; worked out once for a set of machines."""
        machines = frozenset({self.machine, *peers})
        if machines not in self._assigned:
            self._assigned = {**dict(list(self._assigned.items())[-1:]), machines: assign(self._shards, machines)}
        return self._assigned[machines]

    # -- who holds what

    @property
    def stale_s(self) -> float:
        """For how many seconds a listing may be out of date, or an existing name be missing."""
        return max(self.dead_after_s, self._caches_s)

    def look(self, now: float) -> Changes:
        """Read the names of all leases and the contents of new and unread ones. Remove old leases of held shards."""
        changes = Changes()
        for shard in list(self._unread_since):
            self._learn(self._shared.lease(shard, self._newest[shard].epoch), changes, now)
        listed = sorted(lease for lease in self._shared.leases() if lease[0] < self._shards)
        self._listed = frozenset(listed)
        for shard, epoch in dict(listed).items():  # the highest of each shard: those before it say nothing any more
            newest = self._newest.get(shard)
            if newest is None or epoch > newest.epoch:
                self._learn(self._shared.lease(shard, epoch), changes, now)
        for shard, epoch in listed:
            if epoch < self._newest[shard].epoch:
                self._superseded.setdefault((shard, epoch), now)
        self._check_there()
        self._ask_for_next({shard: self.held[shard] for shard in changes.adopted}, changes, now)
        self._drop_old(now)
        return changes

    def _check_there(self) -> None:
        """Raise MemoryGone if the newest lease of a shard is neither listed nor found by its name.

        Its holder alone removes it, after the next one. So somebody has removed it by hand, or replaced `.fscrawl`.
        """
        for shard, epoch, *_ in self._newest.values():
            if (shard, epoch) not in self._listed and not self._shared.has_lease(shard, epoch):
                raise MemoryGone.at(lease_path(shard, epoch), "it was deleted")

    def look_again(self, now: float) -> Changes:
        """Look after a pause. Ask by name for the next epoch of each held lease, too: a listing may be out of date."""
        changes = self.look(now)
        self._ask_for_next(dict(self.held), changes, now)
        return changes

    def _ask_for_next(self, held: dict[int, int], changes: Changes, now: float) -> None:
        """Ask by name for the epoch after each of some leases, since a listing may be out of date."""
        for shard, epoch in held.items():
            if self._shared.has_lease(shard, epoch + 1):
                self._learn(self._shared.lease(shard, epoch + 1), changes, now)

    def check_held(self) -> None:
        """Raise MemoryGone if a held lease names another machine: in a pause, somebody may have removed it."""
        for shard, epoch in sorted(self.held.items()):
            if (holder := self._shared.lease(shard, epoch).holder) not in (self.machine, _UNREAD):
                raise MemoryGone.at(lease_path(shard, epoch), f"it was made anew, and names {holder},")

    def _learn(self, lease: Lease, changes: Changes, now: float) -> None:
        shard = lease.shard
        if lease.holder == _UNREAD:
            if lease != self._newest.get(shard):
                self._unread_since[shard] = now
        else:
            self._unread_since.pop(shard, None)
            if lease.holder != self.machine:  # the listing of machines may be older than this one
                self.peers.setdefault(lease.holder, Peer(lease.holder, now))
        self._newest[shard] = lease
        if self.held.pop(shard, None) is not None:
            if shard in changes.adopted:
                changes.adopted.remove(shard)
            else:
                changes.lost.append(shard)
        if lease.holder == self.machine:
            changes.adopted.append(shard)
            self.held[shard] = lease.epoch

    def _drop_old(self, now: float) -> None:
        """Remove old epochs of held shards, once no listing can be so old that one of them looks like the newest.

        If the own lease is gone, `.fscrawl` may be another one by now, and the old epoch may be valid there. So it must
        be found by its name.
        """
        drops = max(_MOST_DROPS, 2 * len(self.held))  # who claims all shards in each run must not fall behind
        is_there = lru_cache(None)(lambda shard: self._shared.has_lease(shard, self.held[shard]))
        for (shard, epoch), since in list(self._superseded.items()):
            held = self.held.get(shard, 0)
            far_behind = 1 < epoch < held - _KEPT and (shard, held) in self._listed
            if not far_behind and now - since <= 2 * self.dead_after_s:
                continue
            if held and is_there(shard):
                self._shared.drop_lease(shard, epoch)
                drops -= 1
            del self._superseded[shard, epoch]
            if not drops:
                return

    def holder(self, shard: int) -> str:
        """Return the machine that holds a shard; "" if that is none, or is not known."""
        lease = self._newest.get(shard)
        return lease.holder if lease else ""

    @property
    def leased(self) -> KeysView[int]:
        """The shards that a machine holds or has held."""
        return self._newest.keys()

    def leases_by_holder(self) -> dict[str, list[tuple[int, int]]]:
        """Give the newest leases (shard, epoch) of each machine, as far as they were read."""
        found: dict[str, list[tuple[int, int]]] = {}
        for lease in self._newest.values():
            found.setdefault(lease.holder, []).append((lease.shard, lease.epoch))
        return found

    def look_at_holder(self, shard: int, now: float, most_age_s: float) -> None:
        """Read the log of a shard's holder before a claim, if the last look is older than `most_age_s`."""
        peer = self.peers.get(self.holder(shard))
        if peer is not None and not peer.left and now - peer.looked_at > most_age_s:
            self._hear([peer], now)

    def claim_free(self, needed: Iterable[int], most_age_s: float) -> list[int]:
        """Claim those of the needed shards that are free and that this machine should hold; return those it won.

        A claim rests on a look at the last holder's heartbeats that is not older than `most_age_s`.
        """
        won = []
        for shard in self.claimable(needed, self._clock()):
            now = self._clock()
            self.look_at_holder(shard, now, most_age_s)
            if self.is_free(shard, now) and self.claim(shard):
                won.append(shard)
        return won

    def is_free(self, shard: int, now: float) -> bool:
        """Return whether a shard may be claimed."""
        if shard in self._unread_since and now - self._unread_since[shard] <= self.stale_s:
            return False
        return shard not in self.held and not self.is_live(self.holder(shard), now)

    def claim(self, shard: int) -> bool:
        """Claim a free shard with the next epoch. Return whether this machine won it."""
        before = self._newest.get(shard)
        epoch = before.epoch + 1 if before else 1
        if not self._shared.claim_lease(shard, epoch, self.machine):
            return False  # the next look shows who won
        if self._shared.has_lease(shard, epoch + 1):
            return False  # the listing was out of date: this epoch is over
        if before and before.holder != _UNREAD and not self._shared.has_lease(shard, before.epoch):
            return False  # out of date by many epochs: the one before was removed. Else the next look adopts this one
        self._unread_since.pop(shard, None)
        self._newest[shard] = Lease(shard, epoch, self.machine, before.rests if before else ())
        self.held[shard] = epoch
        return True

    def rests_of(self, shard: int) -> tuple[tuple[str, float], ...]:
        """Give what the lease by which a shard was taken, or the one before it, says of hosts to be left alone."""
        return self._newest[shard].rests

    def hand_over(self, shard: int, to: str, rests: Mapping[str, float] | None = None) -> bool:
        """Give a held shard to another machine. False if this machine did not hold it any more.

        `rests`: its hosts that must be left alone, with the seconds that remain.
        """
        epoch = self.held.pop(shard) + 1
        won = self._shared.claim_lease(shard, epoch, to, rests)
        if won:
            self._newest[shard] = Lease(shard, epoch, to)
        return won
