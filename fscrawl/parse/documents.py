"""What a document that is not HTML says of others: its references → the links that are followed. Pure.

Promise: the same rules as for pages: normal forms, each once, in the order of the document, within the same limits.
What X-Robots-Tag says holds for every document.
"""

from __future__ import annotations

from fscrawl.parse.directives import directives_of
from fscrawl.parse.links import MAX_LINKS, ParsedPage, shown_title
from fscrawl.parse.resolving import MAX_CHARS, LinkBudget, base_of, resolve_all
from fscrawl.urls import MAX_URL_CHARS, Joiner


class References:
    """What is found in a document while it is read.

    found      its references: no more than a page may have, and none that is too long
    is_full    there were more
    title, base    as the document says; references are relative to the base
    truncated  it could not be read to its end
    """

    def __init__(self, *, truncated: bool = False) -> None:
        self.found: dict[str, None] = {}
        self.is_full = False
        self.title: str | None = None
        self.base: str | None = None
        self.truncated = truncated
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


def page_of(
    references: References, url: str, joiner: Joiner, *, robots_tag: str | None, is_plain: bool = True
) -> ParsedPage:
    """Give what a document says. `url`: its normal form; `robots_tag`, `is_plain`: as for `links.extract`.

    >>> references = References()
    >>> for each in ("b", "b#c"):
    ...     references.add(each)
    >>> page_of(references, "http://a.example/", Joiner(), robots_tag=None).links
    ('http://a.example/b',)
    """
    budget = LinkBudget()
    robots = directives_of([], robots_tag)
    base, itself = base_of(references.base, joiner, url, budget), url if is_plain else ""
    found, cut = resolve_all(
        list(references.found), joiner, base, budget, url=itself, encoding="utf-8", limit=MAX_LINKS
    )
    nofollow = "nofollow" in robots or "none" in robots
    return ParsedPage(
        title=shown_title(references.title),
        links=() if nofollow else tuple(found),
        nofollow=tuple(found) if nofollow else (),
        robots=robots,
        truncated=cut or references.truncated or references.is_full,
        too_long=budget.too_long,
    )
