"""What a document that is not HTML says of others: its references → the links that are followed. Pure.

Promise: the same rules as for pages: normal forms, each once, in the order of the document, within the same limits.
What X-Robots-Tag says holds for every document.
"""

from __future__ import annotations

from collections.abc import Iterable

from fscrawl.parse.directives import directives_of
from fscrawl.parse.links import MAX_LINKS, MAX_TITLE_CHARS, ParsedPage
from fscrawl.parse.resolving import MAX_CHARS, LinkBudget, base_of, resolve_all
from fscrawl.urls import MAX_URL_CHARS, Joiner


def page_of(
    references: Iterable[str],
    url: str,
    joiner: Joiner,
    *,
    robots_tag: str | None,
    is_plain: bool = True,
    base: str | None = None,
    title: str | None = None,
    truncated: bool = False,
) -> ParsedPage:
    """Give what a document says. `url`: its normal form; `base`: what its references are relative to, as it says;
    `is_plain`: as for `links.extract`.

    `truncated`: it may have more references.

    >>> page_of(["b", "b#c"], "http://a.example/", Joiner(), robots_tag=None).links
    ('http://a.example/b',)
    """
    budget = LinkBudget()
    robots = directives_of([], robots_tag)
    from_here = base_of(base, joiner, url, budget)
    links, cut = resolve_all(
        list(references), joiner, from_here, budget, url=url if is_plain else "", encoding="utf-8", limit=MAX_LINKS
    )
    nofollow = "nofollow" in robots or "none" in robots
    return ParsedPage(
        encoding="",
        encoding_source="",
        title=" ".join(title.split())[:MAX_TITLE_CHARS].rstrip() or None if title else None,
        links=() if nofollow else tuple(links),
        nofollow=tuple(links) if nofollow else (),
        canonical=None,
        robots=robots,
        truncated=cut or truncated,
        too_long=budget.too_long,
    )


class References:
    """The references of a document while it is read: no more than a page may have, and none that is too long."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}
        self.is_full = False
        self._chars = 0

    def add(self, reference: str) -> None:
        reference = reference.strip()
        if not reference or reference in self.found:
            return
        if len(self.found) == MAX_LINKS or self._chars > MAX_CHARS:
            self.is_full = True
            return
        reference = reference[: MAX_URL_CHARS + 1]  # enough to see that it is too long
        self._chars += len(reference)
        self.found[reference] = None
