"""Writes what an answer means into the tree: a page, a redirect, a skipped type, or an error record.

Promise: when `Stored` or `FailedForGood` is returned for a page, its record is in the tree, and its body before it.
"""

from __future__ import annotations

import contextlib
import time
from hashlib import sha256

from msgspec.structs import replace

from fscrawl.errors import RecordError, TreeError
from fscrawl.frontier.task import PageTask
from fscrawl.handlers.circles import back_to, kept_since
from fscrawl.handlers.context import Context
from fscrawl.handlers.meaning import OF_LOG_INS, bad_status, is_once, is_redirect, may_be_done, one_too_many, redirected
from fscrawl.handlers.outcome import Exchange, FailedForGood, FailedForNow, Replaced, Stored
from fscrawl.handlers.reading import UnreadableError
from fscrawl.handlers.records import error_record, page_record, reason_of
from fscrawl.handlers.rendering import Shown, Source, of_both, seems_empty
from fscrawl.http.answers import MAX_MESSAGE_CHARS, Failed, Fetched
from fscrawl.parse import media_types
from fscrawl.parse.extensions import extension
from fscrawl.parse.headers import is_final, locations, media_type, rest_s
from fscrawl.parse.links import ParsedPage
from fscrawl.request import names_session, read, spelling, url_of
from fscrawl.storage.layout import PICTURE
from fscrawl.storage.records import DOM_TYPE, PageRecord, RenderRecord
from fscrawl.store import Beside
from fscrawl.urls import fingerprint

_NOT_AGAIN = "; it may have been done, so it is not sent again without being told (fetch.retry_posts)"
_LOOKS_FOR_COOKIE = "it redirects to itself, and has set a cookie: its site may look whether that comes back"
_STRIDE = 0x9E3779B97F4A7C15  # odd, and its multiples are spread evenly (Knuth, The Art of Computer Programming, 6.4)
_MESSAGE_CHARS = MAX_MESSAGE_CHARS - len(_NOT_AGAIN)


def _numbered(key: str, many: int) -> tuple[int, ...]:
    """Give a fingerprint for each of the references of a page that are too long for URLs."""
    return tuple((fingerprint(key) + each * _STRIDE) % (1 << 64) for each in range(many))


