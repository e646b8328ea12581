"""Which machines are there, by what one of them sees of the others."""

from types import SimpleNamespace

import pytest

from tests.support.shared_tree import beats


def names(fleet, now):
    return sorted(peer.machine for peer in fleet.live_peers(now))


def test_alone(me):
    """A machine is live to itself, and nobody else is there."""
    me.observe(0)
    assert me.is_live("me", 1e9)
    assert not me.is_live("other", 0)
    assert (me.peers, me.claimable(range(9), 0)) == ({}, list(range(9)))


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


def test_a_peer_with_longer_settings(me, shared):
    """A peer is dead by its own `dead_after` if that is the longer one: until then it may be at work."""
    shared.say("b", beat=1, dead_after=200.0)
    shared.say("c", beat=1, dead_after=10.0)
    me.observe(0)
    for now in range(20, 201, 20):
        me.observe(now)
        assert names(me, now) == (["b", "c"] if now <= 60 else ["b"])
    assert not me.is_live("b", 200.1)


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


def test_a_look_that_hangs(make, shared, monkeypatch):
    """What a look finds after it has hung may have been written a moment ago: silence counts from the look's end."""
    time = SimpleNamespace(now=100.0)
    me = make(clock=lambda: time.now)
    beats(me, "b", 100)
    read = shared.read_newest_heartbeats

    def hang(machine, offset):
        time.now = 300.0
        shared.say("b", beat=2)
        return read(machine, offset)

    monkeypatch.setattr(shared, "read_newest_heartbeats", hang)
    me.observe(110)
    assert me.is_live("b", 300)
    me.observe(301)
    assert me.is_live("b", 360)
    assert not me.is_live("b", 362), "time that was not seen does not make a peer live longer than the look does"


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
        me.look_at_holder(shard, 1000, most_age_s=5)
        assert not me.is_free(shard, 1000)
    assert shared.reads.count("b") == 1, "once for all shards"


def test_a_fresh_look_at_a_holder_is_enough(me, shared):
    """A holder that was looked at within the given time is not looked at again before a claim."""
    shared.held[3, 1] = "b"
    beats(me, "b", 0)
    me.look(0)
    shared.reads.clear()
    me.look_at_holder(3, 5, most_age_s=5)
    assert shared.reads == []
    me.look_at_holder(3, 6, most_age_s=5)
    assert shared.reads == ["b"]


def test_left(me, shared):
    """A goodbye counts at once, and nothing after it is read."""
    beats(me, "b", 0)
    shared.say("b", bye=True)
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
    shared.say("b", bye=True, finished=True)
    me.observe(1)
    assert me.peers["b"].bye.finished
    assert me.peers["b"].gone
    assert names(me, 1) == []


@pytest.mark.parametrize("is_known", [True, False])
def test_gone_while_it_was_read(make, shared, monkeypatch, is_known):
    """A process that ends when its log has been read is dead, and its last words count.

    On a slow share, logs are read ahead of those that are taken in.
    """
    over = set()
    me = make(gone=lambda hello: hello.machine in over)
    shared.say("b", hello="b")
    if is_known:
        me.observe(0)
    read = shared.read_newest_heartbeats

    def ends_then(machine, *more):
        found = read(machine, *more)
        if not over:
            shared.say(machine, bye=True, finished=True)
            over.add(machine)
        return found

    monkeypatch.setattr(shared, "read_newest_heartbeats", ends_then)
    me.observe(1)
    assert me.peers["b"].bye is not None
    assert me.peers["b"].gone


def test_log_that_listings_lack(me, shared):
    """A peer that was seen once is read though a listing does not show it."""
    beats(me, "b", 0)
    shared.unlisted.add("b")
    beats(me, "b", 50)
    assert names(me, 100) == ["b"]
