"""The robots.txt rules of hosts: from memory, from the tree, or from the host itself.

By RFC 9309 2.3.1, a robots.txt that is found counts, and a status 4xx allows everything. If it cannot be fetched (5xx,
or no answer), nothing of the host may be fetched for now, and it is asked for later. No answer is used for more than a
day. A redirect is followed on its host, and to the robots.txt of another host in the scope (`redirects`). Any other
counts as a file that is not there (RFC 9309 2.3.1.2).
"""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from fscrawl import urls
from fscrawl.http.answers import Failed, Fetched
from fscrawl.http.fetch import Fetcher
from fscrawl.politeness import ROBOTS_VALID_S
from fscrawl.politeness.redirects import MOST_HOPS, Hops, follow
from fscrawl.politeness.robots import MAX_BYTES, ROBOTS_PATH, Rules
from fscrawl.storage.records import RobotsRecord, timestamp
from fscrawl.store import Tree
from fscrawl.util.lru import Lru

_KEPT_BYTES = 48 * 1024 * 1024  # of rules in memory: 80,000 hosts that forbid nothing, 3,000 of 50 lines, or 4 giants
_ENTRY_BYTES = 600  # of a host without rules
# A host to whose robots.txt others redirect is asked for it so often at most, whatever it answers. Thousands of names
# of one domain could redirect to a host that fails.
_ASKED_FOR_OTHERS_S = 30.0
_ASKED_FOR_OTHERS_HOSTS = 1000
_STOOD_STILL = Failed("timeout", "robots.txt could not be fetched: the machine stood still", retry=True)


class RobotsLookup(NamedTuple):
    """The rules of a host; or, if its robots.txt could not be fetched, the failure: then fetch nothing for now."""

    rules: Rules | Failed
    was_asked: bool  # the host got a request for it


