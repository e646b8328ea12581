"""What a page or document asks of robots: meta robots and X-Robots-Tag → directives. Pure.

https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
"""

from __future__ import annotations

import re

# Directives are words such as "noindex" and "max-image-preview:large". No page needs more or longer ones.
MAX_DIRECTIVES = 100
MAX_DIRECTIVE_CHARS = 100
_AGENT = re.compile(r"(?!unavailable_after|max-)[a-z0-9_-]+[ \t]*:")


def directives_of(metas: list[str], header: str | None) -> tuple[str, ...]:
    """Return the directives for all robots, not those for a single one: "googlebot: noindex" and all that follows it.

    >>> directives_of(["NoIndex, follow"], "max-snippet: 20, otherbot: none, nofollow")
    ('follow', 'max-snippet: 20', 'noindex')
    """
    directives: set[str] = set()
    for text in [*metas, *(header or "").lower().splitlines()]:
        for part in text.lower().split(","):
            if _AGENT.match(part.strip()):
                break
            words = part.split()
            for directive in [" ".join(words)] if ":" in part else words:
                if len(directives) < MAX_DIRECTIVES and len(directive) <= MAX_DIRECTIVE_CHARS:
                    directives.add(directive)
    return tuple(sorted(directives))
