"""The network of one page that is rendered: what it may load by `render.may_ask` is fetched here, and nothing else.

A worker asks each host once at a time for all its pages; the page's own host, which this machine has, for this page. A
host that answers slowly is left alone for as long as its last answer took, as by the pace of pages
(`politeness.adaptive`). A host that says "not now" (429, 503) is not asked any more: the page's own host by this page,
which is then tried again as its Retry-After says; another one by all pages, for a while.

A log-in and headers of the settings go along only to the page's own origin, the crawl's cookies only where they are set
for (RFC 6265 5.4). An answer is only used again for pages of this origin and session: it may be what those who log in
get.
Promise: after `close` no request of the page is under way or begins.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping

from fscrawl import urls
from fscrawl.config import addresses
from fscrawl.config.settings import PolitenessSettings
from fscrawl.frontier.places import ADDRESS_DELAY_S
from fscrawl.frontier.scope import Scope
from fscrawl.handlers.meaning import bad_status
from fscrawl.handlers.sessions import Asking
from fscrawl.http.answers import Failed, Fetched
from fscrawl.http.cookies import Jar
from fscrawl.http.fetch import Fetcher
from fscrawl.parse.headers import listed, pairs, parse_date, rest_s
from fscrawl.render.may_ask import Whom, refused_to, whom
from fscrawl.render.messages import MAX_BYTES, Answer, Ask, Pairs
from fscrawl.request import Request
from fscrawl.util.lru import Lru

_MOST_HOSTS = 1000  # whose last request is remembered
_NOT_NOW = (429, 503)
_ALL = "all that a rendered page loads"
_RESTS_S = 10.0  # without Retry-After
# Ours, or of the connection; the cookies go by the jar.
_NOT_SENT = frozenset(
    {"host", "connection", "content-length", "accept-encoding", "cookie", "user-agent", "expect", "te"}
)
_NOT_SENT_BEGINNINGS = ("sec-ch-", "proxy-", ":")


class _Turn:
    """Whose turn it is to ask a host. `last_at`: monotonic time of the last request's end; `took_s`: what it took.

    `rests_until`: monotonic time before which the host does not want to be asked.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.last_at = 0.0
        self.took_s = 0.0
        self.rests_until = 0.0


class Network:
    """What all pages of a worker share."""

    def __init__(self, fetcher: Fetcher, asking: Asking, scope: Scope, politeness: PolitenessSettings) -> None:
        """`asking`: how a worker asks by itself; of the page's own host."""
        self.fetcher = fetcher
        self.asking = asking
        self.scope = scope
        self.politeness = politeness
        self.cache = ResourceCache()
        self._turns: Lru[str, _Turn] = Lru(_MOST_HOSTS)

    def turn(self, host: str) -> _Turn:
        """Give the turn of a host that is not the page's."""
        return self._turns.get_or_make(host, _Turn)


