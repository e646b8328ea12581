"""What the machine does with each answer of a worker: count it, and bring the frontier up to date.

    count      the figures of the progress line and of the heartbeat
    judge      does the host answer? If many do not: is the network of this machine gone?
    tell       what was found goes to the frontier, or to the machine that holds its shard; then the log says that the
               links of the page, or its failure, are known
    finish     the frontier gets the task back, and how it ended (`End`)

Promise: after `Bookkeeper.take` the task is no longer in flight, whatever came of it. Only that of a page with many
links stays so until all of them are taken in, some at each turn of the main loop (`go_on`): 100,000 links take seconds,
and no other host would be asked meanwhile. Of a page with very many links they come later (`Telling`).
"""

from __future__ import annotations

import itertools
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.engine.messages import Answer, Parked, TreeUnusable
from fscrawl.engine.pool import KilledWorker
from fscrawl.engine.progress import Counts, Progress
from fscrawl.errors import TreeError
from fscrawl.fleet.membership import Membership
from fscrawl.fleet.status_file import Astray, LabelCounter, NotStored, StatusFile, StatusWriter
from fscrawl.frontier.flags import SITEMAP, SITEMAP_PART, Flags, flags_of, labelled
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.task import End, PageTask, RobotsTask, Task
from fscrawl.handlers.outcome import (
    Exchange,
    FailedForGood,
    FailedForNow,
    Known,
    Outcome,
    Replaced,
    Returned,
    RobotsKnown,
    Stored,
    Unchanged,
)
from fscrawl.handlers.records import error_record
from fscrawl.http.answers import Failed, line_to_allow
from fscrawl.politeness.outage import Outage
from fscrawl.politeness.pace import backoff_s
from fscrawl.store import Tree
from fscrawl.util.terminal import plain

