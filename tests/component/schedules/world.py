"""The web, the clock, the machines, and what is checked."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from fscrawl import urls
from fscrawl.config.settings import Settings, apply, render
from fscrawl.errors import FscrawlError, MemoryGone
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.heartbeat import longest_permit_s
from fscrawl.fleet.machinery import Machinery
from fscrawl.http.answers import Fetched
from fscrawl.storage.layout import (
    LINKS,
    MACHINERY_DIRECTORIES,
    PAGE_DIRECTORIES,
    SEEDS,
    SETTINGS,
    TREE_RECORD,
)
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.store import Tree, TreeFiles
from tests.component.schedules.member import Killed, Member
from tests.component.schedules.patches import Clock
from tests.component.schedules.share import ROOT, C, Share, View

BEAT_S = 10.0
DEAD_AFTER_S = 60.0


class Violation(AssertionError):  # noqa: N818 - what is looked for
    """An invariant does not hold."""


class Config(NamedTuple):
    """What people may edit. `wide`: URLs with an x belong to the crawl, too."""

    wide: bool
    max_depth: int | None
    nofollow: bool

    def settings(self, shards: int) -> Settings:
        return apply(
            Settings(),
            [
                *("politeness.robots=false", "politeness.delay=0", "crawl.scope=any", f"fleet.shards={shards}"),
                *(f"fleet.beat={BEAT_S}", f"fleet.dead_after={DEAD_AFTER_S}"),
                *([] if self.wide else ['crawl.deny=["/x"]']),
                *([] if self.max_depth is None else [f"crawl.max_depth={self.max_depth}"]),
                f"crawl.follow_nofollow={str(self.nofollow).lower()}",
            ],
        )


class Limits(NamedTuple):
    """Small ones, so that small schedules meet them."""

    fewest_lines: int
    quiet_bytes: int
    removal_pause_s: float
    slice_s: float


class Web:
    """A few hosts. `links`, `nofollow`: of each page; `failures`: how often a page cannot be had."""

    def __init__(self, rng: random.Random) -> None:
        hosts = [f"h{n}.example" for n in rng.sample(range(40), rng.randint(2, 4))]
        paths = [f"{'x' if rng.random() < 0.15 else 'p'}{n}" for n in range(rng.randint(4, 14))]
        self.urls = [f"http://{rng.choice(hosts)}/{path}" for path in paths]
        self.links = {url: rng.sample(self.urls, rng.choice([0, 1, 2, 2, 3])) for url in self.urls}
        for before, url in zip(self.urls, self.urls[1:], strict=False):
            if rng.random() < 0.8:  # long ways
                self.links[before].append(url)
        self.nofollow = {(page, url) for page in self.urls for url in self.links[page] if rng.random() < 0.1}
        self.failures = Counter({url: rng.randint(1, 2) for url in self.urls if rng.random() < 0.08})

    def body(self, url: str) -> bytes:
        def link(to: str) -> str:
            return f'<a href="{to}"{" rel=nofollow" if (url, to) in self.nofollow else ""}>'

        return "".join(["<html><title>t</title>", *map(link, self.links[url])]).encode()

    def reached(self, config: Config, depths: dict[str, int], failed: set[str]) -> set[str]:
        """Give what must be stored: all that can be reached from the given pages over those that could be had."""
        depths = {url: depths[url] for url in sorted(depths, key=depths.__getitem__)}
        todo = deque(depths)
        while todo:
            page = todo.popleft()
            if page in failed or (config.max_depth is not None and depths[page] >= config.max_depth):
                continue
            for url in self.links[page]:
                inside = self.is_inside(config, url) and (config.nofollow or (page, url) not in self.nofollow)
                if inside and depths[page] + 1 < depths.get(url, 99):
                    depths[url] = depths[page] + 1
                    todo.append(url)
        return set(depths)

    def is_inside(self, config: Config, url: str) -> bool:
        return config.wide or "/x" not in url


class Job:
    """Housekeeping that goes on beside the main loop, when the schedule says so."""

    def __init__(self, member: Member, work: Callable[[], None]) -> None:
        self.member, self.name, self._work = member, member.name, work
        self.is_over = False

    def run(self) -> None:
        self.is_over = True
        if self.member.name == self.name:
            self.member.do(self._work)

    def is_alive(self) -> bool:
        return not self.is_over

    def join(self, timeout: float | None = None) -> None: ...


class Nonces:
    """The part of `os` that makes random bytes."""

    def __init__(self, rng: random.Random) -> None:
        self.urandom = rng.randbytes


class World:
    """One crawl. `now`: seconds of the server's clock; `stale`: views may be old."""

    def __init__(self, seed: int, *, stale: bool = True, trace: Callable[[str], None] | None = None) -> None:
        self.seed, self.rng = seed, random.Random(seed)
        rng = self.rng
        self.now, self.skew_s = 1000.0, 0.0
        self.are_clocks_right = seed % 2 == 0  # those that show dates: by wrong ones, nobody knows how old a page is
        self.caches_s = C if stale else 0.0
        self.clock = Clock(self)
        self.share = Share(seed, lambda: self.now, stale=stale)
        self.share.is_not_own = self._check_own
        self.nonces = Nonces(random.Random(seed + 1))
        self.shards = rng.choice([3, 5, 8])
        self.limits = Limits(
            rng.choice([0, 3, 20, 4096]),
            rng.choice([100, 10**6]),
            rng.choice([30.0, 200.0, 3600.0]),
            rng.choice([0.001, 0.003, 0.05]),
        )
        self.web = Web(rng)
        self.config = Config(rng.random() < 0.5, rng.choice([None, None, None, 1, 2, 3, 4]), rng.random() < 0.3)
        self.seeds = [url for url in self.web.urls if "/x" not in url][:2] or self.web.urls[:1]
        self.edited_at = -1e9
        self.members: list[Member] = []
        self.engines: list[Any] = []
        self.jobs: list[Job] = []
        self.current: Member | None = None
        self.lines: deque[str] = deque(maxlen=400)
        self._trace = trace
        self._names = 0
        self._machineries = 0
        self.asked: Counter[str] = Counter()
        self.excused: Counter[str] = Counter()
        self.must_retry: dict[str, str] = {}
        self.exchanges: Counter[str] = Counter()  # by host
        self.cut: set[str] = set()  # machines whose log was cut
        self.deletions = 0
        self.were_leases_removed = False
        self.is_fair = False
        self.round: Callable[[], None] = lambda: None
        self.during_exchange: Callable[[], None] = lambda: None

    def note(self, text: str) -> None:
        line = f"{self.share.step:4} {self.now:8.1f} {text}"
        self.lines.append(line)
        if self._trace:
            self._trace(line)

    # -- whose turn it is

    def turn_of(self, member: Member) -> tuple[Any, ...]:
        before = (self.current, self.share.view, self.skew_s)
        self.current = member
        self.use_view(member)
        return before

    def use_view(self, member: Member) -> None:
        self.share.view, self.skew_s = member.view, member.skew_s

    def turn_back(self, before: tuple[Any, ...]) -> None:
        self.current, self.share.view, self.skew_s = before

    def aside(self, work: Callable[[], None]) -> Job:
        assert self.current is not None
        self.jobs.append(Job(self.current, work))
        return self.jobs[-1]

    def assign(self, real: Callable[..., list[str]]) -> Callable[..., list[str]]:
        return lru_cache(64)(real)

    def new_name(self) -> str:
        self._names += 1
        return f"m{self._names}-7-{self._names:02x}"

    def up(self) -> list[Member]:
        return [member for member in self.members if member.state == "up"]

    def waiting(self) -> list[Member]:
        return [member for member in self.members if member.state == "waits"]

    def grace_s(self) -> float:
        """Give how long a machine waits before it makes a tree: where pages are stored and there is none."""
        is_over_pages = not self.machinery() and self.share.files(LINKS)
        return longest_permit_s(DEAD_AFTER_S, self.caches_s) if is_over_pages else 0.0

    def join(self, **options: Any) -> None:
        self.members.append(Member(self, **options))

    # -- the tree

    def as_person(self) -> TreeFiles:
        """Let a person do something, who sees all as it is."""
        self.share.view, self.skew_s = View("person", stale=False), 0.0
        return TreeFiles(Path(ROOT), "person")

    def make(self) -> None:
        files = self.as_person()
        for directory in PAGE_DIRECTORIES:
            files.make_directory(directory)
        self.write_settings()
        files.publish(SEEDS, "".join(f"{seed}\n" for seed in self.seeds).encode())

    def write_settings(self) -> None:
        self.as_person().publish(SETTINGS, render(self.config.settings(self.shards)).encode())

    def make_tree_if_missing(self, member: Member) -> None:
        """Do what `storage.creation` does, in one step."""
        if self.share.node(f"{ROOT}/{TREE_RECORD}") is not None:
            return
        files = self.as_person()
        for directory in MACHINERY_DIRECTORIES:
            files.make_directory(directory)
        self._machineries += 1
        record = TreeRecord(FORMAT, "c", "t", self.shards, "host", f"{self._machineries:032x}")
        files.publish(TREE_RECORD, record.to_json())
        self.use_view(member)

    def tree(self, name: str = "person") -> Tree:
        """Give the tree as a person sees it, whatever happens to `.fscrawl`."""
        self.as_person()
        self.share.view.name = name
        return Tree(Path(ROOT), name, record=TreeRecord(FORMAT, "c", "t", self.shards, "host", "0" * 32))

    def age_s(self, moment: str) -> float:
        """Give the seconds since a time (RFC 3339), by the clock of the machine whose turn it is."""
        return self.clock.time() - datetime.fromisoformat(moment).timestamp()

    # -- the network, and what is checked there

    def ask(self, url: str) -> Fetched:
        """Answer a request."""
        member = self.current
        assert member is not None
        pool = member.pool
        assert pool is not None
        host = urls.host(url)
        self._check_alone(member, host)
        self.asked[url] += 1
        member.note(f"asks for {url}")
        if self.asked[url] > 1 + self.excused[url]:
            raise Violation(f"4 nothing is fetched twice: {url} by {member.name}")
        self.exchanges[host] += 1
        try:
            self.during_exchange()
        finally:
            self.exchanges[host] -= 1
        if member.state != "up" or member.pool is not pool or pool.at_work is None:
            raise Killed
        began = self.clock.monotonic()
        if self.web.failures[url] > 0:
            self.web.failures[url] -= 1
            return Fetched(404, {}, None, began, 0.1)
        return Fetched(200, {"content-type": "text/html"}, self.web.body(url), began, 0.1)

    def _check_alone(self, member: Member, host: str) -> None:
        if self.exchanges[host]:
            raise Violation(f"3 one machine asks a host: {host} is being asked, also by {member.name}")
        shard = urls.shard(host, self.shards)
        for other in self.up():
            if other is member or not self._may_fetch(other, shard):
                continue
            raise Violation(f"3 one machine asks a host: {host} by {member.name}, and {other.name} holds {shard}")
        if self.machinery() == member.engine._tree.record.machinery:
            holder = self.holder(shard)
            if holder != member.name and not (holder == "nobody" and self.were_leases_removed):
                raise Violation(f"3 one machine asks a host: {host} by {member.name}, but {shard} is {holder}'s")

    def _may_fetch(self, member: Member, shard: int) -> bool:
        """Tell whether a machine may ask a host of a shard at any moment."""
        before = self.turn_of(member)
        try:
            frontier = member.engine._frontier
            in_flight = frontier.in_flight_of(shard)
            return member.engine._membership.permit.holds() and bool(frontier.holds(shard) or in_flight)
        finally:
            self.turn_back(before)

    def machinery(self) -> str:
        node = self.share.node(f"{ROOT}/{TREE_RECORD}")
        return "" if node is None or node.data is None else TreeRecord.from_json(bytes(node.data)).machinery or ""

    def holder(self, shard: int) -> str:
        """Give the machine of the newest lease, as it is on the server."""
        before = (self.current, self.share.view, self.skew_s)
        try:
            tree = self.tree()
            leases = Machinery(tree)
            epochs = [epoch for its, epoch in leases.leases() if its == shard]
            return leases.lease(shard, max(epochs)).holder if epochs else "nobody"
        finally:
            self.turn_back(before)

    def excuse(self, url: str) -> None:
        self.excused[url] += 1

    def _check_own(self, machine: str, path: str) -> None:
        parts = path.removeprefix(f"{ROOT}/").split("/")
        if parts[1:2] == ["generations"] and parts[3] == "log" and parts[4] != f"{machine}.log":
            raise Violation(f"6 logs are their machine's: {machine} writes {path}")
        if parts[1:2] == ["machines"] and parts[2] != f"{machine}.log":
            raise Violation(f"6 logs are their machine's: {machine} writes {path}")

    def judge(self, member: Member, error: FscrawlError) -> None:
        """Look whether there is a reason for an error that ends a run."""
        if self.deletions or member.name in self.cut or member.view.was_disturbed:
            return
        if isinstance(error, MemoryGone) and (self.were_leases_removed or self._is_removed(member)):
            return
        kind = "its memory is gone" if isinstance(error, MemoryGone) else type(error).__name__
        raise Violation(f"7 errors have a reason: {member.name}: {kind}: {error}")

    def _is_removed(self, member: Member) -> bool:
        """Tell whether a machine stood still until it was taken for dead, and its generation may be removed since."""
        before = (self.current, self.share.view, self.skew_s)
        try:
            newest = max(Generations(self.tree().files).numbers(), default=0)
        finally:
            self.turn_back(before)
        return member.still_s >= DEAD_AFTER_S and member.engine._membership.rules.generation < newest

    # -- the end

    def missing(self) -> list[str]:
        """Give what should be stored and is not."""
        before = (self.current, self.share.view, self.skew_s)
        try:
            tree = self.tree()
            failures = {url: tree.failure(urls.host(url), urls.key(url)) for url in self.web.urls}
            failed = {url for url, failure in failures.items() if failure is not None}
            there = {url for url in self.web.urls if tree.is_done(urls.host(url), urls.key(url))}
            depths = {url: tree.page(urls.host(url), urls.key(url)).depth for url in there}
            limit = self.config.max_depth
            roots = {url: depth for url, depth in depths.items() if self.web.is_inside(self.config, url)}
            roots = {url: depth for url, depth in roots.items() if limit is None or depth <= limit}
            reached = self.web.reached(self.config, roots | dict.fromkeys(self.seeds, 0), failed - there)
            not_retried = {
                url
                for url, failed_at in self.must_retry.items()
                if url in reached and (failure := failures[url]) is not None and failure.failed_at == failed_at
            }
            since = self.refresh_before(tree) if self.are_clocks_right else ""
            old = {url for url in reached & there if tree.page(urls.host(url), urls.key(url)).looked_at < since}
            not_done = [
                *(f"{url} (retry)" for url in sorted(not_retried)),
                *(f"{url} (refresh)" for url in sorted(old)),
            ]
            return [*sorted(reached - failed - there), *not_done]
        finally:
            self.turn_back(before)

    def refresh_before(self, tree: Tree) -> str:
        """Give the latest time of all refreshes that somebody has asked for; "" if nobody has."""
        newest = Generations(tree.files).newest()
        return "" if newest is None else newest.refresh_before

    def is_stored(self, url: str) -> bool:
        before = (self.current, self.share.view, self.skew_s)
        try:
            return self.tree().is_done(urls.host(url), urls.key(url))
        finally:
            self.turn_back(before)

    def check_done(self, member: Member) -> None:
        """A machine says that all is done. One that may not have seen the last edit is not asked."""
        if self.share.stale and self.now - self.edited_at <= C + 1:
            return
        missing = self.missing()
        if missing:
            number = 5 if all(each.endswith(")") for each in missing) else 1
            raise Violation(f"{number} nothing is missing: {member.name} leaves, but not {missing}")
