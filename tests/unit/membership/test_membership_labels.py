"""Tasks that are stopped and go on, on several machines, by logs and by snapshots."""

from fscrawl.frontier.flags import labelled
from tests.support.members import HERS, MINE, shard, url
from tests.unit.membership.test_membership_snapshots import SHARD, snapshot

A, B = labelled("a"), labelled("b")
STOP_A = 'crawl.stopped_labels=["a"]'


def labels(member):
    """Give what is pending, by URL; all of it is over then. A host that was just taken in rests for its delay first."""
    found = {}
    for _ in range(6):
        member.world.clock.now += 2
        found |= {task.url: task.flags.label for task in member.take_all()}
    return found


def test_found_by_another_machine(world):
    """What one machine finds for a stopped task of a shard of another one waits in the log until the task goes on."""
    world.assignments.append(STOP_A)
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    labels(a), labels(b)
    a.membership.discover([url(HERS[0], "1"), url(HERS[0], "2"), url(MINE[0], "3")], 1, "", A)
    a.membership.discover([url(HERS[0], "2"), url(HERS[0], "2")], 1, "", B)
    a.membership.ledger.flush()
    world.rounds()
    assert labels(b) == {url(HERS[0], "2"): "b"}
    assert labels(a) == {}
    assert world.log("a").count(b"/2 label=") == 2, "a line for each task, and not for each link"
    world.set("crawl.stopped_labels=[]")
    world.rounds(6)
    found = {**labels(a), **labels(b)}
    of_tasks = {each: label for each, label in found.items() if label}
    assert of_tasks == {url(MINE[0], "3"): "a", url(HERS[0], "1"): "a", url(HERS[0], "2"): "a"}


def test_a_page_of_two_tasks_of_which_the_first_is_stopped(world):
    """It is fetched for the other one, also if that one found it before the first was stopped."""
    world.create(url(MINE[0]))
    a = world.join("a")
    labels(a)
    a.membership.discover([url(MINE[0], "both"), url(MINE[0], "1")], 1, "", A)
    a.membership.discover([url(MINE[0], "both")], 1, "", B)
    assert a.frontier.pending == 2
    world.set(STOP_A)
    assert a.tick()
    a.settle()
    assert labels(a) == {url(MINE[0]): "", url(MINE[0], "both"): "b"}
    assert a.membership.survey.records_read == 0, "nothing is read again from records"


def test_by_way_of_a_snapshot(world):
    """The next holder, who reads a snapshot, fetches for the tasks that are not stopped, and later for the others."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.finish(a.take(), [])
    a.membership.discover([url(MINE[0], "both"), url(MINE[0], "1")], 1, "", A)
    a.membership.discover([url(MINE[0], "both")], 1, "", B)
    assert snapshot(a).waiting == 2
    a.leave()
    world.set(STOP_A)
    b = world.join("b")
    b.settle()
    assert SHARD in b.held
    world.clock.now += 2
    task = b.take()
    assert (task.url, task.flags.label) == (url(MINE[0], "both"), "b")
    b.finish(task, [url(MINE[0], "2")])
    assert labels(b) == {url(MINE[0], "2"): "b"}
    world.set("crawl.stopped_labels=[]")
    b.tick()
    b.settle()
    assert labels(b) == {url(MINE[0], "1"): "a", url(MINE[0], "2"): "b"}


def test_what_is_stored_and_told_anew(world):
    """Links that are told from records have the label of the record; those of a stopped task wait."""
    world.assignments.append("crawl.scope=host")
    world.create(url(MINE[0]))
    world.web = {url(MINE[0]): [url(MINE[1])]}
    a = world.join("a")
    task = a.take()
    a.finish(task._replace(flags=A))
    world.set("crawl.scope=any", STOP_A)
    a.tick()
    a.settle()
    assert url(MINE[1]) not in labels(a)
    assert shard(MINE[1]) in a.membership.ledger.needed
    world.set("crawl.stopped_labels=[]")
    for _ in range(5):
        a.beat()
        a.tick()
    a.settle()
    assert labels(a) == {url(MINE[1]): "a"}


def test_a_seed_of_a_stopped_task(world):
    """It is not fetched; without the setting it is, with its label."""
    world.assignments.append(STOP_A)
    world.create(url(MINE[0]), url(MINE[0], "x"))
    (world.root / "seeds.txt").write_text(f"{url(MINE[0])}\n{url(MINE[0], 'x')}  # a\n")
    a = world.join("a")
    a.tick()
    a.settle()
    assert labels(a) == {url(MINE[0]): ""}
    world.set("crawl.stopped_labels=[]")
    a.tick()
    a.settle()
    assert labels(a)[url(MINE[0], "x")] == "a"


def test_a_machine_that_starts_again_says_nothing_twice(world):
    """Neither what is done, nor what waits: seeds of templates are gone through at every start."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.finish(a.take(), [])
    seeds = [url(MINE[0], str(number)) for number in range(9)]

    def go_through(member):
        for seed in seeds:
            member.membership.discover([seed], 0, "", A)
        member.membership.ledger.flush()

    go_through(a)
    world.clock.now += 2
    a.finish(a.take(), [])
    go_through(a)
    assert world.log("a").count(b" label=a\n") == 9
    snapshot(a)
    a.leave()
    b = world.join("b")
    b.settle()
    go_through(b)
    assert world.log("b").count(b" label=a\n") == 0
    assert set(labels(b)) == set(seeds) - {seeds[0]}
