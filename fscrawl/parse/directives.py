"""What a page or document asks of robots: meta robots and X-Robots-Tag → directives. Pure.

https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
"""

from __future__ import annotations

import re

# Directives are words such as "noindex" and "max-image-preview:large". No page needs more or longer ones.
MAX_DIRECTIVES = 100
MAX_DIRECTIVE_CHARS = 100
_MOST_PARTS = 1000  # between commas, in all; and so many words in each. What stands behind them is not looked at
_AGENT = re.compile(r"(?!unavailable_after|max-)[a-z0-9_-]+[ \t]*:")


def directives_of(metas: list[str], header: str | None) -> tuple[str, ...]:
    """Return the directives for all robots, not those for a single one: "googlebot: noindex" and all that follows it.

    >>> directives_of(["NoIndex, follow"], "max-snippet: 20, otherbot: none, nofollow")
    ('follow', 'max-snippet: 20', 'noindex')
    """
    directives: set[str] = set()
    left = _MOST_PARTS
    for text in [*metas, *(header or "").lower().splitlines()][:_MOST_PARTS]:
        parts = text.lower().split(",", left)[:left]
        left -= len(parts)
        for part in parts:
            if _AGENT.match(part.strip()):
                break
            words = part.split(None, _MOST_PARTS)[:_MOST_PARTS]
            for directive in [" ".join(words)] if ":" in part else words:
                if len(directives) < MAX_DIRECTIVES and len(directive) <= MAX_DIRECTIVE_CHARS:
                    directives.add(directive)
    return tuple(sorted(directives))
