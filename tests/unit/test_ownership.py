"""One machine's view of all of them, on a tree in memory, with a clock in its hand."""

import json
from dataclasses import replace

import pytest

from fscrawl.fleet.beat import Beat
from fscrawl.fleet.leases import Lease
from fscrawl.fleet.ownership import Changes, Fleet, wanted_of

ALL = range(64)


class Shared:
    """A tree in memory; `unlisted`: names that a stale listing lacks, `unnamed`: leases that cannot be seen by name."""

    def __init__(self):
        self.logs, self.held, self.unlisted, self.unnamed, self.dropped = {}, {}, set(), set(), []
        self.piece = 1 << 20
        self.reads = []

    def say(self, machine, **facts):
        self.logs[machine] = self.logs.get(machine, b"") + json.dumps(facts).encode() + b"\n"

    def machines(self):
        return [name for name in self.logs if name not in self.unlisted]

    def read_heartbeats(self, machine, offset):
        self.reads.append(machine)
        data = self.logs.get(machine, b"")[offset : offset + self.piece]
        return data[: data.rfind(b"\n") + 1]

    def leases(self):
        return [name for name in self.held if name not in self.unlisted]

    def lease(self, shard, epoch):
        return Lease(shard, epoch, self.held.get((shard, epoch), ""))

    def has_lease(self, shard, epoch):
        return (shard, epoch) in self.held and (shard, epoch) not in self.unnamed

    def claim_lease(self, shard, epoch, holder):
        return self.held.setdefault((shard, epoch), holder) is holder

    def drop_lease(self, shard, epoch):
        self.dropped.append((shard, epoch))
        del self.held[shard, epoch]


@pytest.fixture
def shared():
    return Shared()


@pytest.fixture
def make(shared):
    def make(machine="me", gone=lambda hello: False):
        if machine not in shared.logs:
            shared.say(machine, hello=machine)
        return Fleet(shared, machine, 60.0, gone)

    return make


@pytest.fixture
def me(make):
    return make()


def beats(fleet, machine, now):
    fleet._shared.say(machine, beat=1)
    fleet.observe(now)


def names(fleet, now):
    return sorted(peer.machine for peer in fleet.live_peers(now))


# -- who is there


def test_alone(me):
    """A machine is live to itself, and nobody else is there."""
    me.observe(0)
    assert me.is_live("me", 1e9)
    assert not me.is_live("other", 0)
    assert (me.peers, me.wanted(3, 0)) == ({}, "me")


def test_live_while_it_beats(me, shared):
    """A peer is live until its log has not grown for `dead_after` by this machine's clock, and again when it grows."""
    beats(me, "b", 100)
    assert me.is_live("b", 160)
    assert not me.is_live("b", 160.1)
    for now in range(110, 191, 10):
        me.observe(now)
    assert names(me, 190) == []
    beats(me, "b", 200)
    assert names(me, 260) == ["b"]


def test_silence_that_nobody_heard(me, shared):
    """Time in which this machine could not look is no silence of others, whatever the first look after it shows."""
    beats(me, "b", 100)
    me.observe(110)
    me.observe(500)  # it was cut off; and what it reads now may be of before
    assert names(me, 500) == ["b"]
    beats(me, "b", 510)
    assert names(me, 570) == ["b"]
    me.observe(900)
    for now in range(910, 961, 10):
        me.observe(now)
    assert names(me, 960) == []


def test_the_long_dead_are_looked_at_seldom(me, shared):
    """A dead machine's log is read again after a tenth of its silence; one that comes back so late is noticed then."""
    beats(me, "b", 0)
    shared.reads.clear()
    looks = []
    for now in range(10, 3601, 10):
        me.observe(now)
        looks += [now] * len(shared.reads)
        shared.reads.clear()
    assert looks[:11] == [*range(10, 101, 10), 120]
    assert len(looks) < 60
    shared.say("b", beat=9)
    while not me.is_live("b", now):
        now += 10
        me.observe(now)
    assert now <= 3600 * 1.12


