"""The robots.txt rules of hosts: from memory, from the tree, or from the host itself.

By RFC 9309 2.3.1, a robots.txt that is found counts, and a status 4xx allows everything. If it cannot be fetched (5xx,
or no answer), nothing of the host may be fetched for now, and it is asked for later. No answer is used for more than a
day.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import NamedTuple

from fscrawl import urls
from fscrawl.http.fetch import Failed, Fetched, Fetcher
from fscrawl.politeness.robots import MAX_BYTES, VALID_S, Rules
from fscrawl.storage.records import RobotsRecord, timestamp
from fscrawl.store import Tree
from fscrawl.util.lru import Lru

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HOPS = 5  # RFC 9309 2.3.1.2
_KEPT_BYTES = 48 * 1024 * 1024  # of rules in memory: 80,000 hosts that forbid nothing, 3,000 of 50 lines, or 4 giants
_ENTRY_BYTES = 600  # of a host without rules


class RobotsLookup(NamedTuple):
    """The rules of a host; or, if its robots.txt could not be fetched, the failure: then fetch nothing for now."""

    rules: Rules | Failed
    was_asked: bool  # the host got a request for it


class RobotsCache:
    """The rules of hosts, for one worker."""

    def __init__(self, tree: Tree, fetcher: Fetcher, user_agent: str) -> None:
        self._tree = tree
        self._fetcher = fetcher
        self._user_agent = user_agent
        self._known: Lru[str, tuple[Rules, float]] = Lru(_KEPT_BYTES)  # what is forgotten can be read from the tree

    def rules_for(self, host: str, url: str) -> RobotsLookup:
        """Return the rules of `host`, a host directory. `url`: any URL of this host."""
        known = self._remembered(host) or self._from_tree(host)
        if known is not None:
            return RobotsLookup(known, was_asked=False)
        record = self._fetch(urls.origin(url) + "/robots.txt")
        if isinstance(record, Failed):
            return RobotsLookup(record, was_asked=True)
        self._tree.put_robots(host, record)
        return RobotsLookup(self._remember(host, self._read(record)), was_asked=True)

    def _remembered(self, host: str) -> Rules | None:
        rules, until = self._known.get(host) or (None, 0.0)
        return rules if time.monotonic() < until else None

    def _remember(self, host: str, rules: Rules, for_s: float = VALID_S) -> Rules:
        self._known.put(host, (rules, time.monotonic() + for_s), _ENTRY_BYTES + rules.size_bytes)
        return rules

    def _from_tree(self, host: str) -> Rules | None:
        """Read the stored file if it is less than a day old. A clock that is wrong by minutes does no harm here."""
        record = self._tree.robots(host)
        if record is None or record.status == 0 or record.status >= 500 or record.status == 429:
            return None
        left_s = VALID_S - _age_s(record.fetched_at)
        return self._remember(host, self._read(record), min(left_s, VALID_S)) if left_s > 0 else None

    def _read(self, record: RobotsRecord) -> Rules:
        return Rules(record.text if 200 <= record.status < 300 else "", self._user_agent)

    def _fetch(self, url: str) -> RobotsRecord | Failed:
        now = timestamp(time.time())
        answer = follow(self._fetcher, url, MAX_BYTES)
        if isinstance(answer, Failed):
            if answer.class_ in ("too-large", "decode"):  # the file exists, but cannot be read
                return RobotsRecord(url, now, 200, "")
            return Failed(answer.class_, f"robots.txt could not be fetched: {answer.message}", retry=answer.retry)
        if answer.status >= 500 or answer.status == 429:
            class_ = "http-5xx" if answer.status >= 500 else "http-4xx"
            message = f"robots.txt could not be fetched: the server answered {answer.status}"
            return Failed(class_, message, retry=True, status=answer.status, headers=answer.headers)
        text = (answer.body or b"")[:MAX_BYTES].decode("utf-8", "replace")
        return RobotsRecord(url, now, answer.status, text)


def follow(fetcher: Fetcher, url: str, max_prefix_bytes: int | None = None) -> Fetched | Failed:
    """Fetch a robots.txt or a sitemap, and follow redirects. `max_prefix_bytes`: read no more of the body."""
    for _ in range(_HOPS):
        answer = fetcher.get(url, wants_body=_is_good, max_prefix_bytes=max_prefix_bytes)
        if isinstance(answer, Failed) or answer.status not in REDIRECTS:
            return answer
        target = urls.normalise(answer.headers.get("location", ""), url)
        if target is None:
            return answer
        url = target
    return fetcher.get(url, wants_body=_is_good, max_prefix_bytes=max_prefix_bytes)


def _is_good(status: int, headers: dict[str, str]) -> bool:  # noqa: ARG001 - the signature of WantsBody
    return 200 <= status < 300


def _age_s(moment: str) -> float:
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    except (ValueError, TypeError):
        return VALID_S
