"""Machines of one process that take turns on a real tree; hearts and clocks are in the test's hands."""

import dataclasses
import shutil
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fscrawl import urls
from fscrawl.admin.retry import retry
from fscrawl.config.settings import Settings, apply, render
from fscrawl.config.watcher import CACHES_LIVE_S, EditWatcher
from fscrawl.errors import NotATreeError, TreeError
from fscrawl.fleet import membership as module
from fscrawl.fleet.beat import Beat, Goodbye, Hello, line_of
from fscrawl.fleet.membership import Membership
from fscrawl.fleet.ownership import wanted_of
from fscrawl.frontier.flags import NO_FLAGS, REFRESH, SITEMAP_PART, Flags, parse_flags
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.stored import StoredOnTree
from fscrawl.storage.records import SITEMAP, ErrorRecord, PageRecord, TreeRecord
from fscrawl.store import Tree, create

SHARDS = 16
ABANDONED = object()
YEAR_S = 3.2e7


class Heart:
    """A heart that beats when told to."""

    def __init__(self, log, machine, snapshot, *, beat_s, lease_s, permit):
        self._log, self._snapshot = log, snapshot
        self.beat_s, self.lease_s = beat_s, lease_s
        self.suspended, self.age, self.asked, self.readmitted = False, 0.0, 0, 0
        self.written, self.ended = [], None
        self._write(Hello(machine))
        self.beat()

    def _write(self, line):
        self._log.append(line_of(line))

    def beat(self):
        self.written = [*self.written[-1:], replace(self._snapshot(), number=1)]
        self._write(self.written[-1])

    def age_s(self):
        return self.age

    def readmit(self):
        self.suspended = False
        self.readmitted += 1

    def beat_now(self):
        self.asked += 1

    def stop(self, **facts):
        self.ended = Goodbye(self._snapshot(), **facts)
        self._write(self.ended)

    def abandon(self):
        self.ended = ABANDONED

    def close(self):
        self._log.close()


def hosts_wanted(by, among, count=1):
    """Give hosts of different shards whose wanted machine is `by`."""
    found, seen = [], set()
    for n in range(1000):
        host = f"h{n}.example"
        shard = urls.shard(host, SHARDS)
        if shard not in seen and wanted_of(shard, among) == by:
            found.append(host)
            seen.add(shard)
    return found[:count]


class Member:
    """A machine: what its main loop does, with a web that answers from a dictionary."""

    def __init__(self, world, name, *, reseed=False, skew_s=0.0, refresh_before=""):
        self.world, self.name, self.skew_s = world, name, skew_s
        tree = self.tree = Tree(world.root, name)
        settings = world.settings()
        self.warnings = []
        self.watch = EditWatcher(tree, settings, frozenset(world.seeds), self.warnings.append)
        stored = StoredOnTree(tree)
        self.frontier = Frontier(settings, stored, shards=SHARDS)
        self.membership = Membership(
            tree,
            self.frontier,
            stored,
            self.watch,
            reseed=reseed,
            counters=lambda: Beat(pages=7),
            warn=self.warnings.append,
            refresh_before=refresh_before,
        )
        world.made.append(self)
        self._turn()
        self.membership.join()
        self.heart = self.membership._heart
        world.members.append(self)

    def _turn(self):
        self.world.clock.skew_s = self.skew_s

    @property
    def now(self):
        return self.world.clock.now + self.skew_s

    @property
    def held(self):
        return set(self.membership.fleet.held)

    def beat(self):
        self._turn()
        self.heart.beat()

    def tick(self, *, starved=True):
        self._turn()
        self.world.clock.now += 2  # so that a round is due
        changed = self.membership.tick(starved=starved)
        if changed:
            self.frontier.use(self.watch.settings)
        return changed

    def take(self):
        self._turn()
        return self.frontier.take(self.now)

    def finish(self, task, links=()):
        """Store the page, as a worker does, and take its links in, as the main loop does."""
        self.store(task, links)
        self.membership.discover(links, task.depth + 1, task.key)
        self.frontier.finish(task, self.now, stored=True)

    def store(self, task, links=()):
        self.world.fetched[task.url] += 1
        record = PageRecord(
            task.url, task.key, task.depth, task.referrer, "t", self.name, 200, {}, 4, "", 0.1, tuple(links)
        )
        self.tree.put_page(task.host, record, b"page")

    def is_over(self):
        self._turn()
        return self.membership.is_over()

    def crawl(self):
        """Fetch all there is, until nothing is pending here."""
        for _ in range(200):
            task = self.take()
            if task is not None:
                self.finish(task, self.world.web.get(task.url, ()))
            elif self.frontier.pending or self.membership.busy:
                self.tick()
            else:
                return
        raise AssertionError("no end")

    def close(self):
        self.frontier.close()
        if hasattr(self, "heart"):
            self.heart.close()
            if self.heart.ended in (None, ABANDONED):
                self.membership._writer.close()

    def leave(self, *, finished=False):
        self._turn()
        self.membership.leave(finished=finished)
        self.world.members.remove(self)

    def kill(self):
        self.world.members.remove(self)