class Writer:
    """One for each worker; used by all its threads."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tree = context.tree
        self._settings = context.settings

    def answered(
        self, task: PageTask, answer: Fetched | Failed, asked_at: float
    ) -> Stored | FailedForGood | FailedForNow:
        """Write down whatever the host answered."""
        outcome = answer if isinstance(answer, Failed) else self.stored(task, answer)
        if isinstance(outcome, Failed):
            latency_s = answer.elapsed_s if isinstance(answer, Fetched) else 0.0
            return self.failed(task, outcome, outcome.asked_at or asked_at, latency_s)
        return outcome

    def stored(self, task: PageTask, answer: Fetched, old: PageRecord | None = None) -> Stored | Failed:
        """Store what an answer holds; give the failure if it holds nothing to store, and write nothing.

        `old`: the record that the page has so far.
        """
        try:
            return self._store_answer(task, answer, old)
        except UnreadableError as error:
            return error.failure

    def _store_answer(self, task: PageTask, answer: Fetched, old: PageRecord | None) -> Stored | Failed:
        if is_redirect(answer):
            return self._store_redirect(task, answer, old)
        if not is_final(answer.status, answer.headers):
            return self._refused(task, answer) if answer.status in OF_LOG_INS else bad_status(answer)
        named = media_type(answer.headers)
        type_ = named if answer.body is None else media_types.type_of(answer.body, named)
        is_page = answer.body is not None and type_ in self._context.accept
        if answer.status >= 300 and not (is_page and answer.body):  # it leads nowhere, and shows nothing either
            return bad_status(answer)
        if answer.body is None or not is_page:
            return self._store_skipped(task, answer, f"type {type_}", old)
        return self._store_body(task, answer, answer.body, type_, old)

    def _store_body(
        self, task: PageTask, answer: Fetched, body: bytes, type_: str, old: PageRecord | None
    ) -> Stored | Failed:
        came_at = time.time()
        page, shown = self._read(task, answer, body, type_, old)
        asked_at = None if shown is None else shown.asked_at
        if shown is not None:  # it has waited for a browser
            self._context.need_permit(asked_at or answer.head_at)
        if isinstance(shown, Failed):
            return shown
        if page.unexpected or page.fault:
            return replace(self._unexpected(task, page, answer), asked_at=asked_at)
        record = page_record(
            task,
            answer,
            self._tree.machine,
            page.links,
            came_at=came_at,
            bytes=len(body),
            sha256=sha256(body).hexdigest(),
            encoding=page.encoding or None,
            encoding_source=page.encoding_source or None,
            title=page.title,
            nofollow=page.nofollow or None,
            canonical=page.canonical,
            robots=page.robots or None,
            truncated=page.truncated or None,
            too_long=page.too_long,
            requests=page.requests,
            rules=self._context.rules_of(task.url) or None,
            file=None if type_ in media_types.HTML else extension(type_),
            rendered=None if shown is None else shown.record,
        )
        stored = self.put(task, answer, record, body, page.too_long, old, self._beside(task, shown))
        # the host's delay counts from its last answer
        return stored if asked_at is None else stored._replace(exchange=stored.exchange._replace(asked_at=asked_at))

    def _read(
        self, task: PageTask, answer: Fetched, body: bytes, type_: str, old: PageRecord | None
    ) -> tuple[ParsedPage, Shown | Failed | None]:
        """Read a page, and render it first if that is wanted; the failure if it could not be, and had to be."""
        context, rendering = self._context, self._context.rendering
        url, is_html = url_of(task.url), type_ in media_types.HTML
        why = rendering.why(url) if is_html else ""
        page = context.understand(task.url, body, answer.status, answer.headers, type_, by_rules=not why)
        source = Source(body, type_, page.encoding)
        if is_html and not why:
            why = rendering.why_empty(url, source, was_rendered=old is not None and old.is_rendered)
        if not why:
            return page, None
        jar = context.jar_of(task.url)
        is_last = self._is_last(task) or self.is_once(task)
        shown = rendering.run(task.url, answer, source, jar, why, is_last=is_last)
        if isinstance(shown, Failed):
            return page, self._unrendered(task, shown, why, old)
        try:
            headers = {**answer.headers, "content-type": DOM_TYPE}
            seen = context.understand(
                task.url,
                shown.dom,
                answer.status,
                headers,
                type_,
                with_routes=True,
                query_encoding=page.encoding,
            )
        except UnreadableError as error:
            return page, replace(error.failure, asked_at=shown.asked_at)
        if why == "empty":
            rendering.learn(url, source, page, seen, shown)
        places = rendering.places(shown.went_to, url, context.joiner)
        return of_both(page, seen, places, task.url, rendering.leads_on(url)), shown

    def _unrendered(self, task: PageTask, failure: Failed, why: str, old: PageRecord | None) -> Shown | Failed:
        """Let a page that was only rendered because it seemed empty be stored as it is, when all tries have failed.

        A page that was rendered before stays as it was then.
        """
        if why != "empty" or self.may_try_again(task, failure) or (old is not None and old.is_rendered):
            return failure
        self._context.rendering.has_failed(url_of(task.url))
        record = RenderRecord(why, "failed", errors=(failure.message,))
        return Shown(b"", b"", (), record, failure.asked_at)

    def _beside(self, task: PageTask, shown: Shown | None) -> Beside:
        """Give what is stored beside the body of a page: path → bytes."""
        if shown is None:
            return {}
        found = {}
        if shown.dom:
            found[self._tree.dom_path(task.host, task.key)] = shown.dom
        if shown.picture:
            found[self._tree.body_path(task.host, task.key, PICTURE)] = shown.picture
        return found

    def _unexpected(self, task: PageTask, page: ParsedPage, answer: Fetched) -> Failed:
        """Give the failure of a page that its site's rules do not expect. The host works, and may send another one.

        If sessions do not work, it counts as one that fails: each of its pages would log in again.
        """
        in_vain = self._context.spoil_session(task.url) if page.renew else 0
        if page.fault:
            return Failed("site", page.fault, retry=False, status=answer.status, headers=answer.headers)
        said = page.unexpected
        if in_vain > 1:
            said += f"; no page was as expected in the last {in_vain} sessions of this host"
        failed = Failed("unexpected", said, retry=True, status=answer.status, headers=answer.headers)
        return replace(failed, of_session=in_vain > 1)

    def _refused(self, task: PageTask, answer: Fetched) -> Failed:
        """Give the failure of a page that is refused to who asks. If a session asked, it may be over."""
        if names_session(task.url):
            page = self._context.understand(task.url, b"", answer.status, answer.headers, "text/html")
            if page.renew:
                return self._unexpected(task, page, answer)
        return bad_status(answer)

    def _store_redirect(self, task: PageTask, answer: Fetched, old: PageRecord | None) -> Stored | Failed:
        """Store a redirect: a page whose only link is its target. It may be unexpected, such as one to a login."""
        if self._context.rules_of(task.url):
            page = self._context.understand(task.url, b"", answer.status, answer.headers, "text/html")
            if page.unexpected or page.fault:
                return self._unexpected(task, page, answer)
        target = self._target_of(task, answer)
        outlinks = (target,) if target and target != task.url else ()
        if outlinks and (failure := one_too_many(task.flags.redirects, answer, outlinks[0])):
            return failure
        if target == task.url and "set-cookie" in answer.headers and self._settings.fetch.cookies:
            again = Failed("redirects", _LOOKS_FOR_COOKIE, True, answer.status, answer.headers)
            if self.may_try_again(task, again):
                return again
        if old is not None and old.kind == "page" and (kept := kept_since(self._context, task, target, answer)):
            return kept
        redirect = target or locations(answer.headers)[0]
        led_back = task.flags.led_back or None
        record = page_record(task, answer, self._tree.machine, outlinks, redirect=redirect, led_back=led_back)
        stored = self.put(task, answer, record, None, old=old)
        return stored._replace(again=back_to(self._context, task, outlinks[0])) if outlinks else stored

    def _target_of(self, task: PageTask, answer: Fetched) -> str | None:
        """Give the spelling of the request to which a redirect leads; None if it is no URL."""
        [place] = locations(answer.headers)
        target = self._context.joiner.join(url_of(task.url), place)
        if target is not None and "#" in task.url:
            target = redirected(task.url, answer.status, target)
        if target is not None and (route := self._context.rendering.route(place, url_of(target))):
            target = spelling(read(target)._replace(fragment=route))
        return target

    def _store_skipped(self, task: PageTask, answer: Fetched, why: str, old: PageRecord | None) -> Stored | Failed:
        """Store that an answer is of a type that is not accepted.

        A request that is no plain GET was made up by its site's rules: they may not expect such an answer. Links of
        pages lead to all kinds of files.
        """
        if "#" in task.url and self._context.rules_of(task.url):
            page = self._context.understand(task.url, b"", answer.status, answer.headers, "text/html")
            if page.unexpected:
                said = f"its {why} is not accepted; {page.unexpected}"
                return self._unexpected(task, replace(page, unexpected=said), answer)
        like_html = media_types.begins_like_html(answer.begins if answer.body is None else answer.body) or None
        record = page_record(task, answer, self._tree.machine, (), skipped=why, like_html=like_html)
        return self.put(task, answer, record, None, old=old)

    def put(
        self,
        task: PageTask,
        answer: Fetched,
        record: PageRecord,
        body: bytes | None,
        too_long: int = 0,
        old: PageRecord | None = None,
        beside: Beside = None,
    ) -> Stored:
        """Store a page's record and body; an error record of an earlier attempt is removed.

        `too_long`: how many references of the page were too long to be kept. `old`: the record that the page had; its
        bodies are removed if the page has them no more, or others. `beside`: as for `Tree.put_page`.
        """
        self._context.approve_session(task.url)
        replaced = self._failure_before(task)
        self._tree.put_page(task.host, record, body, beside)
        if old is not None:
            self._tree.drop_bodies(task.host, old, record)
        if task.check:  # an earlier attempt, perhaps by another machine, may have written an error record
            self._tree.drop_error(task.host, task.key)
        # RFC 9110 10.2.3: a redirect may ask for a pause, too. Elsewhere it says nothing of one.
        asks_s = rest_s(answer.headers) if record.kind == "redirect" else 0.0
        address = self._context.fetcher.address
        exchange = Exchange(answer.head_at, "answered", answer.elapsed_s, asks_s, address=address)
        stored = Stored(task, exchange, record.kind, answer.status, record.bytes, replaced=replaced)
        too_many = self._context.fresh_links.many(record)
        fresh, cut = ((), None) if too_many else self._context.fresh_links.of(record, task.depth)
        if too_long:
            cut = {**(cut or {}), "length": _numbered(task.key, too_long)}
        stored = stored._replace(links=fresh, cut=cut, generation=self._context.generation, later=too_many)
        if record.skipped is not None or (task.depth == 0 and not task.referrer):  # few are
            return stored._replace(skipped=reason_of(record), astray=self._astray(task, record, body))
        return stored

    def _astray(self, task: PageTask, record: PageRecord, body: bytes | None) -> tuple[str, str, str] | None:
        """Tell why a seed leads nowhere: its first link and the rule against it, or that only its scripts have any."""
        if task.depth or task.referrer or task.flags.sitemap:
            return None
        links = record.links_to(nofollow=self._settings.crawl.follow_nofollow)
        rules = [self._context.scope.refuses(url) for url in links]
        if rules:
            how = "redirects" if record.redirect is not None else "links"
            return (how, links[0], rules[0] or "") if all(rules) else None
        if body is None or record.file is not None or record.rendered is not None:
            return None
        is_empty = seems_empty(Source(body, media_type(record.headers), record.encoding or ""))
        return ("scripts", "", "") if is_empty else None

    def _failure_before(self, task: PageTask) -> Replaced | None:
        """Give the failure for which a user asked for another try: whatever comes of it takes its place."""
        if not task.flags.retry_of:
            return None
        with contextlib.suppress(RecordError, TreeError):
            return Replaced(self._tree.error(task.host, task.key).class_)
        return None

    def failed(
        self, task: PageTask, failure: Failed, asked_at: float | None, latency_s: float = 0.0
    ) -> FailedForGood | FailedForNow:
        """Return a failure for another attempt if one may help and is left; else write its error record.

        `asked_at`: None if the host was not asked.
        """
        exchange = None if asked_at is None else self._context.exchange_of(failure, asked_at, latency_s)
        if exchange is not None and self.may_try_again(task, failure):
            return FailedForNow(task, exchange, failure.class_, failure.message)
        if failure.retry and not self._is_last(task):
            failure = replace(failure, message=failure.message[:_MESSAGE_CHARS] + _NOT_AGAIN)
        record = error_record(task, failure, self._tree.machine)
        replaced = self._failure_before(task)
        self._tree.put_error(task.host, record)
        return FailedForGood(task, exchange, failure.class_, failure.message, record.failed_at, replaced)

    def may_try_again(self, task: PageTask, failure: Failed) -> bool:
        """Tell whether another attempt may help, and does not ask for twice what may be wanted once."""
        return failure.retry and not self._is_last(task) and not (self.is_once(task) and may_be_done(failure))

    def is_once(self, task: PageTask) -> bool:
        """Tell whether a request is not to be sent again unless a user asks for it."""
        return not self._settings.fetch.retry_posts and is_once(task.url)

    def _is_last(self, task: PageTask) -> bool:
        return task.attempt > self._settings.fetch.retries
