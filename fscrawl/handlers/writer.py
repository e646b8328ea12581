"""Writes what an answer means into the tree: a page, a redirect, a skipped type, or an error record.

Promise: when `Stored` or `FailedForGood` is returned for a page, its record is in the tree, and its body before it.
"""

from __future__ import annotations

from hashlib import sha256

from fscrawl.frontier.task import PageTask
from fscrawl.handlers.context import Context
from fscrawl.handlers.exchange import bad_status, health_of, is_redirect, media_type, rest_s
from fscrawl.handlers.outcome import Exchange, FailedForGood, FailedForNow, Stored, StoredKind
from fscrawl.handlers.reading import Reading, UnreadableError
from fscrawl.handlers.records import error_record, page_record
from fscrawl.http.fetch import Failed, Fetched
from fscrawl.parse import media_types
from fscrawl.storage.records import PageRecord


class Writer:
    """One for each worker; used by all its threads."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tree = context.tree
        self._settings = context.settings

    def answered(
        self, task: PageTask, answer: Fetched | Failed, asked_at: float, begun_at: float
    ) -> Stored | FailedForGood | FailedForNow:
        """Write down whatever the host answered."""
        if isinstance(answer, Failed):
            return self.failed(task, answer, asked_at, begun_at)
        if is_redirect(answer):
            return self._redirect(task, answer)
        if not 200 <= answer.status < 300:
            return self.failed(task, bad_status(answer), asked_at, begun_at, answer.elapsed_s)
        named = media_type(answer.headers)
        if answer.body is None:
            return self._skip(task, answer, f"type {named}")
        accepted = named in self._context.accept and named
        shown = media_types.unwanted_type(answer.body, "text/html" if accepted else named)
        if shown is not None:
            return self._skip(task, answer, f"type {shown}")
        try:
            return self._store(task, answer, answer.body)
        except UnreadableError as error:
            return self.failed(task, error.failure, asked_at, begun_at, answer.elapsed_s)

    def _store(self, task: PageTask, answer: Fetched, body: bytes) -> Stored:
        page = self._context.read(
            Reading(
                body,
                task.url,
                answer.headers.get("content-type"),
                answer.headers.get("x-robots-tag"),
                self._settings.parse.parser,
                self._settings.crawl.drop_query,
            ),
            self._context.joiner,
        )
        record = page_record(
            task,
            answer,
            self._tree.machine,
            page.links,
            bytes=len(body),
            sha256=sha256(body).hexdigest(),
            encoding=page.encoding,
            title=page.title,
            nofollow=page.nofollow or None,
            canonical=page.canonical,
            robots=page.robots or None,
            truncated=page.truncated or None,
            too_long=page.too_long,
        )
        return self.put(task, "stored", answer, record, body, page.too_long)

    def _redirect(self, task: PageTask, answer: Fetched) -> Stored:
        """Store a redirect: a page whose only link is its target."""
        target = self._context.joiner.join(task.url, answer.headers["location"])
        outlinks = (target,) if target and target != task.url else ()
        redirect = target or answer.headers["location"]
        record = page_record(task, answer, self._tree.machine, outlinks, redirect=redirect)
        return self.put(task, "redirect", answer, record, None)

    def _skip(self, task: PageTask, answer: Fetched, why: str) -> Stored:
        record = page_record(task, answer, self._tree.machine, (), skipped=why)
        return self.put(task, "skipped", answer, record, None)

    def put(
        self,
        task: PageTask,
        kind: StoredKind,
        answer: Fetched,
        record: PageRecord,
        body: bytes | None,
        too_long: int = 0,
    ) -> Stored:
        """Store a page's record and body; an error record of an earlier attempt is removed.

        `too_long`: how many references of the page were too long to be kept.
        """
        self._tree.put_page(task.host, record, body)
        if task.check:  # an earlier attempt, perhaps by another machine, may have written an error record
            self._tree.drop_error(task.host, task.key)
        fresh, cut = self._context.fresh_links.of(record, task.depth)
        if too_long:
            cut = {**(cut or {}), "length": too_long}
        exchange = Exchange(answer.began, "answered", answer.elapsed_s, address=self._context.fetcher.address)
        return Stored(task, exchange, kind, answer.status, record.bytes, fresh, cut, term=self._context.term)

    def failed(
        self, task: PageTask, failure: Failed, asked_at: float | None, begun_at: float, latency_s: float = 0.0
    ) -> FailedForGood | FailedForNow:
        """Return a failure for another attempt if one may help and is left; else write its error record.

        `asked_at`: None if the host was not asked.
        """
        exchange = None
        if asked_at is not None:
            address = self._context.fetcher.address
            exchange = Exchange(asked_at, health_of(failure), latency_s, rest_s(failure.headers), begun_at, address)
        status = failure.status or 0
        if exchange is not None and self.may_try_again(task, failure):
            return FailedForNow(task, exchange, failure.class_, failure.message, status)
        record = error_record(task, failure, self._tree.machine)
        self._tree.put_error(task.host, record)
        return FailedForGood(task, exchange, failure.class_, failure.message, status, record.failed_at)

    def may_try_again(self, task: PageTask, failure: Failed) -> bool:
        return failure.retry and task.attempt <= self._settings.fetch.retries
