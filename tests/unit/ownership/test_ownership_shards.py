"""Which machine should hold a shard, and which one does."""

import pytest

from fscrawl.errors import MemoryGone, TreeError
from fscrawl.fleet import ownership
from fscrawl.fleet.assignment import assign
from fscrawl.fleet.ownership import Changes
from tests.support.shared_tree import SHARDS, beats

ALL = range(SHARDS)


def of(machine, *machines):
    """Give the shards that a machine should hold among some."""
    return [shard for shard, wanted in enumerate(assign(SHARDS, machines)) if wanted == machine]


# -- who should hold what


def test_nothing_is_handed_to_a_dead_log(me, shared):
    """A log that was there before, and has not grown, may be a dead machine's: it is left its free shards, no more."""
    beats(me, "ghost", 0)
    theirs = of("ghost", "me", "ghost")
    for shard in theirs:
        me.claim(shard)
    assert me.unwanted(1) == {}
    assert me.claimable(ALL, 1) == of("me", "me", "ghost")
    beats(me, "ghost", 2)
    assert me.unwanted(2) == dict.fromkeys(theirs, "ghost")


def test_newcomer(me, shared):
    """A log that appears is of a machine that has just come: it is handed shards at once."""
    me.observe(0)
    for shard in ALL:
        me.claim(shard)
    beats(me, "new", 5)
    assert me.unwanted(5) == dict.fromkeys(of("new", "me", "new"), "new")
    assert me.unwanted(66) == {}, "it has gone"


def test_the_assignment_stays_while_nobody_comes_or_goes(me, shared, monkeypatch):
    """Who should hold which shard is found out once, and again when the live machines have changed."""
    asked = []
    monkeypatch.setattr(ownership, "assign", lambda shards, names: asked.append(set(names)) or assign(shards, names))
    beats(me, "b", 0)
    for now in range(1, 60):
        me.claimable(ALL, now)
        me.unwanted(now)
    assert asked == [{"me", "b"}, {"me"}]  # the other is not proven, and is handed nothing
    assert me.claimable(ALL, 61) == list(ALL)
    assert len(asked) == 2


def test_only_what_is_needed_is_claimed(me):
    """A shard without URLs needs no holder."""
    assert me.claimable({7, 3}, 0) == [3, 7]
    assert me.claim(3)
    assert me.claimable({7, 3}, 0) == [7]


# -- who holds what


def test_claim(me, shared):
    """A free shard is taken with epoch 1, and then with the next one; what is held is not free."""
    assert me.is_free(3, 0)
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


def test_hand_over_whose_reply_is_lost(me, make, shared, monkeypatch):
    """A hand-over that failed may have been made: the giver holds nothing until a lease says so."""

    def claim_lease(shard, epoch, holder, rests):
        shared.held[shard, epoch] = holder
        raise TreeError("no reply")

    me.claim(3)
    with monkeypatch.context() as patched:
        patched.setattr(shared, "claim_lease", claim_lease)
        with pytest.raises(TreeError, match="no reply"):
            me.hand_over(3, "other")
    assert me.held == {}
    assert make("other").look(0) == Changes(adopted=[3])


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
    """What was lost and given back since the last look is both; what was given and taken away again is neither.

    So it is if only the last lease is seen: in between the shard was with others, who may have fetched and told.
    """
    me.claim(3)
    shared.held |= {(3, 2): "b", (3, 3): "me", (4, 1): "me", (4, 2): "b"}
    assert me.look(0) == Changes(adopted=[3], lost=[3])
    assert me.held == {3: 3}
    shared.held |= {(3, 4): "b", (3, 5): "me"}
    shared.unlisted.add((3, 4))
    assert me.look(0) == Changes(adopted=[3], lost=[3])
    assert me.held == {3: 5}


def test_adopted_and_passed_on(me, shared):
    """A listing may lack the lease that came after the one by which a shard is adopted: it is asked for by name."""
    shared.held |= {(3, 1): "me", (3, 2): "b"}
    shared.unlisted.add((3, 2))
    assert me.look(0) == Changes()
    assert (me.held, me.holder(3)) == ({}, "b")


def test_torn_lease(me, shared):
    """An epoch that names nobody ends the lease before it; the shard is free when no cache can be to blame."""
    me.claim(3)
    shared.held[3, 2] = ""
    assert me.look(0).lost == [3]
    assert me.look(30) == Changes()
    assert not me.is_free(3, 60)
    me.look(61)
    assert me.is_free(3, 61)
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


def test_a_lease_that_was_made_anew(me, shared):
    """A held lease that names another machine, after a pause, is one of another memory."""
    me.claim(3)
    me.check_held()
    shared.held = {(3, 1): "b"}
    with pytest.raises(MemoryGone, match=r"leases/3\.1: it was made anew, and names b,"):
        me.check_held()


