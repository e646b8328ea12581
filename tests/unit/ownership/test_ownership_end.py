"""When a machine knows that the crawl is over."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from fscrawl.fleet.beat import Beat
from fscrawl.fleet.ending import Ending, held_hash

MINE, HERS = 10, 20
IDLE = Beat(idle=True, log=MINE, read="as far as all logs go", held=held_hash([]), rules="now")
CHANGES = [
    {"idle": False},
    {"log": 21},
    {"log": None},
    {"read": "less"},
    {"held": held_hash([(3, 1)])},
    {"rules": "before the edit"},
]


class End:
    """Two machines that have both found nothing more to do; `over` asks the one, with what is changed."""

    def __init__(self, me, shared):
        self.me = me
        self.shared = shared
        self.complete, self.in_frontier = set(), set()
        self.ledger = SimpleNamespace(needed=set(), place=MINE, read_to=lambda machine: {"b": HERS}[machine])
        intake = SimpleNamespace(is_complete=lambda shard: shard in self.complete)
        frontier = SimpleNamespace(holds=lambda shard: shard in self.in_frontier)
        self.ending = Ending(me, self.ledger, intake, frontier)
        me.observe(0)
        self.tells()
        self.tells()

    def tells(self, kind="beat", *, finished=True, **changes):
        """Let the other write a line, in which some counters are other than all others say."""
        beat = replace(IDLE, **{"log": HERS, **changes})
        facts = {"log": beat.log, "read": beat.read, "held": beat.held, "rules": beat.rules}
        self.shared.say("b", **{kind: True if kind == "bye" else 1}, finished=finished, idle=beat.idle, **facts)
        self.me.observe(0)

    def over(self, now=0, own=(IDLE, IDLE), **state):
        return self.ending.seems_reached(replace(IDLE, **state), list(own), now)


@pytest.fixture
def end(me, shared):
    return End(me, shared)


def test_over(end):
    """It is over when all say so twice, and all has been read by all."""
    assert end.over()


@pytest.mark.parametrize("changes", CHANGES)
def test_peer_that_is_not_settled(end, changes):
    """One of a peer's last two beats that says other than it should is enough to go on; two that say it again end."""
    end.tells(**changes)
    assert not end.over()
    end.tells()
    assert not end.over()
    end.tells()
    assert end.over()


@pytest.mark.parametrize("changes", CHANGES)
def test_own_beats(end, changes):
    """Others must have had the time to hear of this machine's end too."""
    assert not end.over(own=(IDLE, replace(IDLE, **changes)))
    assert not end.over(own=(IDLE,))


def test_unread_log(end):
    """What a peer has said and this machine has not read may be work."""
    end.ledger.read_to = lambda machine: 19
    assert not end.over()


def test_sums_do_not_matter(end):
    """Two machines that have read as many bytes, but not the same ones, go on."""
    assert not end.over(read="as much of other logs", own=[replace(IDLE, read="as much of other logs")] * 2)


def test_needed_shards(end, me, shared):
    """A needed shard that nobody live holds is work."""
    end.ledger.needed = {3}
    assert not end.over()
    shared.held[3, 1] = "b"
    me.look(0)
    assert not end.over(), "its holder has not said that it knows of it"
    for _ in range(2):
        end.tells(held=held_hash([(3, 1)]))
    assert end.over()


def test_own_shards(end, me):
    """A shard that this machine holds must be complete in its frontier, and its beats must have said so."""
    end.ledger.needed = {4}
    me.claim(4)
    state = {"held": held_hash([(4, 1)])}
    beats = [replace(IDLE, **state)] * 2
    assert not end.over(**state, own=beats), "it has not put it together"
    end.complete.add(4)
    assert not end.over(**state, own=beats), "it is letting go of it"
    end.in_frontier.add(4)
    assert end.over(**state, own=beats)
    assert not end.over(**state), "its own beats are from before"


def test_dead_peer(end):
    """Who does not beat any more is not waited for, unless it holds something."""
    end.tells(idle=False)
    assert not end.over()
    assert end.over(now=61, own=())


def test_alone_at_the_end(me, shared):
    """Alone there is no beat to wait for."""
    end = End(me, shared)
    me.claim(3)
    end.ledger.needed, end.complete, end.in_frontier = {3}, {3}, {3}
    assert end.over(now=61, own=())
    end.ledger.needed.add(4)
    assert not end.over(now=61, own=())


@pytest.mark.parametrize(
    ("changes", "finished", "over"),
    [({}, True, True), ({}, False, False), ({"read": "less"}, True, False), ({"rules": "before"}, True, False)],
)
def test_peer_that_finished_first(end, shared, changes, finished, over):
    """One that left because it was over, having read the same, decides for all: what it held is nobody's now."""
    end.ledger.needed = {3}
    shared.held[3, 1] = "b"
    end.me.look(0)
    end.tells("bye", finished=finished, **changes)
    assert end.over() is over


def test_late_hearer(end):
    """A machine that hears late of another's end does so by its goodbye, though it saw none of its last beats."""
    end.tells(idle=False)
    assert not end.over()
    end.tells("bye")
    assert end.over()


def test_end_of_another_run(make, shared):
    """The end of an earlier run is not this one's: seeds have come since, and others may be at work on them."""
    shared.say("b", hello="b")
    shared.say("b", bye=True, finished=True, read=IDLE.read, rules=IDLE.rules)
    end = End(make(), shared)
    end.ledger.needed = {3}
    assert not end.over()
    end.ledger.needed = set()
    assert end.over(), "alone, with nothing to do"
