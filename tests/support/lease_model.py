"""A model of the machines around the leases: the server, each machine's mount of it, and the machines.

tests/component/test_leases.py lets them do what may happen, and says what is guaranteed.
"""

import itertools
import json
from collections import Counter

from fscrawl.fleet.machinery import Lease
from fscrawl.fleet.ownership import Fleet

BEAT_S, DEAD_AFTER_S, ROUND_S = 10.0, 60.0, 5.0
LEASE_S = DEAD_AFTER_S / 2
LATEST_S = 55.0  # of a listing, or of a name
STEP_S = 5.0
WINDOW_S = LATEST_S + 2 * ROUND_S + STEP_S
SHARDS = range(4)


class Server:
    """The truth: what is on the disk, and what was when."""

    def __init__(self):
        self.now = 0.0
        self.logs = {}
        self.leases = {}  # (shard, epoch) → (holder, nonce)
        self.listings = {"leases": [(-1e9, frozenset())], "machines": [(-1e9, frozenset())]}
        self.won = Counter()
        self.newest = dict.fromkeys(SHARDS, 0)
        self.excused = dict.fromkeys(SHARDS, -1e9)  # until when two may work on a shard

    def append(self, machine, line):
        if machine not in self.logs:
            self.logs[machine] = b""
            self._note("machines", self.logs)
        self.logs[machine] += json.dumps(line).encode() + b"\n"

    def link(self, name, data):
        if name in self.leases:
            raise FileExistsError(name)
        self.leases[name] = data
        self.newest[name[0]] = max(self.newest[name[0]], name[1])
        self._note("leases", self.leases)

    def unlink(self, name):
        assert name[1] < self.newest[name[0]], "the newest epoch was dropped"
        del self.leases[name]
        self._note("leases", self.leases)

    def _note(self, directory, names):
        self.listings[directory].append((self.now, frozenset(names)))

    def listing(self, directory, at):
        return next(names for since, names in reversed(self.listings[directory]) if since <= at)


class Mount:
    """The same as one machine sees it: on NFS names may be late, on sshfs listings, never both."""

    def __init__(self, server, member):
        self._server = server
        self._member = member
        self._nonces = itertools.count()
        self.late_s = {"leases": 0.0, "machines": 0.0, "names": 0.0}
        self.loses_replies = False

    def _list(self, directory):
        return self._server.listing(directory, self._member.earlier(self.late_s[directory]))

    def machines(self):
        return sorted(self._list("machines"))

    def is_planted(self, machine):
        return False

    def read_newest_heartbeats(self, machine, offset):
        data = self._server.logs.get(machine, b"")[offset:]
        return data, offset + len(data)

    def leases(self):
        return sorted(self._list("leases"))

    def lease(self, shard, epoch):
        """Read a lease. On NFS, it may be listed and not found by its name."""
        return Lease(shard, epoch, self._server.leases[shard, epoch][0] if self.has_lease(shard, epoch) else "")

    def has_lease(self, shard, epoch):
        at = self._member.earlier(self.late_s["names"])
        return (shard, epoch) in self._server.leases and (shard, epoch) in self._server.listing("leases", at)

    def claim_lease(self, shard, epoch, holder, rests=None):
        server, name, data = self._server, (shard, epoch), (holder, (self._member.name, next(self._nonces)))
        rested_s = server.now - self._member.observed_at
        newest = server.newest[shard]
        try:
            server.link(name, data)
            if self.loses_replies:
                server.link(name, data)  # sent again by the client, which heard no answer
        except FileExistsError:
            if server.leases[name] != data:
                return False
        server.won[name] += 1
        late = rested_s > DEAD_AFTER_S or server.now <= self._member.dazed_until
        assert late or (server.won[name] == 1 and epoch == newest + 1)
        if rested_s > BEAT_S:
            server.excused[shard] = server.now + WINDOW_S
        return True

    def drop_lease(self, shard, epoch):
        if (shard, epoch) in self._server.leases:
            self._server.unlink((shard, epoch))


