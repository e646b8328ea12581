"""A host's robots.txt: learn it, and ask it whether a page may be fetched."""

from __future__ import annotations

import math
import time

from msgspec.structs import replace

from fscrawl import urls
from fscrawl.frontier.task import PageTask, RobotsTask
from fscrawl.handlers import costs
from fscrawl.handlers.context import Context
from fscrawl.handlers.meaning import is_silence
from fscrawl.handlers.outcome import Exchange, FailedForGood, FailedForNow, Health, Returned, RobotsKnown
from fscrawl.http.answers import Failed
from fscrawl.parse.headers import rest_s
from fscrawl.politeness.robots import ROBOTS_PATH
from fscrawl.politeness.robots_cache import forbidden
from fscrawl.request import url_of


def refusal_of(context: Context, task: PageTask) -> Failed | Returned | None:
    """Give the reason why a page may not be fetched now; None if it may.

    Failed     robots.txt forbids the page, or, if `retry` is set, could not be fetched a moment ago
    Returned   robots.txt was fetched a moment ago, so the page has to wait for the delay of its host; or meanwhile
               this machine has lost its permit
    """
    if not context.settings.politeness.robots:
        return None
    rules, was_asked = context.robots_cache.rules_for(task.host, task.url)
    if isinstance(rules, Failed) and context.permitted():
        return replace(rules, unsent=True)  # the page was not asked for
    if was_asked or isinstance(rules, Failed):
        return Returned(task, time.monotonic())
    return forbidden(rules, url_of(task.url))


def is_named(context: Context, task: PageTask) -> bool:
    """Tell whether the host's own robots.txt names a sitemap. Then it is meant to be read."""
    rules, _ = context.robots_cache.rules_for(task.host, task.url)
    base = urls.origin(task.url) + ROBOTS_PATH
    return not isinstance(rules, Failed) and any(urls.normalise(each, base) == task.url for each in rules.sitemaps)


class RobotsHandler:
    def __init__(self, context: Context) -> None:
        self._context = context

    def fetch(self, task: RobotsTask) -> RobotsKnown | FailedForGood | FailedForNow:
        """Learn the host's rules, from the tree if another run stored usable ones."""
        began = time.monotonic()
        cache, patience_s = self._context.robots_cache, self._patience_s(task)
        rules, was_asked = cache.rules_for(task.host, task.url, patience_s, from_host=task.is_probe)
        asked_at = time.monotonic()
        costs.expect(costs.usual_answer_s(0))
        if isinstance(rules, Failed):
            health: Health = "silent" if is_silence(rules) else "failing"
            exchange = Exchange(asked_at, health, 0.0, rest_s(rules.headers))
            failed = FailedForNow if rules.retry else FailedForGood
            return failed(task, exchange, rules.class_, rules.message)
        named: tuple[str, ...] = ()
        if self._context.settings.crawl.sitemaps:
            # Relative to robots.txt. Below the page's URL, which may be long, 500 KiB would name a hundred megabytes.
            named = self._context.chosen.sitemaps(rules.sitemaps, urls.origin(task.url) + ROBOTS_PATH)
        address = self._context.fetcher.address
        answered = Exchange(asked_at, "answered", asked_at - began, address=address) if was_asked else None
        return RobotsKnown(task, answered, rules.delay_s, named, self._context.generation)

    def _patience_s(self, task: RobotsTask) -> float:
        """Give how long a host may take; when it is met, no longer than for a connection to open.

        Hundreds of hosts that take connections and never answer may come at once, and others wait behind them. One that
        is only slow is asked again, with the time that it needs.
        """
        fetch = self._context.settings.fetch
        return fetch.connect_timeout if task.attempt == 1 and fetch.retries else math.inf
