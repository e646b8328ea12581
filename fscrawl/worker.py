"""One page, whole: skip if done → robots → fetch → decode → links → the tree → what the parent must know.

Vocabulary:
  Task      what to do (from the frontier)
  Outcome   what came of it, with the outlinks that the parent may not know yet
  asked     a request was sent to the host; `asked_at` is when it was surely there, which its delay counts from

Promise: `Worker.do` answers every task with one Outcome; what a server does is an outcome, never an exception. Only a
TreeError passes through, and a page whose outcome is "stored" is on the tree whole.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from fscrawl import links, urls
from fscrawl.fetch import Failed, Fetched, Fetcher
from fscrawl.frontier import Task
from fscrawl.heartbeat import Permit
from fscrawl.known import Recent
from fscrawl.records import ErrorRecord, PageRecord, RobotsRecord, timestamp
from fscrawl.robots import MAX_BYTES, Rules
from fscrawl.settings import Settings
from fscrawl.store import Tree

_PASSING_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ROBOTS_HOPS = 5  # RFC 9309 2.3.1.2
_SENT_MEMORY = 20_000  # URLs a worker remembers having told its parent, per generation
_KEPT_RULES = 4096  # hosts whose robots.txt a worker keeps parsed


class Outcome(NamedTuple):
    """What came of a task.

    kind       "stored" | "redirect" | "skipped" | "known" (was done already) | "failed" | "passing" (may be tried
               again; nothing is written) | "robots" (the host's rules are known) | "returned" (nobody began it)
    links      outlinks inside the scope that this worker has not told of before
    bytes      of the stored body
    class_     error class of "failed" and "passing"
    delay_s    of "robots": what robots.txt asks for; of "passing": Retry-After; else 0
    cut        outlinks left out by the scope
    """

    task: Task
    kind: str
    asked_at: float | None = None
    links: tuple[str, ...] = ()
    bytes: int = 0
    class_: str = ""
    message: str = ""
    status: int = 0
    delay_s: float = 0.0
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker must know of the crawl; it can be pickled."""

    settings: Settings
    seeds: frozenset[str]

    def scope(self) -> urls.Scope:
        crawl = self.settings.crawl
        return urls.Scope(crawl.scope, self.seeds, crawl.allow, crawl.deny)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why nothing of a host may be fetched: its robots.txt could not be had."""

    class_: str
    message: str


class Worker:
    """Does tasks, from any number of threads."""

    def __init__(self, tree: Tree, job: Job, threads: int, permit: Permit | None = None) -> None:
        """`permit`: without it nothing is asked for and nothing stored (None: there is nobody to mind)."""
        self._tree = tree
        self._permit = permit
        self._settings = job.settings
        self._scope = job.scope()
        self._fetcher = Fetcher(job.settings.fetch, job.settings.politeness, threads)
        self._joiner = urls.Joiner(drop_query=job.settings.crawl.drop_query)
        self._accept = frozenset(job.settings.fetch.accept)
        self._sent: Recent[str] = Recent(_SENT_MEMORY)
        self._rules: dict[str, Rules | _Refusal] = {}

    def do(self, task: Task) -> Outcome:
        if not self._permitted():
            return Outcome(task, "returned")
        return self._robots(task) if task.kind == "robots" else self._page(task)

    def _permitted(self) -> bool:
        """Without heartbeats (the machine was paused, the mount hung) somebody else may have the host by now."""
        return self._permit is None or self._permit.holds()

    # -- a page

    def _page(self, task: Task) -> Outcome:
        if task.check and self._tree.is_done(task.host, task.key):
            return Outcome(task, "known")
        if self._settings.politeness.robots:
            rules = self._rules_of(task)
            if isinstance(rules, _Refusal):
                return self._failed(task, Failed(rules.class_, rules.message, retry=False), None)
            if not rules.allows(task.url):
                return self._failed(task, Failed("robots", "robots.txt does not allow it", retry=False), None)
        answer = self._fetcher.get(task.url, wants=self._wants)
        asked_at = answer.began if isinstance(answer, Fetched) else time.monotonic()
        if not self._permitted():  # whoever has the host now would not know of this page's links
            return Outcome(task, "returned", asked_at)
        if isinstance(answer, Failed):
            return self._failed(task, answer, asked_at)
        if answer.status in _REDIRECTS and "location" in answer.headers:
            return self._redirect(task, answer)
        if not 200 <= answer.status < 300:
            return self._failed(task, _bad_status(answer), asked_at)
        if answer.body is None:
            return self._skip(task, answer, f"type {_media_type(answer.headers)}")
        return self._store(task, answer, answer.body)

    def _wants(self, status: int, headers: dict[str, str]) -> bool:
        """Only a good answer of a wanted type is worth its body."""
        media_type = _media_type(headers)
        return 200 <= status < 300 and (not media_type or media_type in self._accept)

    def _store(self, task: Task, answer: Fetched, body: bytes) -> Outcome:
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
        if task.check:  # whoever had the shard before may have written a failure down
            self._tree.drop_error(task.host, task.key)
        fresh, cut = self._fresh(record.links)
        return Outcome(task, kind, answer.began, fresh, bytes=record.bytes, status=answer.status, cut=cut)

    def _fresh(self, outlinks: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
        """Give the outlinks worth telling the parent, and how many the scope cut."""
        fresh = [url for url in outlinks if self._sent.add(url)]
        inside = tuple(url for url in fresh if self._scope.refuses(url) is None)
        return inside, len(fresh) - len(inside)

    def _failed(self, task: Task, failure: Failed, asked_at: float | None) -> Outcome:
        """A passing failure with attempts left goes back to the parent; any other is written down."""
        delay_s = _retry_after_s(failure.headers or {})
        kind = "passing" if failure.retry and task.attempt <= self._settings.fetch.retries else "failed"
        if kind == "failed":
            self._tree.put_error(task.host, error_record(task, failure, self._tree.machine))
        status = failure.status or 0
        return Outcome(
            task, kind, asked_at, class_=failure.class_, message=failure.message, status=status, delay_s=delay_s
        )

    # -- robots.txt

    def _robots(self, task: Task) -> Outcome:
        """Get the host's rules, from the tree if another run stored good ones."""
        rules = self._from_tree(task.host)
        asked_at = None
        if not isinstance(rules, Rules):
            record, failure = self._fetch_robots(task)
            asked_at = time.monotonic()
            if failure is not None and task.attempt <= self._settings.fetch.retries:
                return Outcome(
                    task, "passing", asked_at, class_=failure.class_, message=failure.message, status=record.status
                )
            self._tree.put_robots(task.host, record)
            rules = self._read(record)
        self._remember(task.host, rules)
        return Outcome(task, "robots", asked_at, delay_s=rules.delay_s if isinstance(rules, Rules) else 0.0)

    def _rules_of(self, task: Task) -> Rules | _Refusal:
        known = self._rules.get(task.host) or self._from_tree(task.host)
        if known is None:  # somebody deleted it while the crawl ran
            record, _ = self._fetch_robots(task)
            known = self._read(record)
        self._remember(task.host, known)
        return known

    def _remember(self, host: str, rules: Rules | _Refusal) -> None:
        if len(self._rules) >= _KEPT_RULES:
            self._rules = {}  # they can be read again
        self._rules[host] = rules

    def _from_tree(self, host: str) -> Rules | _Refusal | None:
        record = self._tree.robots(host)
        return None if record is None else self._read(record)

    def _read(self, record: RobotsRecord) -> Rules | _Refusal:
        """RFC 9309 2.3.1: found → its rules; 4xx → all allowed; 5xx or unreachable → nothing allowed."""
        if 200 <= record.status < 300:
            return Rules(record.text, self._settings.politeness.user_agent)
        if 300 <= record.status < 500 and record.status != 429:
            return Rules("", self._settings.politeness.user_agent)
        class_, _, message = record.text.partition(": ")
        return _Refusal(class_, f"robots.txt could not be had: {message}")

    def _fetch_robots(self, task: Task) -> tuple[RobotsRecord, Failed | None]:
        """Fetch robots.txt; if it could not be had for now, the failure stands beside the record of that."""
        url = urls.origin(task.url) + "/robots.txt"
        now = timestamp(time.time())
        answer = self._follow(url)
        if isinstance(answer, Failed):
            if answer.class_ in ("too-large", "decode"):  # it is there, and says nothing that can be read
                return RobotsRecord(url, now, 200, ""), None
            return RobotsRecord(url, now, 0, f"{answer.class_}: {answer.message}"), answer
        if answer.status >= 500 or answer.status == 429:
            failure = _bad_status(answer)
            return RobotsRecord(url, now, answer.status, f"robots: {failure.message}"), failure
        return RobotsRecord(url, now, answer.status, (answer.body or b"")[:MAX_BYTES].decode("utf-8", "replace")), None

    def _follow(self, url: str) -> Fetched | Failed:
        """Fetch with redirects followed, as robots.txt wants it."""
        for _ in range(_ROBOTS_HOPS):
            answer = self._fetcher.get(url, wants=_is_good)
            if isinstance(answer, Failed) or answer.status not in _REDIRECTS:
                return answer
            target = urls.normalise(answer.headers.get("location", ""), url)
            if target is None:
                return answer
            url = target
        return self._fetcher.get(url, wants=_is_good)


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
    )


def _is_good(status: int, headers: dict[str, str]) -> bool:  # noqa: ARG001 - what Fetcher.get asks
    return 200 <= status < 300


def _media_type(headers: dict[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _bad_status(answer: Fetched) -> Failed:
    class_ = "http-5xx" if answer.status >= 500 else "http-4xx" if answer.status >= 400 else "protocol"
    retry = answer.status in _PASSING_STATUSES
    return Failed(class_, f"the server answered {answer.status}", retry, answer.status, answer.headers)


def _retry_after_s(headers: dict[str, str]) -> float:
    """Seconds of a Retry-After header; 0 where there is none, or it is a date."""
    text = headers.get("retry-after", "").strip()
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0.0