def test_a_dead_holder_is_looked_at_before_it_is_robbed(me, shared):
    """Whoever comes back after long keeps the shards that nobody has taken, though nobody has looked at it since."""
    shared.held[3, 1] = shared.held[4, 1] = "b"
    beats(me, "b", 0)
    me.look(0)
    for now in range(10, 1001, 10):
        me.observe(now)
    assert me.peers["b"].looked_at < 1000
    shared.say("b", beat=9)
    shared.reads.clear()
    for shard in (3, 4):
        me.look_at_holder(shard, 1000)
        assert not me.is_free(shard, 1000)
    assert shared.reads.count("b") == 2, "what it has grown by, and that there is no more; once for all shards"


def test_left(me, shared):
    """A goodbye counts at once, and nothing after it is read."""
    beats(me, "b", 0)
    shared.say("b", bye=True, clean=True)
    me.observe(1)
    assert names(me, 1) == []
    offset = me.peers["b"].offset
    beats(me, "b", 2)
    assert me.peers["b"].offset == offset


def test_known_gone(make, shared):
    """A peer of this boot whose process is over is dead at once; what it wrote before its end is read all the same."""
    over = set()
    me = make(gone=lambda hello: hello.machine in over)
    shared.say("b", hello="b")
    me.observe(0)
    assert names(me, 0) == ["b"]
    over.add("b")
    shared.say("b", bye=True, clean=True)
    me.observe(1)
    assert me.peers["b"].bye.clean
    assert me.peers["b"].gone
    assert names(me, 1) == []


def test_long_log(me, shared):
    """A log that is read in pieces is read to its end at the first look: its goodbye stands there."""
    shared.piece = 40
    for _ in range(20):
        shared.say("b", beat=1)
    shared.say("b", bye=True)
    me.observe(0)
    assert me.peers["b"].left


def test_log_that_listings_lack(me, shared):
    """A peer that was seen once is read though a listing does not show it."""
    beats(me, "b", 0)
    shared.unlisted.add("b")
    beats(me, "b", 50)
    assert names(me, 100) == ["b"]


# -- who should hold what


def test_wanted_is_balanced():
    """Each of ten machines is wanted for about a tenth of the shards."""
    machines = [f"host-{n}-abc" for n in range(10)]
    counts = [sum(wanted_of(s, machines) == m for s in range(2000)) for m in machines]
    assert min(counts) > 140
    assert max(counts) < 260


def test_wanted_moves_little():
    """A machine that comes takes shards from all, and none moves between the others; one that leaves is the reverse."""
    few = [f"host-{n}-abc" for n in range(5)]
    many = [*few, "new"]
    moved = [s for s in range(1000) if wanted_of(s, few) != wanted_of(s, many)]
    assert {wanted_of(s, many) for s in moved} == {"new"}
    assert 100 < len(moved) < 250


def test_nothing_is_handed_to_a_dead_log(me, shared):
    """A log that was there before, and has not grown, may be a dead machine's: it is left its free shards, no more."""
    beats(me, "ghost", 0)
    shard = next(s for s in ALL if wanted_of(s, ["me", "ghost"]) == "ghost")
    assert me.wanted(shard, 1) == "ghost"
    me.claim(shard)
    assert me.wanted(shard, 1) == "me"
    beats(me, "ghost", 2)
    assert me.wanted(shard, 2) == "ghost"


def test_newcomer(me, shared):
    """A log that appears is of a machine that has just come: it is handed shards at once."""
    me.observe(0)
    beats(me, "new", 5)
    shard = next(s for s in ALL if wanted_of(s, ["me", "new"]) == "new")
    me.claim(shard)
    assert me.wanted(shard, 5) == "new"


# -- who holds what


def test_claim(me, shared):
    """A free shard is taken with epoch 1, and then with the next one; what is held is not free."""
    assert me.is_free(3, 0)
    assert me.was_left_clean(3) is None
    assert me.claim(3)
    assert (me.held, me.holder(3), me.is_free(3, 0)) == ({3: 1}, "me", False)
    assert me.look(0) == Changes()
    shared.held[4, 7] = "dead"
    me.look(0)
    assert me.claim(4)
    assert shared.held[4, 8] == "me"


def test_claim_that_another_won(me, shared):
    """Of an epoch that another has, the next look tells."""
    shared.held[3, 1] = "b"
    assert not me.claim(3)
    assert me.held == {}
    shared.say("b", hello="b")
    me.observe(0)
    assert me.look(0) == Changes()
    assert me.holder(3) == "b"
    assert not me.is_free(3, 0)


