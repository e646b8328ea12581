"""Seeds that a method of a class gives: they come one by one from a process of their own, and go where links go.

Which hosts they have is not known before they are given. So a machine goes through them when it starts, to learn which
shards are needed; what belongs to a shard that it does not hold yet waits here, as far as there is room.

Vocabulary:
  pass      all seeds of all classes, once; at most one at a time
  early     a seed that was given before its shard was held

Promise: when `is_done`, each seed whose shard was wanted is known to the frontier, if the scope allows it and its class
could give it. Nothing here waits: a pass whose next seed has not come gives the time back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from fscrawl import urls
from fscrawl.config.watcher import EditWatcher
from fscrawl.fleet.ledger import Ledger
from fscrawl.frontier.flags import labelled
from fscrawl.frontier.frontier import Frontier
from fscrawl.sites.rules import SiteFault
from fscrawl.sites.seeds import MAX_SEEDS, Labelled

if TYPE_CHECKING:  # it loads the parsers
    from fscrawl.sites.rules import SiteRules

_MOST_EARLY = 10_000
_STEPS = 64  # before the clock is looked at


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
            if not is_there or (number % _STEPS == 0 and is_time_over()):
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
