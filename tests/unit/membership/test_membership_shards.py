"""Machines share shards: they hand them over, take over those of the dead, and agree when all is done."""

import shutil

from fscrawl.fleet.assignment import assign
from fscrawl.store import TreeFiles
from tests.support.members import HERS, MINE, SHARDS, YEAR_S, shard, url


def test_alone(world):
    """A machine alone takes the shards of its seeds, crawls them, and sees the end without waiting for a beat."""
    world.web = {url(MINE[0]): [url(HERS[0], "x"), url(MINE[0], "y")]}
    world.create(url(MINE[0]))
    a = world.join("a")
    assert a.held == {shard(MINE[0])}
    assert not a.is_over()
    a.crawl()
    a.tick()
    assert world.fetched == {url(MINE[0]): 1, url(HERS[0], "x"): 1, url(MINE[0], "y"): 1}
    assert a.held == {shard(MINE[0]), shard(HERS[0])}
    a.tick()
    assert a.is_over()
    assert a.membership.snapshot().pages == 7
    a.leave(finished=True)
    assert a.heart.ended.finished


def test_hand_over_and_back(world):
    """A newcomer is handed what it should hold, with its lines; when it leaves, all comes back, without a re-seed."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    a.membership.discover([url(HERS[0], "x"), url(HERS[1], "y"), url(MINE[1], "z")], 1, "")
    a.tick()
    b = world.join("b")
    world.rounds()
    assert a.held == {shard(host) for host in (MINE[0], MINE[1])}
    assert b.held == {shard(host) for host in (HERS[0], HERS[1])}
    assert b.frontier.pending == 3  # a seed, and two lines of the other's log
    assert a.frontier.pending == 2
    b.crawl()
    b.leave()
    world.rounds()
    assert a.held == {shard(host) for host in (MINE[0], MINE[1], HERS[0], HERS[1])}
    assert a.membership.survey.hosts_left == 0
    a.crawl()
    assert set(world.fetched.values()) == {1}
    assert len(world.fetched) == 5
    assert a.warnings == b.warnings == []


def test_handed_on(world):
    """A shard that is adopted and handed on in one round is not fetched from: another machine holds it by then."""
    both, three = assign(SHARDS, ["a", "b"]), assign(SHARDS, ["a", "b", "c"])
    host = next(
        host
        for host in (f"n{number}.example" for number in range(1000))
        if both[shard(host)] == "b" and three[shard(host)] == "c"
    )
    world.create(url(host))
    a = world.join("a")
    a.tick()
    b = world.join("b")
    a.beat()
    a.tick()
    assert a.held == set()
    c = world.join("c")
    b.tick()
    assert shard(host) not in b.held
    assert not b.frontier.holds(shard(host))
    c.tick()
    assert c.held == {shard(host)}
    c.crawl()
    assert world.fetched == {url(host): 1}


def test_newcomer_with_a_shorter_dead_after(world):
    """A machine that beats by longer settings than a newcomer's loses nothing to it between two of its beats."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.beat()
    world.assignments += ["fleet.beat=3", "fleet.dead_after=9"]
    world.edit()
    b = world.join("b")
    for _ in range(15):
        b.beat()
        b.tick()
    assert b.held == set()
    for _ in range(20):
        b.beat()
        b.tick()
    assert b.held == {shard(MINE[0]), shard(HERS[0])}, "a has been silent for its own dead_after"


def test_adopted_lines(world):
    """What a machine finds of another's shards goes into its log, once, and the other fetches it."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    b.crawl()
    for _ in range(2):
        a.membership.discover([url(HERS[0], "x")], 1, "")
    world.rounds()
    assert world.log("a").count(url(HERS[0], "x").encode()) == 1
    b.crawl()
    assert world.fetched[url(HERS[0], "x")] == 1
    assert b.held == {shard(HERS[0])}


def test_takeover(world):
    """Of a machine that was killed between storing a page and telling its links, the links come from its record."""
    world.create(url(HERS[0]), url(MINE[0]))
    b = world.join("b")
    b.tick()
    task = b.take()
    while task.url != url(HERS[0]):
        task = b.take()
    b.store(task, [url(HERS[0], "x"), url(MINE[1], "y")])
    b.kill()
    a = world.join("a")
    world.pass_time(50, a)
    assert a.held == set(), "it may still be there"
    world.pass_time(20, a)
    assert a.held >= {shard(HERS[0]), shard(MINE[0])}
    a.crawl()
    assert world.fetched == {url(HERS[0]): 1, url(MINE[0]): 1, url(HERS[0], "x"): 1, url(MINE[1], "y"): 1}


def test_deleted_machinery(world):
    """Without `.fscrawl` the link files tell all: nothing is lost, and nothing stored is fetched again."""
    world.web = {url(MINE[0]): [url(HERS[0], "x")], url(HERS[0], "x"): [url(MINE[1], "deep"), url(HERS[1], "deep")]}
    world.create(url(MINE[0]))
    a = world.join("a")
    for _ in range(2):
        a.tick()
        task = a.take()
        a.finish(task, world.web.get(task.url, ()))
    assert len(world.fetched) == 2
    a.kill()
    shutil.rmtree(world.root / ".fscrawl")
    world.create(url(MINE[0]))
    c = world.join("c")
    c.crawl()
    world.rounds()
    c.crawl()
    assert len(world.fetched) == 4
    assert set(world.fetched.values()) == {1}
    c.tick()
    assert c.is_over()


def test_clocks(world):
    """Machines whose clocks are years apart hand over and see the end as others do."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a", skew_s=3 * YEAR_S)
    a.tick()
    b = world.join("b", skew_s=40 * YEAR_S)
    world.rounds()
    assert (a.held, b.held) == ({shard(MINE[0])}, {shard(HERS[0])})
    a.crawl()
    b.crawl()
    world.rounds(4)
    assert a.is_over()
    assert b.is_over()


