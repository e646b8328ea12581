"""Seeds on their way into the frontier: of `seeds.txt`, of ranges and lists of sites, and of classes.

A range may give millions of URLs. They are never listed: each machine goes through all of them, and takes those of its
own shards that are not known yet. They go into the log as links do. What stands in a log is known to whoever reads it,
so a machine that starts again says none of it a second time.

The seeds that a method of a class gives come one by one from a process of their own. Which hosts they have is not known
before. So a machine goes through them when it starts, to learn which shards are needed; what belongs to a shard that it
does not hold yet waits here, as far as there is room.

Vocabulary:
  pass      all seeds of all classes, once; at most one at a time
  early     a seed that was given before its shard was held

Promise: after `want`, and when `is_done`, each seed whose shard is held and complete is known to the frontier, if the
scope allows it and its class could give it. Work is done in slices of 0.05 s, so that workers do not wait; a pass whose
next seed has not come gives the time back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from fscrawl import urls
from fscrawl.config.watcher import EditWatcher, ListFiles
from fscrawl.fleet.ledger import Ledger
from fscrawl.frontier.flags import NO_FLAGS, labelled
from fscrawl.frontier.frontier import Frontier
from fscrawl.sites.rules import SiteFault, files, too_many, unruled
from fscrawl.sites.seeds import MAX_SEEDS, Labelled, SeedUrls
from fscrawl.store import Tree
from fscrawl.util.user_text import flaws

if TYPE_CHECKING:  # it loads the parsers
    from fscrawl.sites.rules import SiteRules


_MOST_EARLY = 10_000
_SLICE_S = 0.05
_STEPS_A_LOOK = 64  # at the clock


class Stream(Protocol):
    """Seeds that come, None each time when there is none yet; to be closed when no more are wanted."""

    def __iter__(self) -> Iterator[Labelled | None]: ...
    def close(self) -> None: ...


OfCode = Callable[["SiteRules"], Stream]


def no_seeds(site: SiteRules) -> Stream:
    """Give none."""
    return (None for _ in site.hosts[:0])


class CodeSeeds:
    """Goes through the seeds of one machine's site file. Only the main loop uses it."""

    def __init__(
        self,
        watch: EditWatcher,
        frontier: Frontier,
        ledger: Ledger,
        warn: Callable[[str], None],
        of_code: OfCode,
    ) -> None:
        self._code = [site for site in watch.settings.code if site.code and "seeds" in site.code.methods]
        self._frontier = frontier
        self._ledger = ledger
        self._warn = warn
        self._of_code = of_code
        self._shards: set[int] = set()
        self._early: list[Labelled] = []
        self._is_due = bool(self._code)
        self.fault = ""  # the mistake in the site file because of which seeds are missing
        self._missed = False  # there was no room for an early seed
        self._pass: Generator[bool] | None = None

    @property
    def is_done(self) -> bool:
        return self._pass is None and not self._is_due

    def want(self, shards: Iterable[int]) -> None:
        """Take the seeds of some held shards, of which all logs have been read."""
        if not self._code:
            return
        self._shards.update(shards)
        self._is_due = self._is_due or self._pass is None or self._missed
        early, self._early = self._early, []
        for seed in early:
            self._take(seed)

    def restart(self) -> None:
        """Begin anew: the settings have changed, or all shards are taken in anew."""
        self.close()
        self._shards.clear()
        self._is_due = bool(self._code)

    def close(self) -> None:
        """End a pass, with its process."""
        if self._pass is not None:
            self._pass.close()
        self._pass = None
        self._early.clear()

    def step(self, is_time_over: Callable[[], bool]) -> None:
        """Go on until the time is over, or there is nothing to do for the moment."""
        if self.is_done:
            return
        if self._pass is None:
            self._pass, self._is_due, self._missed = self._go_through(), False, False
        for number, is_there in enumerate(self._pass, 1):
            if not is_there or (number % _STEPS_A_LOOK == 0 and is_time_over()):
                return
        self._pass = None

    def _go_through(self) -> Generator[bool]:
        """Take all seeds; yield whether there was one."""
        for site in self._code:
            seeds, count = self._of_code(site), 0
            try:
                for seed in seeds:
                    count += seed is not None
                    if count > MAX_SEEDS:
                        self._warn(f"{site.name}: seeds: only {MAX_SEEDS:,} are taken")
                        break
                    if seed is not None:
                        self._take(seed)
                    yield seed is not None
            except SiteFault as fault:
                self.fault = str(fault)
                self._warn(f"{fault}; no more seeds are taken until a machine starts with a file that is right")
            finally:  # also when the pass is closed
                seeds.close()

    def _take(self, seed: Labelled) -> None:
        spelling, label = seed
        shard = self._frontier.location(spelling).shard
        rule = self._ledger.rules.scope.refuses(spelling)
        if shard in self._shards and self._frontier.holds(shard):
            if rule is None:
                self._ledger.discover([spelling], 0, "", labelled(label))
            else:
                self._frontier.cut.add(rule, urls.fingerprint_of(spelling))
        elif rule is None:
            self._ledger.needed.add(shard)
            if len(self._early) < _MOST_EARLY:
                self._early.append(seed)
            else:
                self._missed = True


