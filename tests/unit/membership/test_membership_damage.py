"""Logs that are shortened, zeroed or removed: the next generation begins once, nothing is lost, and the crawl ends."""

import pytest

from fscrawl.errors import MemoryGone
from fscrawl.fleet.generations import UrlLogs
from tests.support.members import HERS, MINE, shard, url

PAGES = {
    url(MINE[0]): [url(HERS[0]), url(HERS[1]), url(MINE[1])],
    url(HERS[0]): [url(MINE[0], "x"), url(HERS[0], "x")],
    url(HERS[1]): [url(HERS[2])],
    url(HERS[2]): [url(MINE[2])],
}
ALL = {url(MINE[0]), *(link for links in PAGES.values() for link in links)}


def shortened(percent):
    return lambda data: data[: int(len(data) * percent / 100)]


def zeroed(data):
    """Lose a part as a server does that came back without what was in its memory."""
    begin, end = len(data) // 3, 2 * len(data) // 3
    return data[:begin] + bytes(end - begin) + data[end:]


DAMAGE = {f"{percent} %": shortened(percent) for percent in (0, 15, 50, 85, 99.9)} | {"zeros": zeroed, "removed": None}
damages = pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)


def begin(world):
    world.web = PAGES
    world.create(url(MINE[0]))


def hurt(world, machine, damage):
    path = world.logs(machine)[-1]
    if damage is None:
        path.unlink()
    else:
        with path.open("r+b") as file:
            data = damage(file.read())
            file.truncate(0)
            file.seek(0)
            file.write(data)


def crawl_some(world, member, pages):
    for _ in range(pages):
        member.finish(member.take())
        world.rounds(2)


def finish(world):
    """Let all machines go on to the end; those that find the memory of the fleet changed join anew."""
    for n in range(40):
        for member in list(world.members):
            try:
                member.crawl()
            except MemoryGone as error:
                member.heart.trouble = error
        world.rounds(1)
        for member in [each for each in world.members if each.heart.trouble is not None]:
            assert isinstance(member.heart.trouble, MemoryGone)
            member.kill()
            world.join(f"{member.name}-again-{n}")
        if all(member.is_over() for member in world.members):
            return
    raise AssertionError("no end")


def all_is_there(world):
    assert world.fetched == dict.fromkeys(ALL, 1)


@pytest.mark.gate
@damages
def test_after_its_machine_had_left(world, damage):
    """Between two runs: the next one finds it by the goodbye, and tells all from the records. Later ones read none."""
    begin(world)
    a = world.join("a")
    crawl_some(world, a, 3)
    a.leave()
    hurt(world, "a", damage)
    for name in ("b", "c"):
        member = world.join(name)
        world.pass_time(80, member)
        finish(world)
        assert [text for text in member.warnings if "all records are read again" in text] == member.warnings
        assert len(member.warnings) == (name == "b")
        member.leave()
    all_is_there(world)
    assert max(world.generations()) == 2
    assert world.generations()[2].startswith("damage: ")


@pytest.mark.gate
@damages
@pytest.mark.parametrize("who", ["who has read it", "newcomer"])
def test_after_its_machine_was_killed(world, damage, who):
    """What others had read of it is more than there is. A newcomer has not: it believes the beat."""
    begin(world)
    a = world.join("a")
    if who != "newcomer":
        world.join("b")
    world.rounds()
    crawl_some(world, a, 2)
    a.kill()
    hurt(world, "a", damage)
    world.join("c")
    world.pass_time(80, *world.members)
    finish(world)
    all_is_there(world)
    assert max(world.generations()) in ((1, 2) if who == "newcomer" else (2,)), "no beat may have told of all of it"


@pytest.mark.gate
@damages
def test_while_its_machine_runs(world, damage):
    """It ends, and joins anew; all that it has told is told again by somebody."""
    begin(world)
    a, _ = world.join("a"), world.join("b")
    world.rounds()
    crawl_some(world, a, 2)
    hurt(world, "a", damage)
    a.beat()
    assert a.heart.trouble is not None, "the next beat finds it"
    finish(world)
    world.join("late")
    world.pass_time(80, *world.members)
    finish(world)
    all_is_there(world)
    assert max(world.generations()) == 2


@pytest.mark.parametrize("beats", [True, False])
def test_behind_a_snapshot(world, beats):
    """A log that has less than a snapshot was made of is damaged, also where no beat has told of what is lost."""
    world.web = {url(MINE[0]): [url(HERS[0])]}
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    a.beat()
    ledger = a.membership.ledger
    ledger.flush()
    before = ledger.place
    a.finish(a.take())
    ledger.flush()
    assert ledger.snapshots.make(shard(MINE[0]), 1, ledger.ends())
    if beats:
        a.tick()
        a.beat()
    a.kill()
    hurt(world, "a", lambda data: data[:before])
    world.join("b")
    world.pass_time(100, *world.members)
    finish(world)
    assert world.fetched == {url(MINE[0]): 1, url(HERS[0]): 1}
    assert max(world.generations()) == 2


@damages
def test_two_that_find_it_make_one_generation(world, damage):
    begin(world)
    a = world.join("a")
    crawl_some(world, a, 1)
    a.leave()
    hurt(world, "a", damage)
    world.join("b")
    world.join("c")
    world.pass_time(80, *world.members)
    finish(world)
    assert max(world.generations()) == 2
    all_is_there(world)


def test_an_old_view_is_no_damage(world, monkeypatch):
    """A file system that shows a log shorter than its machine has said, for less than a minute: nothing is believed."""
    begin(world)
    a, b = world.join("a"), world.join("b")
    world.rounds()
    a.finish(a.take())
    a.tick()
    a.beat()
    with monkeypatch.context() as patch:
        seen = UrlLogs.open_view
        patch.setattr(UrlLogs, "open_view", lambda logs, name: None if name == "a" else seen(logs, name))
        for _ in range(20):
            b.beat()
            b.tick()
        assert b.membership.ledger.damaged
        assert not b.membership.snapshot().idle, "the machine does not end as long as it is in doubt"
    finish(world)
    assert world.generations().keys() == {1}
    all_is_there(world)
