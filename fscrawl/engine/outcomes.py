"""What the machine does with each answer of a worker: count it, and bring the frontier up to date.

    count     the figures of the progress line and of the heartbeat
    judge     how the host does, and whether the network of this machine is gone
    settle    what was found is discovered; a failure that may pass is tried again; the task is finished

Promise: after `Bookkeeper.take` the frontier no longer counts the task as in flight, whatever came of it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from fscrawl.config.settings import Settings
from fscrawl.engine.pool import Died, Trouble
from fscrawl.engine.progress import Counts, Progress
from fscrawl.errors import TreeError
from fscrawl.fleet.membership import Membership
from fscrawl.frontier import marks
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.task import Task
from fscrawl.http.fetch import Failed
from fscrawl.politeness.outage import Outage
from fscrawl.store import Tree
from fscrawl.util.terminal import plain
from fscrawl.worker import Outcome, error_record

_FIRST_BACKOFF_S = 1.0
_MOST_DOUBLINGS = 30
_KINDS = {"stored": "pages", "redirect": "redirects", "skipped": "skipped", "unchanged": "unchanged"}


class Bookkeeper:
    """Takes in the answers of the workers. Belongs to the main loop."""

    def __init__(
        self,
        tree: Tree,
        frontier: Frontier,
        membership: Membership,
        outage: Outage,
        progress: Progress,
        settings: Callable[[], Settings],
        rng: random.Random,
    ) -> None:
        """`settings`: gives the settings as they are now."""
        self._tree = tree
        self._frontier = frontier
        self._membership = membership
        self._outage = outage
        self._progress = progress
        self._settings = settings
        self._rng = rng
        self.counts = Counts()
        self.probes_in_flight = 0

    def take(self, answer: Outcome | Died | Trouble) -> TreeError | None:
        """Take in one answer; give the error if the tree could not be used."""
        if isinstance(answer, Trouble):
            self._finish_unfinished(answer.task)
            return answer.error
        if isinstance(answer, Died):
            return self._record_worker_death(answer.task)
        self._count(answer)
        self._judge(answer, time.monotonic())
        self._settle(answer, time.monotonic())
        return None

    def _finish_unfinished(self, task: Task) -> None:
        """End a task of which nothing is known but that the tree could not be used."""
        if task.kind == "probe":
            self.probes_in_flight -= 1
        else:
            self._frontier.finish(task, None)

    def _record_worker_death(self, task: Task) -> TreeError | None:
        """Write an error record for a URL that killed its worker twice; give the error if that is not possible."""
        if task.kind == "probe":
            self.probes_in_flight -= 1
            return None
        failure = Failed("worker-died", "the process that worked on it died, twice", retry=False)
        trouble = None
        if task.kind == "robots":
            self._frontier.scheduler.open(task.host, 0.0, time.monotonic())
        else:
            self.counts.errors[failure.class_] += 1
            self._progress.event(task.url, "failed", error=failure.class_, message=failure.message)
            try:
                self._tree.put_error(task.host, error_record(task, failure, self._tree.machine))
            except TreeError as error:
                trouble = error
        self._frontier.finish(task, time.monotonic())
        return trouble

    # -- count

    def _count(self, outcome: Outcome) -> None:
        counts = self.counts
        counts.cut.update(outcome.cut or {})
        if outcome.kind in _KINDS:
            name = _KINDS[outcome.kind]
            setattr(counts, name, getattr(counts, name) + 1)
            counts.bytes += outcome.bytes
            self._progress.event(outcome.task.url, outcome.kind, status=outcome.status, bytes=outcome.bytes)
        elif outcome.kind in ("failed", "passing") and outcome.task.kind != "probe":
            if outcome.kind == "passing":
                counts.retried += 1
            elif outcome.task.kind == "page":  # of a robots.txt, each page will say so
                counts.errors[outcome.class_] += 1
            self._progress.event(outcome.task.url, outcome.kind, error=outcome.class_, message=outcome.message)

    # -- judge

    def _judge(self, outcome: Outcome, now: float) -> None:
        """Take in how the host does, and whether it is not rather the network."""
        task = outcome.task
        if outcome.health == "answered":
            self._frontier.scheduler.answered(task.host, outcome.latency_s)
        elif outcome.health and not self._outage.is_on:
            self._frontier.scheduler.failed(task, outcome.class_, now)
        if outcome.health == "silent":
            if self._outage.unanswered(task.host, task.url, outcome.begun_at, now):
                hosts = self._outage.silent_hosts
                self._frontier.forgive(hosts)
                self._progress.warn(
                    f"no answer from {len(hosts)} hosts in a row (the last: {plain(outcome.message)}): is the network"
                    " gone? Nothing is fetched but a probe now and then, until one answers"
                )
        elif outcome.health and self._outage.answered(task.host, task.url, outcome.asked_at or now):
            self._progress.warn("the network is back: going on")
        if outcome.delay_s and outcome.kind != "robots":
            self._frontier.scheduler.rest(task.host, now + min(outcome.delay_s, self._settings().politeness.max_rest))

    # -- settle

    def _settle(self, outcome: Outcome, now: float) -> None:
        """Bring the frontier up to date with what came of a task."""
        task = outcome.task
        if task.kind == "probe":
            self.probes_in_flight -= 1
            self._frontier.scheduler.rest(task.host, now + self._settings().politeness.delay)
            return
        if outcome.kind == "robots":
            self._frontier.scheduler.open(task.host, outcome.delay_s, now)
            self._membership.discover(outcome.sitemaps, 0, "", marks.SITEMAP)
        elif outcome.kind == "failed" and task.kind == "robots":
            self._frontier.scheduler.give_up(task.host, outcome.class_)
        elif outcome.kind == "passing" and self._outage.is_on:
            self._frontier.give_back(task)
        elif outcome.kind == "passing":
            self._frontier.retry(task, self._next_try(task, now))
        elif outcome.kind == "returned":
            self._frontier.give_back(task)
        is_sitemap = bool(marks.sitemap_of(task.mark))
        self._membership.discover(outcome.links, task.depth + (not is_sitemap), task.key)
        if is_sitemap:
            self._membership.discover(outcome.sitemaps, task.depth, task.key, marks.SITEMAP_PART)
        self._frontier.finish(task, outcome.asked_at, stored=outcome.kind == "stored")

    def _next_try(self, task: Task, now: float) -> float:
        """Backoff with jitter: 1, 2, 4 … s, half of it at random; a host that was told to rest does so besides."""
        most: float = self._settings().politeness.max_delay
        backoff = min(_FIRST_BACKOFF_S * 2.0 ** min(task.attempt - 1, _MOST_DOUBLINGS), most)
        return now + backoff * self._rng.uniform(0.5, 1.0)
