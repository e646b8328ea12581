"""Seeds and settings that are edited while machines run."""

import pytest

from tests.support.members import HERS, MINE, shard, slow_down, url


def test_seeds_that_are_added(world):
    """A seed that is added is crawled by whoever should hold its shard, whether somebody does or not."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    with (world.root / "seeds.txt").open("a") as file:
        file.write(f"{url(MINE[0], 'new')}\n{url(HERS[1])}\n")
    changes = [a.tick(), b.tick()]
    assert changes == [True, True]
    world.rounds()
    a.crawl()
    b.crawl()
    assert world.fetched[url(MINE[0], "new")] == world.fetched[url(HERS[1])] == 1
    assert shard(HERS[1]) in b.held


def test_wider_scope(world):
    """When a scope gets wider, the links that were outside are told from the records."""
    world.assignments.append("crawl.scope=host")
    world.create(url(MINE[0]))
    world.web = {url(MINE[0]): [url(MINE[1])]}
    a = world.join("a")
    a.crawl()
    assert world.fetched == {url(MINE[0]): 1}
    world.set("crawl.scope=any")
    assert a.tick()
    a.crawl()
    assert world.fetched == {url(MINE[0]): 1, url(MINE[1]): 1}


def test_narrower_scope(world):
    """When it gets narrower nothing is read again from records, and what is outside is not fetched."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.finish(a.take(), [url(MINE[1])])
    a.tick()
    assert a.frontier.pending == 1
    world.edit("crawl.scope=host", "fleet.beat=1", "fleet.dead_after=20")
    assert a.tick()
    assert a.is_complete
    assert a.membership.survey.hosts_left == 0
    assert a.frontier.pending == 0
    beats = (a.heart.beat_s, a.heart.lease_s, a.membership.fleet.dead_after_s)
    assert beats == (1, 10, 60), "a shorter dead_after counts in the next run"
    assert not a.tick()


@pytest.mark.parametrize("at_once", [True, False])
def test_longer_beat(world, at_once):
    """With a longer beat and dead_after, a machine beats within its old permit until others have read of the longer."""
    world.create(url(MINE[0]))
    a = world.join("a")
    edits = ["fleet.beat=40", "fleet.dead_after=300"] if at_once else ["fleet.dead_after=300"]
    world.edit(*edits)
    assert a.tick()
    assert a.heart.lease_s == 30, "others may still wait for 60 s only"
    assert a.heart.beat_s <= 20
    assert a.membership.fleet.dead_after_s == 300, "the next heartbeat says it"
    world.edit("fleet.beat=40", "fleet.dead_after=300", "politeness.delay=3")
    assert a.tick()
    assert (a.heart.lease_s, a.heart.beat_s) == (30, 20)
    world.pass_time(60 + world.caches_s + 10, a)
    a.tick()
    assert (a.heart.lease_s, a.heart.beat_s) == (150, 40)


def test_max_depth(world):
    """What is too deep is counted and neither crawled nor told."""
    world.assignments.append("crawl.max_depth=1")
    world.create(url(MINE[0]))
    a = world.join("a")
    a.membership.discover([url(MINE[0], "x")], 1, "")
    a.membership.discover([url(MINE[0], "y"), url(HERS[0], "z")], 2, "")
    a.membership.ledger.flush()
    assert a.frontier.cut["max_depth"] == 2
    assert a.frontier.pending == 2
    assert world.log("a").count(b"http://") == 1


def test_edit_while_a_page_is_in_flight(world):
    """A page that was filtered by the old scope is told from its record by the new one.

    It counted as read by the edit before: the worker had left the link out, the machine had read the host's records
    already, and no later run asked for it.
    """
    world.assignments.append('crawl.deny=["/secret"]')
    world.create(url(MINE[0]), url(MINE[0], "x"))
    world.web = {url(MINE[0]): [url(MINE[0], "secret"), url(HERS[0], "secret")]}
    a = world.join("a")
    task = a.take()
    assert task.url == url(MINE[0])
    world.set("crawl.deny=[]")
    assert a.tick()
    for _ in range(50):
        a.tick()
    a.finish(task)
    a.crawl()
    assert world.fetched == dict.fromkeys([*map(url, MINE[:1]), url(MINE[0], "x"), *world.web[url(MINE[0])]], 1)


def test_less_depth_and_more_again_while_a_page_is_in_flight(world):
    """A page is told by the rules of its worker, so links that are inside those are said, though they are too deep now.

    When the old limit came back, the mark counted, and links that were not said were found by nobody.
    """
    world.assignments.append("crawl.max_depth=2")
    world.create(url(MINE[0]))
    world.web = {url(MINE[0]): [url(MINE[0], "1")], url(MINE[0], "1"): [url(MINE[0], "2"), url(HERS[0], "2")]}
    a = world.join("a")
    a.finish(a.take())
    world.clock.now += 10
    task = a.take()
    assert task.depth == 1
    world.set("crawl.max_depth=1")
    assert a.tick()
    a.finish(task)
    world.set("crawl.max_depth=2")
    assert a.tick()
    a.crawl()
    assert world.fetched == dict.fromkeys([*world.web, *world.web[task.url]], 1)


