"""A stored page, once more: ask the host whether it has changed.

Promise: a page that cannot be fetched stays stored as it is; its record then says when it was checked. So does one that
redirects to where the tree has no answer yet: its target is asked for first, and a circle is no answer.
"""

from __future__ import annotations

import time

from msgspec.structs import replace

from fscrawl.frontier.flags import SITEMAP as SITEMAP_FLAG
from fscrawl.frontier.flags import SITEMAP_PART, flags_of
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.circles import Kept
from fscrawl.handlers.context import Context
from fscrawl.handlers.meaning import bad_status
from fscrawl.handlers.outcome import FailedForNow, Outcome, Replaced, Returned, Unchanged
from fscrawl.handlers.pages import PageHandler, told_again
from fscrawl.handlers.records import reason_of, stored_record
from fscrawl.handlers.rendering import Rendering
from fscrawl.handlers.robots import refusal_of
from fscrawl.handlers.sitemaps import SitemapHandler
from fscrawl.handlers.writer import Writer
from fscrawl.http.answers import Failed, Fetched
from fscrawl.labels import sound
from fscrawl.parse.headers import first
from fscrawl.request import url_of
from fscrawl.storage.records import SITEMAP, PageRecord, timestamp


class RefreshHandler:
    def __init__(self, context: Context, writer: Writer, pages: PageHandler, sitemaps: SitemapHandler) -> None:
        self._context = context
        self._tree = context.tree
        self._writer = writer
        self._pages = pages
        self._sitemaps = sitemaps

    def is_due(self, task: PageTask) -> bool:
        """Tell whether a page is stored, and so old that it is to be fetched again; or a log-in has led back to it.

        Its age is asked of a refresh, too: a page may be pending twice, since it was not told and since it is old.
        """
        before = self._context.refresh_before
        old = stored_record(self._tree, task) if before or task.flags.led_back else None
        if old is None or (task.flags.led_back and old.redirect is not None):
            return task.flags.refresh
        return old.is_older_than(before)

    def fetch(self, task: PageTask) -> Outcome:
        """Ask whether a page has changed, and store it if it has."""
        old = stored_record(self._tree, task)
        if old is None:
            return self._pages.fetch(task)
        task = task._replace(flags=task.flags.with_label(sound(old.label)))  # it may be pending as a seed, too
        if old.depth < task.depth:  # or since a page that links to it was refreshed first
            task = task._replace(depth=old.depth, referrer=old.referrer)
        if old.skipped == SITEMAP:
            return self._sitemap(task, old)
        refusal = refusal_of(self._context, task)
        if isinstance(refusal, Returned):
            return refusal
        if refusal is not None:
            if refusal.retry:
                return self._keep(task, old, refusal, time.monotonic())
            return self._pages.report(task, old)
        answer, asked_at = self._context.ask(task.url, _conditions(old, self._context.rendering))
        if isinstance(answer, Fetched) and answer.status != 304:
            return self._replace(task, old, answer, asked_at)
        return self._keep(task, old, answer, asked_at)

    def _sitemap(self, task: PageTask, old: PageRecord) -> Outcome:
        """Read a sitemap again: it may have new URLs. A part of an index stays one."""
        flag = SITEMAP_FLAG if old.sitemaps else SITEMAP_PART
        as_sitemap = task._replace(flags=flags_of(flag, label=task.flags.label))
        asked = self._sitemaps.ask(as_sitemap)
        if isinstance(asked, Returned):
            return asked
        failure = asked.failure
        if failure is None:
            stored = self._sitemaps.stored(as_sitemap, asked)
            if not isinstance(stored, Failed):
                return stored._replace(replaced=Replaced(old.kind, old.bytes), was_skipped=reason_of(old))
            failure = stored
        if asked.at is None:
            return self._pages.report(task, old)
        return self._keep(task, old, asked.answer, asked.at, failure)

    def _replace(self, task: PageTask, old: PageRecord, answer: Fetched, asked_at: float) -> Outcome:
        """Store the page that has come, unless its status, or the rules of its site, say that it is none."""
        outcome = self._writer.stored(task, answer, old)
        if isinstance(outcome, Kept) and outcome.first is not None and not self._writer.is_once(task):
            exchange = self._context.exchange_of(outcome, asked_at, answer.elapsed_s)
            return FailedForNow(task, exchange, outcome.class_, outcome.message, outcome.first)
        if isinstance(outcome, Failed):
            return self._keep(task, old, answer, outcome.asked_at or asked_at, outcome)
        return outcome._replace(replaced=Replaced(old.kind, old.bytes), was_skipped=reason_of(old))

    def _keep(
        self,
        task: PageTask,
        old: PageRecord,
        answer: Fetched | Failed,
        asked_at: float,
        failure: Failed | None = None,
    ) -> Outcome:
        """Leave the page as it is, and write into its record that it was checked.

        `failure`: what the answer means; None: its status says it.
        """
        failure = failure or (answer if isinstance(answer, Failed) else bad_status(answer))
        unchanged = isinstance(answer, Fetched) and answer.status == 304
        if not unchanged and self._writer.may_try_again(task, failure):
            return self._writer.failed(task, failure, asked_at)
        old = told_again(self._context, task.host, old)
        status, latency_s = (answer.status, answer.elapsed_s) if isinstance(answer, Fetched) else (0, 0.0)
        record = replace(old, checked_at=timestamp(time.time()), checked_status=status)
        self._tree.put_record(task.host, record)
        exchange = self._context.exchange_of(failure, asked_at, latency_s)
        fresh, cut = self._context.fresh_links.of(old, task.depth)
        class_, message = ("", "") if unchanged else (failure.class_, failure.message)
        return Unchanged(task, exchange, status, class_, message, fresh, cut, self._context.generation)


def _conditions(record: PageRecord, rendering: Rendering) -> dict[str, str]:
    """RFC 9110 13.1: what makes an answer say "not modified"; nothing for a page that is rendered, or shall be now.

    Such a page may stay, and what it loads may change.
    """
    if not record.sha256 or record.rendered is not None or rendering.why(url_of(record.url)):
        return {}
    of_headers = {"If-None-Match": "etag", "If-Modified-Since": "last-modified"}
    conditions = {name: first(record.headers, of) for name, of in of_headers.items()}
    return {name: value for name, value in conditions.items() if value and value.isascii() and value.isprintable()}
