"""When a machine knows that the crawl is over."""

from dataclasses import replace

import pytest

from fscrawl.fleet.beat import Beat

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
