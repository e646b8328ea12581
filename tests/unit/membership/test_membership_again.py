"""A retry is not forgotten with the generation in whose log it stands: the record of the failure says it, too."""

import pytest

from fscrawl.admin.retry import retry
from fscrawl.frontier.flags import Flags
from fscrawl.frontier.task import End
from fscrawl.storage.records import ErrorRecord
from fscrawl.store import Tree
from tests.support.members import MINE, url

FAILED = url(MINE[1], "x")


def fail(member, task):
    """Write a failure down, as a worker does, and take the task back."""
    member.world.fetched[task.url] += 1
    at = f"2026-01-01T00:00:0{member.world.fetched[task.url]}Z"
    facts = (task.url, task.key, task.depth, task.referrer, at, member.name, "timeout", "", 4)
    member.tree.put_error(task.host, ErrorRecord(*facts))
    member.membership.tell(task, at)
    member.frontier.finish(task, member.now, End.FAILED)


def work(member, outcome):
    """Do all there is, as workers do: what they find to have failed is told, and only another try is made."""
    for _ in range(40):
        while (task := member.take()) is not None:
            before = member.tree.failure(task.host, task.key) if task.check else None
            if task.check and member.tree.is_done(task.host, task.key):
                member.finish(task)
            elif before is None or before.again or before.failed_at == task.flags.retry_of:
                outcome(member, task)
            else:
                member.membership.tell(task, before.failed_at)
                member.frontier.finish(task, None, End.FAILED)
        member.beat()
        member.tick()


def succeed(member, task):
    member.finish(task)


@pytest.fixture
def marked(world):
    """A crawl that is over, with one failure that is to be tried again. No machine has read the command's log."""
    world.create(url(MINE[0]))
    world.web = {url(MINE[0]): [FAILED]}
    a = world.join("a")
    a.finish(a.take())
    a.tick()
    fail(a, a.take())
    a.leave(finished=True)
    assert retry(Tree(world.root, "retry-1-aa"), [], [], print).total() == 1
    return world


@pytest.mark.parametrize("outcome", [fail, succeed])
def test_retry_before_a_new_generation(marked, outcome):
    """The machine that begins it tries the URL once more, and what comes of that is the end, also in the next one."""
    for name in "bc":
        member = marked.join(name, reseed=True)
        work(member, outcome)
        assert marked.fetched == {url(MINE[0]): 1, FAILED: 2}
        assert member.is_over()
        member.leave(finished=True)


def test_retry_of_a_machine_that_was_killed(marked):
    """Whoever takes the shard over reads in the log of the new generation that the URL is to be tried again."""
    b = marked.join("b", reseed=True)
    b.settle()
    b.membership.ledger.flush()
    b.kill()
    c = marked.join("c")
    marked.pass_time(80, c)
    assert [task.flags for task in c.take_all() if task.url == FAILED][-1] == Flags(retry_of="2026-01-01T00:00:01Z")


@pytest.mark.parametrize("reseed", [True, False])
def test_retry_outside_the_scope(marked, reseed):
    """What is not to be fetched now waits, and is tried when the settings are wide again."""
    b = marked.join("b", reseed=True)
    marked.set('crawl.deny=["/x"]')
    if reseed:
        b.leave()
        b = marked.join("c", reseed=True)
    work(b, fail)
    assert marked.fetched[FAILED] == 1
    marked.set("crawl.deny")
    work(b, fail)
    assert marked.fetched[FAILED] == 2
