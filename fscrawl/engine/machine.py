"""The main loop of one machine: it takes tasks from the frontier, gives them to the workers, and takes in the outcomes.

    tick        heartbeats, leases, logs and edits are looked at when it is time (`membership`)
    dispatch    while the workers have room, each task that the frontier hands out is submitted (`pool`)
    take        outcomes come back, and the frontier is brought up to date (`outcomes`)
    leave       when no machine has anything left to do, when a limit is reached, or when a person asks for it

Promise: the loop ends by itself. Whatever ends it, the crawl can go on from what is in the tree. After a first signal
the loop ends when the exchanges in flight are over; after a second one it ends at once.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Literal

import msgspec

from fscrawl import interrupts
from fscrawl.config.settings import Settings
from fscrawl.config.watcher import EditWatcher
from fscrawl.engine.browsers import Browsers
from fscrawl.engine.idleness import Idleness, why_paced
from fscrawl.engine.messages import WorkerSetup
from fscrawl.engine.outcomes import Bookkeeper
from fscrawl.engine.pool import Pool, most_slow
from fscrawl.engine.progress import Counts, Progress
from fscrawl.engine.side_process import Seeds, seeds_here
from fscrawl.engine.usable import check_edit
from fscrawl.engine.watchdog import Watchdog
from fscrawl.errors import EXIT_BY_SIGNAL, EXIT_OK, EXIT_UNUSABLE_RESULT, FscrawlError, NoBrowserError
from fscrawl.fleet.beat import Beat
from fscrawl.fleet.membership import Membership
from fscrawl.fleet.tidying import remove_own_temporaries
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.shards import StoredOnTree
from fscrawl.frontier.task import RobotsTask
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.politeness.outage import Outage, Proven
from fscrawl.sites.rules import digest_of, near_to
from fscrawl.storage.retrying import Retrying
from fscrawl.store import Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.processes import anonymous_bytes

_FEW_HOSTS = 10_000  # to list their directories takes seconds, on a slow share half a minute
_LOOK_EVERY_S = 0.01  # while pages come in: to look at every turn cost a tenth of this process's time
_LONGEST_WAIT_S = 0.25  # signals, the fleet and the progress line must not wait longer
_END_WAIT_S = 0.05  # the crawl may be over at any moment
_FIRST_END_WAIT_S = 0.002  # most often it is over when nothing is left here: a few looks, and that is certain
_WAIT_FOR_TREE_WHEN_LEAVING_S = 5.0


class Options(msgspec.Struct, frozen=True):
    """How one machine takes part.

    workers          how many processes; 0: one worker, in the machine's own process
    reseed           read all records again, and do not trust the logs
    wait             stay when all is done, and wait for new seeds
    refresh_before   ask again for pages that were last fetched or checked before that time (RFC 3339)
    allow_env        environment variables that settings may name, besides FSCRAWL_…
    added_seeds      those that its command has added to the tree: other machines may not have seen them yet
    """

    workers: int
    threads: int
    reseed: bool = False
    wait: bool = False
    refresh_before: str = ""
    allow_env: tuple[str, ...] = ()
    added_seeds: tuple[str, ...] = ()


Ending = Literal["finished", "interrupted", "stopped", "max_pages"]


class Result(msgspec.Struct, frozen=True):
    """How a run ended: what it did, its exit code, and why it ended.

    "finished": nothing is left. "stopped": by STOP. "max_pages": `crawl.max_pages` is reached. `fault`: the mistake in
    the site file because of which seeds are missing; "" without one. `late_seeds`: how many were added while the
    machine was leaving.
    """

    counts: Counts
    exit_code: int
    elapsed_s: float
    ending: Ending = "finished"
    fault: str = ""
    late_seeds: int = 0


class Machine:
    """One run of one machine over an open tree."""

    def __init__(
        self,
        tree: Tree,
        settings: Settings,
        seeds: Mapping[str, str],
        progress: Progress,
        options: Options,
        rng: random.Random | None = None,
    ) -> None:
        """`seeds`: spelling → label, "" if it has none."""
        self._tree = tree
        self._progress = progress
        self._options = options
        self._interrupts = 0
        self._interrupted_by = 0
        self._interrupted_at = 0.0
        self._error: FscrawlError | None = None
        self._finished = False
        self._look_due = 0.0  # when to look around again (monotonic time)
        self._end_wait_s = _FIRST_END_WAIT_S  # grows while nothing is left to do
        self._drained = False  # the tasks that no worker had begun were asked back
        self._watchdog = Watchdog(self._interrupt, progress.warn, str(tree.root))
        tree.files.retrying = self._retrying = Retrying(settings.store.patience, self._may_wait, progress.warn)
        check = partial(check_edit, tree.root, allow_env=options.allow_env)
        self._edits = EditWatcher(tree, settings, frozenset(seeds), progress.warn, check, seeds, options.added_seeds)
        self._stored = StoredOnTree(tree)
        self._frontier = Frontier(settings, self._stored, shards=tree.record.shards)
        self._membership = Membership(
            tree,
            self._frontier,
            self._stored,
            self._edits,
            reseed=options.reseed,
            counters=self._beat,
            warn=progress.warn,
            refresh_before=options.refresh_before,
            of_code=Seeds if options.workers else seeds_here,
        )
        self._browsers = Browsers(progress.warn)
        self._outage = Outage()
        rng = rng or random.Random()
        self._bookkeeper = Bookkeeper(
            tree,
            self._frontier,
            self._membership,
            self._outage,
            progress,
            lambda: self._settings,
            self._gets_cookie,
            rng,
            seeds,
        )
        self._idleness = Idleness(time.monotonic(), tree.record.partition, waits=options.wait)
        self._stored_before = 0
        self._counted = False
        self._elsewhere_before = 0
        self._pool: Pool

    @property
    def counts(self) -> Counts:
        """What this run has done so far."""
        return self._bookkeeper.counts

    @property
    def _settings(self) -> Settings:
        return self._edits.settings

    def run(self) -> Result:
        """Crawl until the end; TreeError if the tree cannot be used any more (what is stored stays).

        MemoryGone if `.fscrawl` was deleted or replaced: then the same command goes on when it is started again.
        """
        began = time.monotonic()
        with self._watchdog:
            if waiting := interrupts.receive():
                self._interrupt(waiting)
            self._pool = self._new_pool()
            try:
                self._crawl()
            except BaseException as error:
                self._pool.kill()
                self._browsers.close()
                self._membership.abandon()
                if not isinstance(error, FscrawlError):
                    raise
                self._error = error
            self._pool.close()
            self._browsers.close()
        self._frontier.close()
        self._tree.close()
        self.counts.cut.update(self._frontier.cut)
        self._show(last=True)
        if self._error is not None:
            cause = self._membership.cause_of(self._error)
            if not self._interrupts:
                raise cause
            self._progress.warn(str(cause))
        elapsed_s, fault = time.monotonic() - began, self._membership.seeding.fault
        late = len(self._edits.new_seeds()) if self._finished else 0
        return Result(self.counts, self._exit_code(), elapsed_s, self._ending(), fault, late)

    def _new_pool(self) -> Pool:
        settings, tree, options, permit = self._settings, self._tree, self._options, self._membership.permit
        setup = WorkerSetup.of(tree, options.threads, permit, options.allow_env, self._browsers.address)
        fetch, render = settings.fetch, settings.render
        hung_after_s = 60 + 4 * (fetch.timeout + fetch.connect_timeout + render.timeout) + settings.store.patience
        delay_s = self._frontier.scheduler.delay_s
        workers, threads = max(1, options.workers), options.threads
        self._frontier.scheduler.places.limit_slow(workers * most_slow(threads), workers * threads)
        return Pool(self._options.workers, setup, self._config(), hung_after_s=hung_after_s, delay_s=delay_s)

    def _may_wait(self) -> bool:
        """Tell whether to go on waiting for the tree; after a signal only for a few seconds."""
        self._watchdog.alive()
        return not self._interrupts or time.monotonic() - self._interrupted_at < _WAIT_FOR_TREE_WHEN_LEAVING_S

    def _gets_cookie(self, asked: str) -> bool:
        return self._pool.cookies.go_to(asked)

    def _crawl(self) -> None:
        self._begin()
        while self._has_work():
            self._turn()
        self._end()

    def _begin(self) -> None:
        self._membership.join()
        self._pool.reconfigure(self._config())  # the generation is known now
        self._count_stored()

    def _end(self) -> None:
        if self._finished:
            self._tree.check_there()  # if the share is gone, missing files do not mean that all is done
        if self._error is None or isinstance(self._error, NoBrowserError):
            remove_own_temporaries(self._pool.hosts_of_dead_workers, self._tree)
            self._bookkeeper.status_file.write_last()
            self._membership.leave(finished=self._finished)
        else:
            self._membership.abandon()

    def _config(self) -> CrawlConfig:
        near = near_to(self._edits.seeds, self._settings.rules)
        rules = self._membership.rules
        return CrawlConfig(self._settings, near, rules.generation, rules.links, rules.refresh_before)

    def _exit_code(self) -> int:
        if self._interrupts:
            return EXIT_BY_SIGNAL + self._interrupted_by
        if self._membership.seeding.fault and self._ending() == "finished":
            return EXIT_UNUSABLE_RESULT
        there = self._edits.stopped or self.counts.pages or self._membership.fleet.pages_elsewhere
        return EXIT_OK if there or self._has_page() else EXIT_UNUSABLE_RESULT

    def _has_page(self) -> bool:
        """Tell whether the tree has a page: the heartbeats that counted it may have been deleted."""
        return any(self._stored.page_count(host) for host in self._stored.hosts)

    def _ending(self) -> Ending:
        if self._interrupts:
            return "interrupted"
        if self._edits.stopped:
            return "stopped"
        return "max_pages" if self._pages_left() <= 0 else "finished"

    # -- what the heartbeat says

    def _beat(self) -> Beat:
        """Give the counters of a heartbeat; called from the thread that beats."""
        return Beat(
            **self.counts.for_beat(),
            pending=self._frontier.pending,
            in_flight=self._frontier.in_flight,
            hosts=len(self._frontier.scheduler),
            memory=anonymous_bytes(),
            counted=self._counted,
            state=self._state(),
            settings=self._edits.settings_digest,
            settings_at=self._edits.settings_at,
            site=digest_of(self._settings.code),
            resting=len(self._frontier.scheduler.rests(time.monotonic())),
            gave_up=self._frontier.scheduler.gave_up,
        )

    def _state(self) -> str:
        """Give what keeps this machine from fetching, "" if nothing does."""
        if self._leaving():
            return "stopping"
        if self._edits.paused:
            return "paused"
        if self._membership.fenced:
            return "fenced"
        return "no network" if self._outage.is_on else ""

    def _waits_for_seeds(self) -> bool:
        """Tell whether all is done, and the machine stays for new seeds."""
        counts = self.counts
        return self._options.wait and not (counts.pending or counts.in_flight or counts.reseeding)

    # -- the loop

    def _turn(self) -> None:
        """Do what is due, hand out what there is room for, and take in what has come back."""
        now = time.monotonic()
        if now >= self._look_due or self._membership.busy or not self._frontier.pending:
            self._look_due = now + _LOOK_EVERY_S
            self._look_around()
        self._hold_back_or_dispatch()
        for answer in self._pool.wait(self._wait_for_answers_s(), tree_stalled=self._membership.fenced):
            self._error = self._bookkeeper.take(answer) or self._error
        self._bookkeeper.go_on()

    def _look_around(self) -> None:
        """Do what is due beside the pages: look at the fleet and at edits, and show how far the crawl is."""
        self._watchdog.alive()
        self._error = self._error or self._membership.trouble(self._retrying.limit_s)
        if self._membership.tick(starved=not self._frontier.pending):
            self._retrying.limit_s = self._settings.store.patience
            self._pool.reconfigure(self._config())
        unable = self._browsers.keep(self._settings.render) or self._edits.must_leave
        self._error = self._error or unable
        self._bookkeeper.status_file.write_if_due(
            time.monotonic(), self._membership.beat_s, self._membership.known.ready
        )
        self._frontier.scheduler.paused = self._edits.paused_hosts
        self._show()
        self._say_why_idle()

    def _hold_back_or_dispatch(self) -> None:
        """Hand tasks out, or have those back that no worker has begun: another machine may have their hosts later."""
        held_back = self._leaving() or self._edits.paused or self._membership.fenced
        if held_back and not self._drained:
            self._pool.drain()
        elif self._drained:  # workers may have died since the last turn
            self._pool.return_suspects()
        self._drained = held_back
        if held_back:
            self._bookkeeper.put_off_telling()
        else:
            self._dispatch()

    def _has_work(self) -> bool:
        if self._frontier.in_flight:
            return True
        if self._leaving():
            return False
        self._finished = not self._options.wait and self._membership.is_over()
        return not self._finished

    def _leaving(self) -> bool:
        return bool(self._interrupts) or self._edits.stopped or self._error is not None or self._pages_left() <= 0

    def _count_stored(self) -> None:
        """If pages are limited, count the stored ones; what other machines add later is in their heartbeats.

        Do so, too, if a machine has died without its last counts, as on a full disk, or if those who stored the pages
        have left no heartbeats, as after `.fscrawl` was deleted: then this one says them.
        """
        fleet = self._membership.fleet
        uncounted = not fleet.peers and bool(self._stored.hosts)  # the survey that comes takes far longer
        late = fleet.is_miscounted(time.monotonic()) and len(self._stored.hosts) <= _FEW_HOSTS
        miscounted = uncounted or late
        if miscounted or self._settings.crawl.max_pages is not None:
            self._stored_before = self._tree.all_pages()
            self._elsewhere_before = fleet.pages_elsewhere
        if miscounted:
            self.counts.recounted = self._stored_before - fleet.pages_elsewhere
            self._counted = True

    def _pages_left(self) -> float:
        """Pages that may still be stored."""
        limit = self._settings.crawl.max_pages
        if limit is None:
            return float("inf")
        elsewhere = self._membership.fleet.pages_elsewhere - self._elsewhere_before
        return limit - self._stored_before - elsewhere - self.counts.more_pages

    def _may_dispatch(self) -> bool:
        if self._membership.fenced or self._edits.paused:
            return False
        return self._pool.has_room and self._frontier.in_flight < self._pages_left()

    def _dispatch(self) -> None:
        now = time.monotonic()
        while self._pool.has_room and (to_tell := self._bookkeeper.next_to_tell()):
            self._pool.submit(to_tell)
        if self._outage.ends_unproven():
            self._progress.warn("no host that has answered can be asked: the crawl goes on, and failures are recorded")
        while self._may_dispatch():
            task = self._outage.probe(now, self._probe) if self._outage.is_on else self._frontier.take(now)
            if task is None:
                return
            self._pool.submit(task, slow=not self._frontier.scheduler.is_quick(task.host))

    def _probe(self, proven: Proven | None) -> RobotsTask | None:
        """Give a task that asks a host whether the network is back; None: nobody waits for that, or it may not now."""
        if not self._frontier.pending:
            return None
        return self._frontier.probe(time.monotonic(), *(proven or ()))

    def _wait_for_answers_s(self) -> float:
        """Give how long to wait for an answer until there may be something new to dispatch or to do."""
        if self._membership.busy or self._bookkeeper.is_behind:
            return 0.0
        if self._frontier.idle and not self._options.wait:
            self._end_wait_s = min(2 * self._end_wait_s, _END_WAIT_S)
            return self._end_wait_s
        self._end_wait_s = _FIRST_END_WAIT_S
        next_at = self._frontier.next_at()
        if next_at is None or self._leaving() or self._outage.is_on or not self._may_dispatch():
            return _LONGEST_WAIT_S
        return min(max(next_at - time.monotonic(), 0.0), _LONGEST_WAIT_S)

    def _show(self, *, last: bool = False) -> None:
        counts = self.counts
        counts.pending = self._frontier.pending
        counts.in_flight = self._frontier.in_flight
        counts.hosts = len(self._frontier.scheduler)
        counts.tree_pages = self._membership.fleet.pages_elsewhere + counts.recounted + counts.more_pages
        counts.reseeding = self._membership.survey.hosts_left
        counts.reseeding_of = self._membership.survey.hosts_in_all
        counts.reseeded = self._membership.survey.records_read
        counts.state = self._state() or ("waiting for seeds" if self._waits_for_seeds() else "")
        if last:
            self._progress.close(counts)
            return
        self._progress.show(counts)
        if self._progress.is_unread and not self._interrupts:
            self._interrupt(signal.SIGPIPE)

    def _say_why_idle(self) -> None:
        """Explain why there is little to do, if that is so. The counts have just been shown."""
        counts = self.counts
        is_moving = self._membership.busy or not self._membership.all_known
        could_take_more = self._pool.has_room and not (self._state() or counts.reseeding or is_moving)
        has_work = bool(counts.pending or counts.in_flight)
        politeness, scheduler = self._settings.politeness, self._frontier.scheduler
        now = time.monotonic()
        reason = self._idleness.look(now, could_take_more=could_take_more, has_work=has_work)
        if reason == "idle":
            self._progress.note(self._idleness.why_idle(len(self._membership.fleet.live_peers(now))))
        elif reason == "paced" and (said := why_paced(politeness, scheduler, now)):
            self._progress.note(said)

    def _interrupt(self, number: int) -> None:
        """First signal: finish what is in flight. Second: leave now. Called from a thread of the watchdog.

        When a terminal goes, both its shell and the system send SIGHUP: nobody means anything by the second one.
        """
        is_same = number == signal.SIGHUP or time.monotonic() - self._interrupted_at < interrupts.SAME_SIGNAL_S
        if self._interrupts and is_same:
            return
        self._interrupts += 1
        self._interrupted_at = time.monotonic()
        if self._interrupts == 1:
            self._interrupted_by = number
            said = "stopping: waiting for the pages in flight (a second Ctrl-C leaves at once)"
            self._say(f"{said}; {interrupts.kept()}")
            return
        try:
            cut = number_of(self._frontier.in_flight, "page")
            self._say(f"leaving at once: {cut} in flight will be fetched again")
        finally:
            interrupts.leave(number, informed=True)

    def _say(self, text: str) -> None:
        """Print a line, but do not wait for a terminal that was stopped: the next signal must be received."""
        saying = threading.Thread(target=self._progress.warn, args=(text,), daemon=True)
        saying.start()
        saying.join(1.0)
