"""Generations: which edits begin one, when old ones go, and what becomes of those who are late."""

import pytest

from fscrawl.errors import MemoryGone
from tests.support.members import HERS, MINE, shard, url

HOME, OPEN, FAR = url(MINE[0]), url(MINE[0], "open"), url(HERS[1], "far")
SECRETS = [url(MINE[0], "secret"), url(MINE[1], "secret")]
LAST = [url(MINE[0], "last"), url(MINE[2], "last")]
WEB = {HOME: [SECRETS[0], OPEN], OPEN: [LAST[0]], url(HERS[0]): [FAR, SECRETS[1]], FAR: [LAST[1]]}
ALL = {HOME, url(HERS[0]), *(link for links in WEB.values() for link in links)}


def two(world, *assignments):
    """Let two machines join, that have a shard each."""
    world.assignments += assignments
    world.web = WEB
    world.create(HOME, url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    return a, b


def crawl(world):
    for _ in range(5):
        for member in list(world.members):
            member.crawl()
        world.rounds(1)


def widen(world):
    world.set("crawl.deny=[]")


def in_generation(number, *members):
    return all(member.membership.rules.generation == number for member in members)


# -- edits


@pytest.mark.gate
@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize(("after", "rounds"), [("", 1), ("", 5), ("", 50), ("'/nowhere'", 1), ("'/nowhere'", 9)])
def test_an_edit_that_one_reads_late(world, monkeypatch, late, after, rounds):
    """Links that are chosen in between are chosen by the rules of some generation, and all are told at last.

    `after`: the edit widens; or it widens and narrows, so that neither's rules cover the other's.
    """
    members = two(world, "crawl.deny=['/secret']")
    flights = [member.take() for member in members]
    with monkeypatch.context() as patch:
        patch.setattr(members[late].watch, "settings_edited", lambda now: False)
        world.set(f"crawl.deny=[{after}]")
        members[1 - late].tick()
        for member, task in zip(members, flights, strict=True):
            member.finish(task)
        for _ in range(rounds):
            world.rounds(1)
            for member in members:
                while task := member.take():
                    member.finish(task)
    crawl(world)
    assert world.fetched == dict.fromkeys(ALL, 1)
    assert max(world.generations()) <= 3
    world.rounds(5)
    assert all(member.is_over() for member in members)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("wide", "narrow", "left_out"),
    [
        ("crawl.deny=[]", 'crawl.deny=["/secret"]', SECRETS),
        ("crawl.scope=any", "crawl.scope=host", [FAR, SECRETS[1], LAST[1]]),
        ("crawl.max_depth=4", "crawl.max_depth=1", LAST),
    ],
    ids=["deny", "scope", "max_depth"],
)
def test_narrower_and_wider_again(world, wide, narrow, left_out):
    """What was left out meanwhile waits in the logs: it is fetched, and no generation begins."""
    two(world, wide)
    world.set(narrow)
    crawl(world)
    assert world.fetched == dict.fromkeys(ALL.difference(left_out), 1)
    world.set(wide)
    crawl(world)
    assert world.fetched == dict.fromkeys(ALL, 1)
    assert world.generations().keys() == {1}


# -- outcomes


@pytest.mark.gate
@pytest.mark.parametrize("why", ["edit", "reseed"])
def test_an_outcome_of_an_older_generation(world, why):
    """It is stored and not told: its page is told from its record, in the new one, and fetched once."""
    a, b = two(world, 'crawl.deny=["/secret"]')
    task = a.take()
    assert task.url == HOME
    if why == "edit":
        widen(world)
    else:
        world.join("c", reseed=True).leave()
    assert a.tick()
    a.finish(task)
    assert world.fetched[HOME] == 1
    assert f"t {task.key}".encode() not in world.log("a")
    crawl(world)
    assert world.fetched == dict.fromkeys(ALL.difference(() if why == "edit" else SECRETS), 1)
    assert f"t {task.key}".encode() in world.logs("a")[-1].read_bytes()
    assert in_generation(2, a, b)


# -- old generations


@pytest.mark.parametrize("is_live", [True, False])
def test_old_generations_go_when_all_are_in_a_newer_one(world, is_live):
    """Who is behind still writes into one, and may not have told all that it has stored. Who is dead does not."""
    a, b = two(world)
    world.set("crawl.max_depth=9")
    for _ in range(30):
        world.clock.now += 10
        a.tick()
        a.beat()
        if is_live:
            b.beat()
    assert (a.membership.rules.generation, b.membership.rules.generation) == (2, 1)
    assert world.generations().keys() == ({1, 2} if is_live else {2})
    world.pass_time(200, a, b)
    assert world.generations().keys() == {2}
    crawl(world)
    assert world.fetched == dict.fromkeys(ALL, 1)


@pytest.mark.gate
@pytest.mark.parametrize("first", ["beat", "tick", "flush", "finish", "crawl"])
def test_silent_while_its_generation_was_removed(world, first):
    """It ends, or goes on in the newest one. Nothing is lost of what it had told, found, or in flight."""
    a, b = two(world, "crawl.deny=['/secret']")
    task = a.take()
    found = url(HERS[2], "found")
    a.store(task, [*WEB[HOME], found])
    a.membership.discover([found], 1, "")
    world.set("crawl.deny=[]")
    world.pass_time(300, b)
    b.crawl()
    assert world.generations().keys() == {2}
    a_first = {"flush": a.membership.ledger.flush, "finish": lambda: a.finish(task)}.get(first, getattr(a, first, None))
    try:
        a_first()
        a.tick()
        a.beat()
    except MemoryGone as error:
        a.heart.trouble = error
    if a.heart.trouble is not None:
        assert isinstance(a.heart.trouble, MemoryGone)
        a.kill()
        world.join("a2")
    else:
        assert a.membership.rules.generation == 2
        if first != "finish":
            a.finish(task)
    world.pass_time(200, *world.members)
    crawl(world)
    assert world.fetched.keys() == ALL | {found}
    assert {page for page, times in world.fetched.items() if times > 1} <= {task.url}
    assert all(member.is_over() for member in world.members)


def test_who_knows_more_from_before_waits_for_nobody(world):
    """A shard whose only URL stood in a log that was lost needs no holder: others have never heard of it."""
    a, b = two(world)
    a.membership.ledger.needed.add(shard(HERS[2]))
    a.membership._rulebook.mend("a log")
    world.rounds(5)
    assert in_generation(2, a, b)
    crawl(world)
    assert all(member.is_over() for member in world.members)
