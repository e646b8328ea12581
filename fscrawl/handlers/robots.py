"""A host's robots.txt: learn it, and ask it whether a page may be fetched."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from fscrawl import urls
from fscrawl.frontier.task import PageTask, RobotsTask
from fscrawl.handlers.context import Context
from fscrawl.handlers.meaning import is_silence, rest_s
from fscrawl.handlers.outcome import Exchange, FailedForGood, FailedForNow, Health, Returned, RobotsKnown
from fscrawl.http.answers import Failed
from fscrawl.politeness.robots import ROBOTS_PATH
from fscrawl.politeness.robots_cache import forbidden
from fscrawl.request import url_of

_LONG_S = 0.002  # a robots.txt for people takes some microseconds, or with thousands of wildcards some milliseconds
_RESTS = 100.0  # times as long, so one host takes a hundredth of a processor at most


class _Taken(threading.local):
    """Processor time that the robots.txt of a host has taken for the task of this thread."""

    s = 0.0


_taken = _Taken()


def costly_s() -> float:
    """Give the seconds for which the host of this thread's task must rest, and forget them; 0 for most hosts.

    A robots.txt may be made so that each page takes a tenth of a second to be allowed or forbidden, while the other
    threads of this process wait. A page that is forbidden is not asked for, so the next one could come at once.
    """
    took_s, _taken.s = _taken.s, 0.0
    return _RESTS * took_s if took_s >= _LONG_S else 0.0


def refusal_of(context: Context, task: PageTask) -> Failed | Returned | None:
    """Give the reason why a page may not be fetched now; None if it may.

    Failed     robots.txt forbids the page, or, if `retry` is set, could not be fetched a moment ago
    Returned   robots.txt was fetched a moment ago, so the page has to wait for the delay of its host; or meanwhile
               this machine has lost its permit
    """
    if not context.settings.politeness.robots:
        return None
    began_s = time.thread_time()
    try:
        return _refusal_of(context, task)
    finally:
        _taken.s += time.thread_time() - began_s


def _refusal_of(context: Context, task: PageTask) -> Failed | Returned | None:
    rules, was_asked = context.robots_cache.rules_for(task.host, task.url)
    if isinstance(rules, Failed) and context.permitted():
        return replace(rules, unsent=True)  # the page was not asked for
    if was_asked or isinstance(rules, Failed):
        return Returned(task, time.monotonic())
    return forbidden(rules, url_of(task.url))


def is_named(context: Context, task: PageTask) -> bool:
    """Tell whether the host's own robots.txt names a sitemap. Then it is meant to be read."""
    began_s = time.thread_time()
    try:
        rules, _ = context.robots_cache.rules_for(task.host, task.url)
        base = urls.origin(task.url) + ROBOTS_PATH
        return not isinstance(rules, Failed) and any(urls.normalise(each, base) == task.url for each in rules.sitemaps)
    finally:  # it may name tens of thousands
        _taken.s += time.thread_time() - began_s


class RobotsHandler:
    def __init__(self, context: Context) -> None:
        self._context = context

    def fetch(self, task: RobotsTask) -> RobotsKnown | FailedForGood | FailedForNow:
        """Learn the host's rules, from the tree if another run stored usable ones."""
        began = time.monotonic()
        rules, was_asked = self._context.robots_cache.rules_for(task.host, task.url)
        asked_at = time.monotonic()
        if isinstance(rules, Failed):
            health: Health = "silent" if is_silence(rules) else "failing"
            exchange = Exchange(asked_at, health, 0.0, rest_s(rules.headers))
            failed = FailedForNow if rules.retry else FailedForGood
            return failed(task, exchange, rules.class_, rules.message)
        named: tuple[str, ...] = ()
        if self._context.settings.crawl.sitemaps:
            # Relative to robots.txt. Below the page's URL, which may be long, 500 KiB would name a hundred megabytes.
            named = self._context.scope.sitemaps(rules.sitemaps, urls.origin(task.url) + ROBOTS_PATH)
        address = self._context.fetcher.address
        answered = Exchange(asked_at, "answered", asked_at - began, address=address) if was_asked else None
        return RobotsKnown(task, answered, rules.delay_s, named)
