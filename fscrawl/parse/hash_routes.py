"""Links of a rendered page to other states of the same application, which differ only behind `#`. Pure.

Applications that cannot choose what their server answers keep the route of a page in its fragment: `#/item/3`, or, in
older ones, `#!/item/3` and `#!item=3`. A fragment that begins otherwise is a place in a page.
"""

from __future__ import annotations

from collections.abc import Iterable

from fscrawl.parse.resolving import LinkBudget, resolve_all
from fscrawl.request import Request, route_of, spelling
from fscrawl.urls import Joiner

_MARKS = "#/", "#!"


def routes(
    references: Iterable[str], joiner: Joiner, base: str, budget: LinkBudget, *, encoding: str, limit: int
) -> tuple[dict[str, None], bool]:
    """Give the spellings of the routes among references, each once, and whether there were more than fit.

    `base`: what the references are relative to.

    >>> routes(["#/item/3", "#top"], Joiner(), "http://a.example/shop", LinkBudget(), encoding="utf-8", limit=9)[0]
    {'http://a.example/shop#method=GET&fragment=/item/3': None}
    """
    found: dict[str, None] = {}
    for reference in dict.fromkeys(each for each in references if any(mark in each for mark in _MARKS)):
        fragment = route_of(reference)
        urls, _ = resolve_all([reference], joiner, base, LinkBudget(), url="", encoding=encoding, limit=1)
        url = next(iter(urls), None)
        if not fragment or url is None:
            continue
        route = spelling(Request(url, fragment=fragment))
        if len(found) == limit or len(route) > budget.chars:
            return found, True
        budget.chars -= len(route)
        found[route] = None
    return found, False
