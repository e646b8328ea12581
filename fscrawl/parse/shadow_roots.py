"""Shadow roots in a stored DOM, which parsers of HTML do not look into. Pure.

A browser writes a shadow root as `<template shadowrootmode="open">` (WHATWG HTML, fragment serialization). What is in a
template is no part of the page for a parser, so links, texts and selectors would not see it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MARK = b"shadowrootmode="
_OPENING, _CLOSING = b"<shadow-root>", b"</shadow-root>"
_TOKEN = re.compile(
    rb"<(!--|(?:script|style|xmp|iframe|noembed|noframes|noscript|plaintext)\b)|<template\b|</template>"
)


def opened(dom: bytes) -> bytes:
    """Give a DOM with the contents of shadow roots as parts of the page. It takes time in proportion to the DOM.

    >>> opened(b'<x-a><template shadowrootmode="open"><a href="/b">b</a><template>c</template></template>d</x-a>')
    b'<x-a><shadow-root><a href="/b">b</a><template>c</template></shadow-root>d</x-a>'
    """
    if _MARK not in dom:
        return dom
    pieces, done, open_templates = [], 0, []
    for begin, end in _templates(dom):
        token = dom[begin:end]
        if token != b"</template>":
            open_templates.append(_MARK in token)
            replaced = _OPENING if open_templates[-1] else None
        else:
            replaced = _CLOSING if open_templates and open_templates.pop() else None
        if replaced is not None:
            pieces += [dom[done:begin], replaced]
            done = end
    return b"".join([*pieces, dom[done:]])


def _templates(dom: bytes) -> Iterator[tuple[int, int]]:
    """Find the tags of templates: where they begin and end. What may hold text that looks like one is stepped over.

    If an end is missing, nothing that follows is a tag. So nothing is looked for twice.
    """
    at = 0
    while (found := _TOKEN.search(dom, at)) is not None:
        begin, at = found.span()
        if found[0] == b"<template":
            at = dom.find(b">", at) + 1
        elif found[1] is not None:
            at = dom.find(b"-->" if found[1] == b"!--" else b"</" + found[1], at) + 1
        if not at or found[1] == b"plaintext":
            return
        if found[1] is None:
            yield begin, at
