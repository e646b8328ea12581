"""The survey: everything that is stored of some shards, and was not told in this generation, is told from its record.

The records are the truth, and the logs only an index of them. A survey is needed for a shard of which no log says that
it was surveyed in this generation. Nothing is fetched for it, with one exception: sitemaps are to be read, which an
earlier generation may not have done, and the tree has no robots.txt of a host that has pages. Then one of these pages
goes to a worker, which tells it, and its host is asked for robots.txt first.

Promise: after a survey, a log has a told mark of every record that was listed and could be read, behind the lines of
its links; but not of pages that a refresh is to fetch again, nor of failures that a user asks to try again: these are
pending then.

Records are read by several threads, and few of them are in memory at a time. A record that a listing shows and that
cannot be found is asked for again until no cache can be the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from fscrawl import urls
from fscrawl.errors import RecordError, TreeError, about
from fscrawl.fleet.ledger import Ledger
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.tidying import Tidying
from fscrawl.frontier.flags import SITEMAP, SITEMAP_PART, Flags, flags_of, labelled
from fscrawl.frontier.frontier import Frontier
from fscrawl.frontier.shards import Location, StoredOnTree
from fscrawl.labels import sound
from fscrawl.sites.rules import by_present_rules
from fscrawl.storage.flaws import misplaced
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.storage.mounts import CACHES_LIVE_S
from fscrawl.storage.records import ErrorRecord, PageRecord, TreeRecord
from fscrawl.store import Tree
from fscrawl.util.humanize import number_of
from fscrawl.util.installed import command
from fscrawl.util.parallel import READERS, in_turn

R = TypeVar("R", PageRecord, ErrorRecord)

_AGAIN_S = 1.0
_GLANCE_S = 0.02  # how long this waits before the main loop may go on


def shards_of(tree: Tree, hosts: Iterable[str]) -> set[int]:
    """Return the shards that may have pages, by the hosts that have directories."""
    record = tree.record
    if record.partition == "url":
        return set(range(record.shards)) if any(True for _ in hosts) else set()
    return set(map(record.shard_of, hosts))


def may_have_pages_of(record: TreeRecord, host: str, shards: set[int]) -> bool:
    """Return whether a host's directory may have pages of `shards`."""
    return record.partition == "url" or record.shard_of(host) in shards


def records_of(
    tree: Tree,
    directory: str,
    read_one: Callable[[str, str], R],
    host: str,
    wanted: Callable[[str], bool],
    warn: Callable[[str], None],
) -> Iterator[R | None]:
    """Read the records of a host whose keys are `wanted`, several at a time, and few ahead of the caller.

    `read_one`: reads that of a host and a key. Yields None for a damaged record, after a warning; and from time to time
    while it waits for records that a listing shows but that cannot be found yet.
    """
    missed: list[str] = []

    def read(key: str) -> R | None:
        try:
            return _checked(read_one(host, key), host, key)
        except RecordError as error:
            repair = f"{command('audit', tree.root)} --repair"
            warn(f"{about(tree.path_of(directory, host, key), error)}; to fetch it again:  {repair}")
        except TreeError as error:
            if not error.is_missing:
                raise
            missed.append(key)
        return None

    keys = [key for key in tree.keys(directory, host) if wanted(key)]
    if not keys:
        return
    with ThreadPoolExecutor(READERS, thread_name_prefix="survey") as readers:
        yield from in_turn(readers, (partial(read, key) for key in keys))
    yield from _until_found(missed, read)
    if missed and directory == LINKS:  # an error record is removed when its page is stored
        tree.check_there()
        example = tree.path_of(directory, host, missed[0])
        warn(f"{number_of(len(missed), 'record')} of {urls.shown_host(host)} listed but missing, for example {example}")


def _checked(record: R, host: str, key: str) -> R:
    """Raise RecordError if somebody has edited a record so that it is one of another URL."""
    if wrong := misplaced(record, host, key):
        raise RecordError(wrong)
    return record


