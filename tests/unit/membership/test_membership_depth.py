"""`max_depth` counts links by the nearest way, whatever is fetched first."""

import itertools
import random

import pytest

from tests.support.members import HERS, MINE, url

HOME, SLOW, A, B = url(MINE[0]), url(MINE[2], "slow"), url(MINE[0], "a"), url(MINE[0], "b")
IDLE_ROUNDS = 3


def crawl(world, members, is_late=lambda url: False):
    """Crawl to the end. Late pages are answered only when nothing else is left to be done."""
    late, idle = [], 0
    while idle < IDLE_ROUNDS:
        world.rounds(1)
        idle += 1
        for member in members:
            while (task := member.take()) is not None:
                idle = 0
                if is_late(task.url) and not task.check:
                    late.append((member, task))
                else:
                    member.finish(task)
        if not all(member.is_complete for member in members):
            idle = 0
        if idle == IDLE_ROUNDS and late:
            member, task = late.pop(0)
            member.finish(task)
            idle = 0


def within(web, start, limit):
    """Give the pages within `limit` links."""
    found, now = {start}, [start]
    for _ in range(limit):
        now = [link for page in now for link in web.get(page, ()) if link not in found]
        found |= set(now)
    return found


@pytest.mark.gate
@pytest.mark.parametrize("far", [MINE[0], MINE[1], HERS[0]], ids=["same host", "other host", "other machine"])
@pytest.mark.parametrize("longer", [0, 1])
@pytest.mark.parametrize("machines", [1, 2])
def test_the_nearest_way_is_found_last(world, far, longer, machines):
    """X is two links away by a slow page, and three or four by quick ones: what X links to is fetched.

    The worker took X for told though it had been left out for its depth, or the frontier knew it at the greater depth
    and never lowered that. So what X links to was left out for ever.
    """
    x, y = url(far, "x"), url(far, "y")
    world.web = {HOME: [SLOW, A], SLOW: [x], A: [B], x: [y], y: [url(far, "z")]}
    world.web |= {page: [link] for page, link in itertools.pairwise([B, *[url(MINE[0], "c")] * longer, x])}
    world.assignments.append("crawl.max_depth=3")
    world.create(HOME)
    members = [world.join(name) for name in "ab"[:machines]]
    crawl(world, members, [SLOW].__contains__)
    assert set(world.fetched) == within(world.web, HOME, 3)
    assert y in world.fetched
    assert set(world.fetched.values()) == {1}
    world.rounds()
    assert all(member.is_over() for member in members)


@pytest.mark.gate
@pytest.mark.parametrize("seed", range(20))
def test_any_web_in_any_order(world, seed):
    """On a web of any shape, with any pages late, with machines that join or are killed: the nearest way counts."""
    rng = random.Random(seed)
    pages = [url(host, str(n)) for host in (*MINE, *HERS) for n in range(3)]
    world.web = {page: rng.sample(pages, rng.randint(0, 3)) for page in pages}
    limit = rng.randint(1, 4)
    world.assignments.append(f"crawl.max_depth={limit}")
    world.create(pages[0])
    late = set(rng.sample(pages, 6))
    members = [world.join("a"), world.join("b")]
    crawl(world, members[: rng.randint(1, 2)], late.__contains__)
    if rng.random() < 0.5:
        members.pop(rng.randint(0, 1)).kill()
        world.pass_time(80, *members)
    members.append(world.join("c"))
    for _ in range(2):
        crawl(world, members)
    assert set(world.fetched) == within(world.web, pages[0], limit)
    assert set(world.fetched.values()) == {1}
