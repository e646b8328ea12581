"""Limits that are widened: the next run, or the one that runs, fetches what was left out, and nothing twice.

A shard that its last holder had left clean was never read again. So a crawl that had ended with a limit found nothing
new without it, however often it was run: only a re-seed found the pages.
"""

import pytest

from tests.support.members import HERS, MINE, url

HOME = url(MINE[0])
DEEP = {
    HOME: [url(HERS[0])],
    url(HERS[0]): [url(HERS[1]), url(HERS[0], "x")],
    url(HERS[1]): [url(MINE[1])],
    url(MINE[1]): [url(MINE[2])],
}
SUB = [f"http://{name}.one.example/" for name in ("a", "b", "c")]

# limit before, limit after, the web, its nofollow links, what is fetched before, what is fetched besides
CASES = {
    "deny": (
        'crawl.deny=["/secret"]',
        "crawl.deny=[]",
        {HOME: [url(MINE[0], "secret"), url(HERS[0])], url(MINE[0], "secret"): [url(HERS[1])]},
        {},
        [HOME, url(HERS[0])],
        [url(MINE[0], "secret"), url(HERS[1])],
    ),
    "allow": (
        'crawl.allow=["/open"]',
        'crawl.allow=["/open", "/shut"]',
        {HOME: [url(MINE[0], "open"), url(HERS[0], "shut")], url(HERS[0], "shut"): [url(HERS[0], "shut/2")]},
        {},
        [HOME, url(MINE[0], "open")],
        [url(HERS[0], "shut"), url(HERS[0], "shut/2")],
    ),
    "scope": (
        "crawl.scope=host",
        "crawl.scope=any",
        {HOME: [url(MINE[0], "x"), url(HERS[0])], url(MINE[0], "x"): [url(HERS[1])]},
        {},
        [HOME, url(MINE[0], "x")],
        [url(HERS[0]), url(HERS[1])],
    ),
    "max_depth": (
        "crawl.max_depth=1",
        "crawl.max_depth=3",
        DEEP,
        {},
        [HOME, url(HERS[0])],
        [url(HERS[0], "x"), url(HERS[1]), url(MINE[1])],
    ),
    "no max_depth": (
        "crawl.max_depth=1",
        "crawl.max_depth",
        DEEP,
        {},
        [HOME, url(HERS[0])],
        [url(HERS[0], "x"), url(HERS[1]), url(MINE[1]), url(MINE[2])],
    ),
    "follow_nofollow": (
        "crawl.follow_nofollow=false",
        "crawl.follow_nofollow=true",
        {HOME: [url(HERS[0])]},
        {HOME: [url(MINE[1])], url(HERS[0]): [url(HERS[1])]},
        [HOME, url(HERS[0])],
        [url(MINE[1]), url(HERS[1])],
    ),
    "max_pages_per_host": (
        "crawl.max_pages_per_host=2",
        "crawl.max_pages_per_host",
        {
            HOME: [url(MINE[0], "x"), url(MINE[0], "y")],
            url(MINE[0], "x"): [url(MINE[0], "z")],  # found when its host has as many pages as it may have
            url(MINE[0], "y"): [url(HERS[0])],
        },
        {},
        [HOME, url(MINE[0], "x")],
        [url(MINE[0], "y"), url(MINE[0], "z"), url(HERS[0])],
    ),
    "max_hosts_per_domain": (
        "crawl.max_hosts_per_domain=1",
        "crawl.max_hosts_per_domain",
        {HOME: SUB},
        {},
        None,  # which of the hosts is fetched first depends on their shards
        SUB,
    ),
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def begin(world, case, name="a"):
    """Crawl with the limit, until all is done."""
    before, _, world.web, world.nofollow, first, _ = case
    world.set(before) if world.made_trees else world.assignments.append(before)
    world.create(HOME)
    machine = world.join(name)
    crawl(world)
    assert machine.is_over()
    if first is not None:
        assert world.fetched == dict.fromkeys(first, 1)
    return machine


def crawl(world):
    for _ in range(4):
        for member in world.members:
            member.crawl()
        world.rounds(1)


def all_were_fetched_once(world, case):
    *_, first, more = case
    assert world.fetched == dict.fromkeys([*(first or [HOME]), *more], 1)


@pytest.mark.gate
@cases
def test_between_two_runs(world, case):
    """The next run finds what the one before left out."""
    begin(world, case).leave(finished=True)
    world.set(case[1])
    b = world.join("b")
    crawl(world)
    assert b.is_over()
    all_were_fetched_once(world, case)


@pytest.mark.gate
@cases
def test_while_a_machine_runs(world, case):
    """So does a machine that runs."""
    a = begin(world, case)
    world.set(case[1])
    a.tick()
    crawl(world)
    assert a.is_over()
    all_were_fetched_once(world, case)


@pytest.mark.gate
@cases
def test_at_a_join(world, case):
    """So do two, of which one joins with the new limit before the other has read it."""
    begin(world, case)
    world.set(case[1])
    world.join("b")
    crawl(world)
    world.rounds(3)
    crawl(world)
    all_were_fetched_once(world, case)


def test_to_and_fro(world):
    """A limit that comes back and goes again changes nothing: told marks of both rules stand in the logs."""
    begin(world, CASES["deny"]).leave(finished=True)
    for number, limit in enumerate(CASES["deny"][i] for i in (1, 0, 1, 0)):
        world.set(limit)
        member = world.join(f"b{number}")
        crawl(world)
        assert member.is_over()
        member.leave(finished=True)
    all_were_fetched_once(world, CASES["deny"])


def test_nothing_is_read_again_where_nothing_was_widened(world):
    """A run with the same limits, or with narrower ones, reads no record."""
    begin(world, CASES["deny"]).leave(finished=True)
    world.set('crawl.deny=["/secret", "/other"]')
    told = world.log("a")
    b = world.join("b")
    crawl(world)
    assert b.is_over()
    assert b"\nt " in told
    assert b"\nt " not in world.log("b")