class Seeding:
    """Puts the seeds of held shards into the frontier. Only the main loop uses it."""

    def __init__(
        self,
        tree: Tree,
        watch: EditWatcher,
        frontier: Frontier,
        ledger: Ledger,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        of_code: OfCode = no_seeds,
    ) -> None:
        """`of_code`: gives the seeds of a class of the site file, which are gone through beside them."""
        self._watch = watch
        self._frontier = frontier
        self._ledger = ledger
        self._lists = ListFiles(tree, warn, clock)
        self._warn = warn
        self._by_url = tree.record.partition == "url"
        self._shards = tree.record.shards
        self._clock = clock
        self._wanted: set[int] = set()
        self._chore: Iterator[None] | None = None
        self._of_code = CodeSeeds(watch, frontier, ledger, self._warn_once, of_code)
        self._warned: set[str] = set()

    @property
    def is_done(self) -> bool:
        return not (self.is_busy or self._watch.has_read)

    @property
    def is_busy(self) -> bool:
        """There is something to go on with at once."""
        return self._watch.is_reading or not (self._tables_are_done and self._of_code.is_done)

    @property
    def fault(self) -> str:
        """The mistake in the site file because of which seeds are missing; "" without one."""
        return self._of_code.fault

    @property
    def _tables_are_done(self) -> bool:
        return self._chore is None and not self._wanted

    @property
    def shards(self) -> set[int]:
        """The shards that the tables may have seeds of; those of a site file are known when they are there."""
        if self._by_url and any(site.seeds for site in self._watch.settings.rules):
            return set(range(self._shards))
        return {self._frontier.location(origin).shard for origin in self._watch.origins}

    def want(self, shards: Iterable[int]) -> None:
        """Go through the seeds for some held shards, of which all logs have been read."""
        shards = set(shards)
        if shards:
            self._of_code.want(shards)
        if self._watch.origins:
            self._wanted |= self.shards.intersection(shards)

    def add_of(self, shards: set[int]) -> Iterator[None]:
        """Add the seeds of `seeds.txt` of some shards, one by one. What is dropped meanwhile is left out."""
        for seed in sorted(self._watch.seeds):
            if not shards:
                return
            if self._frontier.location(seed).shard in shards:
                self.add([seed])
            yield

    def add(self, seeds: Iterable[str]) -> None:
        """Put seeds of `seeds.txt` into the frontier, if their shards are held and nobody has stopped their task."""
        for seed in seeds:
            label = self._watch.labels.get(seed, "")
            location = self._frontier.location(seed)
            if label in self._watch.settings.crawl.stopped_labels or not self._frontier.holds(location.shard):
                continue
            if self._frontier.is_settled(location.shard, location.fingerprint, 0):
                self._frontier.learn(location, 0)  # it may have failed, and be tried again: then at this depth
            else:
                self._frontier.add(seed, 0, "", location, labelled(label))

    def restart(self) -> None:
        """Forget what was begun: the settings have changed, or all shards are taken in anew."""
        self._chore = None
        self._wanted.clear()
        self._of_code.restart()

    def close(self) -> None:
        """End what runs beside this process."""
        self._of_code.close()

    def look(self) -> bool:
        """Read the lists; go through the seeds once more if one has changed, and tell whether it has."""
        names = files(self._watch.settings.rules)
        changed = bool(names) and self._lists.look(names)
        if changed:
            self.want(self._frontier.shards)
        return changed

    def step(self) -> None:
        """Go on for a short while."""
        until = self._clock() + _SLICE_S
        self._watch.go_on(lambda: self._clock() >= until)
        self._of_code.step(lambda: self._clock() >= until)
        if self._tables_are_done:
            return
        if self._chore is None:
            shards, self._wanted = self._wanted, set()
            self._chore = self._go_through(shards)
        for done, _ in enumerate(self._chore):
            if done % _STEPS_A_LOOK == 0 and self._clock() >= until:
                return
        self._chore = None

    def _go_through(self, shards: set[int]) -> Iterator[None]:
        sites = self._watch.settings.rules
        if said := too_many(sites, self._lists):
            self._warn_once(f"{said}; none of them is taken")
            return
        for said in unruled(sites):
            self._warn_once(said)
        for name in files(sites):
            for line, column, flaw in flaws(self._lists(name)):
                self._warn_once(f"{name}:{line}:{column}: {flaw}, skipped")
        for site in sites:
            for seed in site.seeds:
                yield from self._take(seed, shards)

    def _take(self, seed: SeedUrls, shards: set[int]) -> Iterator[None]:
        if not (self._by_url or self._frontier.location(seed.origin).shard in shards):
            return
        rules = self._ledger.rules
        for url in seed.each(self._lists):
            yield
            shard = self._frontier.location(url).shard
            if shard not in shards or not self._frontier.holds(shard):
                continue
            rule = rules.scope.refuses(url)
            if rule is None:
                self._ledger.discover([url], 0, "", NO_FLAGS)
            else:
                self._frontier.cut.add(rule, urls.fingerprint_of(url))

    def _warn_once(self, said: str) -> None:
        if said not in self._warned:
            self._warned.add(said)
            self._warn(said)
