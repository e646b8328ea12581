"""The rules of sites, as they are applied: which site a URL belongs to, and what its rules say of a page. Pure.

Vocabulary:
  site     one [[site]] table
  sites    all of a crawl. For each URL the first one counts that has its host

Promise: `Site.understand` raises nothing, whatever the page. Two sites with the same digest say the same of every page.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from fscrawl import urls
from fscrawl.hostnames import pattern_covers
from fscrawl.parse.headers import REDIRECTS, locations
from fscrawl.sites.seeds import MAX_SEEDS, Lists, SeedUrls
from fscrawl.urls import Joiner
from fscrawl.util.lru import Lru
from fscrawl.util.user_text import shown

if TYPE_CHECKING:  # they load the parsers, which commands that only look on do not need
    from fscrawl.parse.fields import Rules
    from fscrawl.parse.items import ItemRules
    from fscrawl.sites.matchers import Expectation, Follow, Redirect
    from fscrawl.sites.page import Page, SiteRules, Understood

_DIGITS = 16
_MOST_ORIGINS = 10_000  # whose site is remembered
_MOST_REFERENCES = 400_000  # of one entry: four times the links that a page may have, since most repeat others


@dataclass(frozen=True, slots=True)
class Site:
    """One [[site]] table.

    table     as it is written, for whoever writes the file again
    hosts     patterns in the form of normal forms
    follow    what to follow instead of a page's links; None: its links
    headers   of requests, as they are written; the values may be secret
    columns   of the dataset; None: it has none
    items     what becomes rows of the dataset's table `items`; None: nothing
    """

    table: Mapping[str, Any]
    hosts: tuple[str, ...]
    seeds: tuple[SeedUrls, ...] = ()
    follow: tuple[Follow, ...] | None = None
    expect: tuple[Expectation | Redirect, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    columns: Rules | None = None
    items: ItemRules | None = None
    digest: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        follow = None if self.follow is None else [each.text for each in self.follow]
        decides = follow is not None or bool(self.expect)
        digest = digest_of([follow, [each.text for each in self.expect]]) if decides else ""
        object.__setattr__(self, "digest", digest)

    def for_pages(self) -> Site:
        """Give the part that reads pages: it is sent to another process with each of them."""
        return replace(self, table={}, seeds=(), headers={}, columns=None, items=None)

    def understand(self, page: Page) -> Understood:
        """Say what to follow, and whether the page is what was asked for."""
        from fscrawl.sites.matchers import Expectation  # noqa: PLC0415 - as above
        from fscrawl.sites.page import Understood  # noqa: PLC0415

        if page.status in REDIRECTS and locations(page.headers):
            return Understood(unexpected=self._flaw_of_redirect(page))
        for each in self.expect:
            flaw = each.flaw(page) if isinstance(each, Expectation) else ""
            if flaw:
                return Understood(unexpected=flaw)
        if self.follow is None:
            return Understood()
        found, is_cut = page.join_all(list(self._references(page, self.follow)))
        return Understood(found, truncated=is_cut)

    def _flaw_of_redirect(self, page: Page) -> str:
        from fscrawl.sites.matchers import Redirect  # noqa: PLC0415 - as above

        place = locations(page.headers)[0]
        target = Joiner().join(page.url, place) or place
        return next((flaw for each in self.expect if isinstance(each, Redirect) and (flaw := each.flaw(target))), "")

    def _references(self, page: Page, follow: Sequence[Follow]) -> Iterator[str]:
        for each in follow:
            with contextlib.suppress(Exception):  # one page must not stop a crawl: what was found so far is followed
                yield from islice(each.references(page), _MOST_REFERENCES)


class Sites:
    """The rules of all sites of a crawl. They never change. They are false if there are none."""

    def __init__(self, rules: Sequence[SiteRules] = ()) -> None:
        self._rules = tuple(rules)
        self._known: Lru[str, tuple[SiteRules | None]] = Lru(_MOST_ORIGINS)
        self._readers = {id(each): each.for_pages() if isinstance(each, Site) else each for each in self._rules}

    def __bool__(self) -> bool:
        return bool(self._rules)

    def of(self, url: str) -> SiteRules | None:
        """Give the site of a normal form; None if it has none."""
        origin = urls.origin(url)
        known = self._known.get(origin)
        if known is not None:
            return known[0]
        found = next((each for each in self._rules if any(pattern_covers(host, url) for host in each.hosts)), None)
        self._known.put(origin, (found,))
        return found

    def reader_of(self, url: str) -> SiteRules | None:
        """Give the site of a normal form if it says something of pages; None otherwise."""
        found = self.of(url)
        return self._readers[id(found)] if found is not None and found.digest else None

    @cached_property
    def digest(self) -> str:
        """Of all that decides about what is followed; "" if nothing does."""
        deciding = [[list(each.hosts), each.digest] for each in self._rules]
        return digest_of(deciding) if any(digest for _, digest in deciding) else ""


NO_SITES = Sites()


def digest_of(values: Any) -> str:
    return hashlib.sha224(json.dumps(values).encode()).hexdigest()[:_DIGITS]


def origins(sites: Sequence[Site]) -> frozenset[str]:
    """Give the roots of the hosts that seeds of tables are on, such as "https://a.example/"."""
    return frozenset(seed.origin for site in sites for seed in site.seeds)


def unruled(sites: Sequence[Site]) -> Iterator[str]:
    """Say which tables have rules that are not for their own seeds, since these are on other hosts, of no table.

    >>> from fscrawl.sites.seeds import read
    >>> list(unruled([Site({}, ("a.example",), (read("http://www.a.example/x"),), follow=())]))
    ['[[site]] 1 (a.example): its rules are not for its seeds on http://www.a.example/: hosts does not have this host']
    """
    ruled = Sites(sites)
    for number, site in enumerate(sites, 1):
        has_rules = site.digest or site.headers or site.columns or site.items
        origins = (seed.origin for seed in site.seeds) if has_rules else ()
        if (origin := next((each for each in origins if ruled.of(each) is None), "")) != "":
            where = f"[[site]] {number} ({site.hosts[0]})"
            yield f"{where}: its rules are not for its seeds on {origin}: hosts does not have this host"


def near_to(seeds: frozenset[str], sites: Sequence[Site], code: Sequence[SiteRules] = ()) -> frozenset[str]:
    """Give URLs of all hosts that count as those of seeds: of seeds.txt, of the tables' seeds, and of the site file.

    >>> near_to(frozenset(), [], [Site({}, ("a.example", "*.b.example"))])
    frozenset({'http://a.example/'})
    """
    named = (urls.normalise(f"http://{host}/") for site in code for host in site.hosts if "*" not in host)
    return frozenset({*seeds, *origins(sites), *filter(None, named)}) if sites or code else seeds


def files(sites: Sequence[Site]) -> tuple[str, ...]:
    """Give the names of the lists that seeds of tables need."""
    return tuple(dict.fromkeys(seed.file for site in sites for seed in site.seeds if seed.file))


def too_many(sites: Sequence[Site], lists: Lists) -> str:
    """Say that tables give too many seeds; "" if they do not. Nothing is made for that.

    >>> from fscrawl.sites.seeds import read
    >>> too_many([Site({}, ("a.example",), (read("http://a.example/{1..100000000}"),))], str).partition(";")[0]
    '[[site]] seeds: they give 100,000,000 URLs (most by http://a.example/{1..100000000})'
    """
    counted = [(seed.count(lists), seed.text) for site in sites for seed in site.seeds]
    total = sum(count for count, _ in counted)
    if total <= MAX_SEEDS:
        return ""
    most = shown(max(counted)[1])
    return f"[[site]] seeds: they give {total:,} URLs (most by {most}); at most {MAX_SEEDS:,} are allowed"
