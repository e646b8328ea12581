"""A page: ask robots.txt, fetch, store. Also pages that need no fetch: known ones, and those of a host given up."""

from __future__ import annotations

import time

from fscrawl.frontier.task import PageTask
from fscrawl.handlers.context import Context
from fscrawl.handlers.outcome import Known, Outcome, Returned
from fscrawl.handlers.records import stored_record
from fscrawl.handlers.robots import refusal_of
from fscrawl.handlers.writer import Writer
from fscrawl.http.answers import CLASSES
from fscrawl.http.fetch import Failed


class PageHandler:
    def __init__(self, context: Context, writer: Writer) -> None:
        self._context = context
        self._tree = context.tree
        self._writer = writer

    def fetch(self, task: PageTask, begun_at: float) -> Outcome:
        """Fetch a page and store it."""
        refusal = refusal_of(self._context, task)
        if refusal is not None:
            asked_at = time.monotonic() if refusal.retry else None
            return self._writer.failed(task, refusal, asked_at, begun_at)
        answer, asked_at = self._context.ask(task.url)
        if not self._context.permitted():  # the machine that has the host now would not learn of this page's links
            return Returned(task, asked_at)
        return self._writer.answered(task, answer, asked_at, begun_at)

    def is_settled(self, task: PageTask) -> bool:
        """Tell whether the page is stored; or, if another attempt was asked for, has failed once more since then."""
        if task.flags.refresh:
            return False
        if self._tree.is_done(task.host, task.key):
            return True
        again = task.flags.retry_of
        failed_at = self._tree.failed_at(task.host, task.key) if again else None
        return failed_at is not None and failed_at != again

    def report_known(self, task: PageTask) -> Known:
        """Report the links of a stored page: the machine that stored it may have died before it could."""
        record = stored_record(self._tree, task)
        if record is None:
            return Known(task)
        fresh, cut = self._context.fresh_links.of(record)
        return Known(task, fresh, cut, record.sitemaps or ())

    def give_up(self, task: PageTask, class_: str, begun_at: float) -> Outcome:
        """Write down that the host was given up, after failures of `class_`; a stored page stays as it is."""
        if self._tree.is_done(task.host, task.key):
            return Known(task)
        message = f"the host was given up: {CLASSES.get(class_, class_)}"
        return self._writer.failed(task, Failed(class_, message, retry=False), None, begun_at)