def _until_found(missed: list[str], read: Callable[[str], R | None]) -> Iterator[R | None]:
    """Try missed records again for a minute: so long NFS may remember that a file was missing, though it is listed."""
    until = time.monotonic() + CACHES_LIVE_S
    while missed and time.monotonic() < until:
        again_at = time.monotonic() + _AGAIN_S
        while time.monotonic() < again_at:
            time.sleep(_GLANCE_S)
            yield None
        keys = missed[:]
        missed.clear()
        yield from map(read, keys)


class Survey:
    """Reads records, and tells what they hold.

    hosts_left      directories that are still to be read, of hosts_in_all
    records_read    so far, of pages and of failures
    """

    def __init__(
        self,
        tree: Tree,
        frontier: Frontier,
        ledger: Ledger,
        stored: StoredOnTree,
        warn: Callable[[str], None],
        tidying: Tidying,
    ) -> None:
        self.hosts_left = self.hosts_in_all = self.records_read = 0
        self.refreshing: set[int] = set()  # shards with a page that a worker fetches or reads again, and then tells
        self._tree = tree
        self._frontier = frontier
        self._ledger = ledger
        self._stored = stored
        self._warn = warn
        self._tidying = tidying

    def run(self, shards: set[int]) -> Iterator[None]:
        """Read the records of `shards`, but not of those that the caller takes out of the set; yields often."""
        self._stored.list_hosts()
        hosts = [host for host in sorted(self._stored.hosts) if may_have_pages_of(self._tree.record, host, shards)]
        if not self.hosts_left:
            self.hosts_in_all = 0  # an earlier survey is over
        self.hosts_left += len(hosts)
        self.hosts_in_all += len(hosts)
        left = len(hosts)
        try:
            for host in hosts:
                yield from self._tell_host(host, shards)
                left -= 1
                self.hosts_left -= 1
        finally:  # also if it is ended before
            self.hosts_left -= left

    def _tell_host(self, host: str, shards: set[int]) -> Iterator[None]:
        self._tidying.host(host)
        yield
        sitemaps = self._sitemaps_of(host)
        wanted = self._wants(host, shards, self._frontier.is_told_as_page)
        for page in records_of(self._tree, LINKS, self._tree.page, host, wanted, self._warn):
            if page is not None:
                self.records_read += 1
                if sitemaps is None and self._admits(page):
                    self._stored.robots_first.add(host)
                    self._leave_to_worker(page)
                    sitemaps = ()
                else:
                    self._tell(page)
            yield
        self._ledger.discover(sitemaps or (), 0, "", Flags(SITEMAP))
        wanted = self._wants(host, shards, self._frontier.is_settled)
        for error in records_of(self._tree, ERRS, self._tree.error, host, wanted, self._warn):
            if error is not None:
                self.records_read += 1
                self._tell_failure(error)
            yield

    def _wants(self, host: str, shards: set[int], is_done: Callable[[int, int], bool]) -> Callable[[str], bool]:
        """Give the question whether the record of a key is to be read. `is_done(shard, fingerprint)`: it is not."""
        record = self._tree.record
        of_host = None if record.partition == "url" else record.shard_of(host)

        def wanted(key: str) -> bool:
            shard = record.shard_of(host, key) if of_host is None else of_host
            return shard in shards and not is_done(shard, urls.fingerprint(key))

        return wanted

    def _sitemaps_of(self, host: str) -> tuple[str, ...] | None:
        """Give the sitemaps that a host's robots.txt names; None if its robots.txt must be asked for."""
        if not self._ledger.rules.links.sitemaps:
            return ()
        record = self._tree.robots(host)
        if record is None:
            return None if self._ledger.rules.generation > 1 else ()  # in the first, nothing was told by other rules
        base = urls.normalise(record.url)
        if base is None or urls.host(base) != host or not 200 <= record.status < 300:
            return ()
        from fscrawl.politeness.robots import Rules  # noqa: PLC0415 - it loads protego, in 5 ms; most crawls survey nothing

        return self._ledger.rules.chosen.sitemaps(Rules(record.text, "").sitemaps, base)

    def _leave_to_worker(self, page: PageRecord) -> None:
        """Let a worker read a page, in place of this survey, and tell it."""
        of_task = labelled(sound(page.label))
        self._ledger.discover([page.url], page.depth, page.referrer, of_task)
        self.refreshing.add(self._frontier.location(page.url).shard)

    def _tell(self, page: PageRecord) -> None:
        """Say a page, its links, and then that they stand in the log."""
        location = self._frontier.location(page.url)
        if not self._frontier.holds(location.shard):  # it was read before the shard was lost
            return
        of_task = labelled(sound(page.label))
        told = by_present_rules(page, self._ledger.rules.sites)
        if told is None:  # a worker reads the body by the present rules of its site, and tells the page then
            if self._is_old(page) and not self._admits(page):
                return  # the worker would fetch it: it is not to be refreshed, and its links wait for another run
            self._leave_to_worker(page)
            return
        page = told
        depth = self._know(Found(location.shard, page.depth, page.referrer, page.url, of_task), location)
        if self._is_old(page) and self._admits(page):
            self._frontier.add(page.url, depth, page.referrer, location, Flags(refresh=True, label=of_task.label))
            self.refreshing.add(location.shard)
            return  # it is told when it has been refreshed
        rules = self._ledger.rules
        all_links = page.links_to(nofollow=rules.links.follow_nofollow)
        links = [url for url in all_links if rules.chosen.refuses(url) is None]
        self._ledger.discover(links, depth + page.depth_of_links - page.depth, page.key, of_task, location.host)
        kind = SITEMAP if page.redirect else SITEMAP_PART  # it may be an index that has moved
        of_sitemaps = flags_of(kind, label=of_task.label)
        sitemaps = rules.chosen.sitemaps(page.sitemaps or (), page.url)
        self._ledger.discover(sitemaps, depth, page.key, of_sitemaps, location.host)
        self._settle(Told(location.shard, page.key, depth))

    def _tell_failure(self, error: ErrorRecord) -> None:
        location = self._frontier.location(error.url)
        if not self._frontier.holds(location.shard):
            return
        flags = flags_of(error.sitemap or "", error.failed_at if error.again else "", sound(error.label))
        if error.again and self._chooses(error):  # a user asks for another try: no log of this generation may say so
            self._ledger.discover([error.url], error.depth, error.referrer, flags)
            return
        found = Found(location.shard, error.depth, error.referrer, error.url, flags)
        depth = self._know(found, location)
        self._settle(Told(location.shard, error.key, depth, error.failed_at))

    def _chooses(self, error: ErrorRecord) -> bool:
        """Tell whether the generation's link rules let a failure be tried again."""
        rules = self._ledger.rules
        rule = None if error.url in rules.seeds else rules.chosen.refuses(error.url)
        return rule is None or (rule == "allow" and bool(error.sitemap))

    def _know(self, found: Found, location: Location) -> int:
        """Say a URL if the logs do not have it yet; return its least depth. It does not become pending."""
        news, depth = self._frontier.learn(location, found.depth)
        if news:
            self._ledger.say(found)
        return depth

    def _settle(self, told: Told) -> None:
        self._ledger.say(told)
        self._frontier.mark_told(told.shard, urls.fingerprint(told.key), told.depth, failed=bool(told.failed_at))

    def _is_old(self, page: PageRecord) -> bool:
        before = self._ledger.rules.refresh_before
        return bool(before) and page.is_older_than(before)

    def _admits(self, page: PageRecord) -> bool:
        """Tell whether a page may be fetched now."""
        return self._ledger.rules.refuses(page.url, page.depth, labelled(sound(page.label))) is None