_FIGURES = {"page": "stored", "redirect": "other", "other": "other"}  # all else is the class of a failure
_RESTS = 200.0  # times what an answer costs beyond the usual: for that, a site gets so small a part of a processor
_FEW_LINKS = 100  # of a page: they are taken in at once, in a millisecond
_LINKS_AT_ONCE = 250  # some milliseconds; on a busy computer it may take ten times as long
_MOST_WAITING = 200_000  # links that are not taken in yet: those of two of the largest pages
_SEEDS_TOLD = 20
_OVER = object()
_TOLD = (End.TOLD, End.FAILED)  # the logs say it


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
        gets_cookie: Callable[[str], bool],
        rng: random.Random,
        seeds: Iterable[str] = (),
    ) -> None:
        """`settings`: gives the settings as they are now. `gets_cookie`: tells whether a request would get one now.

        `seeds`: the first failures of their hosts are told, as far as they are few.
        """
        self._tree = tree
        self._frontier = frontier
        self._membership = membership
        self._outage = outage
        self._progress = progress
        self._settings = settings
        self._gets_cookie = gets_cookie
        self._rng = rng
        self._unheard = {urls.host(seed) for seed in itertools.islice(seeds, _SEEDS_TOLD)}  # they have not answered yet
        self.counts = Counts()
        self.not_stored = NotStored(frontier.cut, frontier.scheduler.why_given_up)
        self.labels = LabelCounter(frontier.pending_by_label)
        self.status_file = StatusWriter(tree.files, self._figures, frontier.host_figures)
        self._undone: deque[Iterator[None]] = deque()  # what is left of outcomes with many links
        self._links_left = 0  # of these
        self._telling = Telling()
        self._led_back: dict[str, Stored] = {}  # key of a page that is asked for once more → what led back to it
        self._parked: set[str] = set()  # keys of pages that wait to be read or rendered
        self._has_warned = False  # of log-ins that lead back to pages of other machines

    @property
    def is_behind(self) -> bool:
        """Some links that have come are not taken in yet."""
        return bool(self._undone)

    def go_on(self) -> None:
        """Take in some more of the links that wait."""
        until = self._links_left - _LINKS_AT_ONCE
        while self._undone and self._links_left > until:
            self._step(self._undone.popleft())

    def next_to_tell(self) -> PageTask | None:
        """Give a task for a worker: the links of a page that is stored are to be told."""
        return self._telling.next()

    def put_off_telling(self) -> None:
        """Let the pages whose links no worker has begun to tell be pending again: nothing is handed out now."""
        for task in self._telling.give_up():
            self._finish(task._replace(check=True), None, End.BACK)

    def _run(self, steps: Iterator[None]) -> None:
        """Take a step, and leave the others for later, unless too many links wait."""
        self._step(steps)
        while self._links_left > _MOST_WAITING:
            self.go_on()

    def _step(self, steps: Iterator[None]) -> None:
        if next(steps, _OVER) is not _OVER:
            self._undone.append(steps)

    def _figures(self) -> StatusFile:
        """Give what this machine says for people, without hosts."""
        return StatusFile(
            known=self._membership.known, labels=self.labels.figures(), not_stored=self.not_stored.figures()
        )

    def take(self, answer: Answer | KilledWorker | Parked) -> TreeError | None:
        """Take in one answer; give the error if the tree could not be used."""
        match answer:
            case KilledWorker():
                return self._record_worker_death(answer.task)
            case Parked():
                if isinstance(answer.task, PageTask) and answer.task.key not in self._parked:  # after a worker's death
                    self._parked.add(answer.task.key)
                    self._frontier.scheduler.park(answer.task.host)
                return None
            case TreeUnusable():
                self._finish(answer.task, None)
                return answer.error
            case _:
                self._take_outcome(answer)
                return None

    def _take_outcome(self, answer: Outcome) -> None:
        if isinstance(answer.task, RobotsTask) and answer.task.is_probe:
            self._probed(answer)
            return
        match answer:
            case Stored():
                self._stored(answer)
            case Unchanged():
                self._unchanged(answer)
            case Known():
                self._known(answer)
            case FailedForNow():
                self._failed_for_now(answer)
            case FailedForGood():
                self._failed_for_good(answer)
            case RobotsKnown():
                self._robots_known(answer)
            case Returned():
                self._returned(answer)

    # -- each kind of outcome

    def _stored(self, outcome: Stored) -> None:
        task, exchange = outcome.task, outcome.exchange
        self.counts.add(outcome.kind, outcome.bytes)
        if outcome.kind != "page":
            self.counts.without_page = task.url
        self.counts.replace(outcome.replaced)
        self._count_type(outcome)
        self._count_label(task, outcome.kind, outcome.replaced)
        self._progress.event(task.url, outcome.kind, status=outcome.status, bytes=outcome.bytes)
        self._judge_host(task, exchange)
        if self._is_stale(outcome):
            self._run(self._tell(outcome, stored=outcome.kind == "page"))
        elif self._waits(outcome):
            self._finish(task, exchange.asked_at)
        elif outcome.later:
            self._frontier.cut.update(outcome.cut or {})
            self._telling.add(outcome)
        else:
            self._run(self._tell(outcome, stored=outcome.kind == "page"))

    def _tell(self, outcome: Stored | Unchanged | Known, *, stored: bool = False) -> Iterator[None]:
        """Take in the links of a page, and finish its task; in another generation they are told from its record."""
        task, exchange = outcome.task, outcome.exchange
        if not self._is_stale(outcome):
            yield from self._discover(outcome)
        if self._is_stale(outcome):  # from the beginning, or meanwhile
            task, end = task._replace(check=True, flags=task.flags.to_tell()), End.BACK
        else:
            end = End.TOLD
        self._finish(task, exchange.asked_at if exchange else None, end, stored=stored)

    def _waits(self, led_back: Stored) -> bool:
        """Ask once more for a page to which a log-in has led back, if it is ours: another machine lacks the cookie.

        Tells whether the redirect that led back is to be told only later: when the page has answered, or by the next
        holder of its shard, who asks for it again.
        """
        page = led_back.again
        if page is None or not self._gets_cookie(page.url):
            return False
        if self._frontier.retry(page, time.monotonic()):
            self._led_back[page.key] = led_back
            return True
        if not self._frontier.holds(self._frontier.shard_of(led_back.task)):
            return True
        if not self._has_warned:
            self._has_warned = True
            self._progress.warn(
                f"{led_back.task.url} leads back to {page.url} with a cookie, but another machine has that page, and"
                ' stores it as a redirect; log-ins for several hosts need crawl.partition = "site", which is fixed when'
                " a tree is made"
            )
        return False

    def _is_stale(self, outcome: Stored | Unchanged | Known | RobotsKnown) -> bool:
        """Tell whether the links of an outcome were chosen by the rules of an older generation."""
        return outcome.generation != self._membership.rules.generation

    def _unchanged(self, outcome: Unchanged) -> None:
        self.counts.unchanged += 1
        if outcome.class_:
            self.counts.kept[outcome.class_] += 1
        why = {"error": outcome.class_, "message": outcome.message} if outcome.class_ else {}
        self._progress.event(outcome.task.url, "unchanged", status=outcome.status, bytes=0, **why)
        self._judge_host(outcome.task, outcome.exchange, outcome.class_, outcome.message)
        self._run(self._tell(outcome))

    def _known(self, outcome: Known) -> None:
        if outcome.failed_at:
            self._finish(outcome.task, None, End.FAILED, failed_at=outcome.failed_at)
        elif outcome.generation:
            self._run(self._tell(outcome))
        else:
            self._finish(outcome.task, None)

    def _failed_for_now(self, outcome: FailedForNow) -> None:
        task, exchange = outcome.task, outcome.exchange
        self._progress.event(task.url, "passing", error=outcome.class_, message=outcome.message)
        self._judge_host(task, exchange, outcome.class_, outcome.message)
        give_up_s = self._settings().politeness.give_up_after
        self._tell_first_failure(task, outcome, f"it is tried for {give_up_s:g} s (politeness.give_up_after)")
        if (first := outcome.first) is not None:
            self._membership.discover([first.url], first.depth, first.referrer, labelled(first.flags.label), task.host)
            self._frontier.retry(first, time.monotonic())
        if self._outage.is_on:
            self._finish(task, exchange.asked_at, End.BACK)
        else:
            pause_s = backoff_s(task.attempt, self._settings().politeness, self._rng)
            self._finish(task, exchange.asked_at, End.AGAIN, at=time.monotonic() + pause_s)

    def _failed_for_good(self, outcome: FailedForGood) -> None:
        task, exchange = outcome.task, outcome.exchange
        self._progress.event(task.url, "failed", error=outcome.class_, message=outcome.message)
        if exchange is not None:
            self._judge_host(task, exchange, outcome.class_, outcome.message)
        self._tell_first_failure(task, outcome, "it is given up")
        self.counts.private = line_to_allow(outcome.message) or self.counts.private
        asked_at = exchange.asked_at if exchange else None
        if isinstance(task, RobotsTask):  # it is not counted: each page of the host will be
            self._frontier.scheduler.give_up(task.host, outcome.class_, outcome.message)
            self._finish(task, asked_at)
            return
        self.counts.errors[outcome.class_] += 1
        self.counts.without_page = task.url
        self.counts.replace(outcome.replaced)
        self._count_label(task, "", outcome.replaced)
        self._finish(task, asked_at, End.FAILED, failed_at=outcome.failed_at)

    def _probed(self, outcome: Outcome) -> None:
        """Only whether the host answers counts."""
        if isinstance(outcome, Known | Returned):
            self._finish(outcome.task, outcome.asked_at if isinstance(outcome, Returned) else None)
            return
        failure = (outcome.class_, outcome.message) if isinstance(outcome, FailedForNow | FailedForGood) else ()
        if outcome.exchange is not None:
            self._judge_host(outcome.task, outcome.exchange, *failure)
        self._finish(outcome.task, outcome.exchange.asked_at if outcome.exchange else None)

    def _tell_first_failure(self, task: Task, outcome: FailedForNow | FailedForGood, then: str) -> None:
        """Tell at once that a host of a seed fails: its name may have a mistake."""
        if task.host in self._unheard:
            self._unheard.discard(task.host)
            host = urls.shown_host(task.host)
            self._progress.note(f"{host} fails ({outcome.class_}): {plain(outcome.message)}; {then}")

    def _robots_known(self, outcome: RobotsKnown) -> None:
        task, exchange = outcome.task, outcome.exchange
        if exchange is not None:
            self._judge_host(task, exchange)
        self._frontier.scheduler.open(task.host, outcome.delay_s, time.monotonic())
        self._run(self._tell_robots(outcome))

    def _tell_robots(self, outcome: RobotsKnown) -> Iterator[None]:
        task, exchange = outcome.task, outcome.exchange
        if self._settings().reads_sitemaps:  # it may have been asked for before an edit
            yield from self._in_parts(outcome, outcome.sitemaps, 0, "", Flags(SITEMAP))
        self._frontier.finish(task, exchange.asked_at if exchange else None)

    def _returned(self, outcome: Returned) -> None:
        task = outcome.task
        if isinstance(task, PageTask):  # it may have been stored although its worker was told of a fault
            task = task._replace(check=True)
        self._finish(task, outcome.asked_at, End.BACK)

    def _finish(
        self,
        task: Task,
        asked_at: float | None,
        end: End = End.OPEN,
        *,
        at: float = 0.0,
        failed_at: str = "",
        stored: bool = False,
    ) -> None:
        """End a task: the log says what is known of it, then the frontier gets it back.

        It may be one that tells the links of a stored page: then this is the end of that page, too.
        `failed_at`: with FAILED, what its error record says.
        """
        if isinstance(task, RobotsTask):
            self._frontier.finish(task, asked_at, end, at=at)
            return
        if task.key in self._parked:
            self._parked.discard(task.key)
            self._frontier.scheduler.unpark(task.host)
        if end in _TOLD:
            self._membership.tell(task, failed_at)
        if (page := self._telling.end(task.key)) is not None:
            asked_at, stored = asked_at or page.exchange.asked_at, stored or page.kind == "page"
        self._frontier.finish(task, asked_at, end, at=at, stored=stored)
        if end in _TOLD and (led_back := self._led_back.pop(task.key, None)):
            self._run(self._tell_led_back(led_back))

    def _tell_led_back(self, outcome: Stored) -> Iterator[None]:
        yield from self._discover(outcome)
        if not self._is_stale(outcome):  # else the survey reads its record
            self._membership.tell(outcome.task)
            self._frontier.tell(outcome.task)

    def _record_worker_death(self, task: Task) -> TreeError | None:
        """Write an error record for a page that killed its worker twice; give the error if that is not possible."""
        if isinstance(task, RobotsTask):
            self._frontier.scheduler.open(task.host, 0.0, time.monotonic())
            self._finish(task, time.monotonic())
            return None
        failure = Failed("worker-died", "the process that worked on it died, again and again", retry=False)
        self.counts.errors[failure.class_] += 1
        self._progress.event(task.url, "failed", error=failure.class_, message=failure.message)
        record = error_record(task, failure, self._tree.machine)
        try:
            self._tree.put_error(task.host, record)
        except TreeError as error:
            self._finish(task, time.monotonic())
            return error
        self._count_label(task, "", None)
        self._finish(task, time.monotonic(), End.FAILED, failed_at=record.failed_at)
        return None

    # -- what they have in common

    def _count_type(self, outcome: Stored) -> None:
        if outcome.skipped:
            self.not_stored.count_type(outcome.skipped)
        if outcome.was_skipped:
            self.not_stored.count_type(outcome.was_skipped, -1)
        task = outcome.task
        if task.depth == 0 and not task.referrer:
            self.not_stored.note_seed(task.url, None if outcome.astray is None else Astray(*outcome.astray))

    def _count_label(self, task: PageTask, kind: str, before: Replaced | None) -> None:
        """Count a record in the figures of its label. `kind`: "" for a failure. `before`: what it replaces."""
        if not task.flags.label:
            return
        self.labels.add(task.flags.label, **{_FIGURES.get(kind, "failed"): 1})
        if before is not None:
            self.labels.add(task.flags.label, **{_FIGURES.get(before.what, "failed"): -1})

    def _discover(self, outcome: Stored | Unchanged | Known) -> Iterator[None]:
        """Take in the outlinks of a page, or what a sitemap names: parts, or itself where it has moved.

        The target of a redirect is one more of those in a row.
        """
        task, links = outcome.task, outcome.links
        if outcome.cut:
            self._frontier.cut.update(outcome.cut)
        moved = outcome.moved
        label, redirects = task.flags.label, task.flags.redirects + 1 if moved else 0
        flags = flags_of(label=label, redirects=redirects)
        if task.flags.sitemap:
            yield from self._in_parts(outcome, links, task.depth, task.key, flags)
            of_sitemaps = flags_of(task.flags.sitemap if moved else SITEMAP_PART, label=label, redirects=redirects)
            yield from self._in_parts(outcome, outcome.sitemaps, task.depth, task.key, of_sitemaps)
        else:
            yield from self._in_parts(outcome, links, task.depth + 1, task.key, flags)

    def _in_parts(
        self,
        outcome: Stored | Unchanged | Known | RobotsKnown,
        links: tuple[str, ...],
        depth: int,
        referrer: str,
        flags: Flags,
    ) -> Iterator[None]:
        """Take in links of an outcome, until the next generation begins: its survey reads the record.

        `referrer`: key of the page that has them.
        """
        self._links_left += len(links)
        for begin in range(0, len(links), _LINKS_AT_ONCE):
            if begin or len(links) > _FEW_LINKS:
                yield
            part = links[begin : begin + _LINKS_AT_ONCE]
            self._links_left -= len(part)
            if not self._is_stale(outcome):
                self._membership.discover(part, depth, referrer, flags, outcome.task.host)

    def _judge_host(self, task: Task, exchange: Exchange, class_: str = "", message: str = "") -> None:
        """Take in how the host does, and whether the network of this machine is gone."""
        now = time.monotonic()
        longest_s = self._settings().politeness.max_rest
        rest_s = min(exchange.rest_s, longest_s)
        if rest_s:
            self._frontier.scheduler.rest(task.host, now + rest_s, "retry-after")
        if exchange.costly_s:
            self._frontier.scheduler.charge(task.host, _RESTS * exchange.costly_s, now)
        if exchange.health == "unknown":
            return
        if exchange.health == "answered":
            by_page = isinstance(task, PageTask)
            self._unheard.discard(task.host)
            self._frontier.scheduler.answered(task.host, exchange.latency_s, exchange.address, by_page=by_page)
        elif not self._outage.is_on:
            self._frontier.scheduler.failed(task, class_, now, message, asks_for_rest=rest_s > 0)
        if exchange.health == "silent":
            if self._outage.unanswered(task.host, exchange.begun_at, now):
                self._begin_outage(message)
        elif exchange.asked_at is not None and self._outage.answered(task.host, task.url, exchange.asked_at):
            self._progress.warn("the network is back: the crawl goes on")

    def _begin_outage(self, message: str) -> None:
        hosts = self._outage.silent_hosts
        self._frontier.forgive(hosts)
        self._progress.warn(
            f"{len(hosts)} hosts in a row have not answered (the last error: {plain(message)}): is the network gone?"
            " Until a host answers, only a probe is sent from time to time"
        )


