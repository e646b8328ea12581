"""What a worker must know of the crawl. The machine makes it, and need not load what fetches and reads pages."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from fscrawl.config.settings import Settings
from fscrawl.frontier.scope import Scope


@dataclass(frozen=True, slots=True)
class CrawlConfig:
    """What a worker must know of the crawl. It is sent to the worker processes, again after each edit.

    seeds      normal forms on all hosts that count as those of seeds
    term       digest of all that decides which links are followed; outcomes carry it. Another term makes other workers
    refresh_before
               pages that were last fetched or checked before this time (RFC 3339) are fetched again; "": none
    """

    settings: Settings
    seeds: frozenset[str]
    term: str
    refresh_before: str = ""

    @property
    def identity(self) -> str:
        """A digest of all that a host may see of who asks. Cookies and sessions of another identity are not used."""
        fetch, politeness, sites = self.settings.fetch, self.settings.politeness, self.settings.rules
        of_sites = [(site.hosts, site.headers) for site in sites if site.headers]
        seen = (politeness.user_agent, politeness.user_agents, fetch.headers, fetch.auth, fetch.proxies, of_sites)
        return hashlib.sha224(repr(seen).encode()).hexdigest()

    def scope(self) -> Scope:
        return Scope(self.settings.crawl, self.seeds)
