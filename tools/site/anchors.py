"""The anchors of headings: those that GitHub makes, so that a link leads to the same place here and there."""

from __future__ import annotations

import re

_LEFT_OUT = re.compile(r"[^\w\- ]")


def slug(text: str, separator: str = "-") -> str:
    """Give the anchor of a heading.

    >>> slug("The room `files`"), slug("`waited`, `upgraded`"), slug("Pages behind `#/`")
    ('the-room-files', 'waited-upgraded', 'pages-behind-')
    """
    return _LEFT_OUT.sub("", text.lower()).replace(" ", separator)
