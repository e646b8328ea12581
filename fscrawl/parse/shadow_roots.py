"""Shadow roots in a page, which parsers of HTML do not look into. Pure but for the clock of `trees`.

A server, and a browser that writes down a DOM, puts a shadow root into a `<template shadowrootmode="open">`, or
`closed`: https://html.spec.whatwg.org/#attr-template-shadowrootmode. A browser shows what it contains. For parsers,
what is in a template is no part of the page, so links, texts and selectors would not see it.

Vocabulary:
  root     a template that becomes a shadow root: the first one of its host. Others are ordinary templates
  host     the element in which a root stands. Not every element can be one

Promise: roots of pages of any size are found in time in proportion to them. What stands in a host beside its root is
kept, though a browser shows it only in a `<slot>`: so all words are there, but not always in the order of the screen.
"""

from __future__ import annotations

import re

from fscrawl.parse.foreign import is_html
from fscrawl.parse.trees import select, tree

# https://dom.spec.whatwg.org/#valid-shadow-host-name, and custom elements, which have a hyphen
_HOSTS = frozenset(
    "article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span".split()  # noqa: SIM905
)
_MODES = frozenset({"open", "closed"})
_OPENED, _NUMBER = "shadow-root", "fscrawl-root"
_BEGIN, _END = f"<{_OPENED}>".encode(), f"</{_OPENED}>".encode()
_ATTRIBUTES = rb"""(?:[^>=]++|=[\t\n\f\r ]*+(?:"[^"]*+"|'[^']*+')?+)*+"""
# A comment, an element whose content is text, a tag of a template, or any other tag: its attributes may look like one.
_TOKEN = re.compile(
    rb"""<!--(?:-?>|.*?(?:--!?>|\Z))
    | <(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes|noscript)(?=[\t\n\f\r />])%b>?
        .*?(?:</(?P=raw)(?=[\t\n\f\r />])|\Z)
    | <plaintext(?=[\t\n\f\r />]).*
    | <template(?P<begin>(?=[\t\n\f\r />])%b)>
    | (?P<end></template(?=[\t\n\f\r />])%b>)
    | </?[a-z]%b"""
    % (_ATTRIBUTES, _ATTRIBUTES, _ATTRIBUTES, _ATTRIBUTES),
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def opened(html: bytes) -> bytes:
    """Give a page in UTF-8 with the contents of its shadow roots as parts of the page, in `<shadow-root>`.

    >>> opened(b'<x-a><template shadowrootmode="open"><a href="/b">b</a><template>c</template></template>d</x-a>')
    b'<x-a><shadow-root><a href="/b">b</a><template>c</template></shadow-root>d</x-a>'
    """
    if b"hadow" not in html and b"HADOW" not in html:  # to look for the whole name in both cases would take longer
        return html
    if b"shadowrootmode" not in html.lower():
        return html
    return _with_roots(html, _roots(html))


def _roots(html: bytes) -> set[bytes]:
    """Give the numbers of the templates that are roots. The parser knows in which elements they stand.

    For that, each of them is opened, and an empty template stands before it, so that what is nested is found, too.
    """
    roots, hosts = set(), set()
    known: dict[int, str] = {}
    for template in select(tree(_with_roots(html, None)), f"template[{_NUMBER}]"):
        attributes, host = template.attributes, template.parent
        if host is None or host.mem_id in hosts or (attributes.get("shadowrootmode") or "").lower() not in _MODES:
            continue
        name = host.tag or ""
        is_host = name in _HOSTS or ("-" in name and name != _OPENED)  # a root itself is none
        if is_host and is_html(template, known):
            hosts.add(host.mem_id)
            roots.add((attributes[_NUMBER] or "").encode())
    return roots


def _with_roots(html: bytes, roots: set[bytes] | None) -> bytes:
    """Open the templates with these numbers. None: all that may be roots, with an empty template before each."""
    pieces: list[bytes] = []
    done = number = 0
    opened_: list[bool] = []  # of the templates that have not ended
    for token in _TOKEN.finditer(html):
        begin, replaced = token["begin"], b""
        if begin is not None:
            is_opened = False
            if b"shadowrootmode" in begin.lower():
                number += 1
                is_opened = roots is None or b"%d" % number in roots
                mark = b"<template %b=%d%b></template>" % (_NUMBER.encode(), number, begin)
                replaced = _BEGIN if roots is not None else mark + _BEGIN
            opened_.append(is_opened)
            if not is_opened:
                continue
        elif token["end"] is None or not opened_ or not opened_.pop():
            continue
        pieces += [html[done : token.start()], replaced or _END]
        done = token.end()
    return b"".join([*pieces, html[done:]])
