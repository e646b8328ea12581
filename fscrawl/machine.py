"""The main loop of one machine: what the tree holds → the frontier → the workers → the frontier.

    recover     the tree's records are read once: what is done is known, what they link to is pending
    dispatch    whatever the frontier lets go is submitted, while the workers have room
    collect     outcomes come back: new URLs into the frontier, failures back for another attempt
    leave       when nothing is pending or in flight, a limit is reached, or somebody asks

Promise: the loop ends by itself; whatever ends it, what the tree holds is enough to go on from. A signal is obeyed
within the time of the exchanges in flight, a second one at once.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fscrawl import urls
from fscrawl.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNUSABLE_RESULT, RecordError, TreeError
from fscrawl.fetch import Failed
from fscrawl.frontier import Frontier, Task
from fscrawl.pool import Died, Place, Pool, Trouble
from fscrawl.progress import Counts, Progress
from fscrawl.settings import Settings
from fscrawl.store import Tree, remove
from fscrawl.worker import Job, Outcome, error_record

_LONGEST_WAIT_S = 0.5  # so that a signal and the progress line are seen to
_FIRST_BACKOFF_S = 1.0
_KINDS = {"stored": "pages", "redirect": "redirects", "skipped": "skipped"}


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended: what it did, its exit code, and what else should be said."""

    counts: Counts
    exit_code: int
    elapsed_s: float
    stopped: str | None = None


