"""`.fscrawl` that is deleted, made anew or put back from a backup while machines run.

Machines went on with leases and logs that nobody else saw: pages were fetched twice, two machines asked one host, and
both ended with exit code 0 though pages were missing. So they end, and are started again.
"""

import contextlib
import shutil

import pytest

from fscrawl.errors import MemoryGone
from tests.support.members import HERS, MINE, shard, url

HOSTS = [MINE[0], HERS[0], MINE[1], HERS[1]]


def begin(world):
    """Let two machines crawl a part; each has a page in flight. Return the machines and these pages."""
    world.web = {url(host): [url(host, "x"), url(host, "y"), url(HERS[2], host)] for host in HOSTS}
    world.create(*map(url, HOSTS))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    flights = []
    for member in (a, b):
        member.finish(member.take())
        member.tick()
        flights.append(member.take())
    world.rounds(1)
    return a, b, flights


def machinery(world):
    return world.root / ".fscrawl"


def files(world):
    paths = (path for path in machinery(world).rglob("*") if path.is_file())
    return {str(path.relative_to(machinery(world))): path.stat().st_size for path in paths}


def delete(world):
    """Delete `.fscrawl` as `rm -r` does; the files that machines have open can still be written."""
    shutil.rmtree(machinery(world))


def start_again(world, *members):
    """Do what a supervisor does when machines have found that the memory of the fleet is gone."""
    joined = []
    for member in members:
        assert isinstance(member.heart.trouble, MemoryGone)
        member.kill()
        if not machinery(world).exists():
            world.create(*world.seeds)
        joined.append(world.join(f"{member.name}2"))
    return joined


def go_on(world):
    for _ in range(6):
        for member in list(world.members):
            member.crawl()
        world.rounds(1)
    assert all(member.is_over() for member in world.members)
    assert set(world.fetched) == {*map(url, HOSTS), *(link for links in world.web.values() for link in links)}


def nobody_fetched_twice(world, but=()):
    assert [page for page, times in world.fetched.items() if times > 1 and page not in but] == []


def test_deleted_under_two_machines(world):
    """Both notice at their next beat, which does not count, and end; the next ones make a `.fscrawl` of their own."""
    a, b, flights = begin(world)
    delete(world)
    for member in (a, b):
        member.beat()
    start_again(world, a, b)
    assert not set(files(world)) & {
        "machines/a.log",
        "machines/b.log",
        "generations/1/log/a.log",
        "generations/1/log/b.log",
    }
    go_on(world)
    nobody_fetched_twice(world)
    assert {url(task.host, task.url.rpartition("/")[2]) for task in flights} <= set(world.fetched)


def test_deleted_and_made_anew(world):
    """Where another machine has made a new one, those that ran write nothing into it, and end."""
    a, b, flights = begin(world)
    delete(world)
    for member, task in zip((a, b), flights, strict=True):
        member.store(task)  # its permit is not over
    world.clock.now += 100  # whoever makes it waits until the permits are over
    world.create(*world.seeds)
    world.join("c")
    there = files(world)
    for member in (a, b):
        member.beat()
        assert isinstance(member.heart.trouble, MemoryGone)
        member.kill()
    assert files(world) == there, "nobody has written into what it did not make"
    go_on(world)
    nobody_fetched_twice(world)


@pytest.mark.parametrize("older", [False, True])
def test_backup_that_is_put_back(world, older, tmp_path):
    """Machines that run notice that their logs are others; no lease is deleted that is valid in the backup.

    A holder with a later epoch took what the backup said for old, and deleted it: then three machines held one shard.
    """
    world.web = {url(host): [url(host, "x"), url(host, "y")] for host in HOSTS}
    world.create(*map(url, HOSTS))
    a = world.join("a")
    a.tick()
    if older:
        shutil.copytree(machinery(world), tmp_path / "backup")
    b = world.join("b")
    world.rounds()
    if not older:
        shutil.copytree(machinery(world), tmp_path / "backup")
        b.leave()
    world.rounds()
    held_before = {member.name: dict(member.membership.fleet.held) for member in world.members}
    task = a.take()
    delete(world)
    shutil.copytree(tmp_path / "backup", machinery(world))
    assert any(
        not (machinery(world) / "leases" / f"{number}.{epoch}").exists()
        for held in held_before.values()
        for number, epoch in held.items()
    ), "they hold later epochs than the backup knows"
    leases = {path.name for path in (machinery(world) / "leases").iterdir()}
    for _ in range(20):
        world.clock.now += 10
        for member in world.members:
            with contextlib.suppress(MemoryGone):  # it misses its own lease, and ends
                member.tick()
    assert leases <= {path.name for path in (machinery(world) / "leases").iterdir()}
    a.store(task)
    for member in world.members:
        member.beat()
    start_again(world, *world.members)
    world.pass_time(120, *world.members)
    held = [number for member in world.members for number in member.held]
    assert len(held) == len(set(held)), "no shard has two holders"
    for _ in range(5):
        for member in list(world.members):
            member.crawl()
        world.rounds(1)
    assert all(member.is_over() for member in world.members)
    assert len(world.fetched) == 12
    nobody_fetched_twice(world)


def test_own_log_that_is_gone(world):
    """A machine whose log was deleted, with all the rest in place, ends, too; what it had told is told again."""
    a, b, (_, flight) = begin(world)
    b.finish(flight)
    world.logs("a")[-1].unlink()
    with pytest.raises(MemoryGone):
        a.membership.ledger.check()
    a.beat()
    b.beat()
    assert b.heart.trouble is None
    start_again(world, a)
    world.pass_time(100, *world.members)
    go_on(world)


def test_writing_into_a_log_that_is_gone(world):
    """What is flushed into a log that is deleted at that moment is not taken for told: the next beat finds it."""
    a, _, _ = begin(world)
    world.logs("a")[-1].unlink()
    a.membership.discover([url(HERS[0], "new")], 1, "")
    with contextlib.suppress(MemoryGone):
        a.membership.ledger.flush()
    a.beat()
    assert isinstance(a.heart.trouble, MemoryGone)
    assert shard(MINE[0]) in a.held
