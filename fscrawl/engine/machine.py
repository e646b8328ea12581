"""The main loop of one machine: what its shards hold → the frontier → the workers → the frontier and the feed.

    tick        heartbeats, leases, feeds and edits are looked at when it is time (`membership`)
    dispatch    whatever the frontier lets go is submitted, while the workers have room
    collect     outcomes come back, and are settled (`outcomes`)
    leave       when nothing is left anywhere, a limit is reached, or somebody asks

Promise: the loop ends by itself; whatever ends it, what the tree holds is enough to go on from. A signal is obeyed
within the time of the exchanges in flight, a second one at once.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass

from fscrawl.config.settings import Settings
from fscrawl.config.watcher import EditWatcher
from fscrawl.engine.outcomes import Bookkeeper
from fscrawl.engine.pool import Place, Pool
from fscrawl.engine.progress import Counts, Progress
from fscrawl.engine.watchdog import Sentinel
from fscrawl.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNUSABLE_RESULT, TreeError
from fscrawl.fleet.beat import Beat
from fscrawl.fleet.membership import Membership
from fscrawl.fleet.recovery import remove_own_temporaries
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.stored import StoredOnTree
from fscrawl.frontier.task import ProbeTask
from fscrawl.http.fetch import Fetcher
from fscrawl.politeness.outage import Outage
from fscrawl.storage.layout import HTMLS
from fscrawl.storage.retrying import Retrying
from fscrawl.store import STOP, Tree
from fscrawl.util.memory import anonymous_bytes
from fscrawl.worker import CrawlConfig

_LONGEST_WAIT_S = 0.25  # so that a signal, the fleet and the progress line are seen to
_PARTING_S = 5.0


@dataclass(frozen=True, slots=True)
class Options:
    """How one machine takes part. `reseed`: trust the link files alone; `follow`: stay when all is done.

    `refresh_before`: ask again for pages that were last fetched or looked at before that time (RFC 3339).
    """

    workers: int
    threads: int
    reseed: bool = False
    follow: bool = False
    refresh_before: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended: what it did, its exit code, and what stopped it if it was not the end."""

    counts: Counts
    exit_code: int
    elapsed_s: float
    stopped: str | None = None


def check_usable(settings: Settings) -> None:
    """SettingsError if this machine cannot do what they say: a secret is not in its environment, a file not there."""
    fetch = settings.fetch
    if fetch.auth or fetch.proxies or fetch.ca_file or any("$" in value for value in fetch.headers.values()):
        Fetcher(fetch, settings.politeness, threads=1).close()