class Member:
    """A machine: heart, main loop, and what Membership does with leases."""

    def __init__(self, server, number, host, clock):
        self.name = f"m{number}"
        self.host = host
        self.server = server
        self.over = False
        self.awake = True  # else paused: nothing runs
        self.stuck = False  # the main loop hangs in a call, the heart beats
        self.mute = False  # the heart's writes fail
        self._monotonic, self._uptime = clock, clock / 3  # minus server time
        self.dazed_until = -1e9  # it may not know yet that it stood still
        self._thawed_at = self._froze_s = 0.0
        self.mount = Mount(server, self)
        self.fleet = Fleet(self.mount, self.name, DEAD_AFTER_S, len(SHARDS), self._is_gone)
        self.frontier = set()
        self.observed_at = server.now
        self.server.append(self.name, {"hello": self.name, "host": host})
        self._beaten_at = self.uptime()
        self._permit_until = self._beaten_at + LEASE_S
        self._suspended = self._fenced = False
        self._beating_since = None
        self._next_round = self._next_beat = -1e18
        self.main = self._loop()

    # -- its clocks

    def monotonic(self):
        return self.server.now + self._monotonic

    def uptime(self):
        return self.server.now + self._uptime

    def earlier(self, late_s):
        """Give the time on the server `late_s` ago by this machine's uptime."""
        since_s = self.server.now - self._thawed_at
        return self.server.now - late_s - (self._froze_s if since_s < late_s else 0.0)

    def stop(self):
        self.awake = False
        self.stopped_at = self.server.now

    def go_on(self, kind):
        """`kind`: "stop" (all clocks went on), "suspend" (one stood still), "freeze" (all did)."""
        gap_s = self.server.now - self.stopped_at
        self.awake = True
        if kind != "stop":
            self._monotonic -= gap_s
        if kind == "freeze":
            self._uptime -= gap_s
            self._thawed_at, self._froze_s = self.server.now, gap_s
            self.dazed_until = self.server.now + WINDOW_S

    # -- its heart

    def heart(self):
        if self.mute or self.uptime() < self._next_beat:
            return
        began = self.uptime()
        self._next_beat = began + BEAT_S
        self.server.append(self.name, {"beat": 1})
        self._suspended = self._suspended or began - self._beaten_at > LEASE_S
        self._beaten_at = began
        if not self._suspended:
            self._permit_until = began + LEASE_S

    def works_on(self, shard):
        return (
            not self.over
            and self.awake
            and not self.stuck
            and not self._fenced
            and shard in self.frontier
            and self.uptime() <= self._permit_until
        )

    # -- its main loop; it may be stopped for ever, or for a while, at each yield

    def _loop(self):
        while True:
            yield from self._fence(self.monotonic())
            now = self.monotonic()
            if now >= self._next_round and not self._fenced:
                yield from self._round(now)
                self._next_round = now + ROUND_S - 0.1
            yield "waits"

    def _observe(self, now):
        self.observed_at = self.server.now
        self.fleet.observe(now)

    def _fence(self, now):
        if self.uptime() - self._beaten_at > LEASE_S:
            self._fenced, self._beating_since = True, None
        elif self._fenced or self._suspended:
            self._fenced = True
            self._beating_since = now if self._beating_since is None else self._beating_since
            if now - self._beating_since > BEAT_S:
                yield "about to look again"
                self._observe(now)
                self._follow(self.fleet.look_again(now))
                self._fenced, self._beating_since = False, None
                self._suspended = False
                self._permit_until = self._beaten_at + LEASE_S

    def _follow(self, changes):
        self.frontier -= set(changes.lost)
        self.frontier |= set(changes.adopted)

    def _round(self, now):
        self._observe(now)
        yield "observed"
        self._follow(self.fleet.look(now))
        yield "looked"
        for shard, wanted in self.fleet.unwanted(now).items():
            self.frontier.discard(shard)
            yield "about to hand over"
            self.fleet.hand_over(shard, wanted)
        for shard in self.fleet.claimable(SHARDS, now):
            self.fleet.look_at_holder(shard, self.monotonic(), BEAT_S / 2)
            if self.fleet.is_free(shard, self.monotonic()):
                yield "about to claim"
                if self.fleet.claim(shard):
                    self.frontier.add(shard)
        assert self.frontier == set(self.fleet.held)

    # -- its end

    def _is_gone(self, hello):
        return hello.host == self.host and hello.machine in self.server.gone

    def leave(self):
        self.over = True
        self.server.gone.add(self.name)
        self.server.append(self.name, {"bye": True})

    def crash(self):
        self.over = True
        self.server.gone.add(self.name)
