"""The shards that this machine holds: what is known of their URLs, and to which shard a URL belongs.

Vocabulary:
  shard       a part of all URLs; one machine at a time holds it. A URL's host decides its shard, with
              `partition = "site"` only the end of the host's name, with `partition = "url"` the key in its place
  location    where a URL belongs: its host directory, its fingerprint, its shard
  known, told, there, settled
              see `url_table`: each shard has a table of its own
  ripe        a listing that shows all that the holder before has stored: it was made some time after the take

Promise: a URL is new once for each time that its shard is held. Until the listing of a host is ripe, its tasks say that
a worker must look into the tree first. Nothing here knows of queues or times of hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from fscrawl import urls
from fscrawl.frontier.flags import Flags
from fscrawl.frontier.task import PageTask
from fscrawl.frontier.url_table import Standing, UrlTable
from fscrawl.storage.layout import BODY_DIRECTORIES, ERRS, LINKS, PAGE_DIRECTORIES
from fscrawl.store import Tree


class Location(NamedTuple):
    """Where a URL belongs: its host directory, its fingerprint, its shard."""

    host: str
    fingerprint: int
    shard: int


def probable_host(url: str) -> str:
    """Give what `urls.host` gives for most normal forms; for the others, the name of no host.

    >>> probable_host("http://a.example/b"), probable_host("http://a.example:8080/"), probable_host("http://[::1]/")
    ('a.example', 'a.example_8080', '[__1]')
    """
    authority = url.split("/", 3)[2]
    return authority.replace(":", "_") if ":" in authority else authority


class Shard:
    """A shard that is held. `taken_at`: when it was taken over from another machine; None: no machine had it before.

    check_until   listings that were made before are not ripe
    """

    __slots__ = ("beyond", "check_until", "table", "taken_at")

    def __init__(self, taken_at: float | None, check_s: float, *, deep: bool) -> None:
        self.table = UrlTable(deep=deep)
        self.taken_at = taken_at
        self.check_until = 0.0 if taken_at is None else taken_at + check_s
        self.beyond: dict[int, list[Flags]] = {}  # URLs that are wanted again, and known only beyond the limit of depth

    def depth_of_again(self, fingerprint: int, depth: int, flags: Flags, limit: int) -> int:
        """Give the least depth of a URL that is wanted again. If that is beyond `limit`, remember that it is wanted.

        A user asks for another try at the depth of the failure; lines may say a lesser one, before or after that.
        """
        known = self.table.state(fingerprint).known if self.table.deep else None
        least = depth if known is None else min(depth, known)
        if least > limit:
            self.beyond.setdefault(fingerprint, []).append(flags)
        return least


@lru_cache(maxsize=16384)  # for hosts of other machines' shards; the hosts that were met know theirs
def _shard_of_host(host: str, shards: int, partition: str) -> int:
    return urls.shard_of(host, "", shards, partition)


class Shards:
    """The shards held, by number, and how many tasks of each are in flight."""

    def __init__(self, count: int, partition: str, stored: StoredOnTree | None) -> None:
        """`count`: of the whole crawl. `stored`: what the tree holds already; None: nothing."""
        self.held: dict[int, Shard] = {}
        self.in_flight: Counter[int] = Counter()  # of shards that were let go, too
        self.by_url = partition == "url"
        self._partition = partition
        self._count = count
        self._stored = stored
        self._unripe: set[int] = set()  # shards that were just taken: their listings are not ripe
        self._listed_early: set[str] = set()  # hosts whose listing was made then

    def locate(self, url: str) -> Location:
        """Give where a normal form belongs."""
        key, name = urls.key(url), urls.host(url)
        return Location(name, urls.fingerprint(key), self.number(name, key))

    def number(self, host: str, key: str) -> int:
        """Give the shard of a URL. `key`: only looked at with `partition = "url"`."""
        return urls.shard(key, self._count) if self.by_url else _shard_of_host(host, self._count, self._partition)

    def hold(self, number: int, taken_at: float | None, check_s: float, *, deep: bool) -> Shard:
        assert not self.in_flight[number], "what is in flight would be counted to the new holding"
        if number not in self.held:
            self.held[number] = Shard(taken_at, check_s, deep=deep)
            if taken_at is not None and check_s:
                self._unripe.add(number)
        return self.held[number]

    def let_go(self, numbers: Iterable[int]) -> None:
        """Forget what is known of their URLs."""
        for number in numbers:
            del self.held[number]
            self._unripe.discard(number)

    # -- what the scheduler asks about pending tasks; their shards are held

    def standing(self, task: PageTask, shard: int | None) -> Standing:
        """Tell what is known of a task's URL. `shard`: None if its host does not tell it."""
        number = self.number(task.host, task.key) if shard is None else shard
        return self.held[number].table.standing(task.fingerprint)

    def is_robots_first(self, host: str) -> bool:
        """Tell whether a host is asked for its robots.txt even if only stored pages are to be told."""
        return self._stored is not None and host in self._stored.robots_first

    def may_miss(self, task: PageTask, shard: int | None, now: float) -> bool:
        """Tell whether the tree may have a record of a URL that no listing has shown so far."""
        if not (self._unripe or self._listed_early):
            return False
        return self._is_unripe(task.host, self.number(task.host, task.key) if shard is None else shard, now)

    # -- what the tree holds

    def _is_unripe(self, host: str, number: int, now: float) -> bool:
        """Tell whether the listing of a host may lack what was stored of a shard; an early one is made again.

        With `partition = "url"` a host may be large, and has many shards: it is listed again when all are ripe.
        """
        if number in self._unripe:
            if now < self.held[number].check_until:
                return True
            self._ripen(now)
        if host not in self._listed_early:
            return False
        if self.by_url and self._unripe:
            return True
        self.learn_stored(host)
        return False

    def _ripen(self, now: float) -> None:
        self._unripe = {number for number in self._unripe if now < self.held[number].check_until}
        if self._stored:
            self._stored.list_hosts()

    def learn_stored(self, host: str) -> None:
        """Mark what the tree holds of a host as there."""
        for key in self._stored.keys(host) if self._stored else ():
            shard = self.held.get(self.number(host, key))
            if shard is not None:
                shard.table.mark_there(urls.fingerprint(key))
        if self._unripe and (self.by_url or self.number(host, "") in self._unripe):
            self._listed_early.add(host)
        else:
            self._listed_early.discard(host)

    def stored_pages(self, host: str) -> int:
        """Tell how many pages of a host the tree holds."""
        return self._stored.page_count(host) if self._stored else 0

    @property
    def known(self) -> int:
        """Tell of how many URLs something is known."""
        return sum(len(shard.table) for shard in self.held.values())


