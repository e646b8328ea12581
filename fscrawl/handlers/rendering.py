"""Decides which pages are rendered, lets a keeper do it, and says what comes of it.

Promise: a crawl without `[render]` does nothing here but one look at a flag for each page.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import NamedTuple

from msgspec.structs import replace

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.handlers import costs
from fscrawl.handlers.meaning import bad_status
from fscrawl.handlers.outcome import ReturnedError
from fscrawl.handlers.page_network import Network, PageNetwork
from fscrawl.hostnames import pattern_covers, url_pattern
from fscrawl.http.answers import Failed, Fetched
from fscrawl.http.cookies import Cookie as CookieOfSite
from fscrawl.http.cookies import Jar
from fscrawl.parse.links import ParsedPage, readable
from fscrawl.render.messages import (
    MAX_BYTES,
    Answer,
    Ask,
    Cookie,
    GaveWay,
    GivenUpError,
    Job,
    Options,
    Rendered,
    Trouble,
)
from fscrawl.request import Request, read, route_of, spelling, url_of
from fscrawl.storage.records import RenderRecord
from fscrawl.urls import Joiner
from fscrawl.util.lru import Lru

Render = Callable[[Job, Callable[[Ask], Answer]], Rendered | Trouble | GaveWay]

_NOFOLLOW = frozenset({"nofollow", "none"})
_HOSTS = 10_000
_USUAL_S = 3.0  # of the processor, in a browser: most pages take less than one
_LARGE_BYTES = 2_000_000  # a DOM that is larger is not looked through: there must be something in it
_TRIED, _SAMPLED = 5, 20  # so many renderings without any gain, and only each so-many-th page is still tried


class Source(NamedTuple):
    """A page as it was fetched. `type_`, `encoding`: what it was taken for, whatever its server says."""

    body: bytes
    type_: str
    encoding: str


class Shown(NamedTuple):
    """A rendered page.

    dom        as it is stored
    picture    PNG; b"" without one
    went_to    URLs that its scripts wanted to go to, as they wrote them
    asked_at   monotonic time of the last answer of its host, None if it was not asked again
    """

    dom: bytes
    picture: bytes
    went_to: tuple[str, ...]
    record: RenderRecord
    asked_at: float | None


def of_both(
    before: ParsedPage, after: ParsedPage, places: Iterable[str], asked: str, leads_on: Callable[[str], bool]
) -> ParsedPage:
    """Put together what was read of a page and of its DOM: the DOM says what it is, and links are of both.

    `places`: where its scripts wanted to go, which stands in neither of them; `asked`: the spelling of its own request;
    `leads_on`: tells whether a link is one. If one of both says that no link is to be followed, none is.
    """
    robots = tuple(sorted({*before.robots, *after.robots}))
    not_followed = {*after.nofollow}
    of_body = (each for each in before.links if each not in not_followed)
    links = dict.fromkeys(each for each in (*of_body, *after.links, *places) if leads_on(each))
    links.pop(asked, None)
    nofollow = dict.fromkeys(each for each in (*before.nofollow, *after.nofollow) if leads_on(each))
    if _NOFOLLOW.intersection(robots):
        links, nofollow = {}, links | nofollow
    requests = after.requests
    if requests is not None:  # a redirect is followed whatever rules follow
        requests = tuple(dict.fromkeys([*requests, *(each for each in places if each != asked and leads_on(each))]))
    return replace(
        after,
        requests=requests,
        encoding=before.encoding,
        encoding_source=before.encoding_source,
        links=tuple(links),
        nofollow=tuple(each for each in nofollow if each not in links),
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
            MAX_BYTES,
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

    def why_empty(self, url: str, source: Source, *, was_rendered: bool) -> str:
        """Say why a page of any other host is rendered. `was_rendered`: so far."""
        if not self.is_on or self._settings.when != "empty" or not seems_empty(source):
            return ""
        return "empty" if was_rendered or self._is_worth_it(urls.host(url)) else ""

    def _is_worth_it(self, host: str) -> bool:
        """Tell whether the empty pages of a host may have more when they are rendered."""
        learned = self._learned.get(host)
        if learned is None or learned.in_vain < _TRIED:
            return True
        learned.left_out += 1
        return learned.left_out % _SAMPLED == 0

    def learn(self, url: str, source: Source, before: ParsedPage, after: ParsedPage, shown: Shown) -> None:
        """Learn from an empty page that was rendered. `before`, `after`: what was read of its body, and of its DOM."""
        links = [each for each in (*after.links, *shown.went_to) if each not in before.links]
        has_gained = bool(links) or len(shown.dom) > _LARGE_BYTES
        has_gained = has_gained or _text(Source(shown.dom, "text/html", "utf-8")) != _text(source)
        self._note(urls.host(url), has_gained=has_gained)

    def has_failed(self, url: str) -> None:
        """Learn from an empty page that could not be rendered."""
        self._note(urls.host(url), has_gained=False)

    def _note(self, host: str, *, has_gained: bool) -> None:
        learned = self._learned.get(host) or _Learned()
        learned.in_vain = 0 if has_gained else learned.in_vain + 1
        self._learned.put(host, learned)

    def run(
        self, asked: str, answer: Fetched, source: Source, jar: Jar | None, why: str, *, is_last: bool
    ) -> Shown | Failed:
        """Render a page; ReturnedError if that is not done now.

        `asked`: the spelling of its request. `is_last`: it is not tried again if it lacks what its host says to ask for
        later.
        """
        request = read(asked)
        site = urls.site(urls.hostname(request.url))
        cookies = () if jar is None else tuple(map(_cookie, jar.of_site(site, time.time())))
        headers = {**answer.headers, "content-type": f"{source.type_}; charset={source.encoding}"}
        job = Job(request.address, answer.status, headers, source.body, cookies, self._options)
        rendered, network = self._in_browser(job, request, jar, answer)
        if network.not_now is not None and not is_last:
            return replace(bad_status(network.not_now), asked_at=network.asked_at)
        if isinstance(rendered, Rendered):
            rendered = self._within_bounds(rendered)
        if isinstance(rendered, Trouble):
            return Failed(
                "render", rendered.message, rendered.retry, answer.status, answer.headers, asked_at=network.asked_at
            )
        record = _record(why, rendered, network)
        return Shown(rendered.dom, rendered.screenshot, rendered.went_to, record, network.asked_at)

    def _in_browser(
        self, job: Job, request: Request, jar: Jar | None, answer: Fetched, asked_at: float | None = None
    ) -> tuple[Rendered | Trouble, PageNetwork]:
        """Give what a browser makes of a page, and what the page has asked for. `asked_at`: when its host was again."""
        assert self._render is not None
        network = PageNetwork(self._network, request, jar, self._settings.timeout, answer.address)
        asked_at = asked_at or answer.head_at
        try:
            rendered = self._render(job, network.answer)
        except GivenUpError:
            raise ReturnedError(network.asked_at or asked_at) from None
        finally:
            network.close()
        costs.beside(rendered.processor_s)
        costs.expect(_USUAL_S)
        if isinstance(rendered, GaveWay):
            return self._in_browser(job, request, jar, answer, network.asked_at or asked_at)
        return rendered, network

    def _within_bounds(self, rendered: Rendered) -> Rendered | Trouble:
        if len(rendered.dom) > MAX_BYTES:
            return Trouble(f"its DOM is too large (more than {MAX_BYTES} bytes)", retry=False)
        return rendered if rendered.dom else Trouble("its scripts have removed the whole page", retry=False)

    def places(self, went_to: Iterable[str], url: str, joiner: Joiner) -> tuple[str, ...]:
        """Give the spellings of where the scripts of a page wanted to go. `url`: of the page."""
        found = []
        for written in went_to:
            place = joiner.join(url, written)
            found += [] if place is None else [spelling(Request(place, fragment=route_of(written)))]
        return tuple(found)

    def route(self, written: str, url: str) -> str:
        """Give the route in a reference to `url`, such as in a redirect; "" if it is none that would be rendered."""
        return route_of(written) if self.why(url) else ""

    def leads_on(self, url: str) -> Callable[[str], bool]:
        """Give what tells whether a link of a page leads on: a route does so only where it will be rendered, too."""
        host = urls.host(url)
        return lambda link: "#" not in link or urls.host(url_of(link)) == host or bool(self.why(url_of(link)))


def _text(source: Source) -> str:
    from fscrawl.parse.text import visible  # noqa: PLC0415 - as below

    return visible(readable(source.body, source.encoding, source.type_))


def seems_empty(source: Source) -> bool:
    """Tell whether a page has scripts, and hardly any text or links without them."""
    from fscrawl.parse.text import is_empty  # noqa: PLC0415 - most crawls need not load it

    return is_empty(source.body, source.encoding, source.type_)


def _cookie(cookie: CookieOfSite) -> Cookie:
    domain = cookie.domain if cookie.host_only else f".{cookie.domain}"
    return Cookie(cookie.name, cookie.value, domain, cookie.path, cookie.secure, cookie.http_only)


def _record(why: str, rendered: Rendered, network: PageNetwork) -> RenderRecord:
    return RenderRecord(
        why,
        rendered.ended,
        rendered.seconds,
        len(rendered.dom),
        sha256(rendered.dom).hexdigest(),
        network.loaded,
        dict(network.requests) or None,
        dict(network.lacking + Counter(rendered.blocked)) or None,
        rendered.errors or None,
        len(rendered.screenshot),
    )
