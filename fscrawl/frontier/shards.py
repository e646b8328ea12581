"""The shards that this machine holds: what is known of their URLs, and to which shard a URL belongs.

Vocabulary:
  shard       a part of all URLs; one machine at a time holds it. A URL's host decides its shard, or with
              `partition = "url"` its key
  location    where a URL belongs: its host directory, its digest, its shard
  known, told, there, settled
              see `url_table`: each shard has a table of its own

Promise: a URL is new once for each time that its shard is held. Nothing here knows of queues or times of hosts.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from fscrawl import urls
from fscrawl.frontier.stored import StoredPages
from fscrawl.frontier.task import PageTask
from fscrawl.frontier.url_table import UrlTable


class Location(NamedTuple):
    """Where a URL belongs: its host directory, its digest, its shard."""

    host: str
    digest: bytes
    shard: int


class Shard:
    """A shard that is held. `taken_at`: when it was taken over from another machine; None: no machine had it before."""

    __slots__ = ("check_until", "table", "taken_at")

    def __init__(self, taken_at: float | None, check_s: float, *, deep: bool) -> None:
        self.table = UrlTable(deep=deep)
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
        return Location(name, digest, self.number(name, digest[:12].hex() if self.by_url else ""))

    def number(self, host: str, key: str) -> int:
        """Give the shard of a URL. `key`: only looked at with `partition = "url"`."""
        return urls.shard(key, self._count) if self.by_url else _shard_of_host(host, self._count)

    def hold(self, number: int, taken_at: float | None, check_s: float, *, deep: bool) -> Shard:
        assert not self.in_flight[number], "what is in flight would be counted to the new holding"
        return self.held.setdefault(number, Shard(taken_at, check_s, deep=deep))

    def let_go(self, number: int) -> None:
        """Forget what is known of its URLs."""
        del self.held[number]

    # -- what the scheduler asks about pending tasks; their shards are held

    def is_settled(self, task: PageTask) -> bool:
        """Tell whether nothing is left to do for a URL, and no user wants it again."""
        return not task.flags.wanted_again and self._table_of(task).settled(urls.fingerprint(task.key))

    def is_there(self, task: PageTask) -> bool:
        """Tell whether the tree has a record of a URL."""
        state = self._table_of(task).state(urls.fingerprint(task.key))
        return state.there or state.told is not None

    def _table_of(self, task: PageTask) -> UrlTable:
        return self.held[self.number(task.host, task.key)].table

    # -- what the tree holds

    def learn_stored(self, host: str) -> None:
        """Mark what the tree holds of a host as there."""
        for key in self._stored.keys(host) if self._stored else ():
            shard = self.held.get(self.number(host, key))
            if shard is not None:
                shard.table.mark_there(urls.fingerprint(key))

    def stored_pages(self, host: str) -> int:
        """Tell how many pages of a host the tree holds."""
        return self._stored.page_count(host) if self._stored else 0

    @property
    def known(self) -> int:
        """Tell of how many URLs something is known."""
        return sum(len(shard.table) for shard in self.held.values())
