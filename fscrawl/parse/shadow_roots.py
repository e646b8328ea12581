"""Shadow roots in a stored DOM, which parsers of HTML do not look into. Pure.

A browser writes a shadow root as `<template shadowrootmode="open">` (WHATWG HTML, fragment serialization). What is in a
template is no part of the page for a parser, so links, texts and selectors would not see it.
"""

from __future__ import annotations

import re

_MARK = b"shadowrootmode="
_OPENING, _CLOSING = b"<shadow-root>", b"</shadow-root>"
# What may hold text that looks like a tag is stepped over whole.
_TOKEN = re.compile(
    rb"<!--.*?-->|<(script|style|xmp|iframe|noembed|noframes|noscript)\b.*?</\1|<template\b[^>]*>|</template>",
    re.DOTALL | re.IGNORECASE,
)


def opened(dom: bytes) -> bytes:
    """Give a DOM with the contents of shadow roots as parts of the page.

    >>> opened(b'<x-a><template shadowrootmode="open"><a href="/b">b</a><template>c</template></template>d</x-a>')
    b'<x-a><shadow-root><a href="/b">b</a><template>c</template></shadow-root>d</x-a>'
    """
    if _MARK not in dom:
        return dom
    pieces, done, open_templates = [], 0, []
    for found in _TOKEN.finditer(dom):
        token = found[0]
        if token.startswith(b"<template"):
            open_templates.append(_MARK in token)
            replaced = _OPENING if open_templates[-1] else None
        elif token == b"</template>" and open_templates:
            replaced = _CLOSING if open_templates.pop() else None
        else:
            continue
        if replaced is not None:
            pieces += [dom[done : found.start()], replaced]
            done = found.end()
    return b"".join([*pieces, dom[done:]])