class Machine:
    """One run of one machine over an open tree."""

    def __init__(
        self,
        tree: Tree,
        settings: Settings,
        seeds: frozenset[str],
        progress: Progress,
        *,
        workers: int,
        threads: int,
        rng: random.Random | None = None,
    ) -> None:
        self._tree = tree
        self._settings = settings
        self._seeds = seeds
        self._progress = progress
        self._rng = rng or random.Random()
        self._job = Job(settings, seeds)
        self._place = Place(tree.root, tree.machine, tree.fsync, threads)
        self._workers = workers
        self._counts = Counts()
        self._stored_before = 0
        self._interrupts = 0
        self._trouble: TreeError | None = None
        self._past_hosts: frozenset[str] = frozenset()
        self._frontier = Frontier(settings, self._done_keys, self._pages_of)
        self._pool: Pool

    def run(self) -> Result:
        """Crawl until the end; TreeError if the tree could not be used any more (all that was stored stays)."""
        began = time.monotonic()
        patience_s = 60 + 4 * (self._settings.fetch.timeout + self._settings.fetch.connect_timeout)
        with _Signals(self._interrupt):
            self._recover()
            self._pool = Pool(self._workers, self._place, self._job, hung_after_s=patience_s)
            self._loop()
            self._pool.close()
        self._frontier.close()
        self._show(last=True)
        if self._trouble is not None:
            raise self._trouble
        return Result(self._counts, self._exit_code(), time.monotonic() - began, self._stopped())

    def _exit_code(self) -> int:
        if self._interrupts:
            return EXIT_INTERRUPTED
        return EXIT_OK if self._counts.pages + self._stored_before else EXIT_UNUSABLE_RESULT

    def _stopped(self) -> str | None:
        if self._interrupts:
            return "interrupted"
        return "crawl.max_pages is reached" if self._budget() <= 0 else None

    # -- recover

    def _recover(self) -> None:
        """Feed the frontier with the seeds and with what the tree's records link to."""
        self._past_hosts = frozenset(self._tree.hosts("links")) | frozenset(self._tree.hosts("errs"))
        scope = self._job.scope()
        for seed in sorted(self._seeds):
            self._frontier.add(seed, 0, "")
        for host in self._tree.hosts("links"):
            self._reap(host)
            for key in self._tree.keys("links", host):
                if self._interrupts:
                    return
                self._feed_record(scope, host, key)

    def _feed_record(self, scope: urls.Scope, host: str, key: str) -> None:
        try:
            record = self._tree.page(host, key)
        except RecordError as error:
            self._progress.warn(f"{self._tree.path_of('links', host, key)}: {error}; remove it to have the page again")
            return
        self._stored_before += bool(record.sha256)
        self._add(scope, record.links, record.depth + 1, key)

    def _add(self, scope: urls.Scope, links: Iterable[str], depth: int, referrer: str) -> None:
        for url in links:
            if scope.refuses(url) is None:
                self._frontier.add(url, depth, referrer)

    def _reap(self, host: str) -> None:
        """Remove the temporaries that a run on this machine left when it was killed."""
        for room in ("htmls", "links", "errs"):
            for path, owner in self._tree.temporaries(room, host):
                if is_gone(owner):
                    remove(path)

    def _done_keys(self, host: str) -> list[str]:
        if host not in self._past_hosts:
            return []
        return self._tree.keys("links", host) + self._tree.keys("errs", host)

    def _pages_of(self, host: str) -> int:
        return len(self._tree.keys("htmls", host)) if host in self._past_hosts else 0

    # -- the loop

    def _loop(self) -> None:
        drained = False
        while self._going():
            if not self._leaving():
                self._dispatch()
            elif not drained:
                self._pool.drain()
                drained = True
            for answer in self._pool.wait(self._patience_s()):
                self._collect(answer)
            self._show()

    def _going(self) -> bool:
        if self._frontier.in_flight:
            return True
        return not (self._frontier.idle or self._leaving())

    def _leaving(self) -> bool:
        return bool(self._interrupts) or self._trouble is not None or self._budget() <= 0

    def _budget(self) -> float:
        """Pages that may still be stored."""
        limit = self._settings.crawl.max_pages
        return float("inf") if limit is None else limit - self._stored_before - self._counts.pages

    def _dispatch(self) -> None:
        now = time.monotonic()
        while self._may_dispatch():
            task = self._frontier.take(now)
            if task is None:
                return
            self._pool.submit(task)

    def _may_dispatch(self) -> bool:
        return self._pool.has_room and self._frontier.in_flight < self._budget()

    def _patience_s(self) -> float:
        """How long to wait for an answer before the frontier may have something new."""
        next_at = self._frontier.next_at()
        if next_at is None or self._leaving() or not self._may_dispatch():
            return _LONGEST_WAIT_S
        return min(max(next_at - time.monotonic(), 0.0), _LONGEST_WAIT_S)

    # -- collect

    def _collect(self, answer: Outcome | Died | Trouble) -> None:
        if isinstance(answer, Trouble):
            self._trouble = answer.error
            if answer.task is not None:
                self._frontier.finish(answer.task, None)
        elif isinstance(answer, Died):
            self._bury(answer.task)
        else:
            self._count(answer)
            self._settle(answer)

    def _settle(self, outcome: Outcome) -> None:
        """Bring the frontier up to date with what came of a task."""
        task = outcome.task
        if outcome.kind == "robots":
            self._frontier.open(task.host, outcome.delay_s)
        elif outcome.kind == "passing":
            self._frontier.retry(task, self._next_try(outcome))
        for url in outcome.links:
            self._frontier.add(url, task.depth + 1, task.key)
        self._frontier.finish(task, outcome.asked_at, stored=outcome.kind == "stored")

    def _next_try(self, outcome: Outcome) -> float:
        """Backoff with jitter: 1, 2, 4 … s, half of it at random; a Retry-After makes the whole host wait."""
        now = time.monotonic()
        most: float = self._settings.politeness.max_delay
        if outcome.delay_s:
            self._frontier.rest(outcome.task.host, now + min(outcome.delay_s, most))
        backoff = min(_FIRST_BACKOFF_S * 2.0 ** (outcome.task.attempt - 1), most)
        return now + max(min(outcome.delay_s, most), backoff * self._rng.uniform(0.5, 1.0))

    def _bury(self, task: Task) -> None:
        """Write down a URL that killed its worker twice."""
        failure = Failed("worker-died", "the process that worked on it died, twice", retry=False)
        if task.kind == "robots":
            self._frontier.open(task.host, 0.0)
        else:
            self._counts.errors[failure.class_] += 1
            self._progress.event(task.url, "failed", error=failure.class_, message=failure.message)
            try:
                self._tree.put_error(task.host, error_record(task, failure, self._tree.machine))
            except TreeError as error:
                self._trouble = error
        self._frontier.finish(task, time.monotonic())

    def _count(self, outcome: Outcome) -> None:
        counts = self._counts
        counts.cut["scope"] += outcome.cut
        if outcome.kind in _KINDS:
            name = _KINDS[outcome.kind]
            setattr(counts, name, getattr(counts, name) + 1)
            counts.bytes += outcome.bytes
            self._progress.event(outcome.task.url, outcome.kind, status=outcome.status, bytes=outcome.bytes)
        elif outcome.kind in ("failed", "passing"):
            if outcome.kind == "failed":
                counts.errors[outcome.class_] += 1
            else:
                counts.retried += 1
            self._progress.event(outcome.task.url, outcome.kind, error=outcome.class_, message=outcome.message)

    def _show(self, *, last: bool = False) -> None:
        counts = self._counts
        counts.pending = self._frontier.pending
        counts.in_flight = self._frontier.in_flight
        counts.hosts = self._frontier.hosts
        if last:
            counts.cut += self._frontier.cut
            self._progress.close(counts)
        else:
            self._progress.show(counts)

    def _interrupt(self, *_: Any) -> None:
        """First signal: finish what is in flight. Second: leave now."""
        self._interrupts += 1
        if self._interrupts > 1:
            if hasattr(self, "_pool"):
                self._pool.kill()
            os._exit(EXIT_INTERRUPTED)
        self._progress.warn("stopping: waiting for what is in flight; once more to leave at once")


class _Signals:
    """Inside: SIGINT and SIGTERM call `handler`; afterwards they do again what they did before."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler

    def __enter__(self) -> None:
        self._before = {number: signal.signal(number, self._handler) for number in (signal.SIGINT, signal.SIGTERM)}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def new_machine_id() -> str:
    """Give an id for this run: host name, process, and something random."""
    host = "".join(c if c.isalnum() else "-" for c in os.uname().nodename.lower())[:40]
    return f"{host or 'machine'}-{os.getpid()}-{os.urandom(3).hex()}"


def is_gone(machine: str) -> bool:
    """Tell whether a machine was a process of this host that no longer runs; False where that cannot be known."""
    host, _, pid = machine.rpartition("-")[0].rpartition("-")
    if not pid.isdecimal() or host != new_machine_id().rpartition("-")[0].rpartition("-")[0]:
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return int(pid) == os.getpid()  # our own id has another random end