class PageNetwork:
    """The requests of one page.

    requests    how many were made, by host
    lacking     how many brought nothing that the page could use, by why: a rule, or the class of the failure
    loaded      bytes of all answers
    asked_at    monotonic time of the last answer of the page's own host; None if it was not asked
    not_now     the answer by which the page's own host has said that it does not want to be asked now
    """

    def __init__(self, network: Network, page: Request, jar: Jar | None, timeout_s: float, address: str) -> None:
        """`address`: IP address that the page came from; "" if a proxy has it."""
        self._network = network
        self._url = url = page.url
        # A proxy resolves names, so the name must do.
        is_public = addresses.is_public
        inside = not is_public(address) if address else addresses.leads_inside(urls.hostname(url), is_public)
        self._public_only = not inside
        self._cache_prefix = f"{urls.origin(url)} {page.session} {inside} "
        self._jar = jar
        self._timeout_s = timeout_s
        self._until = 0.0
        self._own = _Turn()
        self._counting = threading.Lock()
        self._is_over = False
        self.requests: Counter[str] = Counter()
        self.lacking: Counter[str] = Counter()
        self.loaded = 0
        self.asked_at: float | None = None
        self.not_now: Fetched | None = None

    def answer(self, ask: Ask) -> Answer:
        """Answer a request of the page: called in several threads."""
        with self._counting:
            self._until = self._until or time.monotonic() + self._timeout_s
        url = urls.normalise(ask.url)
        if url is None:
            return self._refuse(ask, "url")
        kept = self._network.cache.get(self._cache_prefix + url, time.time()) if _may_be_kept(ask) else None
        if kept is not None:
            return _answer(ask, kept)
        to = whom(url, self._url, self._network.scope.names)
        is_own = to is Whom.OWN
        turn = self._own if is_own else self._network.turn(urls.host(url))
        with turn.lock:
            if why := self._refusal(ask, url, to, turn):
                return self._refuse(ask, why)
            if not self._wait(url, to, turn):
                return self._refuse(ask, "over")
            jar = self._jar_of(ask, url)
            began = time.monotonic()
            answer = self._fetch(ask, url, jar)
            turn.last_at = time.monotonic()
            turn.took_s = turn.last_at - began
            if is_own:
                self.asked_at = turn.last_at
            if isinstance(answer, Fetched) and answer.status in _NOT_NOW:
                asked_s = rest_s(answer.headers) or _RESTS_S
                turn.rests_until = turn.last_at + min(asked_s, self._network.politeness.max_rest)
                self.not_now = answer if is_own else self.not_now
        if isinstance(answer, Failed):
            return self._refuse(ask, answer.class_)
        if _may_be_kept(ask):
            self._network.cache.put(self._cache_prefix + url, answer, time.time())
        return _answer(ask, answer, jar.lines)

    def close(self) -> None:
        """Let no request begin any more, and wait for the one at the page's own host."""
        self._is_over = True
        with self._own.lock:
            pass

    def _refuse(self, ask: Ask, why: str) -> Answer:
        with self._counting:
            self.lacking[why] += 1
        return Answer(ask.number)

    def _refusal(self, ask: Ask, url: str, to: Whom, turn: _Turn) -> str:
        """Say why a URL is not asked for; "" if it is."""
        if self._is_over:
            return "over"
        if time.monotonic() < turn.rests_until:
            return "rest"
        if self.loaded >= MAX_BYTES:
            return "max_bytes"
        if to is not Whom.OWN:
            if self._network.scope.refuses(url) == "deny":
                return "deny"
            return refused_to(to, ask.method, ask.headers, self.requests[urls.shown_host(urls.host(url))])
        refusal = self._network.asking.refuses(url)
        return "" if refusal is None else "robots" if refusal.class_ == "robots" else "scope"

    def _wait(self, url: str, to: Whom, turn: _Turn) -> bool:
        """Wait until a host may be asked; tell whether the page and this machine may still ask."""
        politeness = self._network.politeness
        of_crawled_s = min(ADDRESS_DELAY_S, politeness.delay)
        of_settings_s = {Whom.OWN: 0.0, Whom.CRAWLED: of_crawled_s, Whom.OTHER: politeness.delay}[to]
        delay_s = max(of_settings_s, turn.took_s if politeness.adaptive else 0.0)
        if turn.last_at + delay_s > self._until:
            return False
        may_ask = self._network.asking.wait(url) if to is Whom.OWN else True
        time.sleep(max(0.0, turn.last_at + delay_s - time.monotonic()))
        return may_ask and not self._is_over and time.monotonic() < self._until

    def _fetch(self, ask: Ask, url: str, jar: _RequestJar) -> Fetched | Failed:
        left_s, left_bytes = self._until - time.monotonic(), MAX_BYTES - self.loaded
        limits = self._network.fetcher.limits.within(max(0.1, left_s), max(1, left_bytes), _ALL)
        type_, headers = _sent(ask.headers)
        is_own = urls.origin(url) == urls.origin(self._url)
        asked = Request(url, ask.method, type_, ask.body)
        answer = self._network.fetcher.send(
            asked, headers, limits, jar=jar, logs_in=is_own, public_only=self._public_only
        )
        with self._counting:
            self.requests[urls.shown_host(urls.host(url))] += 1
            if isinstance(answer, Fetched):
                self.loaded += len(answer.body or b"")
                if answer.status >= 400:
                    self.lacking[bad_status(answer).class_] += 1
        return answer

    def _jar_of(self, ask: Ask, url: str) -> _RequestJar:
        is_of_site = urls.site(urls.hostname(url)) == urls.site(urls.hostname(self._url))
        return _RequestJar(ask.headers, self._jar if is_of_site else None)


