"""What a worker must know of the crawl. The machine makes it, and need not load what fetches and reads pages."""

from __future__ import annotations

import hashlib

import msgspec

from fscrawl.config.settings import Settings
from fscrawl.fleet.rules import LinkRules
from fscrawl.frontier.scope import Scope


class CrawlConfig(msgspec.Struct, frozen=True):
    """What a worker must know of the crawl. It is sent to the worker processes, again after each edit.

    seeds        normal forms on all hosts that count as those of seeds
    generation   in which the machine works; outcomes carry it. Another one makes other workers
    links        its link rules; None: they follow from the settings
    refresh_before
                 pages that were last fetched or checked before this time (RFC 3339) are fetched again; "": none
    """

    settings: Settings
    seeds: frozenset[str]
    generation: int = 0
    links: LinkRules | None = None
    refresh_before: str = ""

    @property
    def identity(self) -> str:
        """A digest of all that a host may see of who asks. Cookies and sessions of another identity are not used."""
        fetch, politeness, sites = self.settings.fetch, self.settings.politeness, self.settings.rules
        of_sites = [(site.hosts, site.headers) for site in sites if site.headers]
        seen = (politeness.user_agent, politeness.user_agents, fetch.headers, fetch.auth, fetch.proxies, of_sites)
        return hashlib.sha224(repr(seen).encode()).hexdigest()

    def scope(self) -> Scope:
        """Give the scope in which the worker may fetch."""
        return Scope(self.settings.crawl, self.seeds)

    def link_rules(self) -> LinkRules:
        """Give the rules by which links are chosen; they may be wider than the settings of now."""
        return self.links or LinkRules.of(self.settings, self.seeds)
