"""One page, whole: skip if done → robots → fetch → decode → links → the tree → what the parent must know.

Vocabulary:
  Task      what to do (from the frontier)
  Outcome   what came of it, with the outlinks that the parent may not know yet
  asked     a request was sent to the host; `asked_at` is when it was surely there, which its delay counts from

Promise: `Worker.do` answers every task with one Outcome; what a server does is an outcome, never an exception. Only a
TreeError passes through, once patience is at an end; and a page whose outcome is "stored" is on the tree whole.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import NamedTuple

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.errors import RecordError, TreeBusyError, TreeError
from fscrawl.fleet.heartbeat import Permit
from fscrawl.frontier import marks
from fscrawl.frontier.scope import Scope
from fscrawl.frontier.seen import RecentlySeen
from fscrawl.frontier.task import Task
from fscrawl.http.answers import CLASSES
from fscrawl.http.dates import retry_after_s
from fscrawl.http.fetch import Failed, Fetched, Fetcher
from fscrawl.parse import links, media_types, sitemaps
from fscrawl.politeness.robots_cache import REDIRECTS, RobotsCache, follow
from fscrawl.storage.records import SITEMAP, ErrorRecord, PageRecord, timestamp
from fscrawl.store import Tree

_PASSING_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_SILENT = frozenset({"dns", "connect", "timeout", "proxy"})  # classes of failures without an answer
_LARGE_BYTES = 1_000_000  # a page's tree may take a hundred times its size: larger ones are parsed one at a time
_SENT_MEMORY = 20_000  # URLs a worker remembers having told its parent, per generation


class Outcome(NamedTuple):
    """What came of a task.

    kind       "stored" | "redirect" | "skipped" | "unchanged" (a refreshed page is as it was) | "known" (was done
               already) | "failed" | "passing" (may be tried again; nothing is written) | "robots" (the host's rules
               are known) | "returned" (nobody began it)
    links      outlinks inside the scope that this worker has not told of before
    sitemaps   of "robots" and of a sitemap: those that it names
    bytes      of the stored body
    class_     error class of "failed" and "passing"
    health     of the host, by this exchange: "answered", "failing" (it says "not now"), "silent" (it says nothing), ""
               (it was not asked)
    latency_s  that the answer took
    delay_s    of "robots": what robots.txt asks for; else Retry-After, 0 where there is none
    cut        outlinks left out, by the setting that did it
    begun_at   monotonic time when a thread took the task up: its host was asked after it
    """

    task: Task
    kind: str
    asked_at: float | None = None
    links: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    bytes: int = 0
    class_: str = ""
    message: str = ""
    status: int = 0
    health: str = ""
    latency_s: float = 0.0
    delay_s: float = 0.0
    cut: Mapping[str, int] | None = None
    begun_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker must know of the crawl; it can be pickled."""

    settings: Settings
    seeds: frozenset[str]

    def scope(self) -> Scope:
        return Scope(self.settings.crawl, self.seeds)


