"""What is true: the web, what is stored, what was fetched, and what must not happen."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.model.lines import SHARDS, STALE, Config, shard_of
from tests.model.share import Share

if TYPE_CHECKING:
    from tests.model.joining import OldMachine
    from tests.model.machine import Machine

NOTHING: frozenset[str] = frozenset()


class Violation(Exception):  # noqa: N818 (what the model is for)
    """The protocol has not kept an invariant. It begins with the invariant's number."""


@dataclass
class Record:
    """A stored page. `first_at`: since when listings can show it; `fetched_at`: its last fetch."""

    depth: int
    links: tuple[int, ...]
    first_at: int
    fetched_at: int


@dataclass
class Error:
    depth: int
    failed_at: int
    first_at: int


@dataclass
class Web:
    """Pages, links, and how often each page fails before it is there."""

    links: dict[int, list[int]]
    hidden: set[int]  # outside of the narrow scope
    failures: Counter[int]
    rests: bool  # hosts ask for rests

    @classmethod
    def of(cls, rng: random.Random) -> Web:
        count = rng.randint(4, 8)
        links = {u: [v for v in range(count) if v != u and rng.random() < 2.0 / count] for u in range(count)}
        hidden = {u for u in range(1, count) if rng.random() < 0.25}
        failures: Counter[int] = Counter()
        if rng.random() < 0.4:
            failures.update({u: rng.randint(1, 2) for u in links if rng.random() < 0.25})
        return cls(links, hidden, failures, rests=rng.random() < 0.3)

    def grow(self, rng: random.Random, url: int) -> None:
        """Let a page have one more link when it is fetched again."""
        others = [v for v in self.links if v != url and v not in self.links[url]]
        if others and rng.random() < 0.5:
            self.links[url].append(rng.choice(others))

    def is_inside(self, url: int, *, wide: bool) -> bool:
        return wide or url not in self.hidden


@dataclass
class Accounts:
    """What was fetched, and which repeats are excused: in flight at a crash, a fence, a deletion."""

    fetches: Counter[int] = field(default_factory=Counter)
    excused: Counter[int] = field(default_factory=Counter)
    granted: Counter[int] = field(default_factory=Counter)  # retries and refreshes
    asked: set[tuple[int, int]] = field(default_factory=set)  # for retries: URL, time of the failure
    retried: set[tuple[int, int]] = field(default_factory=set)  # those that must be tried again
    over_limit: Counter[int] = field(default_factory=Counter)  # shard → pages that a taker could not count
    rest_until: Counter[int] = field(default_factory=Counter)  # of hosts, as they asked for it
    path_lost: bool = False  # pages may be stored that are linked only from what is out of scope now
    restored: bool = False  # a backup was put back, and no generation was made since

    def retry(self, failures: Iterable[tuple[int, int]]) -> None:
        self.asked |= set(failures)
        self.retried |= set(failures)

    def check_repeats(self, url: int) -> None:
        self.fetches[url] += 1
        if self.fetches[url] > 1 + self.excused[url] + self.granted[url]:
            raise Violation(f"4 nothing twice: {url} is fetched again")


