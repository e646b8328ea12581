"""The rules by which a machine judges URLs at one time, made of the settings, the seeds and the generation. Pure.

Promise: rules never change. An edit or a new generation gives other rules, with another term if links are chosen
differently.
"""

from __future__ import annotations

from typing import NamedTuple

from fscrawl.config.watcher import EditWatcher
from fscrawl.fleet.terms import Term
from fscrawl.frontier.flags import Flags
from fscrawl.frontier.scope import Scope
from fscrawl.sites.rules import NO_SITES, Sites, near_to
from fscrawl.storage.records import TreeRecord


class Rules(NamedTuple):
    """What is in force.

    scope        which URLs belong to the crawl
    max_depth    how many links may be followed from a seed; None: any number
    seeds        normal forms
    nofollow     whether links that are marked as not to be followed are followed
    term         names these rules in the logs
    sites        the rules of sites: what is followed in place of links
    stopped      labels of tasks to hold back. They decide nothing about links
    sitemaps     whether the sitemaps that robots.txt names are read
    """

    scope: Scope
    max_depth: int | None
    seeds: frozenset[str]
    nofollow: bool
    term: Term
    sites: Sites = NO_SITES
    stopped: frozenset[str] = frozenset()
    sitemaps: bool = True

    @classmethod
    def of(cls, watch: EditWatcher, record: TreeRecord, generation: int) -> Rules:
        """Give the rules that follow from what `watch` has read."""
        crawl = watch.settings.crawl
        chosen = watch.settings
        sites, near = Sites(chosen.rules), near_to(watch.seeds, chosen.rules)
        stopped = frozenset(crawl.stopped_labels)
        term = Term.of(chosen, near, record, generation, sites.digest)
        scope, sitemaps = Scope(crawl, near), chosen.reads_sitemaps
        return cls(scope, crawl.max_depth, watch.seeds, crawl.follow_nofollow, term, sites, stopped, sitemaps)

    @property
    def generation(self) -> int:
        return self.term.generation

    def admit(self, url: str, flags: Flags) -> bool:
        """Tell whether a URL of a log is to be fetched. A sitemap need not match an `allow` expression."""
        if flags.label in self.stopped:
            return False
        if url in self.seeds:
            return True
        rule = self.scope.refuses(url)
        return rule is None or (rule == "allow" and bool(flags.sitemap))