class Machine:
    """One run of one machine over an open tree."""

    def __init__(
        self,
        tree: Tree,
        settings: Settings,
        seeds: frozenset[str],
        progress: Progress,
        options: Options,
        rng: random.Random | None = None,
    ) -> None:
        self._tree = tree
        self._progress = progress
        self._options = options
        self._interrupts = 0
        self._interrupted_at = 0.0
        self._trouble: TreeError | None = None
        self._finished = False
        check_usable(settings)
        self._sentinel = Sentinel(self._interrupt, progress.warn, str(tree.root))
        tree.files.retrying = self._retrying = Retrying(settings.store.patience, self._may_wait, progress.warn)
        self._watch = EditWatcher(tree, settings, seeds, progress.warn, check_usable)
        self._stored = StoredOnTree(tree)
        self._frontier = Frontier(settings, self._stored, shards=tree.record.shards)
        self._membership = Membership(
            tree,
            self._frontier,
            self._stored,
            self._watch,
            reseed=options.reseed,
            counters=self._beat,
            warn=progress.warn,
            refresh_before=options.refresh_before,
        )
        self._outage = Outage()
        self._bookkeeper = Bookkeeper(
            tree,
            self._frontier,
            self._membership,
            self._outage,
            progress,
            lambda: self._settings,
            rng or random.Random(),
        )
        self._stored_before = 0
        self._elsewhere_before = 0
        self._pool: Pool

    @property
    def _counts(self) -> Counts:
        return self._bookkeeper.counts

    @property
    def _settings(self) -> Settings:
        return self._watch.settings

    def run(self) -> Result:
        """Crawl until the end; TreeError if the tree could not be used any more (all that was stored stays)."""
        began = time.monotonic()
        with self._sentinel:
            self._pool = self._new_pool()
            try:
                self._crawl()
            except BaseException as error:
                self._pool.kill()
                self._membership.abandon()
                if not isinstance(error, TreeError):
                    raise
                self._trouble = error
            self._pool.close()
        self._frontier.close()
        self._show(last=True)
        if self._trouble is not None:
            if not self._interrupts:
                raise self._trouble
            self._progress.warn(str(self._trouble))
        return Result(self._counts, self._exit_code(), time.monotonic() - began, self._stopped())

    def _new_pool(self) -> Pool:
        settings = self._settings
        tree, permit = self._tree, self._membership.permit
        place = Place(tree.root, tree.record, tree.machine, tree.files.fsync, self._options.threads, permit)
        hung_after_s = 60 + 4 * (settings.fetch.timeout + settings.fetch.connect_timeout) + settings.store.patience
        delay_s = self._frontier.scheduler.delay_s
        return Pool(self._options.workers, place, self._config(), hung_after_s=hung_after_s, delay_s=delay_s)

    def _may_wait(self) -> bool:
        """Tell whether it is worth waiting for the tree; who wants to leave waits for no more than a hiccup."""
        self._sentinel.alive()
        return not self._interrupts or time.monotonic() - self._interrupted_at < _PARTING_S

    def _crawl(self) -> None:
        self._membership.join()
        self._count_stored()
        self._loop()
        if self._finished:
            self._tree.check_there()  # where the share has gone, what is missing is no sign that all is done
        if self._trouble is None:
            remove_own_temporaries(self._pool.bereaved, self._tree)
            self._membership.leave(finished=self._finished)
        else:
            self._membership.abandon()

    def _config(self) -> CrawlConfig:
        return CrawlConfig(self._settings, self._watch.seeds)

    def _exit_code(self) -> int:
        if self._interrupts:
            return EXIT_INTERRUPTED
        there = self._watch.stopped or self._counts.pages or self._stored.hosts or self._membership.pages_elsewhere()
        return EXIT_OK if there else EXIT_UNUSABLE_RESULT

    def _stopped(self) -> str | None:
        if self._interrupts:
            return "interrupted"
        if self._watch.stopped:
            return f"{STOP} is in the root"
        return "crawl.max_pages is reached" if self._budget() <= 0 else None

    # -- what others ask

    def _beat(self) -> Beat:
        """Give the counters of a heartbeat; called from the thread that beats."""
        counts = self._counts
        return Beat(
            pages=counts.pages,
            bytes=counts.bytes,
            errors=dict(counts.errors),
            pending=self._frontier.pending,
            in_flight=self._frontier.in_flight,
            hosts=len(self._frontier.scheduler),
            memory=anonymous_bytes(),
            state=self._state(),
            settings=self._watch.settings_digest,
            settings_at=self._watch.settings_at,
            **self._frontier.scheduler.stats(time.monotonic()),
        )

    def _state(self) -> str:
        """Say what keeps this machine from fetching; "" if nothing does."""
        if self._leaving():
            return "stopping"
        if self._watch.paused:
            return "paused"
        if self._membership.fenced:
            return "fenced"
        return "no network" if self._outage.is_on else ""

    # -- the loop

    def _loop(self) -> None:
        drained = False
        while self._going():
            self._sentinel.alive()
            self._trouble = self._trouble or self._membership.trouble(self._retrying.limit_s)
            if self._membership.tick(hungry=not self._frontier.pending):
                self._frontier.use(self._settings)
                self._retrying.limit_s = self._settings.store.patience
                self._pool.tell(self._config())
            held_back = self._leaving() or self._watch.paused
            if not held_back:
                self._dispatch()
            elif not drained:
                self._pool.drain()
            drained = held_back
            self._frontier.scheduler.paused = self._watch.paused_hosts
            for answer in self._pool.wait(self._patience_s(), excused=self._membership.fenced):
                self._trouble = self._bookkeeper.take(answer) or self._trouble
            self._show()

    def _going(self) -> bool:
        if self._frontier.in_flight or self._bookkeeper.probes_in_flight:
            return True
        if self._leaving():
            return False
        self._finished = not self._options.follow and self._membership.is_over()
        return not self._finished

    def _leaving(self) -> bool:
        return bool(self._interrupts) or self._watch.stopped or self._trouble is not None or self._budget() <= 0

    def _count_stored(self) -> None:
        """Where pages are limited, count those there are: other machines' beats tell how many come to them."""
        if self._settings.crawl.max_pages is not None:
            self._stored_before = sum(len(self._tree.keys(HTMLS, host)) for host in self._tree.hosts(HTMLS))
            self._elsewhere_before = self._membership.pages_elsewhere()

    def _budget(self) -> float:
        """Pages that may still be stored."""
        limit = self._settings.crawl.max_pages
        if limit is None:
            return float("inf")
        elsewhere = self._membership.pages_elsewhere() - self._elsewhere_before
        return limit - self._stored_before - elsewhere - self._counts.pages

    def _may_dispatch(self) -> bool:
        if self._outage.is_on or self._membership.fenced:
            return False
        return self._pool.has_room and self._frontier.in_flight < self._budget()

    def _dispatch(self) -> None:
        now = time.monotonic()
        if self._outage.is_on:
            self._probe(now)
        while self._may_dispatch():
            task = self._frontier.take(now)
            if task is None:
                return
            if not self._membership.scope_was_edited or self._membership.scope.refuses(task.url) is None:
                self._pool.submit(task)
            else:
                self._counts.cut["scope"] += 1
                self._frontier.finish(task, None)

    def _probe(self, now: float) -> None:
        """During an outage: ask a host now and then whether the network is back."""
        if not self._pool.has_room:  # what is asked for now would be lost
            return
        target = self._outage.probe(now, lambda host: self._frontier.scheduler.ask_out_of_turn(host, now))
        if target is not None:
            self._pool.submit(ProbeTask(target[1], target[0]))
            self._bookkeeper.probes_in_flight += 1
        elif not self._outage.is_on:
            self._progress.warn("no host has ever answered: going on, and what fails is written down")

    def _patience_s(self) -> float:
        """How long to wait for an answer before there may be something new to dispatch or to work at."""
        if self._membership.busy:
            return 0.0
        next_at = self._frontier.next_at()
        if next_at is None or self._leaving() or not self._may_dispatch():
            return _LONGEST_WAIT_S
        return min(max(next_at - time.monotonic(), 0.0), _LONGEST_WAIT_S)

    def _show(self, *, last: bool = False) -> None:
        counts = self._counts
        counts.pending = self._frontier.pending
        counts.in_flight = self._frontier.in_flight
        counts.hosts = len(self._frontier.scheduler)
        counts.reseeding = self._membership.reseeding
        counts.state = self._state()
        if last:
            counts.cut += self._frontier.cut
            self._progress.close(counts)
        else:
            self._progress.show(counts)

    def _interrupt(self) -> None:
        """First signal: finish what is in flight. Second: leave now. Called from the sentinel's thread."""
        self._interrupts += 1
        self._interrupted_at = time.monotonic()
        if self._interrupts > 1:
            if hasattr(self, "_pool"):
                self._pool.kill()
            os._exit(EXIT_INTERRUPTED)
        self._progress.warn("stopping: waiting for what is in flight; once more to leave at once")
