"""What a page or document asks of robots: meta robots and X-Robots-Tag → directives. Pure.

https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
"""

from __future__ import annotations

import re

# Directives are words such as "noindex" and "max-image-preview:large". No page needs more or longer ones.
MAX_DIRECTIVES = 100
MAX_DIRECTIVE_CHARS = 100
_MOST_PARTS = 1000  # between commas, in all; and so many words in each. What stands behind them is not looked at
_AGENT = re.compile(r"(?!unavailable_after|max-)([a-z0-9_-]+|\*)[ \t]*:")


def directives_of(metas: list[str], header: str | None, agent: str = "") -> tuple[str, ...]:
    """Return the directives for all robots, and those for the one that is named `agent`, in lower case.

    In a line, "googlebot: noindex" and all that follows it is for that robot, until another one is named. `header`:
    lines of X-Robots-Tag, which are read one by one.

    >>> directives_of(["NoIndex, follow"], "max-snippet: 20, otherbot: none, nofollow")
    ('follow', 'max-snippet: 20', 'noindex')
    >>> directives_of([], "otherbot: none\\nme: nofollow, otherbot: noindex", "me")
    ('nofollow',)
    """
    meant = {"*", "robots", agent}
    directives: set[str] = set()
    left = _MOST_PARTS
    for text in [*metas, *(header or "").split("\n")][:_MOST_PARTS]:
        is_meant = True
        parts = text.lower().split(",", left)[:left]
        left -= len(parts)
        for part in parts:
            part = part.strip()  # noqa: PLW2901
            if found := _AGENT.match(part):
                is_meant, part = found[1] in meant, part[found.end() :]  # noqa: PLW2901
            if not is_meant:
                continue
            words = part.split(None, _MOST_PARTS)[:_MOST_PARTS]
            for directive in [" ".join(words)] if ":" in part else words:
                if len(directives) < MAX_DIRECTIVES and len(directive) <= MAX_DIRECTIVE_CHARS:
                    directives.add(directive)
    return tuple(sorted(directives))
