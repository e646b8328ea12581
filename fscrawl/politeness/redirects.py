"""Redirects of robots.txt and of sitemaps, which a worker follows itself. Those of pages are tasks of their own.

Vocabulary:
  hop       one redirect that is followed
  at home   a target on the host that was asked. Only there may a worker go by itself: of another host it knows neither
            the rules nor when it was last asked

Promise: a hop stays at home, inside the scope and in what its host's robots.txt allows; the host's own robots.txt may
always be asked for. It waits for the delay first. Each request has the login and the cookies of its own origin only
(`http.fetch`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from fscrawl import urls
from fscrawl.http.answers import Failed, Fetched, Limits
from fscrawl.http.fetch import Fetcher
from fscrawl.parse.headers import REDIRECTS, locations, rest_s
from fscrawl.politeness.robots import ROBOTS_PATH

MOST_HOPS = 5  # RFC 9309 2.3.1.2
_LONGEST_WAIT_S = 48.0  # so that a worker with five hops is not taken for one that hangs


class Hops(NamedTuple):
    """What a worker must know to follow redirects.

    refuses     as `Scope.refuses`
    delay_s     between two requests to one host
    permitted   asked after each wait: another machine may have the host by now
    sleep       waits for some seconds
    """

    refuses: Callable[[str], str | None] = lambda url: None  # noqa: ARG005
    delay_s: float = 0.0
    permitted: Callable[[], bool] = lambda: True
    sleep: Callable[[float], None] = time.sleep

    def in_scope(self, url: str) -> bool:
        """Tell whether a robots.txt or a sitemap belongs to the crawl; `allow` is for pages."""
        return self.refuses(url) in (None, "allow")

    def wait(self, delay_s: float = 0.0) -> bool:
        """Wait for the delay; tell whether this machine may still ask. `delay_s`: what the host asks for."""
        longest = max(self.delay_s, delay_s)
        if longest:
            self.sleep(min(longest, _LONGEST_WAIT_S))
        return self.permitted()


class Followed(NamedTuple):
    """What came of a request whose redirects were followed.

    answer   the last one
    target   the URL that it redirects to: a normal form that was not asked; None if there is none
    hops     how many were made
    """

    answer: Fetched | Failed
    target: str | None = None
    hops: int = 0


def follow(
    fetcher: Fetcher,
    url: str,
    hops: Hops,
    allows: Callable[[str], bool] = lambda url: True,  # noqa: ARG005
    *,
    delay_s: float = 0.0,
    limits: Limits | None = None,
    most_hops: int = MOST_HOPS,
) -> Followed:
    """Fetch a robots.txt or a sitemap, and follow its redirects at home.

    `allows`: what robots.txt says; `delay_s`: what it asks for; `limits`: of each request.
    """
    home, hop = urls.host(url), 0
    limits = replace(limits or fetcher.limits, wants=_is_good)
    while True:
        answer = fetcher.get(url, limits=limits)
        if isinstance(answer, Failed) or answer.status not in REDIRECTS:
            return Followed(answer, hops=hop)
        places = locations(answer.headers)
        target = urls.normalise(places[0], url) if len(places) == 1 else None
        may_go = target is not None and urls.host(target) == home and _may_ask(target, hops, allows)
        rest = max(delay_s, rest_s(answer.headers))  # RFC 9110 10.2.3: also of a redirect
        if target is None or not may_go or hop == most_hops or not hops.wait(rest):
            return Followed(answer, target, hop)
        url, hop = target, hop + 1


def _may_ask(url: str, hops: Hops, allows: Callable[[str], bool]) -> bool:
    return url == urls.origin(url) + ROBOTS_PATH or (hops.in_scope(url) and allows(url))


def _is_good(status: int, headers: dict[str, str]) -> bool:  # noqa: ARG001 - the signature of WantsBody
    return 200 <= status < 300
