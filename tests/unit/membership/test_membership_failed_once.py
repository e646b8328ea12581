"""A page that has failed, and was stored nevertheless: it is a page, whatever its failure said."""

import pytest

from fscrawl.frontier.task import End
from fscrawl.storage.records import ErrorRecord, PageRecord
from tests.support.members import MINE, shard, url
from tests.unit.membership.test_membership_retry import failed, retry_all

HOME, SECRET = url(MINE[0]), url(MINE[0], "secret")


def failed_and_stored(world, first):
    """Let two workers come to different ends with one page: a machine that stood still may have had it, too.

    `first`: what the log says first. The page's only link is outside the scope.
    """
    world.assignments.append('crawl.deny=["/secret"]')
    world.create(HOME)
    a = world.join("a")
    task = a.take()
    error = ErrorRecord(HOME, task.key, 0, "", "t1", "a", "timeout", "", 1)
    page = PageRecord(HOME, task.key, 0, "", "t", "b", 200, {}, 4, "", 0.1, (SECRET,))
    a.tree.put_error(task.host, error)
    a.tree.put_page(task.host, page, b"page")
    if first == "failed":
        a.membership.tell(task, "t1")
    a.membership.tell(task)
    if first == "stored":
        a.membership.tell(task, "t1")
    a.frontier.finish(task, a.now, End.TOLD)
    a.tick()
    return a


def snapshot(member):
    member.membership.ledger.flush()
    member.membership.ledger.snapshots.make(shard(MINE[0]), 1, member.membership.ledger.ends())


@pytest.mark.parametrize("first", ["failed", "stored"])
@pytest.mark.parametrize("how", ["runs", "next", "snapshot"])
def test_widened(world, first, how):
    """Its links are looked at again when the scope is widened, in the same run or before the next."""
    a = failed_and_stored(world, first)
    if how == "snapshot":
        snapshot(a)
    if how != "runs":
        a.leave()
    world.set("crawl.deny=[]")
    if how != "runs":
        a = world.join("b")
    world.pass_time(200, a)
    a.crawl()
    assert world.fetched == {SECRET: 1}


@pytest.mark.parametrize("first", ["failed", "stored"])
def test_told_anew(world, first):
    """In a new generation its links are told anew, once."""
    a = failed_and_stored(world, first)
    a.leave()
    world.set("crawl.deny=[]")
    b = world.join("b", reseed=True)
    world.pass_time(70, b)
    b.crawl()
    assert world.fetched == {SECRET: 1}
    assert world.log("b").count(b"\nt ") == 2
    b.tick()
    assert b.is_over()


def test_failed_before_a_snapshot(world):
    """So it is if a snapshot has its failure only."""
    world.assignments.append('crawl.deny=["/secret"]')
    world.create(HOME)
    a = world.join("a")
    task = a.take()
    a.membership.tell(task, "t1")
    snapshot(a)
    a.tree.put_page(task.host, PageRecord(HOME, task.key, 0, "", "t", "b", 200, {}, 4, "", 0.1, (SECRET,)), b"page")
    a.membership.tell(task)
    a.frontier.finish(task, a.now, End.TOLD)
    a.leave()
    world.set("crawl.deny=[]")
    b = world.join("b")
    world.pass_time(200, b)
    b.crawl()
    assert world.fetched == {SECRET: 1}


@pytest.mark.parametrize("told_before", [True, False])
def test_tried_again_as_a_seed(world, told_before):
    """A page that failed far from the seeds and is a seed by now is tried again at depth 0: its links are in reach.

    `told_before`: its failure was told at depth 0 before somebody asked for another try.
    """
    way, far, last = url(MINE[0], "way"), url(MINE[0], "far"), url(MINE[0], "last")
    world.assignments.append("crawl.max_depth=2")
    world.web = {HOME: [way], way: [far], far: [last]}
    world.create(HOME)
    a = world.join("a")
    while (task := a.take()) is None or task.url != far:
        if task is not None:
            a.finish(task)
        a.tick()
    failed(world, a, task)
    a.leave()
    world.seeds.append(far)
    with (world.root / "seeds.txt").open("a") as file:
        file.write(f"{far}\n")
    if told_before:
        b = world.join("b")
        b.crawl()
        b.leave()
    retry_all(world)
    c = world.join("c")
    c.crawl()
    assert world.fetched == {HOME: 1, way: 1, far: 2, last: 1}
