"""robots.txt text → what it allows, how fast, and its sitemaps. Pure: no disk, no socket. RFC 9309, by Protego."""

from __future__ import annotations

import re

from protego import Protego

MAX_BYTES = 512_000  # RFC 9309 2.5: at least 500 KiB are read, what follows is ignored

# Finds at least whatever Protego takes for a rule: its misspellings, no colon, any line end, any blank.
_DISALLOWS = re.compile(r"di(?:s+al+|asl+)[oa]w\s*:?\s*[^\s#]", re.IGNORECASE)
_LONG_S = 10**9  # a hostile file may name more seconds than a float can hold
_TOKEN = re.compile(r"[a-zA-Z_-]+")


class Rules:
    """What one robots.txt says to one crawler."""

    def __init__(self, text: str, user_agent: str) -> None:
        """`user_agent`: the header that is sent; its product token (the letters before the slash) chooses the group.

        >>> Rules("User-agent: *\\nDisallow: /private", "fscrawl/1.0").allows("http://a.example/private/x")
        False
        >>> Rules("", "fscrawl/1.0").allows("http://a.example/")
        True
        """
        found = _TOKEN.match(user_agent)
        self._agent = found.group() if found else "*"
        self._robots = Protego.parse(text.removeprefix("\ufeff"))  # else the first group would be lost
        self._disallows = bool(_DISALLOWS.search(text))  # most files forbid nothing: then no page is looked up

    def allows(self, url: str) -> bool:
        """Tell whether a normal form may be fetched."""
        return not self._disallows or bool(self._robots.can_fetch(url, self._agent))

    @property
    def delay_s(self) -> float:
        """Seconds between requests by Crawl-delay and Request-rate, the longer of the two; 0 where there is neither.

        >>> Rules("User-agent: *\\nCrawl-delay: 2.5", "fscrawl").delay_s
        2.5
        >>> Rules("User-agent: *\\nRequest-rate: 1/10s", "fscrawl").delay_s
        10.0
        """
        delay = self._robots.crawl_delay(self._agent) or 0.0
        rate = self._robots.request_rate(self._agent)
        between = min(rate.seconds, _LONG_S) / rate.requests if rate and rate.requests else 0.0
        return max(0.0, float(delay), between)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The `Sitemap:` lines, as written."""
        return tuple(self._robots.sitemaps)