def test_claim_of_what_has_passed(me, shared):
    """An epoch that had come and gone is not held, though it could be claimed again."""
    shared.held[3, 2] = "b"
    assert not me.claim(3)
    assert me.held == {}
    assert me.look(0) == Changes()
    assert me.holder(3) == "b"


def test_hand_over(me, make, shared):
    """The next epoch in another's name: the giver holds the shard no more, the taker adopts it."""
    other = make("other")
    me.claim(3)
    assert me.hand_over(3, "other")
    assert (me.held, me.holder(3)) == ({}, "other")
    assert me.look(0) == Changes()
    assert other.look(0) == Changes(adopted=[3])
    assert other.held == {3: 2}
    assert other.look(0) == Changes()


def test_hand_over_of_what_was_lost(me, shared):
    """What was taken meanwhile cannot be handed over."""
    me.claim(3)
    shared.held[3, 2] = "b"
    assert not me.hand_over(3, "c")
    me.look(0)
    assert (me.held, me.holder(3)) == ({}, "b")


def test_lost(me, shared):
    """A higher epoch of another's ends a lease."""
    me.claim(3)
    shared.held[3, 2] = "b"
    assert me.look(0) == Changes(lost=[3])
    assert me.held == {}


def test_there_and_back(me, shared):
    """What was lost and given back since the last look is both; what was given and taken again is neither."""
    me.claim(3)
    shared.held |= {(3, 2): "b", (3, 3): "me", (4, 1): "me", (4, 2): "b"}
    assert me.look(0) == Changes(adopted=[3], lost=[3])
    assert me.held == {3: 3}
    shared.held[3, 4] = "me"
    assert me.look(0) == Changes()
    assert me.held == {3: 4}


def test_torn_lease(me, shared):
    """An epoch that names nobody ends the lease before it, and the shard is free."""
    me.claim(3)
    shared.held[3, 2] = ""
    assert me.look(0).lost == [3]
    assert me.is_free(3, 0)
    assert me.was_left_clean(3) is False
    assert me.claim(3)


def test_holder_that_no_listing_shows(me, shared):
    """A holder that no listing of machines shows yet is given the time to be seen."""
    shared.held[3, 1] = "new"
    me.look(100)
    assert not me.is_free(3, 160)
    assert me.is_free(3, 161)
    shared.say("new", hello="new")
    shared.unlisted.add("new")
    me.observe(170)
    assert not me.is_free(3, 171)


def test_look_again(me, shared):
    """After a pause the successors of all leases are asked for by name: a listing may be from before."""
    me.claim(3)
    me.claim(4)
    shared.held[3, 2] = "b"
    shared.unlisted.add((3, 2))
    assert me.look(0) == Changes()
    assert me.look_again(0) == Changes(lost=[3])
    assert me.held == {4: 1}


def test_adopted_and_lost_while_away(me, shared):
    """What was handed to this machine while it was away, and taken from it since, it never had."""
    shared.held |= {(3, 1): "b", (3, 2): "me", (3, 3): "c"}
    shared.unlisted.add((3, 3))
    assert me.look_again(0) == Changes()
    assert me.held == {}


def test_left_clean(me, shared):
    """A shard was left clean if its last holder said so in its goodbye."""
    for machine, facts in {"a": {"clean": True}, "b": {"clean": False}, "c": {}}.items():
        beats(me, machine, 0)
        shared.say(machine, bye=True, **facts)
    shared.say("d", beat=1)
    shared.held |= {(1, 1): "a", (2, 1): "b", (3, 1): "c", (4, 1): "d", (5, 1): "unknown"}
    me.observe(0)
    me.look(0)
    assert [me.was_left_clean(shard) for shard in range(1, 6)] == [True, False, False, False, False]


def test_old_epochs(me, shared):
    """The holder drops old epochs, when no listing can be so old as to show them as the newest; others keep them."""
    me.claim(3)
    shared.held |= {(3, 1): "b", (3, 2): "me", (4, 1): "b", (4, 2): "b"}
    me.look(0)
    me.look(10)
    me.look(120)
    assert shared.dropped == []
    me.look(131)
    assert shared.dropped == [(3, 1)]
    assert me.look(300) == Changes()
    assert shared.dropped == [(3, 1)]


# -- the end

IDLE = {"idle": True, "sent": 10, "consumed": 30, "shards": 0}
IDLE_BEAT = Beat(**IDLE)


