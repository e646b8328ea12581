"""What a machine knows of a host's delay and rest goes with the host's shard."""

import json

import pytest

from fscrawl.fleet import rests as module
from tests.support.members import HERS, MINE, YEAR_S, shard, url

# -- delays


def slow_machine(world, *seeds):
    """A machine waits a long time between two requests to a host."""
    world.create(*seeds)
    world.assignments.append("politeness.delay=100")
    world.edit()
    a = world.join("a")
    a.tick()
    a.beat()
    return a


def crawled_but_one(world):
    """A machine has just asked both hosts, and has to wait to ask one of them for its last page."""
    a = slow_machine(world, url(MINE[0]), url(HERS[0]), url(HERS[0], "x"))
    while task := a.take():
        a.finish(task)
    return a


def test_delay_after_a_hand_over(world):
    """A host that may just have been asked by its former machine rests for its delay before the new one asks it."""
    crawled_but_one(world)
    b = world.join("b")
    world.rounds(2)
    adopted_at = world.clock.now
    assert b.frontier.pending == 1, "what was told is not asked for again"
    assert b.take() is None
    world.clock.now = adopted_at + 90
    assert b.take() is None
    world.clock.now = adopted_at + 101
    task = b.take()
    assert task.url == url(HERS[0], "x")
    assert not task.check, "after `dead_after` listings show all"


def test_delay_after_a_look_that_took_long(world, monkeypatch):
    """The delay counts from when the lease was read: the last holder may have worked until the end of a long look."""
    a = crawled_but_one(world)
    b = world.join("b")
    b.beat()
    leases = b.membership.fleet._shared.leases

    def slow():
        world.clock.now += 500
        a.beat()
        a.tick()  # hands over
        return leases()

    monkeypatch.setattr(b.membership.fleet._shared, "leases", slow)
    b.tick()
    monkeypatch.setattr(b.membership.fleet._shared, "leases", leases)
    adopted_at = world.clock.now
    assert b.held == {shard(HERS[0])}
    world.clock.now = adopted_at + 90
    assert b.take() is None
    world.clock.now = adopted_at + 101
    assert b.take().url == url(HERS[0], "x")


def test_delay_after_an_edit(world):
    """A shard is put together anew after an edit. Its hosts still rest for their delay since the last request."""
    a = slow_machine(world, url(MINE[0]), url(MINE[0], "x"))
    a.finish(a.take())
    asked_at = world.clock.now
    world.set("crawl.max_depth=7")
    a.tick()
    a.settle()
    assert world.clock.now < asked_at + 90
    world.clock.now = asked_at + 90
    assert a.take() is None
    world.clock.now = asked_at + 130
    assert a.take() is not None


def test_delay_after_a_shard_has_waited(world):
    """A shard that was lost and comes back waits for what is in flight. Its hosts rest for their delay after that."""
    a = slow_machine(world, url(MINE[0]), url(MINE[0], "x"))
    task = a.take()
    for epoch, holder in enumerate(["b", "a"], start=2):
        a.membership._machinery.claim_lease(shard(MINE[0]), epoch, holder)
        a.tick()
    assert a.held == {shard(MINE[0])}
    assert not a.frontier.holds(shard(MINE[0])), "it waits for the page in flight"
    world.clock.now += 60
    a.finish(task)
    asked_at = world.clock.now
    a.settle()
    world.clock.now = asked_at + 90
    assert a.take() is None
    world.clock.now = asked_at + 110
    assert a.take() is not None


def test_check_by_name_after_a_hand_over(world):
    """Until listings are sure to be fresh the tree is asked by name."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    b = world.join("b")
    world.rounds()
    assert b.take().check
    assert not a.take().check


# -- hosts that rest


def test_rest_after_a_hand_over(world):
    """A host that was told to rest does so wherever its shard goes, as long again, whatever the clocks say."""
    world.create(url(MINE[0]), url(HERS[0]))
    world.assignments.append("politeness.delay=1")
    world.edit()
    a = world.join("a", skew_s=3 * YEAR_S)
    a.tick()
    a.frontier.rest(HERS[0], a.now + 1000)
    b = world.join("b", skew_s=-500)
    world.rounds()
    taken_at = b.now
    assert b.held == {shard(HERS[0])}
    assert b.take() is None
    world.clock.now += 990
    assert b.take() is None
    assert b.frontier.next_at() - taken_at == pytest.approx(1000, abs=20)
    world.clock.now += 20
    assert b.take().url == url(HERS[0])


def test_rest_is_told_before_a_hand_over(world):
    """A shard whose host was told to rest just now is handed over when a beat has said so, and that beat is read."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    b = world.join("b")
    a.frontier.rest(HERS[0], a.now + 1000)
    asked = a.heart.asked
    a.tick()
    assert shard(HERS[0]) in a.held
    assert a.heart.asked > asked
    look = b.membership.fleet.look

    def late_look(now):
        a.heart.beat()
        a.tick()
        return look(now)

    b.membership.fleet.look = late_look
    b.tick()
    assert (a.held, b.held) == ({shard(MINE[0])}, {shard(HERS[0])})
    assert b.frontier.rests(b.now).keys() == {HERS[0]}


