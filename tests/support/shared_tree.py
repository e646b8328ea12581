"""A tree in memory, on which machines see of each other what the test lets them see."""

import json

from fscrawl.fleet.machinery import Lease

SHARDS = 64


class Shared:
    """A tree in memory.

    unlisted   names that a stale listing lacks
    unnamed    leases that cannot be seen by name
    unfound    leases that are listed and cannot be read
    """

    def __init__(self):
        self.logs, self.held, self.unlisted, self.unnamed, self.dropped = {}, {}, set(), set(), []
        self.unfound = set()
        self.reads = []

    def say(self, machine, **facts):
        self.logs[machine] = self.logs.get(machine, b"") + json.dumps(facts).encode() + b"\n"

    def machines(self):
        return [name for name in self.logs if name not in self.unlisted]

    def is_planted(self, machine):
        return False

    def read_heartbeats(self, machine, offset, most=None):
        data = self.logs.get(machine, b"")[offset:][:most]
        return data[: data.rfind(b"\n") + 1]

    def read_newest_heartbeats(self, machine, offset):
        self.reads.append(machine)
        data = self.read_heartbeats(machine, offset)
        return data, offset + len(data)

    def leases(self):
        return [name for name in self.held if name not in self.unlisted]

    def lease(self, shard, epoch):
        there = (shard, epoch) not in self.unfound
        return Lease(shard, epoch, self.held.get((shard, epoch), "") if there else "")

    def has_lease(self, shard, epoch):
        return (shard, epoch) in self.held and (shard, epoch) not in self.unnamed

    def claim_lease(self, shard, epoch, holder, rests=None):
        return self.held.setdefault((shard, epoch), holder) is holder

    def drop_lease(self, shard, epoch):
        self.dropped.append((shard, epoch))
        del self.held[shard, epoch]


def beats(fleet, machine, now):
    fleet._shared.say(machine, beat=1)
    fleet.observe(now)
