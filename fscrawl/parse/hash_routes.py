"""Links of a rendered page to other states of the same application, which differ only behind `#`. Pure.

Applications that cannot choose what their server answers keep the route of a page in its fragment: `#/item/3`, or, in
older ones, `#!/item/3` and `#!item=3`. A fragment that begins otherwise is a place in a page.
"""

from __future__ import annotations

from fscrawl.parse.trees import tree
from fscrawl.request import Request, route_of, spelling
from fscrawl.urls import MAX_URL_CHARS, normalise

_MARKS = b"#/", b"#!"
MOST_ROUTES = 10_000


def hash_routes(dom: bytes, url: str) -> tuple[str, ...]:
    """Give the spellings of the routes that a DOM links to, each once. `dom`: in UTF-8; `url`: of its page.

    >>> hash_routes(b'<a href="#/item/3">3</a> <a href="#top">top</a>', "http://a.example/shop")
    ('http://a.example/shop#method=GET&fragment=/item/3',)
    """
    if not any(mark in dom for mark in _MARKS):
        return ()
    document = tree(dom)
    base = document.css_first("base[href]")
    base_url = normalise(base.attributes["href"] or "", url) if base is not None else url
    found: dict[str, None] = {}
    for link in document.css("a[href]"):
        if len(found) == MOST_ROUTES:
            break
        route = _route(link.attributes["href"] or "", base_url or url)
        if route and "nofollow" not in (link.attributes.get("rel") or "").lower().split():
            found[route] = None
    return tuple(found)


def _route(href: str, base: str) -> str:
    """Give the spelling of a route; "" if a reference is none."""
    if "#" not in href or len(href) > MAX_URL_CHARS:
        return ""
    url, fragment = normalise(href, base), route_of(href)
    return spelling(Request(url, fragment=fragment)) if url and fragment else ""
