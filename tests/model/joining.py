"""Joining: what comes before a machine's first claim. And a machine of format 1, which knows nothing of logs.

The old machine fetches what it can reach from the seeds over stored pages. Leases, permits and fences it has like the
new ones. Its feeds are only modelled where they hold what nothing else does: the lines of retries.
"""

from __future__ import annotations

from tests.model import sending
from tests.model.lines import Found, Term, shard_of
from tests.model.machine import Machine, Task
from tests.model.share import Lease
from tests.model.working import store
from tests.model.world import Violation, World

OLD = "old"


def start(machine: Machine) -> bool:
    """Wait for a machine of format 1 that is live, take its retries over, announce a refresh."""
    if not machine.is_new or not machine.may_go_on() or machine.is_stale():
        return False
    share, old = machine.share, machine.world.old
    share.is_format_2 = True
    if old is not None and old.permit and not machine.without("waits_for_old"):
        return False
    if share.old_again and not _take_retries_over(machine):
        return True
    if machine.refresh > max((each.refresh for each in share.generations), default=-1):
        machine.advance(refresh=machine.refresh)
    machine.is_new = False
    return True


def _take_retries_over(machine: Machine) -> bool:
    """Write the retries of old feeds into a log; the feeds are removed when that is flushed. False: not done yet."""
    share, name = machine.share, machine.name
    if machine.says_retries and not machine.buffer:
        share.old_again = [each for each in share.old_again if each not in machine.says_retries]
        machine.says_retries = []
        return not share.old_again
    if not machine.says_retries:
        machine.note(f"takes over {share.old_again}")
        machine.says_retries = list(share.old_again)
        for url, failed_at in machine.says_retries:
            error = machine.world.errors.get(url)
            sending.say(machine, Found(shard_of(url), url, error.depth if error else 0, failed_at))
        if machine.without("old_feeds_stay"):
            share.old_again = []
    else:
        sending.flush(machine)
    return machine.name == name and not share.old_again


class OldMachine:
    """Alive until it is stopped for good."""

    def __init__(self, world: World) -> None:
        self.world, self.share = world, world.share
        self.alive = self.permit = True
        self.paused, self.name = False, OLD
        self.rests: dict[int, int] = {}
        self.in_flight: dict[int, Task] = {}
        for shard in world.shards():
            self.share.leases[shard][1] = Lease(OLD, world.now)

    def holds(self, shard: int) -> bool:
        leases = self.share.leases[shard]
        return leases[max(leases)].holder == OLD

    def work(self) -> None:
        """Fetch or store a page."""
        world = self.world
        if not self.alive or self.paused or self.share is not world.share:
            return
        if not self.permit:  # its fence: a beat, one more, leases by listing and by name
            for machine in world.machines:
                machine.thinks_dead.discard(OLD)
            self.permit = True
            return
        if self.in_flight and world.rng.random() < 0.5:
            url = world.rng.choice(sorted(self.in_flight))
            store(world, self.in_flight.pop(url), self.rests, OLD)
            return
        todo = world.reachable().keys() - world.records.keys() - world.errors.keys() - self.in_flight.keys()
        todo = {url for url in todo if self.holds(shard_of(url)) and self.rests.get(shard_of(url), 0) <= world.now}
        if todo:
            self._fetch(min(todo))

    def _fetch(self, url: int) -> None:
        world, shard = self.world, shard_of(url)
        world.note(f"old fetches {url}")
        if any(url in each.in_flight for each in world.machines if each.may_go_on()):
            raise Violation(f"3 one holder: a machine of format 1 fetches {url}, which is in flight")
        if world.accounts.rest_until[shard] > world.now:
            raise Violation(f"5 hosts rest: a machine of format 1 fetches {url}, whose host rests")
        world.accounts.check_repeats(url)
        self.in_flight[url] = Task(url, world.reachable()[url], Term(world.config.wide, world.config.max_depth, 0))

    def expire(self) -> None:
        """It stands still until its permit is over; what was in flight is given back."""
        self.paused, self.permit = True, False
        self.excuse()

    def excuse(self) -> None:
        accounts = self.world.accounts
        accounts.path_lost = True
        for url in self.in_flight:
            accounts.excused[url] += 1
        for shard in self.rests:  # nobody reads its beats here
            accounts.rest_until[shard] = 0
        self.in_flight = {}

    def stop(self) -> None:
        """It has left, or was killed."""
        self.alive = self.permit = False
        self.excuse()
        self.world.note("old stops")
