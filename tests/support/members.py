"""Machines of one process that take turns on a real tree; hearts and clocks are in the test's hands."""

import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

from fscrawl import urls
from fscrawl.config.settings import Settings, apply, render
from fscrawl.config.watcher import EditWatcher
from fscrawl.errors import FscrawlError, RecordError
from fscrawl.fleet import intake
from fscrawl.fleet import membership as module
from fscrawl.fleet.assignment import assign
from fscrawl.fleet.beat import Beat, Goodbye, Hello, line_of
from fscrawl.fleet.membership import Membership
from fscrawl.frontier.flags import labelled
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.shards import StoredOnTree
from fscrawl.frontier.task import End
from fscrawl.handlers.fresh_links import FreshLinks
from fscrawl.storage.records import FORMAT, PageRecord, TreeRecord
from fscrawl.store import Tree, create

SHARDS = 16
ABANDONED = object()
YEAR_S = 3.2e7


class Heart:
    """A heart that beats when told to."""

    def __init__(self, log, machine, snapshot, *, beat_s, lease_s, permit, confirm):
        self._log, self._snapshot, self._confirm = log, snapshot, confirm
        self.trouble = None
        self.beat_s, self.lease_s = beat_s, lease_s
        self.age, self.asked, self.readmitted, self.gaps, self._admitted = 0.0, 0, 0, 0, 0
        self.written, self.ended = [], None
        self._write(Hello(machine))
        self.beat()

    def _write(self, line):
        self._log.append(line_of(line))

    def beat(self):
        self.written = [*self.written[-1:], replace(self._snapshot(), number=1)]
        self._write(self.written[-1])
        try:
            self._confirm()
        except FscrawlError as error:
            self.trouble = error

    def age_s(self):
        return self.age

    def pause(self):
        """Beat after a gap."""
        self.gaps += 1

    @property
    def suspended(self):
        return self._admitted < self.gaps

    def readmit(self, gaps):
        self._admitted = gaps
        self.readmitted += not self.suspended

    def beat_now(self):
        self.asked += 1

    def stop(self, **facts):
        self.ended = Goodbye(self._snapshot(), **facts)
        self._write(self.ended)
        return True

    def abandon(self):
        self.ended = ABANDONED

    def close(self):
        self._log.close()


class Done:
    """Work that is over."""

    def is_alive(self):
        return False

    def join(self, timeout=None):
        pass


def at_once(work):
    """Do what a machine does aside at once: two threads of one process would not take turns."""
    work()
    return Done()


def hosts_wanted(by, among, count=1):
    """Give hosts of different shards whose wanted machine is `by`."""
    found, seen, wanted = [], set(), assign(SHARDS, among)
    for n in range(1000):
        host = f"h{n}.example"
        shard = urls.shard(host, SHARDS)
        if shard not in seen and wanted[shard] == by:
            found.append(host)
            seen.add(shard)
    return found[:count]


class Worker:
    """What a worker process knows; after an edit there is another one."""

    def __init__(self, rules):
        self.generation, self.links = rules.generation, FreshLinks(rules.links, rules.chosen)


class Member:
    """A machine: what its main loop does, with a web that answers from a dictionary."""

    def __init__(self, world, name, *, reseed=False, skew_s=0.0, refresh_before="", added=()):
        self.world, self.name, self.skew_s = world, name, skew_s
        tree = self.tree = Tree(world.root, name)
        settings = world.settings()
        self.warnings = []
        seeds = frozenset({*world.seeds, *added})
        self.watch = EditWatcher(tree, settings, seeds, self.warnings.append, added=added)
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
            clock=lambda: world.clock.now + world.clock.skew_s,
            caches_s=world.caches_s,
            aside=at_once,
        )
        world.made.append(self)
        self._turn()
        self.membership.join()
        self.heart = self.membership._heart
        self.worker = Worker(self.membership.rules)
        self._workers = {}
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
            self.worker = Worker(self.membership.rules)
        return changed

    def take(self):
        """Take a task, and give it to a worker that goes by the rules of now."""
        self._turn()
        task = self.frontier.take(self.now)
        if task is not None:
            self._workers[task.url] = self.worker
        return task

    def finish(self, task, links=None):
        """Do what a worker does, which looks into the tree first if it must, and what the main loop does then.

        `links`: of the page; None: those that the world has.
        """
        worker = self._workers.pop(task.url, self.worker)
        is_known = task.check and self.tree.is_done(task.host, task.key)
        try:
            record = self.tree.page(task.host, task.key) if is_known else self.store(task, links)
        except RecordError:
            self.frontier.finish(task, None)
            return
        if worker.generation != self.membership.rules.generation:
            asked_at = None if is_known else self.now
            self.frontier.finish(task._replace(check=True), asked_at, End.BACK, stored=not is_known)
            return
        fresh, _ = worker.links.of(record, task.depth)
        self.membership.discover(fresh, task.depth + 1, task.key, labelled(task.flags.label))
        self.membership.tell(task)
        self.frontier.finish(task, None if is_known else self.now, End.TOLD, stored=not is_known)

    def store(self, task, links=None):
        """Fetch a page, and store it."""
        self.world.fetched[task.url] += 1
        links = self.world.web.get(task.url, ()) if links is None else links
        nofollow = tuple(self.world.nofollow.get(task.url, ()))
        record = PageRecord(
            *(
                task.url,
                task.key,
                task.depth,
                task.referrer,
                "2026-01-01T00:00:00Z",
                self.name,
                200,
                {},
                4,
                "",
                0.1,
                tuple(links),
            ),
            nofollow=nofollow or None,
            label=task.flags.label or None,
        )
        self.tree.put_page(task.host, record, b"page")
        return record

    def is_over(self):
        self._turn()
        return self.membership.is_over()

    @property
    def is_complete(self):
        """All that is known of the shards held is in the frontier."""
        return self.membership._intake.is_done

    def crawl(self):
        """Fetch all there is, until nothing is pending here; meanwhile the hearts of all machines beat."""
        idle = 0
        for _ in range(400):
            task = self.take()
            if task is not None:
                self.finish(task)
            elif idle == 2:  # a round may still claim what was found last
                return
            else:
                idle = 0 if self.frontier.pending or not self.is_complete else idle + 1
                self._go_on()
        raise AssertionError("no end")

    def settle(self):
        """Wait until all that is known is in the frontier; meanwhile the hearts of all machines beat."""
        for _ in range(200):
            if self.is_complete:
                return
            self._go_on()
        raise AssertionError("no end")

    def _go_on(self):
        for member in self.world.members:
            member.beat()
        self.tick()

    def take_all(self):
        """Take all tasks, and let each be over, without fetching."""
        tasks = []
        while (task := self.take()) is not None:
            tasks.append(task)
            self.frontier.finish(task, None)
        return tasks

    def close(self):
        self.frontier.close()
        if hasattr(self, "heart"):
            self.heart.close()
            if self.heart.ended in (None, ABANDONED):
                self.membership.ledger.close()

    def leave(self, *, finished=False):
        self._turn()
        self.membership.leave(finished=finished)
        self.world.members.remove(self)

    def kill(self):
        self.world.members.remove(self)