@pytest.mark.parametrize("holder", ["me", "b"])
def test_a_lease_that_was_deleted(me, shared, holder):
    """The newest lease of a shard that no look finds, of whomever, means that somebody has removed it."""
    shared.held |= {(3, 1): "me", (3, 2): holder}
    me.look(0)
    del shared.held[3, 2]
    with pytest.raises(MemoryGone, match=r"leases/3\.2: it was deleted"):
        me.look(1)


def test_leases_that_are_hard_to_find(me, shared):
    """A lease that one look misses, or that is torn, may be there."""
    for shard in (5, 6, 7):
        me.claim(shard)
    shared.unlisted.add((5, 1))
    shared.unnamed.add((6, 1))
    shared.unfound |= {(6, 1), (7, 1)}
    me.look(0)
    me.check_held()
    assert me.held == {5: 1, 6: 1, 7: 1}


def test_adopted_and_lost_while_away(me, shared):
    """What was handed to this machine while it was away, and taken from it since, it never had."""
    shared.held |= {(3, 1): "b", (3, 2): "me", (3, 3): "c"}
    shared.unlisted.add((3, 3))
    assert me.look_again(0) == Changes()
    assert me.held == {}


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


def test_old_epochs_after_a_restore(me, shared):
    """Whoever finds its own lease gone drops nothing: `.fscrawl` is an older one, and what is listed there is valid.

    A holder with a higher epoch deleted the lease of the holder that the restored leases named, and a third machine
    took the shard then.
    """
    me.claim(3)
    shared.held |= {(3, 1): "b", (3, 2): "me"}
    me.look(0)
    assert me.held == {3: 2}
    del shared.held[3, 2]  # a backup of `.fscrawl` is put back
    with pytest.raises(MemoryGone):
        me.look(200)
    assert shared.dropped == []
    assert shared.held == {(3, 1): "b"}


def test_epochs_of_short_runs(me, make, shared):
    """Runs too short to see that their listings are fresh leave eight passed epochs of a shard, and the first one."""
    for run in range(30):
        fleet = make(f"run {run}")
        fleet.observe(0)
        fleet.look(0)
        assert fleet.claim(3)
        fleet.look(1)
        shared.say(f"run {run}", bye=True)
        assert len(shared.held) <= 10
    assert sorted(shared.held) == [(3, epoch) for epoch in (1, *range(22, 31))]


def test_only_the_newest_epochs_are_read(me, shared, monkeypatch):
    """Of a shard with many epochs one lease is read: others may have left thousands."""
    shared.held |= {(shard, epoch): "b" for shard in (3, 4) for epoch in range(1, 100)}
    read, lease = [], shared.lease
    monkeypatch.setattr(shared, "lease", lambda *name: read.append(name) or lease(*name))
    me.look(0)
    assert read == [(3, 99), (4, 99)]


def test_a_look_drops_some(me, shared):
    """A look at leases that many runs have left ends soon, and later ones go on."""
    shared.held |= {(3, epoch): "b" for epoch in range(1, 1000)}
    me.look(0)
    me.observe(61)
    assert me.claim(3)
    for now in (62, 63, 64):
        me.look(now)
        assert len(shared.dropped) == (now - 61) * 256
    me.look(65)
    assert sorted(shared.held) == [(3, epoch) for epoch in (1, *range(992, 1001))]


def test_own_lease_that_is_not_listed(me, shared):
    """Old epochs are not dropped at once by a listing without the own one: a backup may have been put back."""
    shared.held |= {(3, epoch): "b" for epoch in range(1, 20)}
    me.look(0)
    me.observe(61)
    assert me.claim(3)
    shared.unlisted.add((3, 20))
    me.look(62)
    assert shared.dropped == []


def test_claim_by_a_listing_that_many_epochs_have_passed(me, shared):
    """A claim does not count if the lease before it was removed: it was passed long ago, and so is what was claimed."""
    shared.held |= {(3, epoch): "b" for epoch in (1, 2)}
    me.look(0)
    me.observe(61)
    shared.held = {(3, epoch): "c" for epoch in (1, *range(12, 21))}
    assert not me.claim(3)
    assert me.look(62) == Changes()
    assert (me.held, me.holder(3)) == ({}, "c")


def test_claim_after_a_lease_that_somebody_has_deleted(me, shared):
    """If the lease before a claim was not passed, but deleted by hand, the next look adopts the shard."""
    shared.held[3, 2] = "b"
    me.look(0)
    me.observe(61)
    del shared.held[3, 2]
    assert not me.claim(3)
    assert me.look(62) == Changes(adopted=[3])
    assert me.held == {3: 3}
