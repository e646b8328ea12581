"""A page: ask robots.txt, fetch, store. Also pages that need no fetch: known ones, and those of a host given up."""

from __future__ import annotations

import time
from dataclasses import replace as replaced

from msgspec.structs import replace

from fscrawl.errors import TreeError
from fscrawl.frontier.flags import SITEMAP as SITEMAP_FLAG
from fscrawl.frontier.flags import flags_of
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.context import Context
from fscrawl.handlers.outcome import Known, Outcome, Returned
from fscrawl.handlers.reading import UnreadableError
from fscrawl.handlers.records import stored_record
from fscrawl.handlers.robots import refusal_of
from fscrawl.handlers.writer import Writer
from fscrawl.http.answers import Failed
from fscrawl.http.error_classes import CLASSES
from fscrawl.labels import sound
from fscrawl.sites.rules import by_present_rules
from fscrawl.storage.records import SITEMAP, PageRecord


class PageHandler:
    def __init__(self, context: Context, writer: Writer) -> None:
        self._context = context
        self._tree = context.tree
        self._writer = writer

    def fetch(self, task: PageTask) -> Outcome:
        """Fetch a page and store it."""
        refusal = refusal_of(self._context, task)
        if isinstance(refusal, Returned):
            return refusal
        if refusal is not None:
            return self._writer.failed(task, refusal, time.monotonic() if refusal.retry else None)
        answer, asked_at = self._context.ask(task.url)
        return self._writer.answered(task, answer, asked_at)

    def look_up(self, task: PageTask) -> Known | PageTask:
        """Report what the tree has of a page already: its links, or when it failed; else give what is to be fetched.

        A failure for which another attempt was asked is to be fetched; a later one is that attempt. The record says it,
        too: this task may come from a page that was read before the failures of its host.
        """
        if self._tree.is_done(task.host, task.key):
            record = stored_record(self._tree, task)
            return Known(task) if record is None else self.report(task, record)
        failure = self._tree.failure(task.host, task.key)
        if failure is None or failure.failed_at == task.flags.retry_of:
            return task
        if failure.again:
            return task._replace(flags=replaced(task.flags, retry_of=failure.failed_at))
        return Known(task, failed_at=failure.failed_at)

    def report(self, task: PageTask, record: PageRecord) -> Known:
        """Report the links of a stored page: the machine that stored it may have died before it could."""
        is_sitemap, label = record.skipped == SITEMAP, sound(record.label)
        if is_sitemap != bool(task.flags.sitemap) or label != task.flags.label:
            sitemap = SITEMAP_FLAG if is_sitemap else ""
            # The record tells what the page is, and so how deep its links are, and which label they have.
            task = task._replace(flags=flags_of(sitemap, label=label, redirects=task.flags.redirects))
        record = told_again(self._context, task.host, record)
        fresh, cut = self._context.fresh_links.of(record, task.depth)
        named = self._context.chosen.sitemaps(record.sitemaps or (), task.url)
        return Known(task, fresh, cut, named, self._context.generation, moved=record.redirect is not None)

    def give_up(self, task: PageTask) -> Outcome:
        """Write down that the host was given up, and why; what the tree has stays as it is."""
        known = self.look_up(task)
        if isinstance(known, Known):
            return known
        task = known
        class_, _, message = task.flags.given_up.partition(" ")
        message = f"the host was given up: {message or CLASSES.get(class_, class_)}"
        return self._writer.failed(task, Failed(class_, message, retry=False), None)


# -- a stored page, told once more


def told_again(context: Context, host: str, record: PageRecord) -> PageRecord:
    """Give a record as the present rules of its site tell it: they may have changed since it was written.

    Nothing is fetched. The record gets what the present rules find in the body, so that the next one who tells the page
    need not read it. `host`: its directory.
    """
    told = by_present_rules(record, context.sites)
    if told is not None:
        return told
    try:
        body = context.tree.seen(host, record)
    except TreeError as error:
        if error.is_missing:  # the audit names it; until then its links count
            return replace(record, requests=None, rules=None)
        raise
    requests, is_cut = _found(context, record, body)
    truncated = record.truncated or is_cut or None
    new = replace(record, requests=requests, truncated=truncated, rules=context.rules_of(record.url))
    if context.permitted():
        context.tree.put_record(host, new)
    return new


def _found(context: Context, record: PageRecord, body: bytes) -> tuple[tuple[str, ...] | None, bool]:
    """Give what the rules find, and whether there is more. In a page that they do not expect they find nothing, nor in
    one that takes too long.
    """
    try:
        page = context.understand(
            record.url,
            body,
            record.status,
            record.as_seen.headers,
            with_routes=record.is_rendered,
            query_encoding=record.encoding or "",
        )
    except UnreadableError:
        return (), False
    return ((), False) if page.unexpected or page.fault else (page.requests, page.truncated)