class World:
    def __init__(self, root, monkeypatch):
        self.root = root
        self.web, self.nofollow, self.fetched = {}, {}, Counter()  # url → links; url → links marked as nofollow
        self.seeds, self.members, self.made = [], [], []
        self.assignments = ["politeness.robots=false", "crawl.scope=any", f"fleet.shards={SHARDS}"]
        self.clock = SimpleNamespace(now=1000.0, skew_s=0.0)
        self.caches_s = 60.0
        self.made_trees = 0
        monkeypatch.setattr(module, "Heartbeat", Heart)

    def settings(self):
        return apply(Settings(), self.assignments)

    def create(self, *seeds, partition="host"):
        """Make the tree, or `.fscrawl` anew where somebody has deleted it."""
        if partition != "host":
            self.assignments.append(f"crawl.partition={partition}")
        self.seeds = list(seeds)
        self.made_trees += 1
        record = TreeRecord(
            format=FORMAT,
            machinery=f"{self.made_trees:032x}",
            crawl="c",
            created_at="t",
            shards=SHARDS,
            partition=partition,
        )
        create(self.root, record, render(self.settings()), "".join(f"{seed}\n" for seed in seeds))

    def log(self, machine):
        """Give all that a machine has said of URLs."""
        return b"".join(path.read_bytes() for path in self.logs(machine))

    def logs(self, machine="*"):
        """Give the files of logs, of the oldest generation first."""
        logs = (self.root / ".fscrawl" / "generations").glob(f"*/log/{machine}.log")
        return sorted(logs, key=lambda path: (int(path.parts[-3]), path.stem))

    def generations(self):
        """Give the numbers of generations, and why each was made."""
        rules = (self.root / ".fscrawl" / "generations").glob("*/rules.json")
        return {int(path.parts[-2]): json.loads(path.read_bytes())["reason"] for path in sorted(rules)}

    def join(self, name, **options):
        return Member(self, name, **options)

    def edit(self, *assignments):
        """Edit the settings. `assignments` count besides those of the world, for those that are running."""
        (self.root / "crawl.toml").write_text(render(apply(self.settings(), assignments)))

    def set(self, *assignments):
        """Edit the settings for those that are running, and for those that join later. A name alone: the default."""
        for assignment in assignments:
            name = assignment.partition("=")[0]
            self.assignments = [each for each in self.assignments if each.partition("=")[0] != name]
            self.assignments += [assignment] if "=" in assignment else []
        self.edit()

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


def url(host, path=""):
    return f"http://{host}/{path}"


def shard(host):
    return urls.shard(host, SHARDS)


MINE, HERS = hosts_wanted("a", ["a", "b"], 3), hosts_wanted("b", ["a", "b"], 3)


def stored(world, links, host=MINE[0]):
    """Leave a tree on which one machine has stored one page that links to `links`, and said goodbye."""
    world.create(url(host))
    world.web = {url(host): links}
    first = world.join("first")
    first.crawl()
    first.leave()


class _SlowClock:
    """A clock on which everything takes time: it goes on whenever somebody looks at it."""

    def __init__(self, now):
        self._now, self.skew_s = now, 0.0

    @property
    def now(self):
        self._now += 0.3
        return self._now

    @now.setter
    def now(self, now):
        self._now = now


def slow_down(world, monkeypatch):
    """Let a machine read one line or record, and then look after its workers."""
    monkeypatch.setattr(intake, "_SLICE_S", 0.5)
    world.clock = _SlowClock(world.clock.now)
