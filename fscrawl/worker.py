"""The door to all that a worker does: it takes a task, finds its handler (`handlers`), and gives the outcome.

Promise: `Worker.do` answers every task with one outcome. What a server does is an outcome, never an exception. Only a
TreeError is raised, after the tree was waited for as long as store.patience says. A page whose outcome is `Stored` is
in the tree, record and body.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from fscrawl.errors import TreeBusyError
from fscrawl.fleet.heartbeat import Permit
from fscrawl.frontier.task import PageTask, Task
from fscrawl.handlers import costs
from fscrawl.handlers.circles import is_unanswered
from fscrawl.handlers.context import Context
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.outcome import Exchange, Known, Outcome, Returned, ReturnedError
from fscrawl.handlers.pages import PageHandler
from fscrawl.handlers.reading import Reader, read_here
from fscrawl.handlers.refreshes import RefreshHandler
from fscrawl.handlers.rendering import Render
from fscrawl.handlers.robots import RobotsHandler
from fscrawl.handlers.sessions import Opened
from fscrawl.handlers.sitemaps import SitemapHandler
from fscrawl.handlers.writer import Writer
from fscrawl.http.answers import Failed, Fetched, NoDescriptorsError
from fscrawl.http.fetch import archived
from fscrawl.store import Tree
from fscrawl.util.terminal import say_error

_COMPLAIN_EVERY_S = 60.0
_PAUSE_S = 0.5  # when no socket can be opened


class Worker:
    """Does tasks, from any number of threads."""

    def __init__(
        self,
        tree: Tree,
        config: CrawlConfig,
        threads: int,
        permit: Permit | None = None,
        allow_env: Collection[str] = (),
        read: Reader = read_here,
        render: Render | None = None,
        opened: Opened | None = None,
    ) -> None:
        """`permit`: without it nothing is fetched and nothing stored (None: there are no other machines).

        `allow_env`: as for `credentials.Variables`. `read`: reads a page.
        `render`: runs the scripts of a page; None: there is no browser.
        `opened`: the sessions of its process; None: there are none yet.
        """
        self._context = Context(tree, config, threads, permit, allow_env, read, render, opened)
        self._writer = writer = Writer(self._context)
        self._pages = PageHandler(self._context, writer)
        self._sitemaps = SitemapHandler(self._context, writer)
        self._refreshes = RefreshHandler(self._context, writer, self._pages, self._sitemaps)
        self._robots = RobotsHandler(self._context)
        self._complained_at = float("-inf")

    def do(self, task: Task) -> Outcome:
        """Do one task; TreeError if the tree cannot be used."""
        begun_at = time.monotonic()
        costs.begin()
        with self._context.tree.at_work():
            outcome = self._attempt(task)
        costly_s = costs.costly_s()
        if isinstance(outcome, Known | Returned) or (outcome.exchange is None and not costly_s):
            return outcome
        exchange = outcome.exchange or Exchange(None, "unknown")
        return outcome._replace(exchange=exchange._replace(begun_at=begun_at, costly_s=costly_s))

    def _attempt(self, task: Task) -> Outcome:
        try:
            return self._handle(task) if self._context.permitted() else Returned(task)
        except ReturnedError as error:
            return Returned(task, error.asked_at)
        except NoDescriptorsError as error:  # the fault is here: the host is not blamed, and its turn comes again
            self._complain(error)
            return Returned(task, time.monotonic())
        except TreeBusyError:
            if self._context.permitted():
                raise
            return Returned(task)  # heartbeats cannot be written either: the machine waits for the tree

    def _complain(self, error: NoDescriptorsError) -> None:
        """Say that no socket can be opened, once a minute, and wait a moment: other threads may close some."""
        if time.monotonic() - self._complained_at > _COMPLAIN_EVERY_S:
            self._complained_at = time.monotonic()
            say_error(f"{error}; pages wait for it")
        time.sleep(_PAUSE_S)

    def tidy(self) -> None:
        """Give up what is not needed any more, when there is nothing to do: connections that have waited for long."""
        self._context.fetcher.tidy()

    def archived(self, block: bytes, address: str) -> Fetched | Failed:
        """Read an answer that an archive has, within the limits of pages. `block`: of its record."""
        return archived(block, self._context.limits, address)

    def store(self, task: PageTask, answer: Fetched | Failed) -> Outcome:
        """Store an answer that was fetched before, as if the host had just sent it."""
        return self._writer.answered(task, answer, time.monotonic())

    def _handle(self, task: Task) -> Outcome:
        return self._page(task) if isinstance(task, PageTask) else self._robots.fetch(task)

    def _page(self, task: PageTask) -> Outcome:
        if task.flags.given_up:
            return self._pages.give_up(task)
        may_be_there = task.check or task.flags.refresh
        if may_be_there and self._refreshes.is_due(task):
            return self._refreshes.fetch(task)
        known = self._pages.look_up(task) if may_be_there else task
        if isinstance(known, Known):
            is_open = known.moved and is_unanswered(self._context, task)
            return self._refreshes.fetch(task) if is_open else known
        is_sitemap = task.flags.sitemap and "#" not in task.url  # nothing names a sitemap that is no plain GET
        handler = self._sitemaps if is_sitemap else self._pages
        return handler.fetch(known)