class Worker:
    """Does tasks, from any number of threads."""

    def __init__(
        self,
        tree: Tree,
        job: Job,
        threads: int,
        permit: Permit | None = None,
        on_answer: Callable[[], None] = lambda: None,
    ) -> None:
        """`permit`: without it nothing is asked for and nothing stored (None: there is nobody to mind).

        `on_answer`: called in the thread of a page when its host has answered, and the page is to be stored.
        """
        self._on_answer = on_answer
        self._tree = tree
        self._permit = permit
        self._settings = job.settings
        self._scope = job.scope()
        self._fetcher = Fetcher(job.settings.fetch, job.settings.politeness, threads)
        self._robots_cache = RobotsCache(tree, self._fetcher, job.settings.politeness.user_agent)
        self._joiner = urls.Joiner(drop_query=job.settings.crawl.drop_query)
        self._accept = frozenset(job.settings.fetch.accept)
        self._sniffed = media_types.SAYS_NOTHING if "text/html" in self._accept else frozenset({""})
        self._sent: RecentlySeen[str] = RecentlySeen(_SENT_MEMORY)
        self._large = threading.Lock()

    def do(self, task: Task) -> Outcome:
        begun_at = time.monotonic()
        try:
            return self._do(task)._replace(begun_at=begun_at) if self._permitted() else Outcome(task, "returned")
        except TreeBusyError:
            if self._permitted():
                raise
            return Outcome(task, "returned")  # the heart cannot write either: the machine waits for the tree

    def _do(self, task: Task) -> Outcome:
        if task.kind == "robots":
            return self._robots(task)
        if task.kind == "probe":
            return self._probe(task)
        if gave_up := marks.gave_up_of(task.mark):
            return self._give_up(task, gave_up)
        if task.check and self._is_settled(task):
            return self._known(task)
        if task.mark == marks.REFRESH:
            return self._refresh(task)
        return self._sitemap(task) if marks.sitemap_of(task.mark) else self._page(task)

    def _permitted(self) -> bool:
        """Without heartbeats (the machine was paused, the mount hung) somebody else may have the host by now."""
        return self._permit is None or self._permit.holds()

    def _is_settled(self, task: Task) -> bool:
        """Whether it is stored; or, where another try was asked for, has failed once more since."""
        if task.mark == marks.REFRESH:
            return False
        if self._tree.is_done(task.host, task.key):
            return True
        again = marks.again_of(task.mark)
        failed_at = self._tree.failed_at(task.host, task.key) if again else None
        return failed_at is not None and failed_at != again

    def _known(self, task: Task) -> Outcome:
        """Tell of the links of a page that is stored: who stored it may have died before it could."""
        record = self._stored_record(task)
        if record is None:
            return Outcome(task, "known")
        fresh, cut = self._fresh(record.links_to(nofollow=self._settings.crawl.follow_nofollow))
        return Outcome(task, "known", links=fresh, sitemaps=record.sitemaps or (), cut=cut)

    def _give_up(self, task: Task, class_: str) -> Outcome:
        """Write down that nothing is hoped for of the host; a page of it that is stored stays as it is."""
        if self._tree.is_done(task.host, task.key):
            return Outcome(task, "known")
        message = f"the host was given up: {CLASSES.get(class_, class_)}"
        return self._failed(task, Failed(class_, message, retry=False), None)

    # -- a page

    def _page(self, task: Task) -> Outcome:
        refusal = self._refusal(task)
        if refusal is not None:
            return self._failed(task, refusal, time.monotonic() if refusal.retry else None)
        answer = self._fetcher.get(task.url, wants_body=self._wants)
        self._on_answer()
        asked_at = answer.began if isinstance(answer, Fetched) else time.monotonic()
        if not self._permitted():  # whoever has the host now would not know of this page's links
            return Outcome(task, "returned", asked_at)
        return self._take(task, answer, asked_at)

    def _refusal(self, task: Task) -> Failed | None:
        """Give why robots.txt keeps this crawler from a page."""
        if not self._settings.politeness.robots:
            return None
        rules, _ = self._robots_cache.rules_for(task.host, task.url)
        if isinstance(rules, Failed):
            return rules
        if rules.allows(task.url):
            return None
        return Failed("robots", f"robots.txt does not allow it: {rules.forbidding_line(task.url)}", retry=False)

    def _take(self, task: Task, answer: Fetched | Failed, asked_at: float) -> Outcome:
        if isinstance(answer, Failed):
            return self._failed(task, answer, asked_at)
        if _is_redirect(answer):
            return self._redirect(task, answer)
        if not 200 <= answer.status < 300:
            return self._failed(task, _bad_status(answer), asked_at, answer)
        media_type = _media_type(answer.headers)
        if answer.body is None:
            return self._skip(task, answer, f"type {media_type}")
        shown = media_types.type_of(
            answer.body, "text/html" if media_type in self._accept and media_type else media_type
        )
        if shown is not None:
            return self._skip(task, answer, f"type {shown}")
        return self._store(task, answer, answer.body)

    def _wants(self, status: int, headers: dict[str, str]) -> bool:
        """Only a good answer of a wanted type, or of one that says nothing, is worth its body."""
        media_type = _media_type(headers)
        return 200 <= status < 300 and (media_type in self._accept or media_type in self._sniffed)

    def _store(self, task: Task, answer: Fetched, body: bytes) -> Outcome:
        with self._large if len(body) > _LARGE_BYTES else contextlib.nullcontext():
            page = links.extract(
                body,
                task.url,
                self._joiner,
                content_type=answer.headers.get("content-type"),
                robots_tag=answer.headers.get("x-robots-tag"),
                parser=self._settings.parse.parser,
            )
        record = self._record(
            task,
            answer,
            page.links,
            bytes=len(body),
            sha256=sha256(body).hexdigest(),
            encoding=page.encoding,
            title=page.title,
            nofollow=page.nofollow or None,
            canonical=page.canonical,
            robots=page.robots or None,
            truncated=page.truncated or None,
        )
        self._tree.put_page(task.host, record, body)
        return self._stored(task, "stored", answer, record)

    def _redirect(self, task: Task, answer: Fetched) -> Outcome:
        """A redirect is a page whose only link is its target."""
        target = self._joiner.join(task.url, answer.headers["location"])
        outlinks = (target,) if target and target != task.url else ()
        record = self._record(task, answer, outlinks, redirect=target or answer.headers["location"])
        self._tree.put_page(task.host, record, None)
        return self._stored(task, "redirect", answer, record)

    def _skip(self, task: Task, answer: Fetched, why: str) -> Outcome:
        record = self._record(task, answer, (), skipped=why)
        self._tree.put_page(task.host, record, None)
        return self._stored(task, "skipped", answer, record)

    def _record(self, task: Task, answer: Fetched, outlinks: tuple[str, ...], **more: object) -> PageRecord:
        fields: dict[str, object] = {"bytes": 0, "sha256": "", **more}
        return PageRecord(
            url=task.url,
            key=task.key,
            depth=task.depth,
            referrer=task.referrer,
            fetched_at=timestamp(time.time() - answer.elapsed_s),
            machine=self._tree.machine,
            status=answer.status,
            headers=answer.headers,
            elapsed=round(answer.elapsed_s, 6),
            links=outlinks,
            **fields,  # type: ignore[arg-type]
        )

    def _stored(self, task: Task, kind: str, answer: Fetched, record: PageRecord) -> Outcome:
        if task.check:  # whoever had the shard before, or an earlier try, may have written a failure down
            self._tree.drop_error(task.host, task.key)
        fresh, cut = self._fresh(record.links_to(nofollow=self._settings.crawl.follow_nofollow))
        return Outcome(
            task,
            kind,
            answer.began,
            fresh,
            bytes=record.bytes,
            status=answer.status,
            health="answered",
            latency_s=answer.elapsed_s,
            cut=cut,
        )

    def _fresh(self, outlinks: Iterable[str]) -> tuple[tuple[str, ...], Mapping[str, int] | None]:
        """Give the outlinks worth telling the parent, and how many were left out by which setting."""
        inside = []
        cut: Counter[str] = Counter()
        for url in outlinks:
            if self._sent.add(url):
                rule = self._scope.refuses(url)
                if rule is None:
                    inside.append(url)
                else:
                    cut[rule] += 1
        return tuple(inside), cut or None

    def _failed(self, task: Task, failure: Failed, asked_at: float | None, answer: Fetched | None = None) -> Outcome:
        """A passing failure with attempts left goes back to the parent; any other is written down."""
        kind = "passing" if failure.retry and task.attempt <= self._settings.fetch.retries else "failed"
        if kind == "failed":
            self._tree.put_error(task.host, error_record(task, failure, self._tree.machine))
        status = failure.status or 0
        return Outcome(
            task,
            kind,
            asked_at,
            class_=failure.class_,
            message=failure.message,
            status=status,
            health="" if asked_at is None else _health(failure),
            latency_s=answer.elapsed_s if answer else 0.0,
            delay_s=_pause_s(failure.headers),
        )

    # -- a page that is stored, once more

    def _refresh(self, task: Task) -> Outcome:
        """Ask whether a page has changed. What cannot be had leaves the page as it is, and says so in its record."""
        old = self._stored_record(task)
        if old is None or old.skipped == SITEMAP:
            return self._page(task) if old is None else Outcome(task, "known")
        if self._refusal(task) is not None:
            return Outcome(task, "known")
        answer = self._fetcher.get(task.url, _conditions(old), wants_body=self._wants)
        self._on_answer()
        asked_at = answer.began if isinstance(answer, Fetched) else time.monotonic()
        if not self._permitted():
            return Outcome(task, "returned", asked_at)
        if isinstance(answer, Fetched) and (200 <= answer.status < 300 or _is_redirect(answer)):
            outcome = self._take(task, answer, asked_at)
            if old.sha256 and outcome.kind != "stored":
                self._tree.drop_body(task.host, task.key)
            return outcome
        return self._unchanged(task, old, answer, asked_at)

    def _unchanged(self, task: Task, old: PageRecord, answer: Fetched | Failed, asked_at: float) -> Outcome:
        failure = answer if isinstance(answer, Failed) else _bad_status(answer)
        unchanged = isinstance(answer, Fetched) and answer.status == 304
        if not unchanged and failure.retry and task.attempt <= self._settings.fetch.retries:
            return self._failed(task, failure, asked_at)
        status = answer.status if isinstance(answer, Fetched) else 0
        record = replace(old, checked_at=timestamp(time.time()), checked_status=status)
        self._tree.put_record(task.host, record)
        fresh, cut = self._fresh(old.links_to(nofollow=self._settings.crawl.follow_nofollow))
        return Outcome(
            task,
            "unchanged",
            asked_at,
            fresh,
            class_="" if unchanged else failure.class_,
            status=status,
            health="answered" if unchanged else _health(failure),
            latency_s=answer.elapsed_s if isinstance(answer, Fetched) else 0.0,
            delay_s=_pause_s(failure.headers),
            cut=cut,
        )

    def _stored_record(self, task: Task) -> PageRecord | None:
        try:
            return self._tree.page(task.host, task.key)
        except RecordError:
            return None
        except TreeError as error:
            if error.is_missing:
                return None
            raise

    # -- robots.txt and sitemaps

    def _robots(self, task: Task) -> Outcome:
        """Learn the host's rules, from the tree if another run stored good ones."""
        rules, asked = self._robots_cache.rules_for(task.host, task.url)
        asked_at = time.monotonic() if asked else None
        if isinstance(rules, Failed):
            failure = rules
            return Outcome(
                task,
                "passing" if failure.retry else "failed",
                asked_at,
                class_=failure.class_,
                message=failure.message,
                status=failure.status or 0,
                health="silent" if failure.class_ in _SILENT else "failing",
                delay_s=_pause_s(failure.headers),
            )
        named = self._named(rules.sitemaps, task.url) if self._settings.crawl.sitemaps else ()
        health = "answered" if asked else ""
        return Outcome(task, "robots", asked_at, sitemaps=named, health=health, delay_s=rules.delay_s)

    def _probe(self, task: Task) -> Outcome:
        """Ask a host for anything, to see whether the network is there."""
        answer = self._fetcher.get(urls.origin(task.url) + "/robots.txt", wants_body=lambda status, _: False)  # noqa: ARG005
        if isinstance(answer, Failed):
            return Outcome(task, "passing", class_=answer.class_, message=answer.message, health=_health(answer))
        return Outcome(task, "robots", status=answer.status, health="answered", latency_s=answer.elapsed_s)

    def _named(self, references: Iterable[str], base: str) -> tuple[str, ...]:
        """Give the sitemaps that are inside the scope."""
        found = dict.fromkeys(urls.normalise(reference, base) for reference in references)
        return tuple(url for url in found if url is not None and self._scope.refuses(url) in (None, "allow"))

    def _sitemap(self, task: Task) -> Outcome:
        """Read a sitemap: a page without body, whose links are its URLs."""
        answer = follow(self._fetcher, task.url)
        self._on_answer()
        asked_at = answer.began if isinstance(answer, Fetched) else time.monotonic()
        if not self._permitted():
            return Outcome(task, "returned", asked_at)
        if isinstance(answer, Failed) or answer.body is None:
            return self._take(task, answer, asked_at)
        found = sitemaps.read(answer.body, task.url)
        # Those that it names are read; what these name in turn is against the protocol, and might never end.
        parts = self._named(found.sitemaps, task.url) if marks.sitemap_of(task.mark) == marks.SITEMAP else ()
        record = self._record(
            task, answer, found.pages, skipped=SITEMAP, sitemaps=parts or None, truncated=found.truncated or None
        )
        self._tree.put_page(task.host, record, None)
        return self._stored(task, "skipped", answer, record)._replace(sitemaps=parts)


