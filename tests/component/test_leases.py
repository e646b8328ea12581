"""Who holds a shard, whatever happens: stale listings, lost replies, crashes, pauses, machines that join and leave.

Several `Fleet`s run on one tree in memory; what stands around them is `Membership`'s use of leases and of the heart:
observe, look, hand over, claim; fenced without beats, and then a beat waited for and the leases asked by name too.

Guaranteed, and asserted after every single call on the tree:

  no overlap   Two machines never both work on a shard (it is in the frontier, the permit of the last beat holds),
               whatever crashes, is suspended, is cut off from its log, is late with listings or with names, as long as
               each link() follows the reading of heartbeats that it rests on within a beat.
  the window   Without a fencing token at the web server the rest cannot be had, only bounded. A machine whose link()
               comes later than that (its main loop hung, or it was paused, between reading and linking) may take a
               shard from one that has recovered meanwhile: both work until the other's next look is fresh. A machine
               that cannot know that it stood still (a hypervisor froze it with all its clocks; its main loop hung
               while its heart beat) goes on with what it held until its own next look is fresh. In both cases: a
               round plus the lateness of listings.
  epochs       An epoch is won once, the newest is never removed, and what is won is newer than all there is; but for
               one who stood still as above, or rested on what it had read longer ago than `dead_after`: it may win one
               that has been dropped, and sees that by the name of the next one or at its next look.
  an end       When machines crash and pause no more, each shard is soon worked on by one live machine, the wanted one.

FSCRAWL_FUZZ=1 looks longer.
"""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fscrawl.fleet.assignment import assign
from tests.support.effort import tries
from tests.support.lease_model import BEAT_S, DEAD_AFTER_S, LATEST_S, SHARDS, STEP_S, WINDOW_S, Member, Server

FUZZ = os.environ.get("FSCRAWL_FUZZ") == "1"

pytestmark = pytest.mark.timeout(3600 if FUZZ else 400)


def late(leases, machines, names):
    return {"leases": leases, "machines": machines, "names": names}


lateness = st.sampled_from(
    [late(0, 0, 0), late(0, 0, 20), late(0, 0, LATEST_S), late(20, 0, 0), late(0, 20, 0), late(LATEST_S, LATEST_S, 0)]
)
numbers = st.integers(0, 4)
orders = st.lists(numbers, max_size=12)


