"""What a page says of itself and of others: HTML bytes → encoding, title, links. Pure: no disk, no socket.

Vocabulary:
  element     (tag, attributes) of one of the few elements that matter here: a, area, base, link, meta, and those that
              the user has chosen (see `follow`)
  reference   an href as written, without white space around it and without fragment
  link        the normal form of a reference: absolute, http(s), not the page itself

Promise: `extract` returns a ParsedPage for any bytes, and the same one with either parser. A page with broken
nesting takes hardly more time than any other (see `trees`). Scripting is off, so `<noscript>` is markup. The content
of `<template>` is not part of the page, unless it is a shadow root (see `shadow_roots`). Links are in document order,
whichever element they come from. All that look into a page see the same, links and others (`readable`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from fscrawl.parse.directives import directives_of
from fscrawl.parse.encoding import decode, sniff
from fscrawl.parse.follow import references, selector
from fscrawl.parse.foreign import is_html
from fscrawl.parse.headers import media_type
from fscrawl.parse.html_limits import limit_html, suits_html5lib
from fscrawl.parse.media_types import HTML, NO_MEANING, XHTML, type_of
from fscrawl.parse.resolving import SPACE, LinkBudget, base_of, resolve_all
from fscrawl.parse.shadow_roots import opened
from fscrawl.parse.trees import UnusualPageError, select, select_first, tree
from fscrawl.parse.xhtml import as_html
from fscrawl.urls import Joiner

MAX_LINKS = 100_000
MAX_TITLE_CHARS = 1000
_MOST_ENCODED_BYTES = 32_768  # of a usual page that is not in UTF-8: its references may be dear
_MOST_OTHER_BYTES = 65_536  # of one of which more is asked than its usual links
_MOST_CANONICAL = 10  # that are tried until one of them is a URL

_UTF8_BOM = b"\xef\xbb\xbf"
_XHTML = "http://www.w3.org/1999/xhtml"

_Element = tuple[str, dict[str, str | None]]


class ParsedPage(msgspec.Struct, frozen=True):
    """The title, links and directives of a page.

    encoding    WHATWG name of the page's encoding, in the spelling of webencodings: "utf-8", "shift_jis"; "" for a
                document that is not HTML
    encoding_source     "declared" by its server, a byte order mark or itself; "guessed" from its bytes; "" without one
    title       the first <title>, white space folded, at most 1000 characters; None if it is missing or empty
    links       the links to follow: normal forms, unique, in page order, without the page itself
    nofollow    URLs that only rel=nofollow links lead to; all links, if the robots directives say nofollow
    canonical   the normal form of <link rel=canonical>, which may be the page itself
    robots      the directives of <meta name=robots> and X-Robots-Tag, in lower case, sorted
    truncated   the page has more than MAX_LINKS links, or too many characters of them, and the rest was cut off
    too_long    how many references, the base included, were left out since they, or the URLs that
                they mean, are longer than MAX_URL_CHARS
    requests, unexpected, renew, fault      what the rules of its site say (see `sites.rules.Understood`)
    """

    encoding: str = ""
    encoding_source: str = ""
    title: str | None = None
    links: tuple[str, ...] = ()
    nofollow: tuple[str, ...] = ()
    canonical: str | None = None
    robots: tuple[str, ...] = ()
    truncated: bool = False
    too_long: int = 0
    requests: tuple[str, ...] | None = None
    unexpected: str = ""
    renew: bool = False
    fault: str = ""


def extract(
    body: bytes,
    url: str,
    joiner: Joiner,
    *,
    content_type: str | None = None,
    robots_tag: str | None = None,
    parser: str = "lexbor",
    is_plain: bool = True,
    follow: frozenset[str] | None = None,
    with_routes: bool = False,
    agent: str = "",
    refresh: str = "",
    query_encoding: str = "",
    only_usual: bool = False,
) -> ParsedPage:
    """Read a page. `url`: its normal form; `parser`: "lexbor", "html5lib".

    `content_type`, `robots_tag`, `refresh`: HTTP headers. `agent`: what this robot is called in them, and in
    `<meta name>` (see `directives`).

    A link to the page itself is left out, unless the page is not that of a plain GET (`is_plain`). `follow`: the
    elements whose references are links (see `follow`); None: the usual ones. `with_routes`: links to states of an
    application are links, too (see `resolving`). `query_encoding`: of the queries of links; "": the page's.
    `only_usual`: raise UnusualPageError if this may take long.

    >>> page = extract(b"<title>A  b</title><a href=c#d>", "http://a.example/", Joiner())
    >>> page.title, page.links
    ('A b', ('http://a.example/c',))
    """
    encoding, source = sniff(body, content_type, url)
    is_xml = _named(content_type) == XHTML
    is_more = follow is not None or with_routes or is_xml
    if only_usual and len(body) > _most_usual_bytes(encoding, is_more=is_more):
        raise UnusualPageError
    in_utf8 = _in_utf8(body, encoding)
    read = _read_html5lib if parser == "html5lib" else _read_lexbor
    html = as_html(in_utf8) if is_xml else in_utf8
    title, found = read(html, follow, only_usual=only_usual, has_roots=not is_xml)  # in XML, no template is one
    budget = LinkBudget()
    robots = directives_of(found.robots.get("robots", []) + found.robots.get(agent, []), robots_tag, agent)
    if refresh and (follow is None or "meta" in follow):
        found.follow[:0] = _refreshed(refresh, url, joiner)
    base = base_of(found.base, joiner, url, budget)
    queries = query_encoding or encoding
    itself = url if is_plain else ""
    links, cut = resolve_all(
        found.follow, joiner, base, budget, url=itself, encoding=queries, limit=MAX_LINKS, with_routes=with_routes
    )
    nofollow, cut_too = resolve_all(found.nofollow, joiner, base, budget, url=itself, encoding=queries, limit=MAX_LINKS)
    if "nofollow" in robots or "none" in robots:
        links, nofollow = {}, links | nofollow
    return ParsedPage(
        encoding=encoding,
        encoding_source=source,
        title=shown_title(title),
        links=tuple(links),
        nofollow=tuple(link for link in nofollow if link not in links),
        canonical=_canonical(found, joiner, base, queries),
        robots=robots,
        truncated=cut or cut_too,
        too_long=budget.too_long,
    )


def shown_title(title: str | None) -> str | None:
    return " ".join(title.split())[:MAX_TITLE_CHARS].rstrip() or None if title else None


def _canonical(found: _Found, joiner: Joiner, base: str, encoding: str) -> str | None:
    first = found.canonical[:_MOST_CANONICAL]
    links, _ = resolve_all(first, joiner, base, LinkBudget(), url="", encoding=encoding, limit=1)
    return next(iter(links), None)


def _most_usual_bytes(encoding: str, *, is_more: bool) -> float:
    if encoding != "utf-8":
        return _MOST_ENCODED_BYTES
    return _MOST_OTHER_BYTES if is_more else math.inf


def readable(body: bytes, encoding: str, content_type: str | None) -> bytes:
    """Return a page as all that look into it read it: as HTML in UTF-8, perhaps invalid, with open shadow roots.

    `content_type`: the HTTP header. What is not HTML is only brought into UTF-8.

    >>> readable(bytes.fromhex("3c703ee9"), "windows-1252", "text/html").decode()
    '<p>é'
    """
    in_utf8 = _in_utf8(body, encoding)
    named = _named(content_type)
    if named not in NO_MEANING and type_of(body, named) not in HTML:
        return in_utf8
    return as_html(in_utf8) if named == XHTML else opened(in_utf8)


def _named(content_type: str | None) -> str:
    return media_type({"content-type": content_type or ""})


def _in_utf8(body: bytes, encoding: str) -> bytes:
    """Return a page in UTF-8, perhaps invalid: lexbor keeps the bytes, and selectolax reads them as U+FFFD."""
    if encoding != "utf-8":
        return decode(body, encoding).encode()
    return body.removeprefix(_UTF8_BOM)  # lexbor would take it for the first text of the body


# Two parsers, one result

# One walk of the tree for all elements: it costs a quarter of the parsing, and so would each further walk. The fewer
# selectors, the better: references that are only a fragment are left out later, for less than one more selector costs.
# Names of elements cost least, and stand first. To look for shadow roots here costs a tenth of searching the bytes.
_ROOT = "template[shadowrootmode]"
_USUAL = f"meta,{_ROOT},[href]"
_CHOSEN = f"meta,{_ROOT},a[href],area[href],base[href],link[href]"  # with those that the user has chosen
_MOST_NODES, _MOST_REFERENCES = 20_000, 4000  # of a usual page: more of them take many milliseconds


def _number(name: str) -> int:
    return LexborHTMLParser(f"<{name}>").tags(name)[0].tag_id or 0


_A = _number("a")  # to compare numbers takes half the time of reading names
_OTHER_MEANINGS = frozenset({"base", "link", "meta", "template"})  # than that of a reference
_OTHERS = {_number(name): name for name in ("area", "base", "link", "meta", "template")}


def _read_lexbor(
    body: bytes, follow: frozenset[str] | None, *, only_usual: bool = False, has_roots: bool = True
) -> tuple[str | None, _Found]:
    """Give the title, and what the elements say. `has_roots`: some templates may be shadow roots that are not open."""
    page = tree(body, only_usual=only_usual)
    nodes = select(page, _USUAL if follow is None else selector(_CHOSEN, follow))
    if only_usual and len(nodes) > _MOST_NODES:
        raise UnusualPageError
    known: dict[int, str] = {}
    title = _title(page, known)
    found = _collect_nodes(nodes, known) if follow is None else _collect(_elements(nodes, known), follow)
    if found.has_roots and has_roots:
        if only_usual and len(body) > _MOST_ENCODED_BYTES:
            raise UnusualPageError
        return _read_lexbor(opened(body), follow, only_usual=only_usual, has_roots=False)
    if only_usual and _has_many(found.follow + found.nofollow):
        raise UnusualPageError
    return title, found


def _has_many(references: list[str]) -> bool:
    if len(references) <= _MOST_REFERENCES:
        return False
    return len({each.partition("#")[0] for each in references}) > _MOST_REFERENCES


def _elements(nodes: list[LexborNode], known: dict[int, str]) -> Iterator[_Element]:
    """Give the elements one by one: the attributes of a million of them would take half a gigabyte."""
    for node in nodes:
        tag = node.tag or ""
        if tag not in {"base", "link"} or is_html(node, known):
            yield tag, _with_href(node.attributes) if tag == "a" else node.attributes


def _title(page: LexborHTMLParser, known: dict[int, str]) -> str | None:
    """Return the text of the first HTML title. Titles of icons in SVG do not count."""
    first = select_first(page, "title")
    if first is None or is_html(first, known):
        return first.text() if first is not None else None
    return next((node.text() for node in select(page, "title") if is_html(node, known)), None)


def _read_html5lib(
    body: bytes,
    follow: frozenset[str] | None,
    *,
    only_usual: bool = False,  # noqa: ARG001 - it is always slow
    has_roots: bool = True,
) -> tuple[str | None, _Found]:
    body = limit_html(opened(body) if has_roots else body)
    if not suits_html5lib(body):
        return _read_lexbor(body, follow, has_roots=False)
    from fscrawl.parse import soup as html5  # noqa: PLC0415 - a tenth of a second, only for those who use html5lib

    try:
        soup = html5.parse(body.decode("utf-8", "replace"))
    except (html5.TooSlowError, RecursionError):  # the links of the other parser are better than none
        return _read_lexbor(body, follow, has_roots=False)
    for template in soup.find_all("template"):
        if template.namespace == _XHTML:
            template.decompose()
    elements: list[_Element] = []
    for tag in soup.find_all(["a", "area", "base", "link", "meta", *(follow or ())]):
        attributes: dict[str, str | None] = {name: str(value) for name, value in tag.attrs.items()}
        if tag.namespace == _XHTML:
            elements.append((tag.name, attributes))
        elif tag.name in {"a", "area"}:
            elements.append((tag.name, _with_href(attributes) if tag.name == "a" else attributes))
    titles = (tag.get_text() for tag in soup.find_all("title") if tag.namespace == _XHTML)
    return next(titles, None), _collect(elements, follow)


# Elements to links


class _Found(msgspec.Struct):
    """What the elements of a page say, before any reference is resolved."""

    base: str | None = None
    follow: list[str] = msgspec.field(default_factory=list)
    nofollow: list[str] = msgspec.field(default_factory=list)
    canonical: list[str] = msgspec.field(default_factory=list)
    robots: dict[str, list[str]] = msgspec.field(default_factory=dict)  # by the name of the meta element
    has_roots: bool = False


def _collect(elements: Iterable[_Element], follow: frozenset[str] | None) -> _Found:
    """Give what elements say. `follow`: those that are followed; None: the usual ones."""
    found = _Found()
    for tag, attributes in elements:
        if follow is None or tag in _OTHER_MEANINGS:
            number = len(found.follow)
            _collect_one(tag, attributes, found)
            if follow is not None and tag not in follow:
                del found.follow[number:]
        elif tag in follow:
            is_nofollow = "nofollow" in (attributes.get("rel") or "").lower().split()
            (found.nofollow if is_nofollow else found.follow).extend(references(tag, attributes))
    return found


def _collect_nodes(nodes: list[LexborNode], known: dict[int, str]) -> _Found:
    """Do what `_collect` does with what `_USUAL` selects, in less time."""
    found = _Found()
    follow = found.follow.append
    for node in nodes:
        tag = node.tag_id
        if tag == _A:
            attributes = node.attributes
            if "rel" not in attributes and (href := attributes.get("href")):
                follow(href)  # nearly always
            else:
                _collect_one("a", _with_href(attributes), found)
        elif (name := _OTHERS.get(tag)) is not None and (name not in {"base", "link"} or is_html(node, known)):
            _collect_one(name, node.attributes, found)
    return found


def _with_href(attributes: dict[str, str | None]) -> dict[str, str | None]:
    """Give the attributes of an `<a>` that may be of SVG: there, `xlink:href` counts if there is no `href`.

    https://www.w3.org/TR/SVG2/linking.html#XLinkRefAttrs. In HTML, that is an attribute without a meaning. The parser
    knows which is which: `[href]` selects the former only.
    """
    if "href" in attributes or "xlink:href" not in attributes:
        return attributes
    return {**attributes, "href": attributes["xlink:href"]}


def _collect_one(tag: str, attributes: dict[str, str | None], found: _Found) -> None:
    if tag == "meta":
        _collect_meta(attributes, found)
    elif tag == "template":
        found.has_roots = True
    elif "href" in attributes:
        href = attributes["href"] or ""
        if tag in {"a", "area"}:
            is_nofollow = "nofollow" in (attributes.get("rel") or "").lower().split()
            (found.nofollow if is_nofollow else found.follow).append(href)
        elif tag == "link":
            _collect_link(href, attributes, found)
        elif found.base is None:
            found.base = href.partition("#")[0].strip(SPACE)


def _collect_link(href: str, attributes: dict[str, str | None], found: _Found) -> None:
    rel = (attributes.get("rel") or "").lower().split()
    if "canonical" in rel:
        found.canonical.append(href)
    if "canonical" in rel or "next" in rel:
        found.follow.append(href)


# https://html.spec.whatwg.org/#shared-declarative-refresh-steps
_REFRESH = re.compile(
    r"""[\t\n\f\r ]*(?:[0-9][0-9.]*|\.[0-9.]*)
    (?=[\t\n\f\r ;,])[\t\n\f\r ]*[;,]?[\t\n\f\r ]*
    (?:url[\t\n\f\r ]*=[\t\n\f\r ]*)?
    (?:"([^"]*)|'([^']*)|(.*))""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def _collect_meta(attributes: dict[str, str | None], found: _Found) -> None:
    content = attributes.get("content") or ""
    if content and (name := (attributes.get("name") or "").strip(SPACE).lower()):
        found.robots.setdefault(name, []).append(content)
    if (attributes.get("http-equiv") or "").lower() == "refresh" and (target := _refresh_target(content)):
        found.follow.append(target)


def _refreshed(header: str, url: str, joiner: Joiner) -> list[str]:
    """Give where the header Refresh leads, which is as a meta element, but knows nothing of a base."""
    target = joiner.join(url, reference) if (reference := _refresh_target(header)) else None
    return [] if target is None else [target]


def _refresh_target(content: str) -> str:
    """Return the reference of a refresh, "" if it only reloads the page.

    >>> _refresh_target("5; url='next.html'"), _refresh_target("5")
    ('next.html', '')
    """
    found = _REFRESH.match(content)
    return (found[1] or found[2] or found[3] or "").strip(SPACE) if found else ""
