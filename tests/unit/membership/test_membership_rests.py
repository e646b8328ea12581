"""What a machine knows of a host's delay and rest goes with the host's shard."""

import json

import pytest

from fscrawl.fleet import handover
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
    a.frontier.scheduler.rest(HERS[0], a.now + 1000)
    b = world.join("b", skew_s=-500)
    world.rounds()
    taken_at = b.now
    assert b.held == {shard(HERS[0])}
    assert b.take() is None
    world.clock.now += 980
    assert b.take() is None
    assert b.frontier.next_at() - taken_at == pytest.approx(1000, abs=20)
    world.clock.now += 20
    assert b.take().url == url(HERS[0])


def claimed(world, rests):
    """A machine finds a lease in its name, and takes the shard."""
    world.create(url(MINE[0]))
    claim = {"holder": "a", "by": "b", "nonce": "", "rests": rests}
    (world.root / f".fscrawl/leases/{shard(MINE[0])}.1").write_text(json.dumps(claim))
    a = world.join("a")
    a.settle()
    assert a.held == {shard(MINE[0])}
    return a


def test_rest_that_somebody_made_up(world):
    """What stands in a lease lets no host rest for longer than the settings allow; that of another shard never."""
    a = claimed(world, {MINE[0]: 10**400, HERS[0]: 50})
    assert a.take() is None
    assert a.frontier.scheduler.rests(a.now).keys() == {MINE[0]}
    assert 3400 < a.frontier.scheduler.rests(a.now)[MINE[0]] <= 3600
    world.clock.now += 3600
    assert a.take().url == url(MINE[0])


@pytest.mark.parametrize("rests", [7, [MINE[0]], *({MINE[0]: bad} for bad in ("7", True, None, -7, float("nan"), {}))])
def test_rest_that_is_none(world, rests):
    """It is as if the lease did not say it."""
    a = claimed(world, rests)
    assert a.frontier.scheduler.rests(a.now) == {}
    assert a.take().url == url(MINE[0])


def test_rest_is_heeded_once(world):
    """A shard that is put together anew, as after an edit, does not let its hosts rest as long again."""
    a = claimed(world, {MINE[0]: 50})
    until = a.now + a.frontier.scheduler.rests(a.now)[MINE[0]]
    world.clock.now += 40
    world.set("crawl.max_depth=7")
    a.tick()
    a.settle()
    assert a.now + a.frontier.scheduler.rests(a.now)[MINE[0]] == pytest.approx(until)


def test_rest_by_url(world):
    """With partition = "url" a rest counts for every machine that takes a shard."""
    world.create(url("one.example"), *(url("one.example", str(n)) for n in range(20)), partition="url")
    a = world.join("a")
    a.tick()
    a.frontier.scheduler.rest("one.example", a.now + 1000)
    b = world.join("b")
    world.rounds()
    assert b.frontier.pending
    assert b.take() is None
    world.clock.now += 1010
    assert b.take() is not None


def told(world, host, epoch=2):
    """Give what a lease of a host's shard says of hosts that rest."""
    return json.loads((world.root / f".fscrawl/leases/{shard(host)}.{epoch}").read_text()).get("rests")


@pytest.mark.parametrize(("seconds", "most"), [(1000, 4000), (4, 4000), (1000, 7)])
def test_rests_that_are_told(world, monkeypatch, seconds, most):
    """A lease names the hosts of its shard with a long rest before them, and not too many; others are over soon."""
    monkeypatch.setattr(handover, "_TOLD_CHARS", most)
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    a.frontier.scheduler.rest(MINE[0], a.now + 1000)
    a.frontier.scheduler.rest(HERS[0], a.now + seconds)
    world.join("b")
    world.rounds()
    is_told = seconds > 5 and most > len(HERS[0])
    assert told(world, HERS[0]) == ({HERS[0]: pytest.approx(1000, abs=20)} if is_told else None)


@pytest.mark.parametrize(("chars", "named"), [(20, 200), (190, 21)])
def test_rests_in_a_lease(world, chars, named):
    """Some hundred hosts are named, and fewer if their names are long."""
    world.create(url("one.example"), partition="url")
    a = world.join("a")
    a.tick()
    names = [f"{n:0{chars}}" for n in range(1000)]
    for name in names:
        a.frontier.scheduler.rest(name, a.now + 1000)
    world.join("b")
    world.rounds()
    leases = (world.root / ".fscrawl/leases").glob("*.2")
    assert {tuple(json.loads(path.read_text())["rests"]) for path in leases} == {tuple(names[:named])}
