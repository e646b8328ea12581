"""Pages that would hang a parser, made harmless. Pure: no disk, no socket.

Vocabulary:
  nesting   elements open at the same time
  crowded   a tag with so many attributes that comparing each with all before it takes long
  remade    formatting (`<b>`) that was not closed where its paragraph ended: it goes on in the next one

Promise: `limit_html` takes time in proportion to the page, and gives nearly every page back as it is. Of the others
it takes what bears no link.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict


def limit_html(body: bytes) -> bytes:
    """Give a page in UTF-8 without what makes parsers take more than linear time."""
    if len(body) > _CROWD_BYTES and _may_be_crowded(body):
        body = _TAG.sub(_uncrowded, body)
    tags = body.count(b"<")
    if tags <= _FEW_TAGS:
        return body
    remade, stray = _remade(body.lower(), tags)
    if remade > _MAX_REMADE:
        body = _FORMATTING_TAG.sub(b"", body)
    return _flatten(body) if _too_deep(body, stray) else body


def suits_html5lib(body: bytes) -> bool:
    """Tell whether a page suits html5lib, which is in Python and takes far more steps for each element that is open.

    >>> suits_html5lib(b"<p>a<b>b"), suits_html5lib(b"<b></i>" * 200)
    (True, False)
    """
    crowded = any(_uncrowded(tag) != tag[0] for tag in _TAG.finditer(body))
    return not crowded and _depth(body) <= _MAX_GENTLE_DEPTH


# Attributes: lexbor and libxml2 compare each with those before it. 20,000 in one tag took 0.8 s, 50,000 took 21 s.

_CROWD_BYTES = 65_536  # of a page; what fits below is over in two seconds
_CROWDED_BYTES = 1024
_CROWDED = 256  # blanks and the like in one tag
# No backtracking (`++`), and no quote is scanned twice: linear.
_TAG = re.compile(rb"""<[a-z](?:[^<>"']++|"[^"]*+"|'[^']*+')*+""", re.IGNORECASE)
_BETWEEN = re.compile(rb"""[\s/="']+""")


# What must be there where a tag is long: no bracket for long, or brackets in quotes, again and again.
_LONG = re.compile(rb"<[a-z][^<>]{%d}" % _CROWDED_BYTES, re.IGNORECASE)
_QUOTED_BRACKET = re.compile(rb"""=\s*+(?:"[^"<>]*+[<>]|'[^'<>]*+[<>])""")
_QUOTED_BRACKETS = 32


def _may_be_crowded(body: bytes) -> bool:
    """Say whether a closer look is worth its time, in an eighth of it."""
    quoted = _QUOTED_BRACKET.finditer(body)
    return (
        _LONG.search(body) is not None or sum(1 for _ in itertools.islice(quoted, _QUOTED_BRACKETS)) >= _QUOTED_BRACKETS
    )


def _uncrowded(tag: re.Match[bytes]) -> bytes:
    found = tag[0]
    if len(found) > _CROWDED_BYTES and sum(1 for _ in _BETWEEN.finditer(found)) > _CROWDED:
        return b"<i"
    return found


# Formatting: what is still open where a paragraph ends is made anew in the next one. 45 KB of <b x1></i><b x2></i>…
# <p>x<p>x… were 3.3 GB in memory, and 512 levels of it can be had without deceiving any count of nesting.

_MAX_REMADE = 1_000_000  # elements, some 200 MB of them
_FEW_TAGS = 1400  # half of them open and half of them paragraphs are half a million; as a depth they do no harm
_FEW_OPEN = 4  # formatting elements: nothing to look at more closely
_NAMES = rb"b(?:ig)?|code|em|font|i|nobr|s(?:mall|tr(?:ike|ong))?|tt|u"
_FORMATTING = re.compile(rb"<(/?(?:%s))[\s/>]" % _NAMES)
_FORMATTING_TAG = re.compile(rb"""</?(?:%s)(?=[\s/>])(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>?""" % _NAMES, re.IGNORECASE)


def _remade(body: bytes, tags: int) -> tuple[int, int]:
    """Give how many formatting elements a parser may make anew, at most, and how many end tags of them are stray.

    `body`: in lower case, with `tags` tags; at each it may be all that are open. Where neither number can be too high
    both are 0: of most pages the tags need only be counted.

    >>> _remade(b"<b><i><u><s><tt>" + b"<p>" * 10 + b"</code>" * 600, 300_000)
    (3065, 600)
    >>> _remade(b"<b>", 1)
    (0, 0)
    """
    names = _FORMATTING.findall(body)
    if len(names) <= _MAX_DEPTH and len(names) * tags <= _MAX_REMADE:
        return 0, 0
    most, stray = _most_open(names)
    if most <= _FEW_OPEN:
        return 0, stray
    open_: defaultdict[bytes, int] = defaultdict(int)
    remade = count = last = 0
    for tag in _FORMATTING.finditer(body):
        remade += count * body.count(b"<", last, tag.start())
        last = tag.start()
        count += _opened(tag[1], open_)
    return remade + count * body.count(b"<", last), stray


def _most_open(names: list[bytes]) -> tuple[int, int]:
    open_: defaultdict[bytes, int] = defaultdict(int)
    count = most = stray = 0
    for name in names:
        change = _opened(name, open_)
        count += change
        stray += not change
        most = max(most, count)
    return most, stray


def _opened(name: bytes, open_: defaultdict[bytes, int]) -> int:
    """Take a tag into account; give how many more elements are open: 1, 0 or -1."""
    if not name.startswith(b"/"):
        open_[name] += 1
        return 1
    if not open_[name[1:]]:
        return 0
    open_[name[1:]] -= 1
    return -1


# Nesting: lexbor, like any parser by the standard, walks up the open elements at each tag, and remakes unclosed
# formatting elements in each paragraph: 1 MB of <div> took it over a minute, 25 KB of <b x1><b x2>…<p>x<p>x… 1.6 GB.
# This is against broken pages: one that deceives the counts, by end tags in quotes or by stray ones of other names than
# those of formatting (<div></td>…), is for the worker's limits to stop.

_MAX_DEPTH = 512  # where Chrome stops nesting too
_MAX_GENTLE_DEPTH = 100
_HARMLESS_BYTES = 8192
_COUNTED = re.compile(rb"<(?:!--(?:-?>|.*?(?:--!?>|\Z))|(/?[a-z][^\s/>]*))", re.IGNORECASE | re.DOTALL)
# Never closed, or closed by the next of their kind, or (`a`) closing the one before.
_UNCOUNTED = frozenset(
    b"html head body p li dd dt tr td th tbody thead tfoot colgroup option a area br col embed hr img input meta param"
    b" source track wbr !doctype".split()
)
_NEEDED = b"a|area|base|link|meta|title|template|script|style|textarea|xmp|iframe|noembed|noframes|plaintext"
# No "<" within a tag: so a match never reads past the next tag, and the whole takes time in proportion to the page.
_UNNEEDED = re.compile(rb"""</?(?!(?:%s)[\s/>])[a-z](?:[^<>"']|"[^"<]*"|'[^'<]*')*>""" % _NEEDED, re.IGNORECASE)


def _too_deep(body: bytes, stray: int = 0) -> bool:
    """Say whether a page nests deeper than `_MAX_DEPTH`: a guess by counting tags, closer only where it must be.

    `stray`: end tags that are known to close nothing, by which the guess might be too low.
    """
    if stray > _MAX_DEPTH:
        return _depth(body) > _MAX_DEPTH
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
