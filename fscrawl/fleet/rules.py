"""The rules by which URLs are judged. Pure.

Vocabulary:
  link rules   which links of a page are put into logs. Each generation has its own, which never change (`generations`)
  covers       link rules a cover b: of each page, a puts all links into logs that b would, and no later in depth

The links that machines put into the logs of a generation are chosen by its link rules. Those that the settings ask for
now may be narrower: then what is outside of them is not fetched, and only waits in the logs.

Promise: `covers` is False wherever it is not certain. Then the next generation begins, and pages are told once more,
from their records; no fetch is made for that.

What is no link rule: settings that decide what is stored in a record (`drop_query`), because links are told from
records; the limits of pages and hosts, because who holds a shard applies them when URLs come in and are handed out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fscrawl.config.settings import CrawlSettings, Settings
from fscrawl.frontier.flags import Flags
from fscrawl.frontier.scope import Scope, members_of
from fscrawl.sites.rules import NO_SITES, Sites, near_to
from fscrawl.urls import site

if TYPE_CHECKING:
    from fscrawl.config.watcher import EditWatcher  # workers need these rules, and not what reads edits

_DIGITS = 16
STOPPED = "stopped_labels"  # what `Rules.refuses` gives for a task that a user has stopped


class LinkRules(msgspec.Struct, frozen=True):
    """What decides which links of a page are put into logs.

    mode, members    how near to a seed a URL must be (`crawl.scope`): the hosts or domains; no members for "any"
    allow, deny      the user's expressions
    follow_nofollow, max_depth      as in the settings
    sites            digest of the rules of sites that find links in pages; "" if there are none
    sitemaps         sitemaps that robots.txt names are told as if each were a link of its host's pages
    """

    mode: str
    members: frozenset[str]
    allow: frozenset[str]
    deny: frozenset[str]
    follow_nofollow: bool
    max_depth: int | None
    sites: str
    sitemaps: bool

    @classmethod
    def of(cls, settings: Settings, seeds: Iterable[str]) -> LinkRules:
        """Give those of some settings. `seeds`: normal forms on all hosts that count as those of seeds."""
        crawl = settings.crawl
        return cls(
            mode=crawl.scope,
            members=members_of(crawl.scope, seeds),
            allow=frozenset(crawl.allow),
            deny=frozenset(crawl.deny),
            follow_nofollow=crawl.follow_nofollow,
            max_depth=crawl.max_depth,
            sites=Sites(settings.rules).digest,
            sitemaps=settings.reads_sitemaps,
        )

    @property
    def digest(self) -> str:
        """A digest that distinguishes them from others."""
        values = msgspec.json.encode(self, order="deterministic")
        return hashlib.sha224(values).hexdigest()[:_DIGITS]

    @property
    def is_deep(self) -> bool:
        """Depths matter: there is a limit, so a shorter way to a page may lead to more pages."""
        return self.max_depth is not None

    def scope(self) -> Scope:
        """Give the scope in which a link must be."""
        crawl = CrawlSettings(scope=self.mode, allow=tuple(sorted(self.allow)), deny=tuple(sorted(self.deny)))
        return Scope(crawl, frozenset(f"http://{member}/" for member in self.members))

    def covers(self, other: LinkRules) -> bool:
        """Tell whether a page that was told by these rules is certainly told by `other`, at the same depth."""
        return (
            self.follow_nofollow == other.follow_nofollow
            and self.sites == other.sites
            and self._goes_as_deep_as(other)
            and self._is_near_where(other)
            and (not self.allow or (bool(other.allow) and other.allow <= self.allow))
            and self.deny <= other.deny
            and self.sitemaps >= other.sitemaps
        )

    def _goes_as_deep_as(self, other: LinkRules) -> bool:
        """Tell whether no link was left out for its depth. Without a limit, shorter ways are not kept at all."""
        if self.max_depth is None or other.max_depth is None:
            return self.max_depth is other.max_depth
        return self.max_depth >= other.max_depth

    def _is_near_where(self, other: LinkRules) -> bool:
        if self.mode == "any":
            return True
        if self.mode == other.mode:
            return other.members <= self.members
        return self.mode == "domain" and other.mode == "host" and {site(name) for name in other.members} <= self.members


class Rules(NamedTuple):
    """What is in force on a machine. An edit or a new generation gives others.

    generation   in which the machine works; 0: in none yet
    links        the link rules of that generation; `chosen`: their scope
    refresh_before   pages that were last fetched or checked before this time (RFC 3339) are fetched again; "": none
    own          the link rules that the settings ask for now
    scope        which URLs belong to the crawl now
    seeds        normal forms
    sites        the rules of sites: what is followed in place of links
    stopped      labels of tasks to hold back
    """

    generation: int
    links: LinkRules
    chosen: Scope
    refresh_before: str
    own: LinkRules
    scope: Scope
    seeds: frozenset[str]
    sites: Sites = NO_SITES
    stopped: frozenset[str] = frozenset()

    @classmethod
    def of(cls, watch: EditWatcher, generation: int, links: LinkRules | None = None, refresh_before: str = "") -> Rules:
        """Give the rules that follow from what `watch` has read. `links`: of the generation; None: as these."""
        settings = watch.settings
        near = near_to(watch.seeds, settings.rules)
        own = LinkRules.of(settings, near)
        scope, sites = Scope(settings.crawl, near), Sites(settings.rules)
        stopped = frozenset(settings.crawl.stopped_labels)
        links = links or own
        chosen = scope if links == own else links.scope()
        return cls(generation, links, chosen, refresh_before, own, scope, watch.seeds, sites, stopped)

    @property
    def digest(self) -> str:
        """A digest of the generation and of all that decides which URLs are fetched: machines agree on it at last."""
        text = f"{self.generation} {self.own.digest} {' '.join(sorted(self.stopped))}"
        return hashlib.sha224(text.encode()).hexdigest()[:_DIGITS]

    @property
    def is_narrowed(self) -> bool:
        """Some links in the logs may be outside of what the settings ask for now."""
        return self.own != self.links

    def refuses(self, url: str, depth: int, flags: Flags) -> str | None:
        """Give the setting that keeps a URL of a log from being fetched; None if none does.

        A sitemap need not match an `allow` expression.
        """
        if flags.label in self.stopped:
            return STOPPED
        if self.own.max_depth is not None and depth > self.own.max_depth:
            return "max_depth"
        if url in self.seeds:
            return None
        rule = self.scope.refuses(url)
        return None if rule == "allow" and flags.sitemap else rule
