"""What machines were writing when they died goes with the work that they left, and with nothing else."""

from fscrawl.store import Tree
from tests.support.members import HERS, MINE, url


def half_written(world, machine, host):
    """Leave what a worker was writing when its machine died."""
    path = world.root / "htmls" / host / f".{'0' * 24}.html.{machine}.7-1.tmp"
    path.write_bytes(b"<html>")
    return path


def half_done(world):
    """A machine has surveyed its shard and stored a page there, and another one is pending."""
    world.create(url(MINE[0]))
    world.web = {url(MINE[0]): [url(MINE[0], "next")]}
    machine = world.join("a")
    machine.settle()
    machine.finish(machine.take())
    machine.membership.ledger.flush()
    machine.beat()
    return machine


def test_temporaries_of_a_machine_that_was_killed(world):
    """Whoever takes its shard removes them, though the logs say that the shard was surveyed."""
    half_done(world).kill()
    left = half_written(world, "a", MINE[0])
    mine = half_written(world, "b", MINE[0])
    b = world.join("b")
    world.pass_time(200, b)
    b.crawl()
    assert world.fetched == {url(MINE[0]): 1, url(MINE[0], "next"): 1}
    assert (left.exists(), mine.exists()) == (False, True)


def test_temporaries_of_a_live_machine(world):
    """They stay, and so does what a machine has left of which nothing is known."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    a.crawl()
    b.crawl()
    left = [half_written(world, machine, MINE[0]) for machine in ("b", "somebody")]
    a.kill()
    world.pass_time(200, b)
    world.web = {url(HERS[0], "2"): [url(MINE[0], "2")]}
    b.membership.discover([url(HERS[0], "2")], 1, "")
    b.crawl()
    assert url(MINE[0], "2") in world.fetched
    assert all(path.exists() for path in left)


def test_nothing_is_looked_for_after_a_goodbye(world, monkeypatch):
    """Where all machines have left by themselves there is nothing to remove, and no directory is listed for it."""
    half_done(world).leave()
    looked = []
    monkeypatch.setattr(Tree, "all_temporaries", lambda tree, host: looked.append(host) or [])
    b = world.join("b")
    b.crawl()
    assert url(MINE[0], "next") in world.fetched
    assert looked == []