def test_a_narrower_scope_while_a_page_is_in_flight(world):
    """Its links are judged by the new one, though its worker has let them through; they stay in the log."""
    world.create(url(MINE[0]), url(HERS[0]))
    world.web = {url(MINE[0]): [url(HERS[0], "secret"), url(HERS[0], "open")]}
    a = world.join("a")
    for task in (a.take(), a.take()):
        if task.url in world.web:
            flying = task
        else:
            a.finish(task)
    world.set('crawl.deny=["/secret"]')
    assert a.tick()
    for _ in range(5):
        a.tick()
    a.finish(flying)
    a.crawl()
    assert world.fetched == dict.fromkeys([*map(url, (MINE[0], HERS[0])), url(HERS[0], "open")], 1)
    world.set("crawl.deny=[]")
    a.tick()
    a.crawl()
    assert world.fetched[url(HERS[0], "secret")] == 1


def test_edit_just_before_a_hand_over(world):
    """A machine that joins within a beat of an edit is told what was left out until then.

    Shards were handed over before the edit was looked for, and were clean then, so nobody read their records again.
    """
    world.assignments.append('crawl.deny=["/secret"]')
    world.create(url(MINE[0]), url(HERS[0]))
    world.web = {
        url(host): [url(other, f"secret/{host}") for other in (MINE[0], HERS[0])] for host in (MINE[0], HERS[0])
    }
    a = world.join("a")
    a.crawl()
    assert len(world.fetched) == 2
    a.beat()
    world.set("crawl.deny=[]")
    b = world.join("b")
    for member in (b, a, b, a, b):
        member.beat()
        member.tick()
    assert (a.held, b.held) == ({shard(MINE[0])}, {shard(HERS[0])})
    for _ in range(3):
        a.crawl()
        b.crawl()
        world.rounds(1)
    assert len(world.fetched) == 6
    assert set(world.fetched.values()) == {1}


def test_edit_that_one_machine_reads_late(world):
    """What a machine tells by new rules, before the holder of the shard knows of them, is judged again when it does."""
    world.assignments.append('crawl.deny=["/secret"]')
    world.create(url(MINE[0]), url(HERS[0]))
    world.web = {url(MINE[0]): [url(HERS[0], "secret")]}
    a, b = world.join("a"), world.join("b")
    world.rounds()
    settings_edited, b.watch.settings_edited = b.watch.settings_edited, lambda now: False
    world.set("crawl.deny=[]")
    a.crawl()
    a.tick()
    b.crawl()
    world.rounds()
    assert b.frontier.pending == 0
    assert world.fetched == {url(MINE[0]): 1, url(HERS[0]): 1}
    b.watch.settings_edited = settings_edited
    world.rounds()
    b.crawl()
    assert world.fetched[url(HERS[0], "secret")] == 1


def test_edit_while_a_shard_is_read(world, monkeypatch):
    """What was read before the edit is read again: the shard is held anew, and knows nothing."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.membership.discover([url(MINE[0], str(n)) for n in range(20)], 1, "")
    a.leave()
    slow_down(world, monkeypatch)
    b = world.join("b")
    while b.frontier.pending < 10:
        assert b.membership.busy
        b.tick()
    world.set('crawl.deny=["/1$"]')
    while b.membership.busy:
        b.tick()
    assert b.frontier.pending == 20


def test_shard_that_is_lost_while_it_is_surveyed(world, monkeypatch):
    """The survey goes on with the other shards."""
    world.create(url(MINE[0]), url(MINE[1]))
    world.web = {url(host): [url(host, str(n)) for n in range(9)] for host in MINE[:2]}
    a = world.join("a")
    a.crawl()
    a.leave()
    slow_down(world, monkeypatch)
    b = world.join("b", reseed=True)
    while not b.membership.survey.hosts_left:
        b.tick()
    b.tick()
    b.membership.fleet._shared.claim_lease(shard(MINE[0]), b.membership.fleet.held[shard(MINE[0])] + 1, "c")
    for _ in range(20):
        if b.held == {shard(MINE[1])}:
            break
        b.tick()
    else:
        raise AssertionError("it was not noticed")
    assert b.membership.survey.hosts_left
    b.settle()
    b.crawl()
    assert set(world.fetched.values()) == {1}


@pytest.mark.parametrize("reseed", [False, True])
def test_a_seed_to_which_a_page_links_stays_one(world, reseed):
    """Whoever takes the shard over, or in anew, finds the link in a log: the seed has depth 0 and no referrer."""
    world.create(url(MINE[0]), url(MINE[0], "x"))
    world.web = {url(MINE[0]): [url(MINE[0], "x")]}
    a = world.join("a")
    task = a.take()
    assert task.url == url(MINE[0])
    a.finish(task)
    a.leave()
    b = world.join("b", reseed=reseed)
    world.clock.now += 10
    b.settle()
    task = b.take()
    assert (task.url, task.depth, task.referrer) == (url(MINE[0], "x"), 0, "")
