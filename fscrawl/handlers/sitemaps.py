"""A sitemap: stored as a page without a body, whose links are the URLs in it."""

from __future__ import annotations

from fscrawl.frontier.flags import SITEMAP_PART
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.context import Context, asked_at
from fscrawl.handlers.outcome import Outcome, Returned
from fscrawl.handlers.records import page_record
from fscrawl.handlers.writer import Writer
from fscrawl.http.fetch import Failed
from fscrawl.parse import sitemaps
from fscrawl.politeness.robots_cache import follow
from fscrawl.storage.records import SITEMAP


class SitemapHandler:
    def __init__(self, context: Context, writer: Writer) -> None:
        self._context = context
        self._writer = writer

    def fetch(self, task: PageTask, begun_at: float) -> Outcome:
        """Read a sitemap."""
        answer = follow(self._context.fetcher, task.url)
        self._context.on_answer()
        reached_at = asked_at(answer)
        if not self._context.permitted():
            return Returned(task, reached_at)
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
        )
        return self._writer.put(task, "skipped", answer, record, None)._replace(sitemaps=parts)