class World:
    def __init__(self, root, monkeypatch):
        self.root = root
        self.web, self.seeds, self.members, self.made, self.fetched = {}, [], [], [], Counter()
        self.assignments = ["politeness.robots=false", "crawl.scope=any", f"fleet.shards={SHARDS}"]
        self.clock = SimpleNamespace(now=1000.0, skew_s=0.0)
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.clock.now + self.clock.skew_s))
        monkeypatch.setattr(module, "Heartbeat", Heart)

    def settings(self):
        return apply(Settings(), self.assignments)

    def create(self, *seeds, partition="host"):
        if partition != "host":
            self.assignments.append(f"crawl.partition={partition}")
        self.seeds = list(seeds)
        record = TreeRecord(format=1, crawl="c", created_at="t", shards=SHARDS, fanout=0, partition=partition)
        create(self.root, record, render(self.settings()), "".join(f"{seed}\n" for seed in seeds))

    def join(self, name, **options):
        return Member(self, name, **options)

    def edit(self, *assignments):
        (self.root / "crawl.toml").write_text(render(apply(self.settings(), assignments)))

    def rounds(self, count=3):
        """Let all machines beat and tick in turn."""
        for _ in range(count):
            for member in list(self.members):
                member.beat()
                member.tick()

    def pass_time(self, seconds, *beating):
        for _ in range(int(seconds // 10)):
            self.clock.now += 10
            for member in beating:
                member.beat()
                member.tick()


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path / "root", monkeypatch)
    yield world
    for member in world.made:
        member.close()


def url(host, path=""):
    return f"http://{host}/{path}"


def shard(host):
    return urls.shard(host, SHARDS)


MINE, HERS = hosts_wanted("a", ["a", "b"], 3), hosts_wanted("b", ["a", "b"], 3)


def test_alone(world):
    """A machine alone takes the shards of its seeds, crawls them, and sees the end without waiting for a beat."""
    world.web = {url(MINE[0]): [url(HERS[0], "x"), url(MINE[0], "y")]}
    world.create(url(MINE[0]))
    a = world.join("a")
    assert a.held == {shard(MINE[0])}
    assert not a.is_over()
    a.crawl()
    a.tick()
    assert world.fetched == {url(MINE[0]): 1, url(HERS[0], "x"): 1, url(MINE[0], "y"): 1}
    assert a.held == {shard(MINE[0]), shard(HERS[0])}
    a.tick()
    assert a.is_over()
    assert a.membership.snapshot().pages == 7
    a.leave(finished=True)
    assert (a.heart.ended.finished, a.heart.ended.clean) == (True, True)


def test_hand_over_and_back(world):
    """A newcomer is handed what it should hold, with its lines; when it leaves, all comes back, without a re-seed."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    a.membership.discover([url(HERS[0], "x"), url(HERS[1], "y"), url(MINE[1], "z")], 1, "")
    a.tick()
    b = world.join("b")
    world.rounds()
    assert a.held == {shard(host) for host in (MINE[0], MINE[1])}
    assert b.held == {shard(host) for host in (HERS[0], HERS[1])}
    assert b.frontier.pending == 3  # a seed, and two lines of the other's feed
    assert a.frontier.pending == 2
    b.crawl()
    b.leave()
    world.rounds()
    assert a.held == {shard(host) for host in (MINE[0], MINE[1], HERS[0], HERS[1])}
    assert a.membership.reseeding == 0
    a.crawl()
    assert set(world.fetched.values()) == {1}
    assert len(world.fetched) == 5
    assert a.warnings == b.warnings == []


def test_adopted_lines(world):
    """What a machine finds of another's shards goes into its feed, once, and the other fetches it."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    b.crawl()
    for _ in range(2):
        a.membership.discover([url(HERS[0], "x")], 1, "")
    sent = a.membership._writer.sent
    world.rounds()
    assert a.membership._writer.sent - sent < 2 * len(f"{shard(HERS[0])} 1  {url(HERS[0], 'x')}\n")
    b.crawl()
    assert world.fetched[url(HERS[0], "x")] == 1
    assert b.held == {shard(HERS[0])}


def test_takeover(world):
    """Of a machine that was killed between storing a page and feeding its links, the links come from its record."""
    world.create(url(HERS[0]), url(MINE[0]))
    b = world.join("b")
    b.tick()
    task = b.take()
    while task.url != url(HERS[0]):
        task = b.take()
    b.store(task, [url(HERS[0], "x"), url(MINE[1], "y")])
    b.kill()
    a = world.join("a")
    world.pass_time(50, a)
    assert a.held == set(), "it may still be there"
    world.pass_time(20, a)
    assert a.held >= {shard(HERS[0]), shard(MINE[0])}
    a.crawl()
    assert world.fetched == {url(HERS[0]): 1, url(MINE[0]): 1, url(HERS[0], "x"): 1, url(MINE[1], "y"): 1}


def test_deleted_machinery(world):
    """Without `.fscrawl` the link files tell all: nothing is lost, and nothing stored is fetched again."""
    world.web = {url(MINE[0]): [url(HERS[0], "x")], url(HERS[0], "x"): [url(MINE[1], "deep"), url(HERS[1], "deep")]}
    world.create(url(MINE[0]))
    a = world.join("a")
    for _ in range(3):
        a.tick()
        task = a.take()
        if task:
            a.finish(task, world.web.get(task.url, ()))
    assert len(world.fetched) == 2
    a.kill()
    shutil.rmtree(world.root / ".fscrawl")
    world.create(url(MINE[0]))
    c = world.join("c")
    c.crawl()
    world.rounds()
    c.crawl()
    assert len(world.fetched) == 4
    assert set(world.fetched.values()) == {1}
    c.tick()
    assert c.is_over()


def test_clocks(world):
    """Machines whose clocks are years apart hand over and see the end as others do."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a", skew_s=3 * YEAR_S)
    a.tick()
    b = world.join("b", skew_s=40 * YEAR_S)
    world.rounds()
    assert (a.held, b.held) == ({shard(MINE[0])}, {shard(HERS[0])})
    a.crawl()
    b.crawl()
    world.rounds(4)
    assert a.is_over()
    assert b.is_over()


def test_end_of_two(world):
    """Two machines go on until both have said twice that they have nothing left; then one leaves, and the other too."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    a.crawl()
    world.rounds()
    assert not a.is_over()
    b.crawl()
    world.rounds(1)
    assert not a.is_over()
    world.rounds(3)
    assert a.is_over()
    a.leave(finished=True)
    b.tick()
    b.tick()
    assert b.is_over()
    assert b.membership.pages_elsewhere() == 7


# -- delays


def test_delay_after_a_hand_over(world):
    """A host that may just have been asked by its former machine rests for its delay before the new one asks it."""
    world.create(url(MINE[0]), url(HERS[0]), url(HERS[0], "x"))
    world.assignments.append("politeness.delay=100")
    world.edit()
    a = world.join("a")
    a.tick()
    while task := a.take():
        a.finish(task)
    b = world.join("b")
    world.rounds(2)
    adopted_at = world.clock.now
    assert b.frontier.pending == 1
    assert b.take() is None
    world.clock.now = adopted_at + 90
    assert b.take() is None
    world.clock.now = adopted_at + 101
    task = b.take()
    assert task.url == url(HERS[0], "x")
    assert not task.check, "after `dead_after` listings show all"


def test_check_by_name_after_a_hand_over(world):
    """Until listings are sure to be fresh the tree is asked by name."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    b = world.join("b")
    world.rounds()
    assert b.take().check
    assert not a.take().check


# -- hand-over with something in flight


def test_in_flight(world):
    """A shard is handed over when what is in flight for it is back, and its links with it."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    task = a.take()
    b = world.join("b")
    world.rounds()
    assert (a.held, b.held) == ({shard(HERS[0])}, set())
    assert not a.membership.snapshot().idle
    a.finish(task, [url(HERS[0], "x")])
    world.rounds()
    assert (a.held, b.held) == (set(), {shard(HERS[0])})
    b.crawl()
    assert world.fetched == {url(HERS[0]): 1, url(HERS[0], "x"): 1}


def test_taker_that_leaves_first(world):
    """When the machine that a shard was meant for is gone before it had it, the shard is taken on again."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    task = a.take()
    b = world.join("b")
    world.rounds()
    b.leave()
    world.rounds()
    assert not a.frontier.holds(shard(HERS[0])), "of what is in flight the answer may still come"
    a.finish(task, [url(HERS[0], "x")])
    world.rounds()
    assert a.frontier.holds(shard(HERS[0]))
    a.crawl()
    assert world.fetched == {url(HERS[0]): 1, url(HERS[0], "x"): 1}


def test_arriving_shard_is_wanted_elsewhere(world):
    """A shard that has to wait for what is in flight can be meant for another again."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    task = a.take()
    b = world.join("b")
    world.rounds()
    b.leave()
    world.rounds()
    other = next(f"b{n}" for n in range(99) if wanted_of(shard(HERS[0]), ["a", f"b{n}"]) == f"b{n}")
    c = world.join(other)
    world.rounds()
    a.finish(task)
    world.rounds()
    assert (a.held, c.held) == (set(), {shard(HERS[0])})


def test_lost_while_releasing(world):
    """What was taken away while it was being released is gone."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    task = a.take()
    world.join("b")
    world.rounds()
    a.membership._machinery.claim_lease(shard(HERS[0]), 2, "b")
    a.tick()
    assert (a.held, a.membership._releasing) == (set(), set())
    a.finish(task)
    assert a.frontier.idle


def test_lost_while_held(world):
    """What was taken away while this machine was thought dead is let go, with all that was pending."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    assert a.frontier.pending == 1
    a.membership._machinery.claim_lease(shard(MINE[0]), 2, "b")
    a.tick()
    assert (a.held, a.frontier.pending) == (set(), 0)


# -- re-seeding


def stored(world, links, host=MINE[0]):
    """Leave a tree on which one machine has stored one page that links to `links`, and said goodbye."""
    world.create(url(host))
    world.web = {url(host): links}
    first = world.join("first")
    first.crawl()
    first.leave()


def test_goodbye_amid_a_reseed(world):
    """A machine that leaves before it has read all link files does not call its shards clean."""
    stored(world, [])
    a = world.join("a", reseed=True)
    assert a.membership.busy
    assert a.membership.reseeding == 1
    a.leave()
    assert a.heart.ended.clean is False


def test_no_hand_over_amid_a_reseed(world, monkeypatch):
    """What is being read from link files is handed over when that is done."""
    stored(world, [], HERS[0])
    a = world.join("a", reseed=True)
    work = a.membership._work_at_chores
    monkeypatch.setattr(a.membership, "_work_at_chores", lambda: None)
    b = world.join("b")
    world.rounds()
    assert a.held == {shard(HERS[0])}
    monkeypatch.setattr(a.membership, "_work_at_chores", work)
    world.rounds()
    assert (a.held, b.held) == (set(), {shard(HERS[0])})


def test_reseed_on_demand(world):
    """Asked for, every link file is read again: links that no feed tells of are found."""
    stored(world, [url(MINE[1])])
    for feed in (world.root / ".fscrawl" / "feed").iterdir():
        feed.write_bytes(b"")
    (world.root / ".fscrawl" / "machines").joinpath("first.log").write_bytes(b'{"bye":true,"clean":true}\n')
    world.fetched.clear()
    (world.root / "htmls" / MINE[1] / f"{urls.key(url(MINE[1]))}.html").unlink()
    (world.root / "links" / MINE[1] / f"{urls.key(url(MINE[1]))}.json").unlink()
    c = world.join("c", reseed=True)
    c.crawl()
    assert world.fetched == {url(MINE[1]): 1}


def test_damaged_feed(world):
    """A feed that is shorter than its machine said makes the link files speak."""
    world.create(url(MINE[0]))
    b = world.join("b")
    b.tick()
    task = b.take()
    b.finish(task, [url(MINE[0], "x"), url(MINE[0], "y")])
    b.tick()
    b.leave()
    (world.root / ".fscrawl" / "feed" / "b.log").write_bytes(b"")
    a = world.join("a")
    assert a.warnings == ["the feed of b is damaged or missing; the link files are read instead"]
    a.crawl()
    assert len(world.fetched) == 3


def test_own_feed_that_vanishes(world):
    """Where a machine's own feed has gone, what it had found for shards it takes is read from the link files."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.finish(a.take(), [url(HERS[0], "x")])
    a.membership._writer.flush()
    (world.root / ".fscrawl" / "feed" / "a.log").write_bytes(b"")
    a.crawl()
    a.tick()
    assert a.warnings == ["the feed of a is damaged or missing; the link files are read instead"]
    assert world.fetched == {url(MINE[0]): 1, url(HERS[0], "x"): 1}
    a.tick()
    assert a.is_over()


def test_share_that_vanishes_before_feeds_are_read(world):
    """Where the tree has gone with the feeds, a shard that was just taken is not taken for empty."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.finish(a.take(), [url(HERS[0], "x")])
    a.membership._writer.flush()
    world.root.rename(world.root.parent / "elsewhere")
    with pytest.raises(NotATreeError, match="is the share mounted"):
        list(a.membership._pass_over_feeds({shard(HERS[0])}))
    (world.root.parent / "elsewhere").rename(world.root)


def test_feed_that_grows_while_it_is_looked_at(world):
    """A feed that is behind what its machine has told meanwhile is not damaged: it is read once more."""
    world.create(url(MINE[0]))
    b = world.join("b")
    b.tick()
    a = world.join("a")
    b.finish(b.take(), [url(MINE[0], "x"), url(MINE[0], "y")])
    b.tick()
    b.leave()
    a.membership.fleet.observe(a.now)
    assert a.membership.fleet.peers["b"].last().sent > a.membership._reader.offsets.get("b", 0)
    a.membership._check_feeds()
    assert a.warnings == []
    assert a.membership.fleet.peers["b"].last().sent == a.membership._reader.offsets["b"]


def test_damaged_feed_of_another_shard(world):
    """Lines that only a damaged feed had are found again, though their shard is handed over later."""
    world.create(url(MINE[0]))
    first = world.join("first")
    first.tick()
    first.finish(first.take(), [url(HERS[0])])
    first.tick()
    first.leave()
    a = world.join("a")
    a.tick()
    assert a.frontier.pending == 1
    (world.root / ".fscrawl" / "feed" / "first.log").write_bytes(b"")
    b = world.join("b")
    world.rounds(4)
    assert (b.held, b.frontier.pending) == ({shard(HERS[0])}, 1)


def test_goodbye_before_an_unclean_shard_has_arrived(world):
    """A machine that leaves before it could take on what a dead one had held does not call it clean."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    task = a.take()
    b = world.join("b")
    world.rounds(1)
    assert a.membership._machinery.claim_lease(shard(HERS[0]), 2, "b")
    world.rounds(1)
    b.kill()
    world.pass_time(80, a)
    assert a.membership._arriving == [(shard(HERS[0]), False)]
    a.finish(task)
    a.leave()
    assert a.heart.ended.clean is False


def test_torn_record(world):
    """A record that cannot be read is told of and passed by."""
    stored(world, [])
    (world.root / "links" / MINE[0] / f"{urls.key(url(MINE[0]))}.json").write_bytes(b"{")
    a = world.join("a", reseed=True)
    a.crawl()
    assert len(a.warnings) == 1
    assert urls.key(url(MINE[0])) in a.warnings[0]


def test_by_url(world):
    """With partition = "url" shards of one host are crawled by both, and a re-seed gives each its own."""
    pages = [url("one.example", str(n)) for n in range(12)]
    world.web = {url("one.example"): pages}
    world.create(url("one.example"), partition="url")
    a = world.join("a")
    a.tick()
    task = a.take()
    a.finish(task, pages)
    a.tick()
    b = world.join("b")
    world.rounds()
    assert a.frontier.pending
    assert b.frontier.pending
    for _ in range(3):
        a.crawl()
        b.crawl()
        world.rounds()
    assert len(world.fetched) == 13
    assert set(world.fetched.values()) == {1}
    a.leave()
    b.leave()
    c = world.join("c", reseed=True)
    assert c.membership.reseeding
    c.crawl()
    assert sum(world.fetched.values()) == 13


# -- fencing


def test_fence(world):
    """Without beats nothing more is done with leases; after a beat's time of beating they are read, and it goes on."""
    world.create(url(MINE[0]), url(MINE[1]))
    a = world.join("a")
    a.tick()
    a.heart.age = 31
    a.tick()
    assert a.membership.fenced
    assert not a.membership.snapshot().idle
    a.membership._machinery.claim_lease(shard(MINE[0]), 2, "b")
    a.tick()
    assert a.held == {shard(MINE[0]), shard(MINE[1])}, "a fenced machine does no round"
    a.heart.age = 0
    a.tick()
    assert a.membership.fenced
    world.clock.now += 11
    a.tick()
    assert not a.membership.fenced
    assert a.heart.readmitted == 1
    assert a.held == {shard(MINE[1])}
    assert a.frontier.pending == 1
    assert len(a.warnings) == 2


def test_fence_after_a_pause(world):
    """A gap between two beats fences, though the last one is fresh; a new gap begins the wait anew."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.heart.suspended = True
    a.tick()
    assert a.membership.fenced
    a.heart.age = 31
    a.tick()
    a.heart.age = 0
    world.clock.now += 100
    a.tick()
    assert a.membership.fenced
    world.clock.now += 11
    a.tick()
    assert not a.membership.fenced


def test_adopted_while_fenced(world):
    """What was handed to a machine while it was fenced is crawled by it."""
    world.create(url(HERS[0]))
    a = world.join("a")
    a.tick()
    b = world.join("b")
    b.heart.suspended = True
    b.tick()
    a.heart.beat()
    a.tick()
    assert a.held == set()
    world.clock.now += 11
    b.tick()
    assert b.held == {shard(HERS[0])}
    b.crawl()
    assert world.fetched == {url(HERS[0]): 1}


# -- hosts that rest


def test_rest_after_a_hand_over(world):
    """A host that was told to rest does so wherever its shard goes, as long again, whatever the clocks say."""
    world.create(url(MINE[0]), url(HERS[0]))
    world.assignments.append("politeness.delay=1")
    world.edit()
    a = world.join("a", skew_s=3 * YEAR_S)
    a.tick()
    a.frontier.rest(HERS[0], a.now + 1000)
    b = world.join("b", skew_s=-500)
    world.rounds()
    taken_at = b.now
    assert b.held == {shard(HERS[0])}
    assert b.take() is None
    world.clock.now += 990
    assert b.take() is None
    assert b.frontier.next_at() - taken_at == pytest.approx(1000, abs=20)
    world.clock.now += 20
    assert b.take().url == url(HERS[0])


def test_rest_is_told_before_a_hand_over(world):
    """A shard whose host was told to rest just now is handed over when a beat has said so, and that beat is read."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    b = world.join("b")
    a.frontier.rest(HERS[0], a.now + 1000)
    asked = a.heart.asked
    a.tick()
    assert shard(HERS[0]) in a.held
    assert a.heart.asked > asked
    look = b.membership.fleet.look

    def late_look(now):
        a.heart.beat()
        a.tick()
        return look(now)

    b.membership.fleet.look = late_look
    b.tick()
    assert (a.held, b.held) == ({shard(MINE[0])}, {shard(HERS[0])})
    assert b.frontier.rests(b.now).keys() == {HERS[0]}


def test_longer_rest_is_told_before_a_hand_over(world):
    """Neither is it handed over where the last beat told of a shorter rest; a host of another shard does not matter."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    a.frontier.rest(HERS[0], a.now + 100)
    a.heart.beat()
    world.join("b")
    a.frontier.rest(HERS[0], a.now + 1000)
    a.tick()
    assert shard(HERS[0]) in a.held
    a.heart.beat()
    a.frontier.rest(MINE[0], a.now + 1000)
    a.tick()
    assert a.held == {shard(MINE[0])}


@pytest.mark.parametrize("end", ["leave", "kill"])
def test_rest_after_the_end_of_a_machine(world, end):
    """A host rests after the machine that was told so has left, or was killed once it had beaten."""
    world.create(url(MINE[0]), url(HERS[0]))
    b = world.join("b")
    b.tick()
    b.frontier.rest(HERS[0], b.now + 1000)
    if end == "kill":
        b.heart.beat()
    getattr(b, end)()
    a = world.join("a")
    world.pass_time(80, a)
    assert a.held == {shard(MINE[0]), shard(HERS[0])}
    assert a.take().url == url(MINE[0])
    assert a.take() is None
    assert a.frontier.rests(a.now)[HERS[0]] == pytest.approx(1000, abs=100)


def test_rest_of_a_host_not_met_yet(world):
    """A host that its new machine meets later rests, too."""
    world.create(url(MINE[0]), url(HERS[0]))
    a = world.join("a")
    a.tick()
    a.frontier.rest(HERS[1], a.now + 1000)
    b = world.join("b")
    a.membership.discover([url(HERS[1])], 1, "")
    world.rounds()
    assert b.take().url == url(HERS[0])
    assert b.take() is None
    assert b.frontier.pending == 1


def test_rest_by_url(world):
    """With partition = "url" a rest counts for every machine that takes a shard."""
    world.create(url("one.example"), *(url("one.example", str(n)) for n in range(20)), partition="url")
    a = world.join("a")
    a.tick()
    a.frontier.rest("one.example", a.now + 1000)
    b = world.join("b")
    world.rounds()
    assert b.frontier.pending
    assert b.take() is None
    world.clock.now += 1010
    assert b.take() is not None


def test_rests_that_are_told(world, monkeypatch):
    """A beat names hosts with a long rest before them, and not too many; others are over soon, or were."""
    world.create(url(MINE[0]))
    a = world.join("a")
    assert not a.membership.snapshot().rests
    for host, seconds in (("short", 4), ("past", -9), ("long", 60.04), ("longer", 3600)):
        a.frontier.rest(host, a.now + seconds)
    assert a.membership.snapshot().rests == {"long": 60.0, "longer": 3600.0}
    monkeypatch.setattr(module, "_TOLD_RESTS", 1)
    assert a.membership.snapshot().rests == {"long": 60.0}
    world.clock.now += 100
    a.tick()
    assert a.membership.snapshot().rests == {"longer": pytest.approx(3500, abs=5)}


# -- another try, another look


def failed(world, member, task):
    """Write a failure down, as a worker does, and take the task back."""
    world.fetched[task.url] += 1
    record = ErrorRecord(
        task.url, task.key, task.depth, task.referrer, f"t{world.fetched[task.url]}", member.name, "timeout", "", 4
    )
    member.tree.put_error(task.host, record)
    member.frontier.finish(task, member.now)


def retry_all(world):
    return retry(Tree(world.root, f"retry-{len(world.made)}-{int(world.clock.now)}"), [], [], print).total()


def test_retry_on_a_running_crawl(world):
    """Failures that are put back reach the machine that holds their shard, which runs."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    for member in (a, b):
        failed(world, member, member.take())
        member.tick()
    assert retry_all(world) == 2
    world.rounds(1)
    for member, host in ((a, MINE[0]), (b, HERS[0])):
        task = member.take()
        assert (task.url, task.flags, task.check) == (url(host), Flags(retry_of="t1"), True)
        member.finish(task)
        assert member.take() is None
    world.rounds(4)
    assert a.is_over()


def test_retry_on_a_finished_crawl(world):
    """They reach the next machine, whether the last one left clean or not."""
    world.create(url(MINE[0], "x"))
    a = world.join("a")
    failed(world, a, a.take())
    a.leave(finished=True)
    assert retry_all(world) == 1
    b = world.join("b")
    b.tick()
    assert b.take().flags == parse_flags("again=t1")
    b.kill()
    c = world.join("c")
    world.pass_time(80, c)
    assert c.take().flags == parse_flags("again=t1")
    assert c.warnings == []


def test_refresh(world):
    """Every page of its shards that was last looked at before then is asked for again; the others are not."""
    world.create(url(MINE[0]))
    world.web = {url(MINE[0]): [url(MINE[0], "old"), url(MINE[1], "young"), url(MINE[1], "looked-at")]}
    a = world.join("a")
    a.crawl()
    for path, changes in (("young", {"fetched_at": "v"}), ("looked-at", {"checked_at": "v"})):
        old = a.tree.page(MINE[1], urls.key(url(MINE[1], path)))
        a.tree.put_record(MINE[1], dataclasses.replace(old, **changes))
    a.leave()
    b = world.join("b", refresh_before="u")
    assert b.membership.reseeding
    b.tick()
    tasks = []
    while task := b.take():
        tasks.append(task)
        b.frontier.finish(task, None)
    assert {(task.url, task.flags) for task in tasks} == {
        (url(MINE[0]), REFRESH),
        (url(MINE[0], "old"), REFRESH),
    }
    b.tick()
    assert b.is_over()


def test_refresh_within_the_scope(world):
    """What is outside the scope by now is left as it is."""
    world.create(url(MINE[0]))
    world.web = {url(MINE[0]): [url(MINE[0], "private")]}
    a = world.join("a")
    a.crawl()
    a.leave()
    world.assignments.append('crawl.deny=["private"]')
    world.edit()
    b = world.join("b", refresh_before="u")
    b.tick()
    assert (b.frontier.pending, b.take().url) == (1, url(MINE[0]))


def test_refresh_of_two(world):
    """Two machines that refresh have each its own shards' pages, and each page is asked for once."""
    world.create(url(MINE[0]), url(HERS[0]))
    world.web = {url(host): [url(host, str(n)) for n in range(5)] for host in (MINE[0], HERS[0])}
    first = world.join("first")
    first.crawl()
    first.leave()
    world.fetched.clear()
    a = world.join("a", refresh_before="u")
    b = world.join("b", refresh_before="u")
    world.rounds()
    for member in (a, b):
        while task := member.take():
            world.fetched[task.url, member.name] += 1
            member.frontier.finish(task, None)
    assert len(world.fetched) == 12
    assert set(world.fetched.values()) == {1}
    assert all(name == ("a" if MINE[0] in link else "b") for link, name in world.fetched)


def test_sitemaps_are_found_again(world):
    """A re-seed feeds a sitemap's URLs and parts as its reading did: as deep as itself, the parts with their flags."""
    world.create(url(MINE[0]))
    a = world.join("a")
    task = a.take()
    key = urls.key(url(MINE[0], "sitemap.xml"))
    record = PageRecord(
        *(url(MINE[0], "sitemap.xml"), key, 0, "", "t", "a", 200, {}, 0, "", 0.1, (url(MINE[0], "x"),)),
        skipped=SITEMAP,
        sitemaps=(url(MINE[1], "part.xml"),),
    )
    a.tree.put_page(MINE[0], record, None)
    a.store(task)
    a.kill()
    b = world.join("b")
    world.pass_time(80, b)
    tasks = [b.take(), b.take()]
    assert {(task.url, task.depth, task.referrer, task.flags) for task in tasks} == {
        (url(MINE[0], "x"), 0, key, NO_FLAGS),
        (url(MINE[1], "part.xml"), 0, key, Flags(SITEMAP_PART)),
    }


def test_flags_of_another_shard(world):
    """A sitemap of a host that another machine holds is read by that machine."""
    world.create(url(MINE[0]), url(HERS[0]))
    a, b = world.join("a"), world.join("b")
    world.rounds()
    a.membership.discover([url(HERS[0], "sitemap.xml")], 0, "", Flags(SITEMAP))
    world.rounds()
    first = b.take()
    b.finish(first)
    world.rounds(1)
    assert [first.flags, b.take().flags] == [NO_FLAGS, Flags(SITEMAP)]


# -- edits


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
    """When a scope gets wider, the links that were outside are read from the records."""
    world.assignments.append("crawl.scope=host")
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    a.store(a.take(), [url(MINE[1])])
    world.edit("crawl.scope=any")
    assert a.tick()
    assert a.membership.scope_was_edited
    a.tick()
    world.rounds()
    assert a.frontier.holds(shard(MINE[1]))
    assert a.frontier.pending == 1


def test_narrower_scope(world):
    """When it gets narrower nothing is read again."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.crawl()
    world.edit("crawl.scope=host", "fleet.beat=1", "fleet.dead_after=20")
    assert a.tick()
    assert not a.membership.busy
    assert (a.heart.beat_s, a.heart.lease_s, a.membership.fleet.dead_after_s) == (
        1,
        10,
        60,
    )  # a shorter dead_after waits
    assert not a.tick()


def test_max_depth(world):
    """What is too deep is counted and neither crawled nor fed."""
    world.assignments.append("crawl.max_depth=1")
    world.create(url(MINE[0]))
    a = world.join("a")
    a.membership.discover([url(MINE[0], "x")], 1, "")
    a.membership.discover([url(MINE[0], "y"), url(HERS[0], "z")], 2, "")
    a.tick()
    assert a.frontier.cut["max_depth"] == 2
    assert a.frontier.pending == 2
    assert len((world.root / ".fscrawl" / "feed" / "a.log").read_bytes().splitlines()) == 1


# -- the rest


def test_bounded_memory_of_what_was_sent(world, monkeypatch):
    """What was sent is remembered for a while; a repeat after that is harmless."""
    monkeypatch.setattr(module, "_SENT_MEMORY", 2)
    world.create(url(MINE[0]))
    a = world.join("a")
    asked = [a.membership._send(number) for number in (1, 1, 2, 1, 3, 4, 3, 5, 6, 1)]
    assert asked == [True, False, True, False, True, True, False, True, True, True]


def test_flush_about_once_a_second(world):
    """While there is work, what is found is flushed once a second; when there is none, at once."""
    world.create(url(MINE[0]), url(MINE[0], "x"))
    a = world.join("a")
    a.tick(starved=False)
    flushed = a.membership._writer.sent
    a.membership.discover([url(MINE[0], "y")], 1, "")
    world.clock.now -= 1.9
    a.tick(starved=False)
    assert a.membership._writer.sent == flushed
    a.tick(starved=False)
    assert a.membership._writer.sent > flushed


def test_feeds_of_the_long_dead(world, monkeypatch):
    """Feeds of machines that are over are read for as long as caches live, starved or not, and then no more."""
    world.create(url(MINE[0]))
    b = world.join("b")
    b.membership.leave(finished=False)
    a = world.join("a")
    asked = []
    shared = a.membership._reader._shared
    monkeypatch.setattr(shared, "read_feed", lambda machine, segment, offset: asked.append(machine) or b"")
    ticks = round(2 * CACHES_LIVE_S / 2)  # each moves the clock by 2 s
    for _ in range(ticks - 2):
        a.tick()
    asked.clear()
    a.tick()
    assert "b" in asked
    for _ in range(3):
        a.tick()
    asked.clear()
    a.tick()
    assert "b" not in asked


def test_long_chores(world, monkeypatch):
    """Reading feeds is done in slices, between which the workers are looked after."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.tick()
    a.membership.discover([url(MINE[0], str(n)) for n in range(5)], 1, "")
    a.tick()
    b = world.join("b")
    b.membership._chores.append(iter(range(3)))
    times = iter(range(1000))
    monkeypatch.setattr(module, "_SLICE_S", 0.5)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 2000 + 0.3 * next(times)))
    b.membership._work_at_chores()
    assert b.membership.busy
    for _ in range(10):
        b.membership._work_at_chores()
    assert not b.membership.busy


def test_abandon(world):
    """A machine that goes down says nothing more, whether it had begun or not."""
    world.create(url(MINE[0]))
    a = world.join("a")
    a.membership.abandon()
    assert a.heart.ended is ABANDONED
    tree = Tree(world.root, "z")
    watch = EditWatcher(tree, world.settings(), frozenset(), print)
    Membership(tree, a.frontier, StoredOnTree(tree), watch, reseed=False, counters=dict, warn=print).abandon()


def test_no_tree(world):
    """Where the machinery is gone, a machine cannot join."""
    world.create(url(MINE[0]))
    shutil.rmtree(world.root / ".fscrawl" / "machines")
    with pytest.raises(TreeError, match="it is not there"):
        world.join("a")
