"""The shards that this machine holds: which URLs of them were seen, and to which shard a URL belongs.

Vocabulary:
  shard       a part of all URLs; one machine at a time holds it. A URL's host decides its shard, or with
              `partition = "url"` its key
  location    where a URL belongs: its host directory, its digest, its shard
  seen        every URL that was added once, or that the tree held when its host was met

Promise: a URL is new once for each time that its shard is held. Nothing here knows of queues or times of hosts.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from fscrawl import urls
from fscrawl.frontier.seen import SeenSet
from fscrawl.frontier.stored import StoredPages


class Location(NamedTuple):
    """Where a URL belongs: its host directory, its digest, its shard."""

    host: str
    digest: bytes
    shard: int


class Shard:
    """A shard that is held. `taken_at`: when it was taken over from another machine; None: no machine had it before."""

    __slots__ = ("check_until", "seen", "taken_at")

    def __init__(self, taken_at: float | None, check_s: float) -> None:
        self.seen = SeenSet()
        self.taken_at = taken_at
        self.check_until = 0.0 if taken_at is None else taken_at + check_s


@lru_cache(maxsize=16384)  # for hosts of other machines' shards; the hosts that were met know theirs
def _shard_of_host(host: str, shards: int) -> int:
    return urls.shard(host, shards)


class Shards:
    """The shards held, by number, and how many tasks of each are in flight."""

    def __init__(self, count: int, *, by_url: bool, stored: StoredPages | None) -> None:
        """`count`: of the whole crawl. `stored`: what the tree holds already; None: nothing."""
        self.held: dict[int, Shard] = {}
        self.in_flight: Counter[int] = Counter()  # of shards that were let go, too
        self.by_url = by_url
        self._count = count
        self._stored = stored

    def locate(self, url: str) -> Location:
        """Give where a normal form belongs."""
        digest = urls.digest(url)
        name = urls.host(url)
        return Location(name, digest, self._number(name, digest))

    def _number(self, host: str, digest: bytes) -> int:
        if self.by_url:
            return urls.shard(digest[:12].hex(), self._count)
        return _shard_of_host(host, self._count)

    def hold(self, number: int, taken_at: float | None, check_s: float) -> Shard:
        assert not self.in_flight[number], "what is in flight would be counted to the new holding"
        return self.held.setdefault(number, Shard(taken_at, check_s))

    def let_go(self, number: int) -> None:
        """Forget which of its URLs were seen."""
        del self.held[number]

    def learn_stored(self, host: str) -> None:
        """Count as seen what the tree holds of a host."""
        for key in self._stored.keys(host) if self._stored else ():
            shard = self.held.get(self._number(host, bytes.fromhex(key)))
            if shard is not None:
                shard.seen.add(urls.fingerprint(key))

    def stored_pages(self, host: str) -> int:
        """Tell how many pages of a host the tree holds."""
        return self._stored.page_count(host) if self._stored else 0

    @property
    def seen(self) -> int:
        """Tell how many URLs were seen."""
        return sum(len(shard.seen) for shard in self.held.values())
