"""Decides which pages are rendered, lets a keeper do it, and says what comes of it.

Promise: a crawl without `[render]` does nothing here but one look at a flag for each page.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.handlers.page_network import Network, PageNetwork
from fscrawl.hostnames import pattern_covers, url_pattern
from fscrawl.http.cookies import Cookie as CookieOfSite
from fscrawl.http.cookies import Jar
from fscrawl.http.fetch import Failed, Fetched
from fscrawl.parse.hash_routes import hash_routes
from fscrawl.parse.links import ParsedPage
from fscrawl.parse.shadow_roots import opened
from fscrawl.render.messages import Answer, Ask, Cookie, Job, Options, Rendered, Trouble
from fscrawl.request import read
from fscrawl.storage.render_record import RenderRecord
from fscrawl.util.lru import Lru

Render = Callable[[Job, Callable[[Ask], Answer]], Rendered | Trouble]

_NO_LINKS = frozenset({"nofollow", "none"})
_HOSTS = 10_000
_TRIED, _SAMPLED = 5, 20  # so many renderings without any gain, and only each so-many-th page is still tried


class Shown(NamedTuple):
    """A rendered page.

    dom        as it is stored; `seen`: as parsers see it
    links      spellings: where its scripts wanted to go, and its hash routes
    asked_at   monotonic time of the last answer of its host, None if it was not asked again
    """

    dom: bytes
    seen: bytes
    picture: bytes
    links: tuple[str, ...]
    record: RenderRecord
    asked_at: float | None


def of_both(before: ParsedPage, after: ParsedPage, more: Iterable[str], asked: str) -> ParsedPage:
    """Put together what was read of a page and of its DOM: the DOM says what it is, and links are of both.

    `more`: links that stand in neither of them; `asked`: the spelling of its own request.
    """
    robots = tuple(sorted({*before.robots, *after.robots}))
    links = dict.fromkeys((*before.links, *after.links, *(() if _NO_LINKS.intersection(robots) else more)))
    links.pop(asked, None)
    return replace(
        after,
        encoding=before.encoding,
        links=tuple(links),
        nofollow=tuple(each for each in dict.fromkeys((*before.nofollow, *after.nofollow)) if each not in links),
        canonical=after.canonical or before.canonical,
        robots=robots,
        truncated=before.truncated or after.truncated,
        too_long=before.too_long + after.too_long,
    )


class _Learned:
    """What is known of a host's empty pages: renderings in a row without any gain, and pages since."""

    def __init__(self) -> None:
        self.in_vain = 0
        self.left_out = 0


class Rendering:
    """One for each worker; used by all its threads."""

    def __init__(self, settings: Settings, network: Network, render: Render | None) -> None:
        """`render`: None if this worker has no browser."""
        self._settings = settings.render
        self._network = network
        self._render = render
        self._hosts = tuple(pattern for each in settings.render.hosts if (pattern := url_pattern(each)) is not None)
        self._options = Options(
            settings.render.wait,
            settings.render.timeout,
            frozenset(settings.render.block),
            settings.render.scroll,
            settings.render.screenshot,
            settings.politeness.user_agent,
        )
        self._learned: Lru[str, _Learned] = Lru(_HOSTS)
        self.is_on = render is not None and settings.render.is_on

    def why(self, url: str) -> str:
        """Say why all pages of a URL's host are rendered, as in their records; "" if that depends on the page."""
        if not self.is_on:
            return ""
        if any(pattern_covers(pattern, url) for pattern in self._hosts):
            return "host"
        return "always" if self._settings.when == "always" else ""

    def why_empty(self, url: str, html: bytes, encoding: str) -> str:
        """Say why a page of any other host is rendered. `html`: as it was fetched."""
        if not self.is_on or self._settings.when != "empty" or not _is_empty(html, encoding):
            return ""
        return "empty" if self._is_worth_it(urls.host(url)) else ""

    def _is_worth_it(self, host: str) -> bool:
        """Tell whether the empty pages of a host may have more when they are rendered."""
        learned = self._learned.get(host)
        if learned is None or learned.in_vain < _TRIED:
            return True
        learned.left_out += 1
        return learned.left_out % _SAMPLED == 0

    def learn(self, url: str, before: ParsedPage, after: ParsedPage, dom: bytes) -> None:
        """Learn from an empty page that was rendered. `before`, `after`: what was read of it, and of its DOM."""
        learned = self._learned.get(urls.host(url)) or _Learned()
        has_gained = not _is_empty(dom, "utf-8") or len(after.links) > len(before.links)
        learned.in_vain = 0 if has_gained else learned.in_vain + 1
        self._learned.put(urls.host(url), learned)

    def run(self, asked: str, answer: Fetched, body: bytes, jar: Jar | None, why: str) -> Shown | Failed:
        """Render a page. `asked`: the spelling of its request."""
        assert self._render is not None
        request = read(asked)
        url = request.url
        network = PageNetwork(self._network, url, jar, self._settings.timeout)
        cookies = () if jar is None else tuple(map(_cookie, jar.of_site(url, time.time())))
        job = Job(request.address, answer.status, answer.headers, body, cookies, self._options)
        try:
            rendered = self._render(job, network.answer)
        finally:
            network.close()
        if isinstance(rendered, Rendered) and len(rendered.dom) > self._settings.max_bytes:
            rendered = Trouble(
                f"its DOM has more than {self._settings.max_bytes} bytes (render.max_bytes)", retry=False
            )
        if isinstance(rendered, Trouble):
            if network.asked_at is not None:
                self._network.rules.asking.wait(url)  # the failure says when the page was fetched, not what came later
            return Failed("render", rendered.message, rendered.retry, answer.status, answer.headers)
        record = _record(why, rendered, network)
        seen = opened(rendered.dom)
        links = self._links(rendered.went_to, seen, url)
        return Shown(rendered.dom, seen, rendered.screenshot, links, record, network.asked_at)

    def _links(self, went_to: Iterable[str], dom: bytes, url: str) -> tuple[str, ...]:
        places = filter(None, (urls.normalise(each) for each in went_to))
        return (*places, *(hash_routes(dom, url) if self._settings.hash_routes else ()))


def _is_empty(html: bytes, encoding: str) -> bool:
    from fscrawl.parse.emptiness import is_empty  # noqa: PLC0415 - most crawls need not load it

    return is_empty(html, encoding)


def _cookie(cookie: CookieOfSite) -> Cookie:
    domain = cookie.domain if cookie.host_only else f".{cookie.domain}"
    return Cookie(cookie.name, cookie.value, domain, cookie.path, cookie.secure)


def _record(why: str, rendered: Rendered, network: PageNetwork) -> RenderRecord:
    return RenderRecord(
        why,
        rendered.ended,
        rendered.seconds,
        len(rendered.dom),
        sha256(rendered.dom).hexdigest(),
        network.loaded,
        dict(network.requests) or None,
        dict(network.refused + Counter(rendered.blocked)) or None,
        rendered.errors or None,
        len(rendered.screenshot),
    )