# -- what the tree holds of each host


class StoredOnTree:
    """What the frontier asks, once for each host with a pending URL; once more if it had one just after a take.

    It has a list of hosts that is brought up to date now and then: a host that is not in it costs no call. Most hosts
    are met for the first time, and then nothing is stored of them. A host of which all is told costs none either.

    hosts   those that had directories when they were last listed
    robots_first
            hosts whose robots.txt is to be read even if only stored pages are to be told: it may name sitemaps
    met     those of them whose keys were asked for since `take_met`
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.hosts: frozenset[str] = frozenset()
        self.robots_first: set[str] = set()
        self.met: list[str] = []
        self._bodies: dict[str, frozenset[str]] = {}  # by directory, the hosts that have bodies there

    def list_hosts(self) -> None:
        """Bring `hosts` up to date."""
        found = {directory: frozenset(self._tree.hosts(directory)) for directory in PAGE_DIRECTORIES}
        self.hosts = frozenset().union(*found.values())
        self._bodies = {directory: found[directory] for directory in BODY_DIRECTORIES}

    def keys(self, host: str) -> list[str]:
        """Give the keys that are stored or have failed for good."""
        if host not in self.hosts:
            return []
        self.met.append(host)
        return self._tree.keys(LINKS, host) + self._tree.keys(ERRS, host)

    def take_met(self) -> list[str]:
        """Empty `met`; return what it held."""
        met, self.met = self.met, []
        return met

    def page_count(self, host: str) -> int:
        """Tell how many pages are stored."""
        return self._tree.page_count(host, [directory for directory, hosts in self._bodies.items() if host in hosts])