class _RequestJar(Jar):
    """The cookies of one request: those that the browser sends; new ones go to the crawl's jar, too.

    `lines`: the Set-Cookie lines of the answer.
    """

    def __init__(self, headers: Mapping[str, str], of_crawl: Jar | None) -> None:
        super().__init__()
        self._given = next((value for name, value in headers.items() if name.lower() == "cookie"), None)
        self._of_crawl = of_crawl
        self.lines: tuple[str, ...] = ()

    def header(self, url: str, now: float) -> str | None:  # noqa: ARG002 - the signature of a jar
        return self._given

    def learn(self, url: str, lines: Iterable[str], now: float) -> None:
        self.lines = tuple(lines)
        if self._of_crawl is not None:
            self._of_crawl.learn(url, self.lines, now)


def _may_be_kept(ask: Ask) -> bool:
    return ask.kind in KINDS and ask.method == "GET"


def _sent(headers: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Give the type of a request's body, and the other headers of the browser that are sent."""
    lower = {name.lower(): value for name, value in headers.items()}
    type_ = lower.pop("content-type", "")
    return type_, {
        name: value
        for name, value in lower.items()
        if name not in _NOT_SENT and not name.startswith(_NOT_SENT_BEGINNINGS)
    }


def _answer(ask: Ask, answer: Fetched, cookies: Iterable[str] = ()) -> Answer:
    given: Pairs = tuple(pair for pair in pairs(answer.headers) if pair[0] != "set-cookie")
    return Answer(ask.number, answer.status, (*given, *(("set-cookie", line) for line in cookies)), answer.body or b"")


# -- what rendered pages load again and again


KINDS = frozenset({"Script", "Stylesheet"})  # as DevTools calls them
_BYTES = 32 * 1024 * 1024
_LARGEST_BYTES = 4 * 1024 * 1024
_HEURISTIC_SHARE, _HEURISTIC_S = 0.1, 3600.0  # of the time since it was changed (RFC 9111 4.2.2); at most an hour
_NOT_KEPT = re.compile(r"\b(?:no-store|no-cache|private|must-understand)\b")
_MAX_AGE = re.compile(r"\b(s-maxage|max-age)=\"?([0-9]{1,9})")
_SECONDS = re.compile(r"[0-9]{1,9}")


class ResourceCache:
    """Scripts and stylesheets, kept for as long as their servers allow. One for each worker; used by all its threads.

    A rendered page begins without a cache, as each page has a context of its own. Without this one, a site would be
    asked for its scripts once for every page. By RFC 9111, of which it takes the cautious half: what it does not
    understand, or what depends on who asks, is not kept.
    """

    def __init__(self) -> None:
        self._kept: Lru[str, tuple[float, Fetched]] = Lru(_BYTES)

    def get(self, url: str, now: float) -> Fetched | None:
        """Give what is kept of a URL, if it is still fresh. `now`: seconds since 1970."""
        found = self._kept.get(url)
        return found[1] if found is not None and now < found[0] else None

    def put(self, url: str, answer: Fetched, now: float) -> None:
        """Keep an answer to a GET, if that is allowed."""
        fresh_s = fresh_for_s(answer, now)
        if fresh_s > 0 and len(answer.body or b"") <= _LARGEST_BYTES:
            weight = len(answer.body or b"") + 2000
            self._kept.put(url, (now + fresh_s, answer), weight)


def fresh_for_s(answer: Fetched, now: float) -> float:
    """Give for how many seconds an answer may be used again; 0 if it may not.

    >>> fresh_for_s(Fetched(200, {"cache-control": "public, max-age=60"}, b"", 0.0, 0.0), 0.0)
    60.0
    >>> fresh_for_s(Fetched(200, {"cache-control": "no-cache", "expires": "Thu, 01 Jan 2060"}, b"", 0.0, 0.0), 0.0)
    0.0
    """
    headers = answer.headers
    control = headers.get("cache-control", "").lower()
    if answer.status != 200 or "set-cookie" in headers or _NOT_KEPT.search(control):
        return 0.0
    if not {*listed(headers.get("vary", ""))} <= {"accept-encoding"}:
        return 0.0
    ages = {name: float(seconds) for name, seconds in _MAX_AGE.findall(control)}
    if ages:
        in_other_caches = _SECONDS.fullmatch(headers.get("age", ""))
        age_s = float(in_other_caches[0]) if in_other_caches else 0.0
        return max(0.0, ages.get("s-maxage", ages.get("max-age", 0.0)) - age_s)
    if "expires" in headers:
        return max(0.0, (parse_date(headers["expires"]) or 0.0) - now)
    changed_at = parse_date(headers.get("last-modified", ""))
    return 0.0 if changed_at is None else min(max(0.0, (now - changed_at) * _HEURISTIC_SHARE), _HEURISTIC_S)
