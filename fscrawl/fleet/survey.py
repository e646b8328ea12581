"""The survey: everything that is stored of some shards, and was not told by the present rules, is told from its record.

The records are the truth, and the logs only an index of them. A survey is needed for a shard of which no log says that
it was surveyed in this generation, and after the settings were widened. Nothing is fetched for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fscrawl import urls
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.lines import Told
from fscrawl.fleet.recovery import errors_of, may_have_pages_of, records_of
from fscrawl.frontier.flags import REFRESH, SITEMAP_PART, Flags
from fscrawl.frontier.frontier import ShardHolder
from fscrawl.frontier.stored import StoredOnTree
from fscrawl.storage.records import ErrorRecord, PageRecord
from fscrawl.store import Tree


class Survey:
    """Reads records, and tells what they hold. `hosts_left`: directories that are still to be read."""

    def __init__(
        self,
        tree: Tree,
        frontier: ShardHolder,
        ledger: Ledger,
        stored: StoredOnTree,
        warn: Callable[[str], None],
        *,
        refresh_before: Callable[[], str],
        tidy_up: Callable[[str], None],
    ) -> None:
        """`refresh_before`: pages older than this time are fetched again, "": none. `tidy_up(host)`: remove left-overs."""
        self.hosts_left = 0
        self._tree = tree
        self._frontier = frontier
        self._ledger = ledger
        self._stored = stored
        self._warn = warn
        self._refresh_before = refresh_before
        self._tidy_up = tidy_up

    def run(self, shards: frozenset[int]) -> Iterator[None]:
        """Read the records of `shards`; yields often."""
        self._stored.list_hosts()
        hosts = [host for host in sorted(self._stored.hosts) if may_have_pages_of(self._tree, host, set(shards))]
        self.hosts_left += len(hosts)
        for host in hosts:
            self._tidy_up(host)
            yield
            for page in records_of(self._tree, host, self._wants(host, shards), self._warn):
                if page is not None:
                    self._tell(page)
                yield
            for error in errors_of(self._tree, host, self._wants(host, shards), self._warn):
                if error is not None:
                    self._tell_failure(error)
                yield
            self.hosts_left -= 1
            yield

    def _wants(self, host: str, shards: frozenset[int]) -> Callable[[str], bool]:
        """Give the question whether the record of a key is to be read."""
        by_url = self._tree.record.partition == "url"
        count = self._tree.record.shards
        of_host = None if by_url else urls.shard(host, count)

        def wanted(key: str) -> bool:
            shard = urls.shard(key, count) if of_host is None else of_host
            return shard in shards and not self._frontier.is_settled(shard, urls.fingerprint(key))

        return wanted

    def _tell(self, page: PageRecord) -> None:
        """Say a page, its links, and then that they stand in the log."""
        self._ledger.discover([page.url], page.depth, page.referrer)
        if self._is_old(page):
            location = self._frontier.location(page.url)
            if self._frontier.holds(location.shard) and self._ledger.rules.scope.refuses(page.url) is None:
                self._frontier.add(page.url, page.depth, page.referrer, location, REFRESH)
                return  # it is told when it has been refreshed
        links = page.links_to(nofollow=self._ledger.rules.nofollow)
        scope = self._ledger.rules.scope
        self._ledger.discover([url for url in links if scope.refuses(url) is None], page.depth_of_links, page.key)
        self._ledger.discover(page.sitemaps or (), page.depth, page.key, Flags(SITEMAP_PART))
        self._settle(page.url, page.key, page.depth)

    def _tell_failure(self, error: ErrorRecord) -> None:
        flags = Flags(error.sitemap or "")
        self._ledger.discover([error.url], error.depth, error.referrer, flags)
        self._settle(error.url, error.key, error.depth, error.failed_at)

    def _settle(self, url: str, key: str, depth: int, failed_at: str = "") -> None:
        shard = self._frontier.location(url).shard
        told = Told(shard, key, depth, self._ledger.rules.term.digest, failed_at)
        self._ledger.say(told)
        self._ledger.take_line(told)

    def _is_old(self, page: PageRecord) -> bool:
        before = self._refresh_before()
        return bool(before) and (page.checked_at or page.fetched_at) < before
