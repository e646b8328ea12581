"""Is a page empty until its scripts have run? Pure: bytes in, a verdict out.

The rule: a page is empty if it has a script, fewer than `_FEW_LINKS` links, and fewer than `_LITTLE_CHARS` characters
of text that are visible without scripts; and if it does not send the reader elsewhere at once (by
`<meta http-equiv=refresh>` outside of `<noscript>`).
"""

from __future__ import annotations

import re
from itertools import islice

from fscrawl.parse import text
from fscrawl.parse.links import readable

_LITTLE_CHARS = 250
_FEW_LINKS = 10
_MOST_BYTES = 2_000_000  # what is larger is not looked through: its text alone makes it a page
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_LINK = re.compile(rb"<a\s[^<>]*\bhref\s*=", re.IGNORECASE)
_REFRESH = re.compile(rb"\bhttp-equiv\s*=\s*[\"']?refresh\b", re.IGNORECASE)


def is_empty(body: bytes, encoding: str, content_type: str) -> bool:
    """Tell whether a page is empty.

    >>> is_empty(b"<div id=app></div><script src=/app.js></script>", "utf-8", "text/html")
    True
    >>> is_empty(b"<p>Short, but by a person.</p>", "utf-8", "text/html")
    False
    """
    if len(body) > _MOST_BYTES or _SCRIPT.search(body) is None or _leads_elsewhere(body):
        return False
    has_few_links = len(list(islice(_LINK.finditer(body), _FEW_LINKS))) < _FEW_LINKS
    return has_few_links and len(text.visible(readable(body, encoding, content_type))) < _LITTLE_CHARS


def _leads_elsewhere(html: bytes) -> bool:
    found = _REFRESH.search(html)
    if found is None:
        return False
    before = html[: found.start()].lower()
    return before.rfind(b"<noscript") <= before.rfind(b"</noscript")  # else it is for browsers without scripts