def error_record(task: Task, failure: Failed, machine: str) -> ErrorRecord:
    """Give the file of a failure."""
    return ErrorRecord(
        url=task.url,
        key=task.key,
        depth=task.depth,
        referrer=task.referrer,
        failed_at=timestamp(time.time()),
        machine=machine,
        class_=failure.class_,
        message=failure.message,
        attempts=task.attempt,
        status=failure.status,
        headers=failure.headers,
        sitemap=marks.sitemap_of(task.mark) or None,
    )


def _media_type(headers: dict[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _is_redirect(answer: Fetched) -> bool:
    return answer.status in REDIRECTS and "location" in answer.headers


def _bad_status(answer: Fetched) -> Failed:
    class_ = "http-5xx" if answer.status >= 500 else "http-4xx" if answer.status >= 400 else "protocol"
    retry = answer.status in _PASSING_STATUSES
    return Failed(class_, f"the server answered {answer.status}", retry, answer.status, answer.headers)


def _health(failure: Failed) -> str:
    """Tell whether a failure is one of the whole host."""
    if failure.class_ in _SILENT:
        return "silent"
    return "failing" if failure.status in _PASSING_STATUSES else "answered"


def _pause_s(headers: Mapping[str, str] | None) -> float:
    value = (headers or {}).get("retry-after")
    return 0.0 if value is None else retry_after_s(value, time.time())


def _conditions(record: PageRecord) -> dict[str, str]:
    """RFC 9110 13.1: what makes an answer say "not modified"."""
    conditions = {"If-None-Match": record.headers.get("etag"), "If-Modified-Since": record.headers.get("last-modified")}
    usable = {name: value for name, value in conditions.items() if value and value.isascii() and value.isprintable()}
    return usable if record.sha256 else {}
