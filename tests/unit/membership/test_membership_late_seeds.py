"""Seeds and lists that are edited at the very moment when the crawl ends: whoever has seen them sees to them."""

import pytest

from fscrawl.config.settings import END, parse, render
from tests.support.members import HERS, MINE, shard, url

NEW = url(MINE[0], "new")


def two_idle(world):
    """Give two machines that have nothing left; `a` holds the shard of MINE."""
    a, b = world.join("a"), world.join("b")
    for _ in range(9):
        a.crawl()
        b.crawl()
    assert shard(MINE[0]) in a.held
    return a, b


def add_seed(world, line=NEW):
    with (world.root / "seeds.txt").open("a") as file:
        file.write(f"{line}\n")


def finish(world, *machines):
    """Let machines go on until all have left."""
    left = list(machines)
    for _ in range(60):
        for each in list(left):
            world.rounds(1)
            if each.is_over():
                each.leave(finished=True)
                left.remove(each)
            else:
                each.crawl()
        if not left:
            return
    raise AssertionError("no end")


@pytest.fixture(params=[0.0, 60.0], ids=["disk", "share"])
def world_of(request, world):
    world.caches_s = request.param
    return world


def test_the_holder_leaves_before_it_sees_a_seed(world_of, monkeypatch):
    """The other machine has seen it, and takes the shard: that the crawl is over was said without that seed."""
    world_of.create(url(MINE[0]), url(HERS[0]))
    a, b = two_idle(world_of)
    add_seed(world_of)
    with monkeypatch.context() as patch:  # a share may show an old file; or the holder has just looked
        patch.setattr(a.watch, "new_seeds", list)
        b.tick()
        world_of.rounds(1)
        assert a.is_over()
        a.leave(finished=True)
    finish(world_of, b)
    assert world_of.fetched[NEW] == 1


def test_who_has_seen_a_seed_leaves_before_its_holder_sees_it(world_of, monkeypatch):
    """It stays until all others must have seen the seed: the holder may say before that the crawl is over."""
    world_of.create(url(MINE[0]), url(HERS[0]))
    a, b = two_idle(world_of)
    add_seed(world_of)
    with monkeypatch.context() as patch:
        patch.setattr(a.watch, "new_seeds", list)
        b.tick()
        world_of.rounds(2)
        assert not b.is_over()
    finish(world_of, a, b)
    assert world_of.fetched[NEW] == 1


def test_a_machine_that_joins_with_a_seed_of_its_own(world_of, monkeypatch):
    """It has added the seed, and does not leave before the holder must have seen it."""
    world_of.create(url(MINE[0]))
    a = world_of.join("a")
    a.crawl()
    with monkeypatch.context() as patch:
        patch.setattr(a.watch, "new_seeds", list)
        add_seed(world_of)
        b = world_of.join("b", added=[NEW])
        world_of.rounds(1)
        assert not b.is_over()
        a.leave(finished=True)
    finish(world_of, b)
    assert world_of.fetched[NEW] == 1


def test_the_end_comes_all_the_same(world_of):
    """After some time, when the holder has seen the seed."""
    world_of.create(url(MINE[0]), url(HERS[0]))
    a, b = two_idle(world_of)
    add_seed(world_of)
    b.tick()
    finish(world_of, a, b)
    assert world_of.fetched[NEW] == 1


def test_alone_nobody_waits(world_of):
    """A machine without others has seen all that there is."""
    world_of.create(url(MINE[0]))
    a = world_of.join("a")
    a.crawl()
    add_seed(world_of)
    a.tick()
    a.crawl()
    assert a.is_over()
    assert world_of.fetched[NEW] == 1


def test_a_list_that_grows_while_its_holder_leaves(world_of, monkeypatch):
    """A list of values for seeds is as good as seeds."""
    world_of.assignments += ["politeness.delay=0"]
    world_of.create(url(MINE[0]), url(HERS[0]))
    (world_of.root / "names.txt").write_text("one\n")
    table = f"[[site]]\nhosts = ['{MINE[0]}']\nseeds = ['http://{MINE[0]}/{{names.txt}}']\n"
    text = render(world_of.settings()).replace(END, f"{table}{END}")
    (world_of.root / "crawl.toml").write_text(text)
    monkeypatch.setattr(world_of, "settings", lambda: parse(text, "crawl.toml"))
    a, b = two_idle(world_of)
    assert world_of.fetched[url(MINE[0], "one")] == 1
    (world_of.root / "names.txt").write_text("one\nnew\n")
    b.tick()
    a.leave(finished=True)
    finish(world_of, b)
    assert world_of.fetched[NEW] == 1