def test_end_of_two(world):
    """Two machines go on until both have said twice that they have nothing left; then one leaves, and the other too."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    a.crawl()
    world.rounds()
    assert not a.is_over()
    b.crawl()
    world.rounds(1)
    assert not a.is_over()
    world.rounds(3)
    assert a.is_over()
    a.leave(finished=True)
    b.tick()
    b.tick()
    assert b.is_over()
    assert b.membership.fleet.pages_elsewhere == 7


# -- hand-over with something in flight


def test_in_flight(world):
    """A shard is handed over when what is in flight for it is back, and its links with it."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    task = a.take()
    b = world.join("b")
    world.rounds()
    assert (a.held, b.held) == ({shard(HERS[0])}, set())
    assert not a.membership.snapshot().idle
    a.finish(task, [url(HERS[0], "x")])
    world.rounds()
    assert (a.held, b.held) == (set(), {shard(HERS[0])})
    b.crawl()
    assert world.fetched == {url(HERS[0]): 1, url(HERS[0], "x"): 1}


def test_taker_that_leaves_first(world):
    """When the machine that a shard was meant for is gone before it had it, the shard is taken on again."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    task = a.take()
    b = world.join("b")
    world.rounds()
    b.leave()
    world.rounds()
    assert not a.frontier.holds(shard(HERS[0])), "of what is in flight the answer may still come"
    a.finish(task, [url(HERS[0], "x")])
    world.rounds()
    assert a.frontier.holds(shard(HERS[0]))
    a.crawl()
    assert world.fetched == {url(HERS[0]): 1, url(HERS[0], "x"): 1}


def test_arriving_shard_is_wanted_elsewhere(world):
    """A shard that has to wait for what is in flight can be meant for another again."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    task = a.take()
    b = world.join("b")
    world.rounds()
    b.leave()
    world.rounds()
    other = next(f"b{n}" for n in range(99) if assign(SHARDS, ["a", f"b{n}"])[shard(HERS[0])] == f"b{n}")
    c = world.join(other)
    world.rounds()
    a.finish(task)
    world.rounds()
    assert (a.held, c.held) == (set(), {shard(HERS[0])})


def test_lost_while_releasing(world):
    """What was taken away while it was being released is gone."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    task = a.take()
    world.join("b")
    world.rounds()
    a.membership._machinery.claim_lease(shard(HERS[0]), 2, "b")
    a.tick()
    assert a.held == set()
    a.finish(task)
    assert a.frontier.idle
    world.rounds()
    assert a.membership.snapshot().idle, "nothing is being released"


def test_lost_while_held(world):
    """What was taken away while this machine was thought dead is let go, with all that was pending."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    assert a.frontier.pending == 1
    a.membership._machinery.claim_lease(shard(MINE[0]), 2, "b")
    a.tick()
    assert (a.held, a.frontier.pending) == (set(), 0)


def test_a_round_among_many_dead(world, monkeypatch):
    """However many shards there are, a round looks through the machines that ever were there a few times only."""
    world.create()
    for number in range(30):
        (world.root / ".fscrawl" / "machines" / f"dead-{number}.log").write_bytes(b'{"hello":"d"}\n')
    a = world.join("a")
    world.pass_time(100, a)
    fleet, looks = a.membership.fleet, []
    a.membership.ledger.needed |= set(range(SHARDS))
    is_live = fleet.is_live
    monkeypatch.setattr(fleet, "is_live", lambda machine, now: looks.append(machine) or is_live(machine, now))
    a.membership._round(world.clock.now, starved=True)
    assert fleet.held.keys() == set(range(SHARDS))
    assert looks.count("dead-7") <= 7


def test_leases_that_cannot_be_found_yet(world, monkeypatch):
    """A newcomer that lists leases and cannot read them claims none, and holds what was handed to it when it can.

    A lease that was listed and not found was nobody's for ever: the newcomer took shards of live machines.
    """
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    read = TreeFiles.read
    with monkeypatch.context() as patch:
        patch.setattr(
            TreeFiles,
            "read",
            lambda files, path, most=None: None if files.machine == "b" and "/leases/" in path else read(files, path),
        )
        b = world.join("b")
        world.rounds(12)  # some 50 s
        assert b.held == set()
        assert a.held == {shard(MINE[0])}
        leases = {path.name for path in (world.root / ".fscrawl" / "leases").iterdir()}
        assert leases == {f"{shard(MINE[0])}.1", f"{shard(HERS[0])}.1", f"{shard(HERS[0])}.2"}
    world.rounds(1)
    assert b.held == {shard(HERS[0])}


def test_shards_of_a_machine_that_has_finished(world):
    """Nobody takes them in, and reads all that is known of them, if the crawl is over; but for new seeds they do."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    for _ in range(9):
        a.crawl()
        b.crawl()
    assert a.is_over()
    a.leave(finished=True)
    held = b.held
    b.tick()
    assert b.is_over()
    assert b.held == held
    with (world.root / "seeds.txt").open("a") as file:
        file.write(f"{url(MINE[0], 'new')}\n")
    world.pass_time(80, b)
    assert not b.is_over()
    assert b.held > held
    b.crawl()
    assert world.fetched[url(MINE[0], "new")] == 1
