"""Which machine should hold a shard, and which one does."""

from fscrawl.fleet.ownership import Changes, wanted_of
from tests.support.shared_tree import beats

ALL = range(64)


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
    assert me.roster(1).wanted(shard, is_held=False) == "ghost"
    assert me.roster(1).wanted(shard, is_held=True) == "me"
    beats(me, "ghost", 2)
    assert me.roster(2).wanted(shard, is_held=True) == "ghost"


def test_newcomer(me, shared):
    """A log that appears is of a machine that has just come: it is handed shards at once."""
    me.observe(0)
    beats(me, "new", 5)
    shard = next(s for s in ALL if wanted_of(s, ["me", "new"]) == "new")
    assert me.roster(5).wanted(shard, is_held=True) == "new"


def test_a_roster_stays_while_nobody_comes_or_goes(me, shared):
    """Who should hold which shard is found out once, and again when the live machines have changed."""
    beats(me, "b", 0)
    roster = me.roster(1)
    assert roster.live == {"me", "b"}
    assert me.roster(2) is roster
    assert me.roster(1000).live == {"me"}
    assert {me.roster(1000).wanted(shard, is_held=False) for shard in ALL} == {"me"}


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
    """An epoch that names nobody ends the lease before it; the shard is free when no cache can be to blame."""
    me.claim(3)
    shared.held[3, 2] = ""
    assert me.look(0).lost == [3]
    assert me.look(30) == Changes()
    assert not me.is_free(3, 60)
    me.look(61)
    assert me.is_free(3, 61)
    assert me.was_left_clean(3) is False
    assert me.claim(3)
    assert me.look(62) == Changes()
    assert me.held == {3: 3}


def test_lease_that_cannot_be_found(me, shared):
    """A lease that is listed and not found may be a live machine's: it is looked at again, and nobody claims it."""
    beats(me, "b", 0)
    shared.held |= {(3, 1): "b", (4, 1): "me"}
    shared.unfound |= {(3, 1), (4, 1)}
    assert me.look(0) == Changes()
    assert [me.is_free(shard, 0) for shard in (3, 4)] == [False, False]
    shared.unfound.clear()
    shared.unlisted |= {(3, 1), (4, 1)}
    assert me.look(5) == Changes(adopted=[4])
    assert (me.holder(3), me.held) == ("b", {4: 1})
    assert not me.is_free(3, 5)
    beats(me, "b", 55)
    assert me.is_free(3, 116), "b has died"


def test_caches_of_another_epoch(me, shared):
    """Each epoch that cannot be read has its own time; it is the longer `dead_after` if caches may live so long."""
    me.dead_after_s = 100
    shared.held[3, 1] = ""
    me.look(0)
    shared.held[3, 2] = ""
    me.look(90)
    assert not me.is_free(3, 190)
    assert me.is_free(3, 191)


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
