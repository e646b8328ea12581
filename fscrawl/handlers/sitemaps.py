"""A sitemap: stored as a page without a body, whose links are the URLs in it.

If it has moved to another host in the scope, it is stored as a redirect that names the new one. That is a task of its
own, with the rules, the pace and the login of its host.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from fscrawl import urls
from fscrawl.frontier.flags import SITEMAP_PART
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.context import Context, asked_at
from fscrawl.handlers.meaning import bad_status, one_too_many
from fscrawl.handlers.outcome import Outcome, Returned, Stored
from fscrawl.handlers.reading import UnreadableError
from fscrawl.handlers.records import page_record
from fscrawl.handlers.robots import is_named, refusal_of
from fscrawl.handlers.writer import Writer
from fscrawl.http.answers import Failed, Fetched
from fscrawl.politeness.redirects import Followed, follow
from fscrawl.storage.records import SITEMAP


class Asked(NamedTuple):
    """What a host said when it was asked for a sitemap.

    answer    the last one; or why there is none
    target    of a redirect that was not followed, None without one
    at        when it was asked; None: it was not, since it may not be
    """

    answer: Fetched | Failed
    target: str | None = None
    at: float | None = None

    @property
    def failure(self) -> Failed | None:
        """Why nothing can be stored; None if something can be."""
        if isinstance(self.answer, Failed):
            return self.answer
        return bad_status(self.answer) if self.target is None and self.answer.body is None else None


class SitemapHandler:
    def __init__(self, context: Context, writer: Writer) -> None:
        self._context = context
        self._writer = writer

    def fetch(self, task: PageTask) -> Outcome:
        """Read a sitemap."""
        asked = self.ask(task)
        if isinstance(asked, Returned):
            return asked
        if asked.at is None and isinstance(asked.answer, Failed):
            return self._writer.failed(task, asked.answer, None)
        if asked.failure is not None:
            return self._writer.answered(task, asked.answer, asked.at or time.monotonic())
        stored = self.stored(task, asked)
        return self._writer.failed(task, stored, asked.at) if isinstance(stored, Failed) else stored

    def ask(self, task: PageTask) -> Asked | Returned:
        """Ask for a sitemap, if its host allows it."""
        refusal = refusal_of(self._context, task)
        if isinstance(refusal, Returned):
            return refusal
        if refusal is not None and not (refusal.class_ == "robots" and is_named(self._context, task)):
            return Asked(refusal, at=time.monotonic() if refusal.retry else None)
        answer, target, _ = self._follow(task)
        self._context.need_permit(asked_at(answer))
        if target is not None and isinstance(answer, Fetched):
            failure = one_too_many(task.flags.redirects, answer, target)
            if failure is not None:
                return Asked(failure, at=answer.head_at)
        return Asked(answer, target, asked_at(answer))

    def stored(self, task: PageTask, asked: Asked) -> Stored | Failed:
        """Store what has come, or give the failure if that cannot be read; `asked` has no failure."""
        answer, target = asked.answer, asked.target
        assert isinstance(answer, Fetched)
        if target is not None:
            return self._moved(task, answer, target)
        assert answer.body is not None
        try:
            found = self._context.sitemap(answer.body, task.url, answer.headers.get("content-type"))
        except UnreadableError as error:
            return error.failure
        # A sitemap index names sitemaps, and they are read. If one of these names others, that is against the
        # protocol, and might never end.
        is_first = task.flags.sitemap != SITEMAP_PART
        parts = self._context.chosen.sitemaps(found.sitemaps, task.url) if is_first else ()
        record = page_record(
            task,
            answer,
            self._context.tree.machine,
            found.links,
            skipped=SITEMAP,
            sitemaps=parts or None,
            truncated=found.truncated or None,
            too_long=found.too_long,
        )
        return self._writer.put(task, answer, record, None, found.too_long)._replace(sitemaps=parts)

    def _follow(self, task: PageTask) -> Followed:
        context = self._context
        if not context.settings.politeness.robots:
            context.need_permit()
            return follow(context.fetcher, task.url, context.hops)
        rules, _ = context.robots_cache.rules_for(task.host, task.url)
        if isinstance(rules, Failed):
            return Followed(rules)
        context.need_permit()
        delay_s = min(rules.delay_s, context.settings.politeness.max_delay)
        return follow(context.fetcher, task.url, context.hops, rules.allows, delay_s=delay_s)

    def _moved(self, task: PageTask, answer: Fetched, target: str) -> Stored:
        """Store a redirect that was not followed."""
        there = self._context.chosen.sitemaps((target,), task.url) if urls.host(target) != task.host else ()
        record = page_record(
            task,
            answer,
            self._context.tree.machine,
            () if there or target == task.url else (target,),
            redirect=target,
            skipped=SITEMAP if there else None,
            sitemaps=there or None,
        )
        return self._writer.put(task, answer, record, None)._replace(sitemaps=there)
