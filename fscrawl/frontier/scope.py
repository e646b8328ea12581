"""Which URLs belong to a crawl: those of its seeds' hosts, by the user's expressions, and of no trap. Pure.

Vocabulary:
  scope      "host" | "domain" (the registrable domain) | "any": how near to a seed a URL must be
  trap       a site that has ever more URLs, each a little longer: a path that goes on and on, or repeats itself
"""

from __future__ import annotations

import re
from typing import Protocol

from fscrawl.urls import hostname, site


class Limits(Protocol):
    """What of `settings.CrawlSettings` is looked at here."""

    @property
    def scope(self) -> str: ...
    @property
    def allow(self) -> tuple[str, ...]: ...
    @property
    def deny(self) -> tuple[str, ...]: ...
    @property
    def max_path_depth(self) -> int: ...
    @property
    def max_repeats(self) -> int: ...


_REPEATS_FROM = 4  # slashes of a URL's path, from which on it may repeat itself


class Scope:
    """Which URLs belong to the crawl, relative to its seeds and by the user's expressions."""

    def __init__(self, crawl: Limits, seeds: frozenset[str]) -> None:
        """`seeds`: normal forms."""
        self.mode = crawl.scope
        names = {hostname(seed) for seed in seeds}
        self._members = frozenset(names if self.mode == "host" else {site(name) for name in names})
        self._allow = tuple(re.compile(pattern) for pattern in crawl.allow)
        self._deny = tuple(re.compile(pattern) for pattern in crawl.deny)
        self._max_slashes = crawl.max_path_depth + 2
        self._max_repeats = crawl.max_repeats
        # One to three segments that come again and again, next to each other.
        self._repeated = re.compile(rf"/((?:[^/?]+/){{1,3}})\1{{{crawl.max_repeats},}}")

    def covers_no_more_than(self, other: Scope) -> bool:
        """Tell whether it is plain that whatever is inside this scope is inside `other` too."""
        same_rules = (
            self._allow == other._allow
            and set(other._deny) <= set(self._deny)
            and self._max_slashes <= other._max_slashes
            and self._max_repeats <= other._max_repeats
        )
        if not same_rules or other.mode == "any":
            return same_rules
        return self.mode == other.mode and self._members <= other._members

    def refuses(self, url: str) -> str | None:
        """Give the setting by which a normal form is outside, or None if it is inside.

        >>> from fscrawl.config.settings import CrawlSettings
        >>> scope = Scope(CrawlSettings(deny=("[?]session=",)), frozenset({"http://www.example.com/"}))
        >>> scope.refuses("https://blog.example.com/a") is None
        True
        >>> scope.refuses("http://other.example/"), scope.refuses("http://example.com/?session=1")
        ('scope', 'deny')
        >>> scope.refuses("http://example.com/" + "a/b/" * 5)
        'max_repeats'
        """
        if self.mode != "any":
            name = hostname(url)
            if (name if self.mode == "host" else site(name)) not in self._members:
                return "scope"
        slashes = url.count("/")
        if slashes > _REPEATS_FROM:
            if slashes > self._max_slashes and url.partition("?")[0].count("/") > self._max_slashes:
                return "max_path_depth"
            if self._repeated.search(url.partition("?")[0]):
                return "max_repeats"
        if any(pattern.search(url) for pattern in self._deny):
            return "deny"
        if self._allow and not any(pattern.search(url) for pattern in self._allow):
            return "allow"
        return None

    def explain(self, url: str) -> str | None:
        """As `refuses`, with what the setting says, for a person.

        >>> from fscrawl.config.settings import CrawlSettings
        >>> Scope(CrawlSettings(deny=("zz", "[?]")), frozenset({"http://a.example/"})).explain("http://a.example/?b")
        'deny = "[?]"'
        """
        rule = self.refuses(url)
        if rule == "scope":
            return f'scope = "{self.mode}"'
        if rule == "deny":
            return next(f'deny = "{pattern.pattern}"' for pattern in self._deny if pattern.search(url))
        return rule
