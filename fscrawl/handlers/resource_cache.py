"""What rendered pages load again and again: scripts and stylesheets, kept for as long as their servers allow.

A rendered page begins without a cache, as each page has a context of its own. Without this one, a site would be asked
for its scripts once for every page. By RFC 9111, of which it takes the cautious half: what it does not understand, or
what depends on who asks, is not kept.
"""

from __future__ import annotations

import re

from fscrawl.http.answers import Fetched
from fscrawl.http.dates import parse_date
from fscrawl.parse.headers import listed
from fscrawl.util.lru import Lru

KINDS = frozenset({"Script", "Stylesheet"})  # as DevTools calls them
_BYTES = 32 * 1024 * 1024
_LARGEST_BYTES = 4 * 1024 * 1024
_HEURISTIC_SHARE, _HEURISTIC_S = 0.1, 3600.0  # of the time since it was changed (RFC 9111 4.2.2); at most an hour
_NOT_KEPT = re.compile(r"\b(?:no-store|no-cache|private|must-understand)\b")
_MAX_AGE = re.compile(r"\b(s-maxage|max-age)=\"?([0-9]{1,9})")
_SECONDS = re.compile(r"[0-9]{1,9}")


class ResourceCache:
    """One for each worker; used by all its threads."""

    def __init__(self) -> None:
        self._kept: Lru[str, tuple[float, Fetched]] = Lru(_BYTES)

    def get(self, url: str, now: float) -> Fetched | None:
        """Give what is kept of a URL, if it is still fresh. `now`: seconds since 1970."""
        found = self._kept.get(url)
        return found[1] if found is not None and now < found[0] else None

    def put(self, url: str, answer: Fetched, now: float) -> None:
        """Keep an answer to a GET, if that is allowed."""
        fresh_s = fresh_for_s(answer, now)
        if fresh_s > 0 and len(answer.body or b"") <= _LARGEST_BYTES:
            weight = len(answer.body or b"") + 2000
            self._kept.put(url, (now + fresh_s, answer), weight)


def fresh_for_s(answer: Fetched, now: float) -> float:
    """Give for how many seconds an answer may be used again; 0 if it may not.

    >>> fresh_for_s(Fetched(200, {"cache-control": "public, max-age=60"}, b"", 0.0, 0.0), 0.0)
    60.0
    >>> fresh_for_s(Fetched(200, {"cache-control": "no-cache", "expires": "Thu, 01 Jan 2060"}, b"", 0.0, 0.0), 0.0)
    0.0
    """
    headers = answer.headers
    control = headers.get("cache-control", "").lower()
    if answer.status != 200 or "set-cookie" in headers or _NOT_KEPT.search(control):
        return 0.0
    if not {*listed(headers.get("vary", ""))} <= {"accept-encoding"}:
        return 0.0
    ages = {name: float(seconds) for name, seconds in _MAX_AGE.findall(control)}
    if ages:
        in_other_caches = _SECONDS.fullmatch(headers.get("age", ""))
        age_s = float(in_other_caches[0]) if in_other_caches else 0.0
        return max(0.0, ages.get("s-maxage", ages.get("max-age", 0.0)) - age_s)
    if "expires" in headers:
        return max(0.0, (parse_date(headers["expires"]) or 0.0) - now)
    changed_at = parse_date(headers.get("last-modified", ""))
    return 0.0 if changed_at is None else min(max(0.0, (now - changed_at) * _HEURISTIC_SHARE), _HEURISTIC_S)
