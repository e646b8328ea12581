"""Seeds of sites by ranges: they go into the frontier one by one, and into the log as links do.

A range may give millions of URLs. They are never listed: each machine goes through all of them, and takes those of its
own shards that are not known yet. What stands in a log is known to whoever reads it, so a machine that starts
again says none of it a second time.

Promise: after `want`, and when `is_done`, each seed whose shard is held and complete is known to the frontier, if the
scope allows it. Work is done in slices of 0.05 s, so that workers do not wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from fscrawl import urls
from fscrawl.config.list_files import ListFiles
from fscrawl.config.watcher import EditWatcher
from fscrawl.fleet.code_seeds import CodeSeeds, OfCode, no_seeds
from fscrawl.fleet.ledger import Ledger
from fscrawl.frontier.flags import NO_FLAGS
from fscrawl.frontier.frontier import Frontier
from fscrawl.sites.rules import files, too_many, unruled
from fscrawl.sites.seeds import SeedUrls
from fscrawl.store import Tree
from fscrawl.util.user_text import flaws

_SLICE_S = 0.05
_STEPS_A_LOOK = 64  # at the clock


class Seeding:
    """Goes through the seeds of the tables of one machine. Only the main loop uses it."""

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
        self._chore: Iterator[None] = iter(())
        self._busy = False
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
        return not (self._busy or self._wanted)

    @property
    def shards(self) -> set[int]:
        """The shards that the tables may have seeds of; those of a site file are known when they are there."""
        if self._by_url and any(site.seeds for site in self._watch.settings.rules):
            return set(range(self._shards))
        return {self._frontier.location(origin).shard for origin in self._watch.origins}

    def want(self, shards: Iterable[int]) -> None:
        """Go through the seeds for some held shards, of which all logs have been read."""
        shards = set(shards)
        self._of_code.want(shards)
        if self._watch.origins:
            self._wanted |= self.shards.intersection(shards)

    def restart(self) -> None:
        """Forget what was begun: the settings have changed, or all shards are taken in anew."""
        self._chore, self._busy = iter(()), False
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
        if not self._busy:
            shards, self._wanted = self._wanted, set()
            self._chore, self._busy = self._go_through(shards), True
        for done, _ in enumerate(self._chore):
            if done % _STEPS_A_LOOK == 0 and self._clock() >= until:
                return
        self._busy = False

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
