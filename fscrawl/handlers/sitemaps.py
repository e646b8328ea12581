"""A sitemap: stored as a page without a body, whose links are the URLs in it.

If it has moved to another host in the scope, it is stored as a redirect that names the new one. That is a task of its
own, with the rules, the pace and the login of its host.
"""

from __future__ import annotations

import time

from fscrawl import urls
from fscrawl.frontier.flags import SITEMAP_PART
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.context import Context, asked_at
from fscrawl.handlers.outcome import Outcome, Returned
from fscrawl.handlers.records import page_record
from fscrawl.handlers.robots import refusal_of
from fscrawl.handlers.writer import Writer
from fscrawl.http.fetch import Failed, Fetched
from fscrawl.parse import sitemaps
from fscrawl.politeness.redirects import ROBOTS_PATH, Answer, follow
from fscrawl.storage.records import SITEMAP


class SitemapHandler:
    def __init__(self, context: Context, writer: Writer) -> None:
        self._context = context
        self._writer = writer

    def fetch(self, task: PageTask, begun_at: float) -> Outcome:
        """Read a sitemap."""
        refusal = refusal_of(self._context, task)
        if isinstance(refusal, Returned):
            return refusal
        if refusal is not None and not (refusal.class_ == "robots" and self._is_named(task)):
            return self._writer.failed(task, refusal, time.monotonic() if refusal.retry else None, begun_at)
        answer, target, _ = self._follow(task)
        self._context.on_answer()
        reached_at = asked_at(answer)
        if not self._context.permitted():
            return Returned(task, reached_at)
        if isinstance(answer, Fetched) and target is not None:
            return self._moved(task, answer, target)
        if isinstance(answer, Failed) or answer.body is None:
            return self._writer.answered(task, answer, reached_at, begun_at)
        found = sitemaps.read(answer.body, task.url)
        # A sitemap index names sitemaps, and they are read. If one of these names others, that is against the
        # protocol, and might never end.
        is_first = task.flags.sitemap != SITEMAP_PART
        parts = self._context.fresh_links.sitemaps(found.sitemaps, task.url) if is_first else ()
        record = page_record(
            task,
            answer,
            self._context.tree.machine,
            found.pages,
            skipped=SITEMAP,
            sitemaps=parts or None,
            truncated=found.truncated or None,
            too_long=found.too_long,
        )
        return self._writer.put(task, answer, record, None, found.too_long)._replace(sitemaps=parts)

    def _is_named(self, task: PageTask) -> bool:
        """Tell whether the host's own robots.txt names this sitemap. Then it is meant to be read."""
        rules, _ = self._context.robots_cache.rules_for(task.host, task.url)
        base = urls.origin(task.url) + ROBOTS_PATH
        return not isinstance(rules, Failed) and any(urls.normalise(each, base) == task.url for each in rules.sitemaps)

    def _follow(self, task: PageTask) -> Answer:
        context = self._context
        if not context.settings.politeness.robots:
            return follow(context.fetcher, task.url, context.hops)
        rules, _ = context.robots_cache.rules_for(task.host, task.url)
        if isinstance(rules, Failed):
            return Answer(rules)
        delay_s = min(rules.delay_s, context.settings.politeness.max_delay)
        return follow(context.fetcher, task.url, context.hops, rules.allows, delay_s=delay_s)

    def _moved(self, task: PageTask, answer: Fetched, target: str) -> Outcome:
        """Store a redirect that was not followed."""
        there = self._context.fresh_links.sitemaps((target,), task.url) if urls.host(target) != task.host else ()
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
