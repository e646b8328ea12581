"""Which URLs belong to a crawl: near enough to a seed, allowed by the user's expressions, and in no trap. Pure.

Vocabulary:
  scope      how near to a seed a URL must be: on its "host", in its registrable "domain", or "any"
  trap       a site that makes new URLs without end: paths that grow longer and longer, or that repeat themselves
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from fscrawl.config.settings import CrawlSettings
from fscrawl.request import is_spelling, url_of
from fscrawl.urls import MAX_URL_CHARS, bad_port, hostname, normalise, origin, site
from fscrawl.util.expressions import Expressions

BAD_PORT = "bad-port"  # what `Scope.refuses` gives for a bad port, which no setting permits
TRAP = "trap"  # and for a path that grows without end
# And for what is no URL, or looks like a request and is none: somebody has written it into the tree.
BAD_REQUEST = "bad-request"
# In printable ASCII; programs read / ? # @ \ before the first slash in different ways.
_URL = re.compile(r"https?://[!\"$-.0->A-\[\]-~]++/[!-~]*+\Z")
_ORIGINS = 1000  # of which is remembered whether they belong to the crawl; each has 2,000 characters at most
_MOST_SEGMENTS, _MOST_REPEATS = 32, 3  # of a path. In /a/b/a/b/a/b two segments repeat three times
_REPEATS_FROM = _MOST_REPEATS + 3  # slashes in a URL, the first of `//` too; with fewer, nothing in it repeats itself
# One to three segments that are repeated, one time directly after the other.
_REPEATED = re.compile(rf"/((?:[^/?]+/){{1,3}})\1{{{_MOST_REPEATS},}}")
WHY_TRAP = f"its path has more than {_MOST_SEGMENTS} segments, or some more than {_MOST_REPEATS} times in a row"


def members_of(mode: str, seeds: Iterable[str]) -> frozenset[str]:
    """Give what decides whether a URL is near to a seed: hosts, registrable domains, or nothing. `seeds`: normal forms.

    >>> members_of("domain", ["http://a.example/", "http://a.example:8/b"]), members_of("any", ["http://a.example/"])
    (frozenset({'a.example'}), frozenset())
    """
    if mode == "any":
        return frozenset()
    names = {hostname(seed) for seed in seeds}
    return frozenset(names if mode == "host" else map(site, names))


class Scope:
    """The rules by which a URL belongs to the crawl or not."""

    def __init__(self, crawl: CrawlSettings, seeds: frozenset[str]) -> None:
        """`seeds`: normal forms."""
        self.mode = crawl.scope
        self._members = members_of(self.mode, seeds)
        self._allow = Expressions(crawl.allow) if crawl.allow else None
        self._deny = Expressions(crawl.deny) if crawl.deny else None
        # The links of a page lead to few hosts: to remember what was said of one saves half of the time of a link.
        self._refuses_origin = lru_cache(_ORIGINS)(self._judge_origin)

    def refuses(self, url: str) -> str | None:
        """Give what keeps a URL out of the crawl: a setting, BAD_PORT, TRAP or BAD_REQUEST. None if it belongs to it.

        `url`: a normal form, or the spelling of a request, which is judged by its URL; or what a record has in place
        of one.

        >>> from fscrawl.config.settings import CrawlSettings
        >>> scope = Scope(CrawlSettings(deny=("[?]session=",)), frozenset({"http://www.example.com/"}))
        >>> scope.refuses("https://blog.example.com/a") is None
        True
        >>> scope.refuses("http://other.example/"), scope.refuses("http://example.com/?session=1")
        ('scope', 'deny')
        >>> scope.refuses("http://example.com/" + "a/b/" * 5)
        'trap'
        """
        if "#" in url:
            return self.refuses(url_of(url)) if is_spelling(url) else BAD_REQUEST
        if _URL.match(url) is None or len(url) > MAX_URL_CHARS:
            return BAD_REQUEST
        if (rule := self._refuses_origin(origin(url))) is not None:
            return rule
        if url.count("/") >= _REPEATS_FROM and _is_trap(url.partition("?")[0]):
            return TRAP
        if self._deny is not None and self._deny.matches(url):
            return "deny"
        if self._allow is not None and not self._allow.matches(url):
            return "allow"
        return None

    def _judge_origin(self, url_origin: str) -> str | None:
        """Do what `refuses` does, by scheme, host and port alone."""
        if self.mode != "any" and not self.names(f"{url_origin}/"):
            return "scope"
        return BAD_PORT if bad_port(f"{url_origin}/") is not None else None

    def names(self, url: str) -> bool:
        """Tell whether the scope names the host of a URL. `scope = "any"` names none.

        >>> from fscrawl.config.settings import CrawlSettings
        >>> of = frozenset({"http://a.de/"})
        >>> scopes = [Scope(CrawlSettings(scope=mode), of) for mode in ("domain", "host", "any")]
        >>> [scope.names("http://b.a.de/") for scope in scopes]
        [True, False, False]
        """
        name = hostname(url)
        return (name if self.mode == "host" else site(name)) in self._members

    def sitemaps(self, references: Iterable[str], base: str) -> tuple[str, ...]:
        """Give the sitemaps that a robots.txt names and that belong to the crawl, as normal forms.

        `base`: the normal form of the robots.txt. A sitemap need not match an `allow` expression, which is for pages.

        >>> from fscrawl.config.settings import CrawlSettings
        >>> scope = Scope(CrawlSettings(allow=("/x",)), frozenset({"http://a.example/"}))
        >>> scope.sitemaps(["s.xml", "/s.xml", "http://b.example/"], "http://a.example/robots.txt")
        ('http://a.example/s.xml',)
        """
        found = dict.fromkeys(normalise(reference, base) for reference in references)
        return tuple(url for url in found if url is not None and self.refuses(url) in (None, "allow"))

    def explain(self, url: str) -> str | None:
        """As `refuses`, with the value of the setting, to be shown to a user.

        >>> from fscrawl.config.settings import CrawlSettings
        >>> Scope(CrawlSettings(deny=("zz", "[?]")), frozenset({"http://a.example/"})).explain("http://a.example/?b")
        'deny = "[?]"'
        """
        rule = self.refuses(url)
        if rule == "scope":
            return f'scope = "{self.mode}"'
        if rule == "deny" and self._deny is not None:
            return f'deny = "{self._deny.first(url_of(url))}"'
        return rule


def _is_trap(path: str) -> bool:
    """Tell whether a path grows without end. `path`: a URL without its query."""
    return path.count("/") > _MOST_SEGMENTS + 2 or _REPEATED.search(path) is not None