def test_longer_rest_is_told_before_a_hand_over(world):
    """Neither is it handed over where the last beat told of a shorter rest; a host of another shard does not matter."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    a.frontier.rest(HERS[0], a.now + 100)
    a.heart.beat()
    world.join("b")
    a.frontier.rest(HERS[0], a.now + 1000)
    a.tick()
    assert shard(HERS[0]) in a.held
    a.heart.beat()
    a.frontier.rest(MINE[0], a.now + 1000)
    a.tick()
    assert a.held == {shard(MINE[0])}


@pytest.mark.parametrize("end", ["leave", "kill"])
def test_rest_after_the_end_of_a_machine(world, end):
    """A host rests after the machine that was told so has left, or was killed once it had beaten."""
    world.create(url(MINE[0]), url(HERS[0]))
    b = world.join("b")
    b.tick()
    b.frontier.rest(HERS[0], b.now + 1000)
    if end == "kill":
        b.heart.beat()
    getattr(b, end)()
    a = world.join("a")
    world.pass_time(80, a)
    assert a.held == {shard(MINE[0]), shard(HERS[0])}
    assert a.take().url == url(MINE[0])
    assert a.take() is None
    assert a.frontier.rests(a.now)[HERS[0]] == pytest.approx(1000, abs=100)


def test_rest_that_somebody_made_up(world):
    """What stands in a log lets no host rest for longer than the settings allow."""
    world.create(url(MINE[0]))
    (world.root / ".fscrawl/machines/x.log").write_text(json.dumps({"beat": 1, "rests": {MINE[0]: 4e18}}) + "\n")
    a = world.join("a")
    world.pass_time(80, a)
    assert a.held == {shard(MINE[0])}
    assert a.take() is None
    assert 3400 < a.frontier.rests(a.now)[MINE[0]] <= 3600
    world.set("politeness.max_rest=100")
    world.clock.now += 3600
    assert a.take().url == url(MINE[0])


def test_rest_of_a_host_not_met_yet(world):
    """A host that its new machine meets later rests, too."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    a.frontier.rest(HERS[1], a.now + 1000)
    b = world.join("b")
    a.membership.discover([url(HERS[1])], 1, "")
    world.rounds()
    assert b.take().url == url(HERS[0])
    assert b.take() is None
    assert b.frontier.pending == 1


def test_rest_by_url(world):
    """With partition = "url" a rest counts for every machine that takes a shard."""
    world.create(url("one.example"), *(url("one.example", str(n)) for n in range(20)), partition="url")
    a = world.join("a")
    a.tick()
    a.frontier.rest("one.example", a.now + 1000)
    b = world.join("b")
    world.rounds()
    assert b.frontier.pending
    assert b.take() is None
    world.clock.now += 1010
    assert b.take() is not None


def test_rests_that_are_told(world, monkeypatch):
    """A beat names hosts with a long rest before them, and not too many; others are over soon, or were."""
    world.create(url(MINE[0]))
    a = world.join("a")
    assert not a.membership.snapshot().rests
    for host, seconds in (("short", 4), ("past", -9), ("long", 60.04), ("longer", 3600)):
        a.frontier.rest(host, a.now + seconds)
    assert a.membership.snapshot().rests == {"long": 60.0, "longer": 3600.0}
    monkeypatch.setattr(module, "_TOLD_CHARS", 6)
    assert a.membership.snapshot().rests == {"long": 60.0}
    world.clock.now += 100
    a.tick()
    assert a.membership.snapshot().rests == {"longer": pytest.approx(3500, abs=5)}
