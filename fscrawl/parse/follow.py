"""Which elements of a page refer to what is followed, and by which attributes (`crawl.follow`). Pure.

Of an element with `srcset`, the largest candidate is followed: the others are the same picture, smaller. Its `src` is
followed, too: it is the one that other pages name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

USUAL = ("a", "area", "link", "meta")  # `link`: rel=canonical and rel=next only; `meta`: a refresh
_ATTRIBUTES = {
    "a": ("href",),
    "area": ("href",),
    "link": ("href",),
    "meta": (),
    "frame": ("src",),
    "iframe": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "script": ("src",),
}
ELEMENTS = tuple(_ATTRIBUTES)
_SPACE = " \t\n\f\r"
# The steps of https://html.spec.whatwg.org/#parsing-a-srcset-attribute: a URL up to white space; if no comma ends it,
# its descriptors up to a comma that is not in parentheses. One that has none of the three forms makes it invalid.
_URL = re.compile(r"[ \t\n\f\r,]*+([^ \t\n\f\r]++)")
_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?)*+")
_DESCRIPTOR = re.compile(r"(?:[^ \t\n\f\r(]++|\([^)]*+\)?)++")
_SIZE = re.compile(r"[0-9]{1,300}(?=[wh]\Z)|-?(?:[0-9]{1,300}(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?(?=x\Z)")


def chosen(follow: Iterable[str]) -> frozenset[str] | None:
    """Give the elements that are followed; None if they are the usual ones.

    >>> chosen(["area", "a", "meta", "link"]), chosen(["a"])
    (None, frozenset({'a'}))
    """
    found = frozenset(follow)
    return None if found == frozenset(USUAL) else found


def selector(usual: str, follow: Iterable[str]) -> str:
    """Give the CSS selector of the usual elements, and of those that are followed beside them.

    >>> selector("a[href]", ["a", "img"])
    'a[href],img[src],img[srcset]'
    """
    more = (f"{tag}[{name}]" for tag in sorted(follow) if tag not in USUAL for name in _ATTRIBUTES[tag])
    return ",".join([usual, *more])


def references(tag: str, attributes: Mapping[str, str | None]) -> list[str]:
    """Give what an element refers to.

    >>> references("img", {"src": "a.png", "srcset": "b.png 1x, c.png 2x"})
    ['a.png', 'c.png']
    """
    found = [(name, attributes.get(name)) for name in _ATTRIBUTES.get(tag, ())]
    chosen = [largest(value) if name == "srcset" else value for name, value in found if value]
    if tag not in ("a", "area"):  # an empty href is the page itself
        chosen = [each for each in chosen if each.strip(_SPACE)]
    return chosen


def largest(srcset: str) -> str:
    """Give the largest of the valid candidates of a `srcset`, "" if there is none.

    >>> largest("a.png 480w, b.png 800w"), largest("a.png, b.png 2x"), largest(" ,")
    ('b.png', 'b.png', '')
    """
    best, most = "", 0.0
    position = 0
    while (url := _URL.match(srcset, position)) is not None:
        position = url.end()
        reference, size = url[1].rstrip(","), 1.0
        if reference == url[1]:
            match = _DESCRIPTORS.match(srcset, position)
            assert match is not None
            position = match.end()
            size = _size(_DESCRIPTOR.findall(match[0]))
        if size > most:
            best, most = reference, size
    return best


def _size(descriptors: list[str]) -> float:
    """Give the width or the density that descriptors say; 1 if they say nothing, 0 if they are wrong.

    >>> _size([]), _size(["1e1x"]), _size(["5w", "9h"]), _size(["1x", "3x"]), _size(["9h"])
    (1.0, 10.0, 5.0, 0.0, 0.0)
    """
    sizes: dict[str, float] = {}
    for descriptor in descriptors:
        number, unit = _SIZE.match(descriptor), descriptor[-1]
        if number is None or unit in sizes:
            return 0.0
        sizes[unit] = float(number[0])
        if unit != "x" and not sizes[unit]:
            return 0.0
    if sizes.keys() not in ({"x"}, {"w"}, {"w", "h"}, set()):
        return 0.0
    size = max(0.0, sizes.get("w", sizes.get("x", 1.0)))
    return size if math.isfinite(size) else 0.0
