"""References of a page or document → links, within bounds. Pure.

Vocabulary:
  route     a state of an application. Applications that cannot choose what their server answers keep it behind the `#`
            of their URL: `#/item/3`, or, in older ones, `#!/item/3` and `#!item=3`. A fragment that begins otherwise is
            a place in a page
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fscrawl.parse.legacy_encodings import encode_query
from fscrawl.request import Request, route_of, spelling
from fscrawl.urls import MAX_URL_CHARS, TOO_LONG, Joiner

SPACE = " \t\n\f\r"  # ASCII white space of the HTML standard; str.strip() alone would take more
_FEW = 2000  # references that are joined at once: they are no more than 4,000,000 characters of links
_MARKS = "#/", "#!"  # of routes
MAX_CHARS = 8_000_000  # of all links of a page: short references may stand below a base of 2,000 characters


class LinkBudget(msgspec.Struct):
    """How many characters of links may still be kept of a page, and how many references were left out as too long."""

    chars: int = MAX_CHARS
    too_long: int = 0


def base_of(reference: str | None, joiner: Joiner, url: str, budget: LinkBudget) -> str:
    """Return what the references of a page are relative to. A base that is too long or not http(s) is ignored."""
    base = "" if reference is None else joiner.joined(url, reference)
    budget.too_long += base == TOO_LONG
    return url if base in ("", TOO_LONG) else base


def resolve_all(
    hrefs: list[str],
    joiner: Joiner,
    base: str,
    budget: LinkBudget,
    *,
    url: str,
    encoding: str,
    limit: int,
    with_routes: bool = False,
) -> tuple[dict[str, None], bool]:
    """Return the unique links of `hrefs` without `url`, at most `limit`, and whether there were more.

    `with_routes`: routes are links of their own, too.

    Fragments and repeats are removed first: of 2,454 anchors in the index of a manual, 60 references remain to join.
    Most of these are known from other pages. So many are looked up together, and what then is within all bounds is not
    counted link by link.
    """
    if not hrefs:
        return {}, False
    references = list(dict.fromkeys([href.partition("#")[0] if "#" in href else href for href in hrefs]))
    links: dict[str, None] = {}
    is_cut = False
    for begin in range(0, len(references), _FEW):
        some = references[begin : begin + _FEW]
        found = dict.fromkeys(_joined(some, joiner, base, url, encoding))
        found.pop("", None)
        found.pop(url, None)
        more = found if not links else {link: None for link in found if link not in links}
        chars = sum(map(len, more))
        if TOO_LONG in found or chars > budget.chars or len(links) + len(more) > limit:
            is_cut = _bounded(references[begin:], joiner, base, budget, links, url=url, encoding=encoding, limit=limit)
            break
        budget.chars -= chars
        links |= more
    if with_routes:
        is_cut = _add_routes(hrefs, joiner, base, budget, links, encoding=encoding, limit=limit) or is_cut
    return links, is_cut


def _joined(references: list[str], joiner: Joiner, base: str, url: str, encoding: str) -> list[str]:
    """Return the links of references, however many characters they have together: "" for none, or TOO_LONG."""
    known, absolute = joiner.known(base), joiner.known_absolute()
    new = joiner.append(base, [each for each in references if each not in known and each not in absolute])
    return [
        link
        if (link := known.get(each)) is not None
        or (link := new.get(each)) is not None
        or (link := absolute.get(each)) is not None
        else _join(each, joiner, base, url, encoding)
        for each in references
    ]


def _join(reference: str, joiner: Joiner, base: str, url: str, encoding: str) -> str:
    """Return the link of a reference that may have white space around it: "" for none, or TOO_LONG."""
    reference = reference.strip(SPACE)
    if not reference and base == url:
        return ""
    if len(reference) > MAX_URL_CHARS:
        return TOO_LONG
    if encoding != "utf-8" and not reference.isascii():
        path, mark, query = reference.partition("?")
        reference = path + mark + encode_query(query, encoding)
    return joiner.joined(base, reference)


def _bounded(
    references: Iterable[str],
    joiner: Joiner,
    base: str,
    budget: LinkBudget,
    links: dict[str, None],
    *,
    url: str,
    encoding: str,
    limit: int,
) -> bool:
    """Add the links of references one by one; return whether there were more than the bounds allow."""
    for reference in dict.fromkeys(each.strip(SPACE) for each in references):
        link = _join(reference, joiner, base, url, encoding)
        if link == TOO_LONG:
            budget.too_long += 1
        elif link and link != url and link not in links:
            if len(links) == limit or len(link) > budget.chars:
                return True
            budget.chars -= len(link)
            links[link] = None
    return False


def _add_routes(
    references: Iterable[str],
    joiner: Joiner,
    base: str,
    budget: LinkBudget,
    links: dict[str, None],
    *,
    encoding: str,
    limit: int,
) -> bool:
    """Add the spellings of the routes among references; return whether there were more than the bounds allow."""
    for reference in dict.fromkeys(each for each in references if any(mark in each for mark in _MARKS)):
        fragment = route_of(reference)
        url = _join(reference.partition("#")[0], joiner, base, "", encoding)
        if not fragment or url in ("", TOO_LONG):
            continue
        route = spelling(Request(url, fragment=fragment))
        if route not in links:
            if len(links) == limit or len(route) > budget.chars:
                return True
            budget.chars -= len(route)
            links[route] = None
    return False