class End:
    """Two machines that have both found nothing more to do; `over` asks the one, with what is changed."""

    def __init__(self, me, shared):
        self.me, self.shared = me, shared
        me.observe(0)
        self.tells()
        self.tells()

    def tells(self, **changes):
        self.shared.say("b", **{"beat": 1, **IDLE, "sent": 20, **changes})
        self.me.observe(0)

    def over(self, now=0, needed=(), offset=20, own=(IDLE_BEAT, IDLE_BEAT), **state):
        return self.me.is_over(Beat(**{**IDLE, **state}), list(own), {"b": offset}, needed, now)


@pytest.fixture
def end(me, shared):
    return End(me, shared)


def test_over(end):
    """It is over when all say so twice, and all has been read by all."""
    assert end.over()


def test_not_idle(end):
    """A machine that has something to do is not at the end, whatever others say."""
    end.shared.say("b", bye=True, finished=True, consumed=30)
    end.me.observe(0)
    assert not end.over(idle=False)


@pytest.mark.parametrize("changes", [{"idle": False}, {"sent": 21}, {"consumed": 29}, {"shards": 1}])
def test_peer_that_is_not_settled(end, changes):
    """One of a peer's last two beats that says other than it should is enough to go on; two that say it again end."""
    end.tells(**changes)
    assert not end.over()
    end.tells()
    assert not end.over()
    end.tells()
    assert end.over()


@pytest.mark.parametrize("changes", [{"idle": False}, {"sent": 9}, {"consumed": 29}, {"shards": 1}])
def test_own_beats(end, changes):
    """Others must have had the time to hear of this machine's end too."""
    assert not end.over(own=(IDLE_BEAT, replace(IDLE_BEAT, **changes)))
    assert not end.over(own=(IDLE_BEAT,))


def test_unread_feed(end):
    """What a peer has sent and this machine has not read may be work."""
    assert not end.over(offset=19)


def test_needed_shards(end, me, shared):
    """A needed shard that nobody live holds is work."""
    assert not end.over(needed=[3])
    shared.held[3, 1] = "b"
    me.look(0)
    assert not end.over(needed=[3]), "its holder has not said that it knows of it"
    end.tells(shards=1)
    end.tells(shards=1)
    assert end.over(needed=[3])
    me.claim(4)
    assert not end.over(needed=[3, 4]), "its own beats are from before"
    assert end.over(needed=[3, 4], own=[replace(IDLE_BEAT, shards=1)] * 2, shards=1)


def test_dead_peer(end):
    """Who does not beat any more is not waited for, unless it holds something."""
    end.tells(idle=False)
    assert not end.over()
    assert end.over(now=61, own=())


def test_alone_at_the_end(me):
    """Alone there is no beat to wait for."""
    me.claim(3)
    assert me.is_over(replace(IDLE_BEAT, shards=1), [], {}, [3], 0)
    assert not me.is_over(IDLE_BEAT, [], {}, [3, 4], 0)


@pytest.mark.parametrize(("facts", "over"), [({}, True), ({"finished": False}, False), ({"consumed": 29}, False)])
def test_peer_that_finished_first(end, shared, facts, over):
    """One that left because it was over, with the same counters, decides for all: what it held is nobody's now."""
    shared.held[3, 1] = "b"
    end.me.look(0)
    shared.say("b", **{"bye": True, "finished": True, "consumed": 30, **facts})
    end.me.observe(0)
    assert end.over(needed=[3]) is over


def test_late_hearer(end, shared):
    """A machine that hears late of another's end does so by its goodbye, though it saw none of its last beats."""
    end.tells(idle=False)
    assert not end.over()
    for facts in (IDLE, IDLE, {"bye": True, "finished": True, "consumed": 30}):
        shared.say("b", **facts)
    end.me.observe(0)
    assert end.over()


def test_end_of_another_run(make, shared):
    """The end of an earlier run is not this one's: seeds have come since, and others may be at work on them."""
    shared.say("b", hello="b")
    shared.say("b", bye=True, finished=True, consumed=30)
    me = make()
    me.observe(0)
    assert not me.is_over(IDLE_BEAT, [], {}, [3], 0)
    assert me.is_over(IDLE_BEAT, [], {}, [], 0), "alone, with nothing to do"
