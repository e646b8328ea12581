"""What a page that is rendered may ask of whom: the one rule, whichever way it asks. Pure.

A page asks by elements, scripts, workers, frames, hints of its head, and by redirects of what it has asked for. All of
these are requests that the browser pauses, or the proxy of `keeper` refuses, and they all come here: the keeper
asks `refused_to_all`, then the worker, which knows the scope, `refused_to`.

    own       the page's host. It is part of the crawl: robots.txt, scope, one request at a time, each after the delay
    crawled   another host of the page's site (registrable domain), or one that the scope names: the page may need its
              data. One request at a time, each an eighth of a second after the last
    other     any other host. It has nothing to do with the crawl, so it is only read from, a little, and as slowly as
              if it were crawled: no method but `READS`, at most `MOST_OF_OTHER` requests a page, one at a time, each
              after `politeness.delay`

A redirect of a request is another request: a POST that a 307 sends to another host is refused there. `crawl.deny` holds
for all. Whatever the host is, a page from a public address reaches public addresses only, as in browsers (Local Network
Access, 3.1): that is known when its name has been resolved, so `http.sockets` looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from fscrawl import urls

# What has no use for the DOM, and may go to anybody. A stylesheet may be waited for by scripts, and is loaded.
_NEVER = frozenset(
    {"Ping", "Prefetch", "CSPViolationReport", "EventSource", "WebSocket", "SignedExchange", "FedCM", "Manifest"}
)
_KINDS = {"image": "Image", "font": "Font", "media": "Media", "stylesheet": "Stylesheet"}
READS = frozenset({"GET", "HEAD", "OPTIONS"})  # the safe methods (RFC 9110 9.2.1) that scripts may use
_METHODS = READS | {"POST"}
MOST_OF_OTHER = 30  # as many as a page has time for, by the defaults of render.timeout and politeness.delay


class Whom(Enum):
    """Whose host is asked; see the module."""

    OWN = "own"
    CRAWLED = "crawled"
    OTHER = "other"


def whom(url: str, page: str, names: Callable[[str], bool]) -> Whom:
    """Tell whose host a URL is of. `page`: URL of the page; `names`: tells whether the scope names the host of a URL.

    >>> [whom(f"http://{host}/", "http://www.a.example/", lambda url: "b." in url).value for host in
    ...  ("www.a.example", "api.a.example", "b.example", "c.example")]
    ['own', 'crawled', 'crawled', 'other']
    """
    if urls.host(url) == urls.host(page):
        return Whom.OWN
    is_of_site = urls.site(urls.hostname(url)) == urls.site(urls.hostname(page))
    return Whom.CRAWLED if is_of_site or names(url) else Whom.OTHER


def refused_to_all(url: str, method: str, kind: str, block: frozenset[str], *, is_page: bool) -> str:
    """Say as what a request is refused, whoever is asked; "" if it is not.

    `kind`: as DevTools calls it. `block`: as in `render.block`. `is_page`: it is the page itself once more.
    """
    if not url.startswith(("http:", "https:")):
        return "scheme"
    if method not in _METHODS:
        return "method"
    if kind in _NEVER:
        return kind
    if kind == "Document" and not is_page and "frame" in block:
        return "frame"
    if any(_KINDS.get(each) == kind for each in block):
        return kind
    return "favicon" if url.endswith("/favicon.ico") and kind == "Other" else ""


def refused_to(to: Whom, method: str, headers: Mapping[str, str], made: int) -> str:
    """Say as what a request is refused to a host; "" if it is not.

    `headers`: of a preflight (Fetch 4.8), which asks for what comes after it. `made`: how many requests the page has
    made to this host.

    >>> refused_to(Whom.CRAWLED, "POST", {}, 99), refused_to(Whom.OTHER, "POST", {}, 0)
    ('', 'method')
    """
    if to is not Whom.OTHER:
        return ""
    names = {name.lower(): value for name, value in headers.items()}
    asked_for = names.get("access-control-request-method", method) if method == "OPTIONS" else method
    if asked_for.upper() not in READS:
        return "method"
    return "too many" if made >= MOST_OF_OTHER else ""
