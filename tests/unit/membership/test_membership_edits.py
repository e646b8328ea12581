"""Seeds and settings that are edited while machines run."""

from tests.support.members import HERS, MINE, shard, url


def test_seeds_that_are_added(world):
    """A seed that is added is crawled by whoever should hold its shard, whether somebody does or not."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    with (world.root / "seeds.txt").open("a") as file:
        file.write(f"{url(MINE[0], 'new')}\n{url(HERS[1])}\n")
    changes = [a.tick(), b.tick()]
    assert changes == [True, True]
    world.rounds()
    a.crawl()
    b.crawl()
    assert world.fetched[url(MINE[0], "new")] == world.fetched[url(HERS[1])] == 1
    assert shard(HERS[1]) in b.held


def test_wider_scope(world):
    """When a scope gets wider, the links that were outside are read from the records."""
    world.assignments.append("crawl.scope=host")
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    a.store(a.take(), [url(MINE[1])])
    world.edit("crawl.scope=any")
    assert a.tick()
    assert a.membership.scope_was_edited
    a.tick()
    world.rounds()
    assert a.frontier.holds(shard(MINE[1]))
    assert a.frontier.pending == 1


def test_narrower_scope(world):
    """When it gets narrower nothing is read again."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.crawl()
    world.edit("crawl.scope=host", "fleet.beat=1", "fleet.dead_after=20")
    assert a.tick()
    assert not a.membership.busy
    assert (a.heart.beat_s, a.heart.lease_s, a.membership.fleet.dead_after_s) == (
        1,
        10,
        60,
    )  # a shorter dead_after waits
    assert not a.tick()


def test_max_depth(world):
    """What is too deep is counted and neither crawled nor fed."""
    world.assignments.append("crawl.max_depth=1")
    world.create(url(MINE[0]))
    a = world.join("a")
    a.membership.discover([url(MINE[0], "x")], 1, "")
    a.membership.discover([url(MINE[0], "y"), url(HERS[0], "z")], 2, "")
    a.tick()
    assert a.frontier.cut["max_depth"] == 2
    assert a.frontier.pending == 2
    assert len((world.root / ".fscrawl" / "feed" / "a.log").read_bytes().splitlines()) == 1