class World:
    def __init__(self, rng: random.Random, without: frozenset[str] = NOTHING, trace: list[str] | None = None) -> None:
        self.rng, self.without, self.trace = rng, without, trace
        self.now = 0
        self.web = Web.of(rng)
        self.share = Share(1)
        self.records: dict[int, Record] = {}
        self.errors: dict[int, Error] = {}
        self.accounts = Accounts()
        self.machines: list[Machine] = []
        self.names = self.marks = 0
        limit = rng.choice([1, 2]) if rng.random() < 0.15 else None
        self.configs = [(0, Config(rng.random() < 0.5, rng.choice([1, 2, 3, None]), limit, (0,)))]
        self.old: OldMachine | None = None

    # -- settings

    @property
    def config(self) -> Config:
        return self.configs[-1][1]

    def edit(self, config: Config) -> None:
        self.note(f"edit {config}")
        self.configs.append((self.now, config))

    # -- views

    def lag(self, *, fresh: bool = False) -> int:
        """Give the time of which a reader sees the files now."""
        return self.now if fresh else self.now - self.rng.randint(0, STALE)

    def stored_by(self, shard: int, seen_at: int) -> set[int]:
        """List what is stored of a shard: pages and errors."""
        found = {u for u, record in self.records.items() if record.first_at <= seen_at}
        found |= {u for u, error in self.errors.items() if error.first_at <= seen_at}
        return {u for u in found if shard_of(u) == shard}

    def note(self, text: str) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.now:5} {text}")

    # -- what must be so in the end

    def missing(self) -> set[int]:
        """Give what should be stored by the present settings and is not."""
        config = self.config
        depths = dict.fromkeys(config.seeds, 0)
        if not self.accounts.path_lost and not self.accounts.restored:  # what is stored counts, however it was found
            depths |= {u: r.depth for u, r in self.records.items() if self._is_wanted(config, u, r.depth)} | depths
        todo = sorted(depths, key=lambda url: depths[url])
        missing = set()
        while todo:
            url = todo.pop(0)
            if url not in self.records:
                if url not in self.errors and not self.is_full(config, shard_of(url)):
                    missing.add(url)
                continue
            for link in self.records[url].links:
                depth = depths[url] + 1
                if self._is_wanted(config, link, depth) and depth < depths.get(link, 99):
                    depths[link] = depth
                    todo.append(link)
        return missing

    def _is_wanted(self, config: Config, url: int, depth: int) -> bool:
        return self.web.is_inside(url, wide=config.wide) and (config.max_depth is None or depth <= config.max_depth)

    def pages_of(self, shard: int) -> int:
        return sum(shard_of(url) == shard for url in self.records)

    def is_full(self, config: Config, shard: int) -> bool:
        return config.limit is not None and self.pages_of(shard) >= config.limit

    def check_missing(self, who: str) -> None:
        if missing := self.missing():
            raise Violation(f"1 nothing is missing: {who} ended without {sorted(missing)}")

    def check_again(self) -> None:
        """What a retry or a refresh asked for was asked for at the host."""
        for url, failed_at in self.accounts.retried:
            error = self.errors.get(url)
            full = self.is_full(self.config, shard_of(url))
            if error is not None and error.failed_at == failed_at and url in self.reachable() and not full:
                raise Violation(f"6 asked again: {url} was not tried again")
        before = max((each.refresh for each in self.share.generations), default=-1)
        for url in self.reachable():
            if url in self.records and self.records[url].fetched_at < before:
                raise Violation(f"6 asked again: {url} was not refreshed")

    def reachable(self) -> dict[int, int]:
        """Give what can be reached from the seeds over stored pages, with its depth."""
        config = self.config
        best, todo = dict.fromkeys(config.seeds, 0), list(config.seeds)
        while todo:
            url = todo.pop(0)
            for link in self.records[url].links if url in self.records else ():
                if link not in best and self._is_wanted(config, link, best[url] + 1):
                    best[link] = best[url] + 1
                    todo.append(link)
        return best

    def check_fetch(self, machine: Machine, url: int, limit: int | None) -> None:
        """Check that a machine may send this request."""
        shard = shard_of(url)
        if not machine.is_stale() and self.share.newest_epoch(shard) != machine.held.get(shard):
            raise Violation(f"3 one holder: {machine.name} fetches {url} of a shard that has passed on")
        for other in self.machines:
            if other is not machine and other.may_go_on() and shard in other.held and url in other.in_flight:
                raise Violation(f"3 one holder: {machine.name} and {other.name} fetch {url}")
        if self.accounts.rest_until[shard] > self.now:
            raise Violation(f"5 hosts rest: {machine.name} fetches {url}, whose host rests")
        in_flight = sum(shard_of(u) == shard and u not in self.records for u in machine.in_flight)
        if limit is not None and self.pages_of(shard) + in_flight >= limit + self.accounts.over_limit[shard]:
            raise Violation(f"7 limit: {machine.name} fetches {url} of a host that has its pages")

    def shards(self) -> range:
        return range(SHARDS)
