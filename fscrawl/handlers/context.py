"""What all handlers of a worker share: the tree, the settings, the permit, and the one way to ask a host."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.fleet.heartbeat import Permit
from fscrawl.frontier.scope import Scope
from fscrawl.handlers.exchange import media_type
from fscrawl.handlers.fresh_links import FreshLinks
from fscrawl.handlers.reading import Reader
from fscrawl.http.fetch import Failed, Fetched, Fetcher
from fscrawl.parse import media_types
from fscrawl.politeness.redirects import Hops
from fscrawl.politeness.robots_cache import RobotsCache
from fscrawl.store import Tree


class Context:
    """One for each worker; used by all its threads.

    permitted   tells whether this machine may still fetch and store: without heartbeats (the machine was paused, the
                mount hung) another machine may have the host by now
    """

    def __init__(
        self,
        tree: Tree,
        settings: Settings,
        scope: Scope,
        term: str,
        threads: int,
        permit: Permit | None,
        on_answer: Callable[[], None],
        allow_env: Collection[str],
        read: Reader,
    ) -> None:
        """`term`: as for `CrawlConfig`. `permit`, `on_answer`, `allow_env`, `read`: as for `Worker`."""
        self.term = term
        self.tree = tree
        self.settings = settings
        self.fetcher = Fetcher(settings.fetch, settings.politeness, threads, allow_env)
        # Nothing here may lead back to this object: when settings are edited, its connections must end with it at once.
        self.permitted = permit.holds if permit is not None else _always
        self.hops = Hops(scope.refuses, settings.politeness.delay, self.permitted)
        self.robots_cache = RobotsCache(tree, self.fetcher, settings.politeness.user_agent, self.hops)
        self.joiner = urls.Joiner(drop_query=settings.crawl.drop_query)
        self.fresh_links = FreshLinks(settings.crawl, scope)
        self.accept = frozenset(settings.fetch.accept)
        self.on_answer = on_answer
        self.read = read
        self._unnamed = media_types.NO_MEANING if "text/html" in self.accept else frozenset({""})

    def ask(self, url: str, conditions: Mapping[str, str] | None = None) -> tuple[Fetched | Failed, float]:
        """Ask a host for a page; give its answer, and when the request had surely reached the host."""
        answer = self.fetcher.get(url, conditions, wants_body=self._wants_body)
        self.on_answer()
        return answer, asked_at(answer)

    def _wants_body(self, status: int, headers: dict[str, str]) -> bool:
        """Tell whether the body is read: if the answer is good, and its type is wanted or says nothing."""
        named = media_type(headers)
        return 200 <= status < 300 and (named in self.accept or named in self._unnamed)


def _always() -> bool:
    return True


def asked_at(answer: Fetched | Failed) -> float:
    """Give when the request had surely reached the host; call it when the answer has just come."""
    return answer.began if isinstance(answer, Fetched) else time.monotonic()
