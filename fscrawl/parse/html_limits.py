"""Make pages harmless that would hang an HTML parser. Pure: no disk, no socket.

Vocabulary:
  nesting    how many elements are open at the same time
  crowded    a tag with very many attributes. Parsers compare each of them with all before it
  reopened   a formatting element (`<b>`) that is still open when its paragraph ends. The parser opens a copy of it in
             the next paragraph, as the HTML standard says

Promise: `limit_html` takes time in proportion to the page, and returns nearly every page unchanged. From other pages it
removes tags and attributes, but no links.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict


def limit_html(body: bytes) -> bytes:
    """Return a page in UTF-8 without the tags and attributes for which parsers need more than linear time."""
    body = uncrowded(body)
    tags = body.count(b"<")
    if tags <= _FEW_TAGS:
        return body
    reopened, stray = _reopened(body.lower(), tags)
    if reopened > _MAX_REOPENED:
        body = _FORMATTING_TAG.sub(b"", body)
    return _flatten(body) if _too_deep(body, stray) else body


def uncrowded(body: bytes) -> bytes:
    """Return a page without crowds of attributes; the page itself, the same object, if it has none."""
    if len(body) <= _CROWD_BYTES or not _may_be_crowded(body):
        return body
    changed = _TAG.sub(_without_crowd, body)
    return body if changed == body else changed  # `sub` makes a new object even if all tags stay as they are


def tag_bytes(body: bytes, at: int) -> int:
    """Return how long the tag is that begins at a place; 0 if none does.

    >>> tag_bytes(b"a<b c='>' d>e", 1), tag_bytes(b"a</b>", 1)
    (10, 0)
    """
    tag = _TAG.match(body, at)
    return 0 if tag is None else tag.end() - at


def flatten(body: bytes) -> bytes:
    """Return a page without all tags and attributes that could be too many. Links, titles and words stay.

    >>> flatten(b'<div id=">"><a href=x>y</a></div>')
    b' <a href=x>y</a> '
    """
    return _flatten(_FORMATTING_TAG.sub(b"", _TAG.sub(_without_crowd, body)))


def suits_html5lib(body: bytes) -> bool:
    """Return whether html5lib can read a page in reasonable time: it is in Python, and slow for nested elements.

    >>> suits_html5lib(b"<p>a<b>b"), suits_html5lib(b"<b></i>" * 200)
    (True, False)
    """
    crowded = any(_without_crowd(tag) != tag[0] for tag in _TAG.finditer(body))
    return not crowded and _depth(body) <= _MAX_HTML5LIB_DEPTH


# Attributes: lexbor and libxml2 compare each one with those before it. 20,000 in one tag took 0.8 s, 50,000 took 21 s.

_CROWD_BYTES = 65_536  # smaller pages take two seconds at most
_CROWDED_BYTES = 1024
_CROWDED = 256  # separators in one tag
# Linear: no backtracking (`++`), and no quoted value is scanned twice.
_TAG = re.compile(rb"""<[a-z](?:[^<>"']++|<(?!/)|"[^"]*+"|'[^']*+')*+""", re.IGNORECASE)
_BETWEEN = re.compile(rb"""[\s/="']+""")


# A long tag has one of these: a long stretch without brackets, or many brackets in quotes or in names. To look for the
# latter, first in what is left of a page without all other bytes: it has at least as many of them.
_LONG = re.compile(rb"<[a-z][^<>]{%d}" % _CROWDED_BYTES, re.IGNORECASE)
_BLOCK_BYTES = _CROWDED_BYTES // 2  # a long stretch has a whole block of this size
_QUOTED_BRACKET = re.compile(rb"""=\s*+(?:"[^"<>]*+[<>]|'[^'<>]*+[<>])""")
_OPEN_IN_TAG = re.compile(rb"<[a-z][^<>]*+<(?!/)", re.IGNORECASE)
_BRACKETS_IN_TAGS = 32
_BRACKETS, _QUOTES = b"<>", b"=\"'"
_BUT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_BUT_BOTH = bytes(set(range(256)) - set(_BRACKETS + _QUOTES))


def _may_be_crowded(body: bytes) -> bool:
    """Return whether the page needs the full check, which takes many times as long as this one."""
    if _has_long(body):
        return True
    marks = body.translate(None, _BUT_BOTH)
    if _has_many(_QUOTED_BRACKET, marks) and _has_many(_QUOTED_BRACKET, body):
        return True
    in_a_row = marks.translate(None, _BUT_BRACKETS).count(b"<<")
    return in_a_row >= _BRACKETS_IN_TAGS and _has_many(_OPEN_IN_TAG, body)


def _has_long(body: bytes) -> bool:
    """Tell whether `_LONG` is somewhere in a page. Only where a whole block has no bracket, one looks at the bytes.

    >>> _has_long(b"<p>" + b" " * 3000), _has_long(b">" * 500 + b"<p" + b" " * 1025)
    (False, True)
    """
    for block in range(0, len(body), _BLOCK_BYTES):
        end = block + _BLOCK_BYTES
        if body.find(b"<", block, end) < 0 and body.find(b">", block, end) < 0:
            begin = body.rfind(b"<", max(0, block - _BLOCK_BYTES - 1), block)
            if begin >= 0 and _LONG.match(body, begin):
                return True
    return False


def _has_many(brackets: re.Pattern[bytes], body: bytes) -> bool:
    return next(itertools.islice(brackets.finditer(body), _BRACKETS_IN_TAGS - 1, None), None) is not None


def _without_crowd(tag: re.Match[bytes]) -> bytes:
    found = tag[0]
    if len(found) > _CROWDED_BYTES and sum(1 for _ in _BETWEEN.finditer(found)) > _CROWDED:
        return b"<i"
    return found


# Formatting: an element that is open when a paragraph ends is reopened in the next one. 45 KB of <b x1></i><b x2></i>…
# <p>x<p>x… took 3.3 GB of memory. 512 levels of it are possible without a wrong count of the nesting.

_MAX_REOPENED = 1_000_000  # elements, which take some 200 MB
_FEW_TAGS = 1400  # if half of them stay open and half are paragraphs, half a million are reopened, which is harmless
_FEW_OPEN = 4  # so few open formatting elements need no exact count
_NAMES = rb"b(?:ig)?+|code|em|font|i|nobr|s(?:mall|tr(?:ike|ong))?+|tt|u"
_FORMATTING = re.compile(rb"<(/?+(?:%s))[\t\n\v\f\r\x20/>]" % _NAMES)  # `\s` would take longer
_FORMATTING_TAG = re.compile(rb"""</?(?:%s)(?=[\s/>])(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>?""" % _NAMES, re.IGNORECASE)


def _reopened(body: bytes, tags: int) -> tuple[int, int]:
    """Return how many formatting elements a parser reopens at most, and how many of their end tags are stray.

    `body`: in lower case, with `tags` tags. At each tag, all open formatting elements may be reopened. If neither
    number can be too high, both are 0: for most pages it is enough to count the tags.

    >>> _reopened(b"<b><i><u><s><tt>" + b"<p>" * 10 + b"</code>" * 600, 300_000)
    (3065, 600)
    >>> _reopened(b"<b>", 1)
    (0, 0)
    """
    names = _FORMATTING.findall(body)
    if len(names) <= _MAX_DEPTH and len(names) * tags <= _MAX_REOPENED:
        return 0, 0
    most, stray = _at_most_open(names)
    if most <= _FEW_OPEN or most * tags <= _MAX_REOPENED:
        return 0, stray
    open_: defaultdict[bytes, int] = defaultdict(int)
    reopened = count = last = 0
    for tag in _FORMATTING.finditer(body):
        reopened += count * body.count(b"<", last, tag.start())
        last = tag.start()
        count += _opened(tag[1], open_)
    return reopened + count * body.count(b"<", last), stray


_TAG_NAMES = b"b big code em font i nobr s small strike strong tt u".split()
_PAIRS = [b"<%s></%s>" % (name, name) for name in _TAG_NAMES]


def _at_most_open(names: list[bytes]) -> tuple[int, int]:
    """Return a number that is at least as high as that of open elements ever is; and how many end tags are stray.

    Elements that the next of these tags closes, which most are, need not be counted one by one. Without those of one
    name there is at most one open element less.

    >>> _at_most_open([b"b", b"i", b"/i", b"/b", b"/u"])
    (2, 1)
    """
    left, fewer = b"<%s>" % b"><".join(names), 0
    for pair in _PAIRS:
        before = len(left)
        left = left.replace(pair, b"")
        fewer += len(left) < before
    most, stray = _most_open(left[1:-1].split(b"><") if left else [])
    return most + fewer, stray


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
    """Count a tag in `open_`. Return by how much the number of open elements changes: 1, 0 or -1."""
    if not name.startswith(b"/"):
        open_[name] += 1
        return 1
    if not open_[name[1:]]:
        return 0
    open_[name[1:]] -= 1
    return -1


# Nesting: like any parser that follows the standard, lexbor walks up the open elements at each tag, and reopens
# formatting elements in each paragraph. 1 MB of <div> took it over a minute, 25 KB of <b x1><b x2>…<p>x<p>x… 1.6 GB.
# This protects from broken pages. A page that deceives the counts on purpose, by end tags in quotes or by stray end
# tags of other elements (<div></td>…), is stopped by `trees`.

_MAX_DEPTH = 512  # the limit of Chrome, too
_MAX_HTML5LIB_DEPTH = 100
_HARMLESS_BYTES = 8192
_COUNTED = re.compile(rb"<(?:!--(?:-?>|.*?(?:--!?>|\Z))|(/?[a-z][^\s/>]*))", re.IGNORECASE | re.DOTALL)
# Elements that are never closed, or that the next one of their kind closes.
_UNCOUNTED = frozenset(
    b"html head body p li dd dt tr td th tbody thead tfoot colgroup option a area br col embed hr img input meta param"
    b" source track wbr !doctype".split()
)
_NEEDED = b"a|area|base|link|meta|title|template|script|style|textarea|xmp|iframe|noembed|noframes|plaintext"
# No "<" inside a tag: so a match ends before the next tag, and all of them take time in proportion to the page.
_UNNEEDED = re.compile(rb"""</?(?!(?:%s)[\s/>])[a-z](?:[^<>"']|"[^"<]*"|'[^'<]*')*>""" % _NEEDED, re.IGNORECASE)


def _too_deep(body: bytes, stray: int = 0) -> bool:
    """Return whether a page nests deeper than `_MAX_DEPTH`. It counts exactly only if a quick guess is too high.

    `stray`: how many end tags are known to close nothing. With many of them the guess would be too low.
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
    """Return the largest number of open elements. It is counted for each name, so a stray end tag closes nothing.

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
    """Remove the tags that have no links and no titles, and with them the nesting."""
    return _UNNEEDED.sub(b" ", body)  # a space, so that the words on both sides stay apart
