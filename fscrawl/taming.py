"""Pages that would hang a parser, made harmless. Pure: no disk, no socket.

Vocabulary:
  nesting   elements open at the same time
  crowded   a tag with so many attributes that comparing each with all before it takes long

Promise: `tame` takes time in proportion to the page, and gives nearly every page back as it is. Of the others it takes
what bears no link.
"""

from __future__ import annotations

import re
from collections import defaultdict


def tame(body: bytes) -> bytes:
    """Give a page in UTF-8 without what makes parsers take more than linear time."""
    if len(body) > _CROWD_BYTES:
        body = _TAG.sub(_uncrowded, body)
    return _flatten(body) if _too_deep(body) else body


# Attributes: lexbor and libxml2 compare each with those before it. 20,000 in one tag took 0.8 s, 50,000 took 21 s.

_CROWD_BYTES = 65_536  # of a page; what fits below is over in two seconds
_CROWDED_BYTES = 1024
_CROWDED = 256  # blanks and the like in one tag
# No backtracking (`++`), and no quote is scanned twice: linear.
_TAG = re.compile(rb"""<[a-z](?:[^<>"']++|"[^"]*+"|'[^']*+')*+""", re.IGNORECASE)
_BETWEEN = re.compile(rb"""[\s/="']+""")


def _uncrowded(tag: re.Match[bytes]) -> bytes:
    found = tag[0]
    if len(found) > _CROWDED_BYTES and sum(1 for _ in _BETWEEN.finditer(found)) > _CROWDED:
        return b"<i"
    return found


# Nesting: lexbor, like any parser by the standard, walks up the open elements at each tag, and remakes unclosed
# formatting elements in each paragraph: 1 MB of <div> took it over a minute, 25 KB of <b x1><b x2>…<p>x<p>x… 1.6 GB.
# This is against broken pages: one that deceives the count (<b x1></i><b x2></i>…) is for the worker's limits to stop.

_MAX_DEPTH = 512  # where Chrome stops nesting too
_HARMLESS_BYTES = 8192
_COUNTED = re.compile(rb"<(?:!--.*?(?:-->|\Z)|(/?[a-z][^\s/>]*))", re.IGNORECASE | re.DOTALL)
# Never closed, or closed by the next of their kind, or (`a`) closing the one before.
_UNCOUNTED = frozenset(
    b"html head body p li dd dt tr td th tbody thead tfoot colgroup option a area br col embed hr img input meta param"
    b" source track wbr !doctype".split()
)
_NEEDED = b"a|area|base|link|meta|title|template|script|style|textarea|xmp|iframe|noembed|noframes|plaintext"
# No "<" within a tag: so a match never reads past the next tag, and the whole takes time in proportion to the page.
_UNNEEDED = re.compile(rb"""</?(?!(?:%s)[\s/>])[a-z](?:[^<>"']|"[^"<]*"|'[^'<]*')*>""" % _NEEDED, re.IGNORECASE)


def _too_deep(body: bytes) -> bool:
    """Say whether a page nests deeper than `_MAX_DEPTH`: a guess by counting tags, closer only where it must be."""
    balance = 0
    for start in range(0, len(body), _HARMLESS_BYTES):
        end = start + _HARMLESS_BYTES
        balance = max(0, balance + body.count(b"<", start, end) - 2 * body.count(b"</", start, end))
        if balance > _MAX_DEPTH:
            return _depth(body) > _MAX_DEPTH
    return False


def _depth(body: bytes) -> int:
    """Give how many elements are open at the most, names counted one by one: a stray end tag closes nothing.

    >>> _depth(b"<div><p><p><div></i></div><!-- <div> --><br><b></b></div>")
    2
    """
    open_: defaultdict[bytes, int] = defaultdict(int)
    depth = deepest = 0
    for tag in _COUNTED.findall(body):
        name = tag.lower()
        if name.startswith(b"/"):
            if open_[name[1:]]:
                open_[name[1:]] -= 1
                depth -= 1
        elif name and name not in _UNCOUNTED:
            open_[name] += 1
            depth += 1
            deepest = max(deepest, depth)
    return deepest


def _flatten(body: bytes) -> bytes:
    """Leave out the tags that bear no link, and with them the nesting.

    >>> _flatten(b'<div id=">"><a href=x>y</a></div>')
    b' <a href=x>y</a> '
    """
    return _UNNEEDED.sub(b" ", body)  # a blank, for words on either side are two