class Leases(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.server = Server()
        self.server.gone = set()
        self.members = []
        self.broken = True  # until a step has come to its end

    @initialize(hosts=st.lists(st.integers(0, 3), min_size=1, max_size=4), late=lateness, steps=st.integers(0, 30))
    def begin(self, hosts, late, steps):
        for host in hosts:
            self.join(host, 0, late)
        self.much_time_passes(steps)

    def _running(self):
        return [member for member in self.members if not member.over]

    @precondition(lambda self: len(self._running()) < 5 and len(self.members) < 9)
    @rule(host=st.integers(0, 3), years=st.integers(-40, 40), late=lateness)
    def join(self, host, years, late):
        self.members.append(Member(self.server, len(self.members), host, years * 3.2e7))
        self.members[-1].mount.late_s = late

    def _pick(self, number):
        running = self._running()
        return running[number % len(running)] if running else None

    @rule(number=numbers, late=lateness)
    def mount_gets_late(self, number, late):
        if member := self._pick(number):
            member.mount.late_s = late

    @rule(number=numbers, loses=st.booleans())
    def replies_get_lost(self, number, loses):
        if member := self._pick(number):
            member.mount.loses_replies = loses

    @rule(number=numbers, mute=st.booleans())
    def log_fails(self, number, mute):
        if member := self._pick(number):
            member.mute = mute

    @rule(number=numbers)
    def leaves(self, number):
        if member := self._pick(number):
            member.leave()

    @rule(number=numbers, steps=st.integers(0, 12), picks=orders)
    def crashes(self, number, steps, picks):
        """Anywhere: after so many steps of its next round."""
        self._trip(number, steps, picks, Member.crash)

    @rule(number=numbers, steps=st.integers(0, 12), picks=orders)
    def is_paused(self, number, steps, picks):
        self._trip(number, steps, picks, Member.stop)

    @rule(
        number=numbers,
        steps=st.integers(0, 12),
        picks=orders,
        units=st.integers(0, 30),
        kind=st.sampled_from(["stop", "suspend", "freeze"]),
        after=st.integers(0, 6),
    )
    def is_paused_for_a_while(self, number, steps, picks, units, kind, after):
        member = self._pick(number)
        if member and member.awake:
            self._step(picks, (member, steps, Member.stop))
            self.much_time_passes(units)
            if not member.awake:
                member.go_on(kind)
            self.much_time_passes(after)

    @rule(number=numbers, host=st.integers(0, 3), late=lateness, first=st.booleans(), steps=st.integers(0, 3))
    def is_replaced(self, number, host, late, first, steps):
        """One leaves and another comes, at about the same time."""
        member = self._pick(number)
        if member and len(self.members) < 12:
            if first:
                self.join(host, 0, late)
                self.much_time_passes(steps)
            member.leave()
            if not first:
                self.much_time_passes(steps)
                self.join(host, 0, late)

    @rule(number=numbers, steps=st.integers(0, 12), picks=orders)
    def gets_stuck(self, number, steps, picks):
        self._trip(number, steps, picks, lambda member: setattr(member, "stuck", True))

    def _trip(self, number, steps, picks, fault):
        if (member := self._pick(number)) and member.awake:
            self._step(picks, (member, steps, fault))

    @rule(number=numbers, kind=st.sampled_from(["stop", "suspend", "freeze"]))
    def goes_on(self, number, kind):
        if (member := self._pick(number)) and not member.awake:
            member.go_on(kind)

    @rule(number=numbers)
    def comes_unstuck(self, number):
        if (member := self._pick(number)) and member.stuck:
            member.stuck = False
            member.dazed_until = self.server.now + WINDOW_S

    @rule(steps=st.integers(1, 4), picks=orders)
    def time_passes(self, steps, picks):
        for _ in range(steps):
            self._step(picks)

    @rule(steps=st.integers(8, 40))
    def much_time_passes(self, steps):
        for _ in range(steps):
            self._step()

    def _step(self, picks=(), trip=None):
        """Let hearts beat, and main loops run until they wait, in the order that `picks` says; then time goes on."""
        self.broken = True
        for member in self._running():
            if member.awake:
                member.heart()
        busy, order = list(self._running()), iter(picks)
        while busy := [each for each in busy if each.awake and not each.stuck and not each.over]:
            member = busy[next(order, 0) % len(busy)]
            if next(member.main) == "waits":
                busy.remove(member)
            self.nobody_works_beside_another()
            if trip and member is trip[0]:
                trip = (member, trip[1] - 1, trip[2])
                if trip[1] < 0:
                    trip[2](member)
                    trip = None
        self.server.now += STEP_S
        self.nobody_works_beside_another()
        self.broken = False

    @invariant()
    def nobody_works_beside_another(self):
        now = self.server.now
        for shard in SHARDS:
            if now > self.server.excused[shard]:
                at_work = [each for each in self._running() if each.works_on(shard)]
                sure = [each for each in at_work if now > each.dazed_until]
                assert len(sure) < 2, f"{[each.name for each in sure]} work on {shard}"

    def teardown(self):
        """When the trouble is over, each shard is with the one machine that should have it."""
        if self.broken:
            return
        if not self._running():
            self.join(0, 0, late(0, 0, 0))
        for member in self._running():
            member.mute = member.stuck = False
            if not member.awake:
                member.go_on("stop")
            member.dazed_until = self.server.now + WINDOW_S
        for _ in range(int((2 * DEAD_AFTER_S + 2 * LATEST_S + 6 * BEAT_S) / STEP_S)):
            self._step()
        live = [member.name for member in self._running()]
        for shard, wanted in enumerate(assign(len(SHARDS), live)):
            assert [each.name for each in self._running() if each.works_on(shard)] == [wanted]


TestLeases = Leases.TestCase
TestLeases.settings = settings(
    max_examples=2000 if FUZZ else tries(100),
    stateful_step_count=60 if FUZZ else 30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_pause_before_a_late_listing():
    """One that was taken for dead, and whose listing is from before that, finds its successors by name."""
    story = Leases()
    story.begin([0, 1], late(0, 0, 0), 6)
    first = story.members[1]  # some others would be the better hash for a shard of it
    held = set(first.frontier)
    first.mount.late_s = late(LATEST_S, LATEST_S, 0)
    first.stop()
    taken = set()
    while not taken:  # until others have come that it should hand over to
        story.join(len(story.members), 0, late(0, 0, 0))
        everybody = [member.name for member in story.members]
        wanted = assign(len(SHARDS), everybody)
        taken = {shard for shard in held if wanted[shard] != first.name}
    while not all(story.server.newest[shard] > first.fleet.held[shard] for shard in taken):
        story._step()
    first.go_on("stop")
    for _ in range(6):
        story._step()
    assert not first._fenced
    assert not first.frontier & taken
    story.teardown()


def test_newcomer_that_cannot_find_leases():
    """Leases that are listed and cannot be found yet are those of live machines, and a newcomer leaves them alone."""
    story = Leases()
    story.begin([0, 1], late(0, 0, 0), 2)
    story.join(2, 0, late(0, 0, LATEST_S))
    newcomer = story.members[-1]
    assert newcomer.name in assign(len(SHARDS), ["m0", "m1", newcomer.name])
    story._step([2] * 12)  # its round comes before those of the others
    assert not newcomer.frontier
    story.teardown()