class RobotsCache:
    """The rules of hosts, for one worker."""

    def __init__(self, tree: Tree, fetcher: Fetcher, user_agent: str, hops: Hops | None = None) -> None:
        self._tree = tree
        self._hops = hops or Hops()
        self._fetcher = fetcher
        self._user_agent = user_agent
        self._known: Lru[str, tuple[Rules, float]] = Lru(_KEPT_BYTES)  # what is forgotten can be read from the tree
        self._asked_for_others: Lru[str, float] = Lru(_ASKED_FOR_OTHERS_HOSTS)  # host → when it may be asked again

    def rules_for(self, host: str, url: str, seconds: float = math.inf, *, from_host: bool = False) -> RobotsLookup:
        """Return the rules of `host`, a host directory. `url`: any URL of this host.

        `seconds`: that an exchange with it may take, if the settings allow more. `from_host`: ask it in any case.
        """
        known = None if from_host else self._remembered(host) or self._from_tree(host)
        if known is not None:
            return RobotsLookup(known, was_asked=False)
        record = self._fetch(host, urls.origin(url), seconds=seconds)
        if isinstance(record, Failed):
            return RobotsLookup(record, was_asked=True)
        return RobotsLookup(self._remember(host, self._read(record)), was_asked=True)

    def _remembered(self, host: str) -> Rules | None:
        rules, until = self._known.get(host) or (None, 0.0)
        return rules if time.monotonic() < until else None

    def _remember(self, host: str, rules: Rules, for_s: float = ROBOTS_VALID_S) -> Rules:
        self._known.put(host, (rules, time.monotonic() + for_s), _ENTRY_BYTES + rules.size_bytes)
        return rules

    def _from_tree(self, host: str) -> Rules | None:
        record = self._fresh(host)
        if record is None:
            return None
        return self._remember(host, self._read(record), min(ROBOTS_VALID_S - _age_s(record.fetched_at), ROBOTS_VALID_S))

    def _fresh(self, host: str) -> RobotsRecord | None:
        """Read the stored file if it is less than a day old. A clock that is wrong by minutes does no harm here.

        One that is ahead by years would let it count for years. So a file that is a day ahead does not count either.
        """
        record = self._tree.robots(host)
        if record is None or record.status == 0 or record.status >= 500 or record.status == 429:
            return None
        return record if abs(_age_s(record.fetched_at)) < ROBOTS_VALID_S else None

    def _read(self, record: RobotsRecord) -> Rules:
        return Rules(record.text if 200 <= record.status < 300 else "", self._user_agent)

    def _fetch(
        self,
        host: str,
        origin: str,
        most_hops: int = MOST_HOPS,
        seconds: float = math.inf,
        before: tuple[str, ...] = (),
    ) -> RobotsRecord | Failed:
        """Fetch the robots.txt of a host, and store it.

        `most_hops`: of all hosts that redirect to each other. `before`: those that have led to this one.
        """
        if not self._hops.permitted():  # the look into the tree before this may have lasted for long
            return _STOOD_STILL
        url, now = origin + ROBOTS_PATH, timestamp(time.time())
        limits = replace(self._fetcher.limits.within(seconds), max_bytes=MAX_BYTES, cuts=True)
        found = follow(self._fetcher, url, self._hops, limits=limits, most_hops=most_hops)
        if not self._hops.permitted():  # perhaps a redirect was not followed, and the answer means nothing
            return _STOOD_STILL
        chain = (*before, host)
        other = self._of_other_host(chain, found.target, most_hops - found.hops) if found.target else None
        if isinstance(other, Failed):
            return other
        record = self._meant(url, now, found.answer) if other is None else msgspec.structs.replace(other, url=url)
        if isinstance(record, RobotsRecord):
            self._tree.put_robots(host, record)
        return record

    def _of_other_host(self, chain: tuple[str, ...], target: str, most_hops: int) -> RobotsRecord | Failed | None:
        """Give the rules of another host, to which a robots.txt redirects; None if they do not count.

        That host is asked for them only if nobody knows them, as for a page of its own. `chain`: the hosts that have
        led there; one of them once more is a circle.
        """
        other, origin = urls.host(target), urls.origin(target)
        # A host is in the scope if its front page is: `deny` may forbid all text files, but not the rules of hosts.
        if other in chain or target != origin + ROBOTS_PATH or not self._hops.in_scope(origin + "/") or not most_hops:
            return None
        if not self._hops.wait():  # also so that the host's own machine can learn and store them first
            return _STOOD_STILL
        return self._fresh(other) or self._fetch_for_others(other, origin, most_hops - 1, chain)

    def _fetch_for_others(
        self, host: str, origin: str, most_hops: int, before: tuple[str, ...]
    ) -> RobotsRecord | Failed:
        now = time.monotonic()
        if now < (self._asked_for_others.get(host) or 0.0):
            message = f"robots.txt could not be fetched: it redirects to that of {host}, which was asked a moment ago"
            return Failed("http-5xx", message, retry=True)
        self._asked_for_others.put(host, now + _ASKED_FOR_OTHERS_S)
        return self._fetch(host, origin, most_hops, before=before)

    def _meant(self, url: str, now: str, answer: Fetched | Failed) -> RobotsRecord | Failed:
        if isinstance(answer, Failed):
            if answer.class_ in ("too-large", "decode"):  # the file exists, but cannot be read
                return RobotsRecord(url, now, 200, "")
            return Failed(answer.class_, f"robots.txt could not be fetched: {answer.message}", retry=answer.retry)
        if answer.status >= 500 or answer.status == 429:
            class_ = "http-5xx" if answer.status >= 500 else "http-4xx"
            message = f"robots.txt could not be fetched: the server answered {answer.status}"
            return Failed(class_, message, retry=True, status=answer.status, headers=answer.headers)
        return RobotsRecord(url, now, answer.status, _text_of(answer.body or b""))


# JSON takes six bytes for a control character, so they are replaced. Four of them end a line for `Rules`.
_IN_RECORD = dict.fromkeys({*range(32)} - {*b"\t\n\f\r"}, "\ufffd") | dict.fromkeys(b"\x0b\x1c\x1d\x1e", "\n")


def _text_of(body: bytes) -> str:
    """Return the text that is kept, at most MAX_BYTES in UTF-8: what is no UTF-8 takes three bytes for one.

    >>> _text_of(b"a\\0\\x1c\\xff\\tb")
    'a\ufffd\\n\ufffd\\tb'
    """
    text = body[:MAX_BYTES].decode("utf-8", "replace").translate(_IN_RECORD)
    return text.encode()[:MAX_BYTES].decode("utf-8", "ignore")


def _age_s(moment: str) -> float:
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    except (ValueError, TypeError):
        return ROBOTS_VALID_S


def forbidden(rules: Rules, url: str) -> Failed | None:
    """Give the failure of a URL that robots.txt does not allow; None if it does."""
    if rules.allows(url):
        return None
    return Failed("robots", f"robots.txt does not allow it: {rules.forbidding_line(url)}", retry=False)