# -- pages whose many links are told later


_MOST_LINKS = 100_000


class Telling:
    """Pages that are stored, and whose many links are told later, from their records: some pages at a time.

    The links of a page wait in memory until the machine takes them in, which takes a second for 100,000 of them. Two
    hundred hosts may send such pages at the same time. So a worker does not report that many links with the page. It
    reads the record once more when the machine asks for it, and they do not come faster than they are taken in.

    Of these pages, `_MOST_LINKS` links are under way at most, or those of one page. Each page stays in flight until its
    links are taken in, so its host waits, and nobody else.
    """

    def __init__(self) -> None:
        self._waiting: deque[Stored] = deque()
        self._under_way: dict[str, Stored] = {}  # by key
        self._links = 0  # of these

    def add(self, page: Stored) -> None:
        self.end(page.task.key)  # somebody has removed its record before it was told, and it was fetched once more
        self._waiting.append(page)

    def next(self) -> PageTask | None:
        """Give a task that tells the links of the next page; None if there is none, or no room for its links."""
        if not self._waiting or (self._links and self._links + self._waiting[0].later > _MOST_LINKS):
            return None
        page = self._waiting.popleft()
        self._under_way[page.task.key] = page
        self._links += page.later
        return _from_record(page.task)

    def end(self, key: str) -> Stored | None:
        """A task is over. If it was one that tells the links of a page, give the page."""
        page = self._under_way.pop(key, None)
        if page is not None:
            self._links -= page.later
        return page

    def give_up(self) -> list[PageTask]:
        """Give tasks for all pages that wait; they are to be told by whoever has their host later."""
        tasks = []
        while self._waiting:
            page = self._waiting.popleft()
            self._under_way[page.task.key] = page._replace(later=0)
            tasks.append(_from_record(page.task))
        return tasks


def _from_record(task: PageTask) -> PageTask:
    """Give a task for a stored page that is only to be told."""
    return task._replace(check=True, flags=task.flags.to_tell())
