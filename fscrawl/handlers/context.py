"""What all handlers of a worker share: tree, settings, permit; how a page is asked for, and how it is understood."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fscrawl import urls
from fscrawl.fleet.heartbeat import Permit
from fscrawl.handlers import costs
from fscrawl.handlers.crawl_config import CrawlConfig
from fscrawl.handlers.fresh_links import FreshLinks
from fscrawl.handlers.meaning import health_of
from fscrawl.handlers.outcome import Exchange, ReturnedError
from fscrawl.handlers.page_network import Network
from fscrawl.handlers.reading import (
    FEED,
    NO_LINKS,
    PDF,
    SITEMAP,
    OfSite,
    Reader,
    Reading,
    UnreadableError,
)
from fscrawl.handlers.rendering import Render, Rendering
from fscrawl.handlers.sessions import Opened, Sessions, asking
from fscrawl.http.answers import Failed, Fetched
from fscrawl.http.cookies import Jar
from fscrawl.http.fetch import Fetcher
from fscrawl.parse import media_types, pdf
from fscrawl.parse.directives import directives_of
from fscrawl.parse.documents import References, page_of
from fscrawl.parse.follow import chosen
from fscrawl.parse.headers import first, is_final, media_type, rest_s
from fscrawl.parse.links import ParsedPage
from fscrawl.parse.media_types import NO_MEANING, Ranges
from fscrawl.parse.sitemaps import Sitemap
from fscrawl.politeness.redirects import Hops
from fscrawl.politeness.robots import product_token
from fscrawl.politeness.robots_cache import RobotsCache
from fscrawl.request import Request, names_session, read, url_of
from fscrawl.sites.rules import Sites
from fscrawl.store import Tree

if TYPE_CHECKING:  # it loads the parsers of rules, which most crawls do not need
    from fscrawl.sites.code import Code


class Context:
    """One for each worker; used by all its threads.

    limits      of pages: what an exchange may take, and of which answers the body is wanted
    permitted   tells whether this machine may still fetch and store: without heartbeats (the machine was paused, the
                mount hung) another machine may have the host by now
    """

    def __init__(
        self,
        tree: Tree,
        config: CrawlConfig,
        threads: int,
        permit: Permit | None,
        allow_env: Collection[str],
        read: Reader,
        render: Render | None,
        opened: Opened | None,
    ) -> None:
        """All arguments: as for `Worker`."""
        self.tree = tree
        self.settings = settings = config.settings
        self.scope = scope = config.scope()
        links = config.link_rules()
        self.chosen = links.scope()  # in which links are: it may be wider than the one in which pages are fetched
        self.generation = config.generation
        self.refresh_before = config.refresh_before
        opened, identity = opened or Opened(), config.identity
        jar = opened.jar_of(identity)
        self.fetcher = Fetcher(settings.fetch, settings.politeness, threads, allow_env, settings.rules, jar)
        # Nothing here may lead back to this object: when settings are edited, its connections must end with it at once.
        self.permitted = permit.holds if permit is not None else _always
        self.hops = Hops(scope.refuses, settings.politeness.delay, self.permitted)
        self.robots_cache = RobotsCache(tree, self.fetcher, settings.politeness.user_agent, self.hops)
        self.joiner = urls.Joiner(settings.spelling)
        self.fresh_links = FreshLinks(links, self.chosen)
        self.sites = Sites(settings.rules)
        by_itself = asking(self.fetcher, self.hops, self.robots_cache, obey=settings.politeness.robots)
        self.sessions = Sessions(by_itself, opened, identity)
        network = Network(self.fetcher, by_itself, scope, settings.politeness)
        self.rendering = Rendering(settings, network, render)
        fetch = settings.fetch
        self.accept = Ranges(fetch.accept)
        self._accept_links = frozenset(fetch.accept_links) - (set() if pdf.is_installed() else {media_types.PDF})
        self._follow = chosen(settings.crawl.follow)
        self._agent = product_token(settings.politeness.user_agent)
        self.read = read
        unnamed = NO_MEANING if self.accept.may_be_unnamed else frozenset({""})
        self.limits = replace(self.fetcher.limits, wants=partial(_is_wanted, self.accept, unnamed))

    def ask(self, url: str, conditions: Mapping[str, str] | None = None) -> tuple[Fetched | Failed, float]:
        """Ask a host for a page; give its answer, and when the request had surely reached the host.

        `url`: of the task, so the spelling of a request. `conditions`: only sent with a GET (RFC 9110 13.1).
        ReturnedError without a permit, before the request or when its answer has come.
        """
        self.need_permit()
        answer = self._send(read(url), conditions) if "#" in url else self.fetcher.get(url, conditions, self.limits)
        at = asked_at(answer)
        costs.expect(costs.usual_answer_s(len(answer.body or b"") if isinstance(answer, Fetched) else 0))
        self.need_permit(at)
        return answer, at

    def exchange_of(self, failure: Failed, asked_at: float, latency_s: float) -> Exchange:
        """Give what this thread's last exchange, which meant a failure, showed of the host."""
        return Exchange(asked_at, health_of(failure), latency_s, rest_s(failure.headers), address=self.fetcher.address)

    def need_permit(self, asked_at: float | None = None) -> None:
        """Raise ReturnedError if this machine may not fetch and store now. `asked_at`: if the host was asked.

        It is called just before a request, since a look at the tree before it may have lasted for long: the machine
        that has the host now asks it, too. And after it, since that machine would not learn of the page's links.
        """
        if not self.permitted():
            raise ReturnedError(asked_at)

    def _send(self, asked: Request, conditions: Mapping[str, str] | None) -> Fetched | Failed:
        """Send a request that is no plain GET."""
        conditions = conditions if asked.method == "GET" else None
        if not asked.session:
            return self.fetcher.send(asked, conditions, self.limits)
        jar = self.sessions.jar(asked, self._opener_of(asked.url))
        if isinstance(jar, Failed):
            return replace(jar, unsent=True)
        self.need_permit()  # it may have been opened just now
        return self.fetcher.send(asked, conditions, self.limits, jar=jar)

    def _opener_of(self, url: str) -> Code | None:
        rules = self.sites.of(url)
        return None if rules is None else rules.code

    def jar_of(self, asked: str) -> Jar | None:
        """Give the cookies with which this thread has just asked for a page."""
        return self.sessions.given if names_session(asked) else self.fetcher.jar

    def spoil_session(self, asked: str) -> int:
        """Let the session that this thread has just used for a request be opened anew. Give how many were in vain."""
        return self.sessions.spoil(read(asked))

    def approve_session(self, asked: str) -> None:
        """Note that a page was as expected. `asked`: the spelling of its request, which may name a session."""
        if names_session(asked):
            self.sessions.approve(read(asked))

    def rules_of(self, asked: str) -> str:
        """Give the digest of the rules that its site has for pages; "" if it has none."""
        rules = self.sites.reader_of(asked) if self.sites else None
        return "" if rules is None else rules.digest

    def understand(
        self,
        asked: str,
        body: bytes,
        status: int,
        headers: Mapping[str, str],
        type_: str | None = None,
        *,
        by_rules: bool = True,
        with_routes: bool = False,
        query_encoding: str = "",
    ) -> ParsedPage:
        """Read a page, and what the rules of its site say of it. UnreadableError if it takes too long.

        `asked`: the URL of its task, so the spelling of a request. `type_`: what it was taken for, if that is known.
        `by_rules`: False leaves out the rules of its site. `with_routes`: links to states of an application count.
        `query_encoding`: of the page whose DOM this is.
        A document that is not HTML, and that no rules are for, is never unreadable: then it has no links.
        """
        type_ = type_ or media_types.type_of(body, media_type(headers))
        rules = self.sites.reader_of(asked) if self.sites and by_rules else None
        reader = self._reader_of(type_)
        robots_tag = headers.get("x-robots-tag")
        reading = Reading(
            body,
            url_of(asked),
            content_type=headers.get("content-type"),
            robots_tag=robots_tag and ", ".join(directives_of([], robots_tag, self._agent)),
            agent=self._agent,
            refresh=first(headers, "refresh"),
            parser=reader,
            spelling=self.settings.spelling,
            is_plain="#" not in asked,
            site=None if rules is None else OfSite(rules, asked, status, headers),
            follow=self._follow,
            with_routes=with_routes,
            query_encoding=query_encoding,
        )
        if type_ in media_types.HTML:
            page = self.read(reading, self.joiner)
            return page if type_ in self._accept_links else replace(page, links=(), nofollow=())
        if rules is not None:
            return self.read(reading, self.joiner)
        if reader != NO_LINKS:
            with contextlib.suppress(UnreadableError):
                return self.read(reading, self.joiner)
        unread = References(truncated=reader != NO_LINKS)
        return page_of(unread, reading.url, self.joiner, robots_tag=reading.robots_tag)

    def sitemap(self, body: bytes, url: str, content_type: str | None) -> Sitemap:
        """Read a sitemap. UnreadableError if it takes too long. `url`: its own; `content_type`: of its answer."""
        found = self.read(Reading(body, url, content_type, None, SITEMAP), self.joiner)
        assert isinstance(found, Sitemap)
        return found

    def _reader_of(self, type_: str) -> str:
        """Tell who reads a page or document of a type."""
        if type_ in media_types.HTML:
            return self.settings.parse.parser
        if type_ not in self._accept_links:
            return NO_LINKS
        return PDF if type_ == media_types.PDF else FEED


def _is_wanted(accept: Ranges, unnamed: frozenset[str], status: int, headers: dict[str, str]) -> bool:
    """Tell whether the body is read: if the answer is good, and its type is wanted or says nothing."""
    named = media_type(headers)
    return is_final(status, headers) and (named in accept or named in unnamed)


def _always() -> bool:
    return True


def asked_at(answer: Fetched | Failed) -> float:
    """Give when the request had surely reached the host; call it when the answer has just come."""
    return answer.head_at if isinstance(answer, Fetched) else time.monotonic()
