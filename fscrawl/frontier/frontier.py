"""What to fetch next: which URLs are known, which are pending, and when each host may be asked again.

Vocabulary:
  known, told, there, settled
              see `url_table`; a known URL is handed out until it is told
  pending     added and not yet handed out: in the queue of its host, or a retry that waits for its time
  in flight   handed out, and not yet reported back
  shard       a part of all URLs. This machine holds some; a URL of another shard is not its business

The frontier is a door over four parts. Each does one job, and none knows of this module:
  shards      which shards are held, what is known of their URLs, and where a URL belongs
  hosts       the hosts that were met, each with the queue of its pending URLs; idle ones are set aside, in few bytes
  scheduler   whose turn it is: delays, rests, robots.txt first, giving hosts up
  retries     tasks that failed and come back later

Who drives it: the engine, from its main loop. It takes tasks and brings them back here, and reports to `scheduler` how
exchanges went. The fleet's membership takes shards on, fills them, and lets them go.

Promise: no URL is fetched twice unless it is retried or given back, or a user asks for another try or a refresh. What
the tree has a record of already is handed out with `check`: a worker tells its links or its failure from the record.
A URL may be pending twice, since it was not told and since it is to be refreshed: it is in flight once at a time.
Two tasks of a host are at least its delay apart, counted from the moment when the earlier request was surely with the
server. Hosts take turns by earliest allowed time, so a large host never starves the rest. Times are monotonic seconds
and come in as arguments.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, KeysView, Sequence

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.frontier.flags import NO_FLAGS, Flags
from fscrawl.frontier.host_figures import HostFigure, figures
from fscrawl.frontier.host_scheduler import HostScheduler
from fscrawl.frontier.hosts import Host, Hosts
from fscrawl.frontier.queue import Scratch
from fscrawl.frontier.shards import Location, Shard, Shards, StoredOnTree, probable_host
from fscrawl.frontier.task import End, PageTask, RobotsTask, Task

_CROWDED = 10_000


class Frontier:
    """The frontier of one machine. Not thread-safe: it belongs to the main loop."""

    def __init__(
        self,
        settings: Settings,
        stored: StoredOnTree | None = None,
        shards: int = 256,
        rng: random.Random | None = None,
        scratch: Scratch | None = None,
    ) -> None:
        """`stored`: what the tree holds already, asked once for each host that gets something to do; None: nothing.

        `shards`: of the whole crawl.
        """
        self.in_flight = 0
        self._pages_in_flight: dict[str, str] = {}  # key → label
        self._settings = settings
        self._shards = Shards(shards, settings.crawl.partition, stored)
        self._hosts = Hosts(settings.crawl, rng or random.Random(), scratch or Scratch())
        self._by_name = self._hosts.by_name
        self._held = self._shards.held
        self._retries = Retries()
        self._crowded = _CROWDED  # with so many hosts known by name, the next look for idle ones is worth its time
        self.scheduler = HostScheduler(settings, self._hosts, self._shards, self._pages_in_flight)
        self.cut = self.scheduler.cut  # URLs left out, by the rule that did it

    def use(self, settings: Settings) -> None:
        """Go by edited settings from now on."""
        self._settings = settings
        self.scheduler.use(settings)
        self._hosts.settings = settings.crawl

    def close(self) -> None:
        self._hosts.close()

    # -- URLs come in

    def add(
        self,
        url: str,
        depth: int,
        referrer: str,
        location: Location | None = None,
        flags: Flags = NO_FLAGS,
        *,
        foreign: bool = False,
    ) -> bool | None:
        """Take in that a normal form is known at `depth`; tell whether that is news, so that the logs must have it.

        News is a URL that was not known, or in a deep shard a shorter way to it. It becomes pending unless it is
        pending or in flight already, or is settled. A URL that is to be retried or refreshed becomes pending in any
        case, and counts as news. A URL beyond `max_depth` is left out (False). One beyond `max_hosts_per_domain` is
        left out, too, and is not remembered (None): it is for the caller to remember whether the logs have it.
        `foreign`: a page of another host links to it.
        """
        name, fingerprint, number = location or self.location(url)
        shard = self._held.get(number) or self.hold(number)
        wanted_again = flags is not NO_FLAGS and flags.wanted_again
        limit = self._settings.crawl.max_depth
        if limit is not None:
            if wanted_again:
                depth = shard.depth_of_again(fingerprint, depth, flags, limit)
            if depth > limit:
                self._leave_out_as_too_deep(shard, fingerprint)
                return False  # it does not count as known: a shorter way to it may still be found
            self.cut.discard("max_depth", fingerprint)
        host = self._by_name.get(name) or self._meet(name, url, number, shard)
        if host is None:
            self.cut.add("max_hosts_per_domain", fingerprint)
            return None
        news, wanted = shard.table.learn(fingerprint, depth, wanted_again=wanted_again)
        if shard.beyond:
            for again in shard.beyond.pop(fingerprint, ()):  # it has come within the limit of depth
                self.add(url, depth, referrer, location, again)
        if not wanted:
            return news
        self._learn_stored(host)
        if flags.retry_of:
            self.scheduler.try_again(host)
        self._hosts.push(host, depth, referrer, url, flags, foreign=foreign or bool(flags.sitemap))
        if not host.in_heap:
            self.scheduler.schedule(host)
        return news

    def leave_out_as_too_deep(self, url: str) -> None:
        """Count a URL that is beyond `max_depth`."""
        _, fingerprint, number = self.location(url)
        self._leave_out_as_too_deep(self._held.get(number), fingerprint)

    def _leave_out_as_too_deep(self, shard: Shard | None, fingerprint: int) -> None:
        if shard is None or not shard.table.is_known(fingerprint):  # else there is a shorter way to it
            self.cut.add("max_depth", fingerprint)

    def _meet(self, name: str, url: str, number: int, shard: Shard) -> Host | None:
        """Make a host's queue, or recall it; None if its domain has too many hosts already."""
        is_open = not self._settings.politeness.robots
        host_shard = None if self._shards.by_url else number
        recalled = self._hosts.recall(name, host_shard)
        host = recalled or self._hosts.meet(name, url, host_shard, shard.taken_at, is_open=is_open)
        if host is not None:
            self.scheduler.welcome(host)
        return host

    def _learn_stored(self, host: Host) -> None:
        """Learn what the tree holds of a host, when its first URL becomes pending: of most, all is told at a start."""
        if not host.is_listed:
            host.is_listed = True
            self._shards.learn_stored(host.name)
            if self._settings.crawl.max_pages_per_host is not None:
                host.pages = self._shards.stored_pages(host.name)

    # -- shards

    def location(self, url: str) -> Location:
        """Give where a normal form belongs."""
        host = self._by_name.get(probable_host(url))
        if host is not None and host.shard is not None:
            return Location(host.name, urls.fingerprint_of(url), host.shard)
        return self._shards.locate(url)

    def unknown(self, links: Iterable[str], always: Container[str]) -> list[tuple[str, Location]]:
        """Give the links that `add` may change something for, and where they belong. Most links are known by now.

        `always`: URLs that are not left out. With a limit of depth nothing is: a shorter way to a URL is news.
        """
        if self._settings.crawl.max_depth is not None:
            return [(url, self.location(url)) for url in links]
        found = []
        by_name, held = self._by_name, self._held
        for url in links:
            host = by_name.get(probable_host(url))
            if host is None or host.shard is None:
                found.append((url, self._shards.locate(url)))
                continue
            fingerprint = urls.fingerprint_of(url)
            shard = held.get(host.shard)
            if shard is None or shard.table.deep or shard.beyond or url in always:
                is_known = False
            else:
                is_known = shard.table.is_known(fingerprint)
            if not is_known:
                found.append((url, Location(host.name, fingerprint, host.shard)))
        return found

    def holds(self, shard: int) -> bool:
        return shard in self._held

    @property
    def shards(self) -> KeysView[int]:
        """The shards held, as they are at any time."""
        return self._held.keys()

    def hold(
        self, shard: int, taken_at: float | None = None, *, check_s: float = 0.0, deep: bool | None = None
    ) -> Shard:
        """Take a shard on. `taken_at`: when, if another machine had it before.

        Then its hosts may just have been asked: they rest for their delay first. For `check_s` seconds a listing may
        not show all that was stored: until a host is listed after that, its tasks say that a worker must look into the
        tree first. `deep`: keep depths until it is let go, as `max_depth` needs; None: as the settings say.
        """
        if deep is None:
            deep = self._settings.crawl.max_depth is not None
        return self._shards.hold(shard, taken_at, check_s, deep=deep)

    def load(self, shard: int, fingerprints: Sequence[int], *depths: Sequence[int]) -> None:
        """Take in URLs of a held shard that are known and told. `fingerprints` ascend; see `UrlTable.load`."""
        self._held[shard].table.load(fingerprints, *depths)

    def load_failed(self, shard: int, fingerprints: Sequence[int], known: Sequence[int]) -> None:
        """Take in URLs that have failed, with the least depths at which they are known."""
        table = self._held[shard].table
        for fingerprint, depth in zip(fingerprints, known, strict=True):
            if table.deep:
                table.known(fingerprint, depth)
            table.failed(fingerprint)

    def learn(self, location: Location, depth: int) -> tuple[bool, int]:
        """Take in that a URL of a held shard is known at `depth`; it does not become pending.

        Returns whether that is news, and the least depth at which it is known.
        """
        table = self._held[location.shard].table
        fingerprint = location.fingerprint
        news = table.known(fingerprint, depth)
        known = table.state(fingerprint).known if table.deep else None
        return news, depth if known is None else known

    def mark_told(self, shard: int, fingerprint: int, depth: int, *, failed: bool = False) -> None:
        """Take in that a URL was told, or has `failed`, at `depth`; a shard that is not held is ignored."""
        held = self._held.get(shard)
        if held is not None and failed:
            held.table.failed(fingerprint)
        elif held is not None:
            held.table.told(fingerprint, depth)

    def is_settled(self, shard: int, fingerprint: int, depth: int | None = None) -> bool:
        """Tell whether nothing is left to do for a URL of a held shard. `depth`: if it were known at that one, too."""
        table = self._held[shard].table
        return table.settled(fingerprint) if depth is None else table.settled(fingerprint, depth)

    def is_told_as_page(self, shard: int, fingerprint: int) -> bool:
        """Tell whether a URL of a held shard is settled because its links were told, and not because it has failed."""
        return self._held[shard].table.told_enough(fingerprint)

    def learn_stored(self) -> None:
        """After `hold`, with `partition = "url"`: ask again what is stored of hosts that were listed."""
        for host in self._by_name.values() if self._shards.by_url else ():
            if host.is_listed:
                self._shards.learn_stored(host.name)

    def let_go(self, *shards: int) -> None:
        """Forget all of some shards except what is in flight; their next holders read it from the logs."""
        self._shards.let_go(shards)
        if self._shards.by_url:
            self.scheduler.keep(lambda url: self.location(url).shard in self._held)
        else:
            self.scheduler.forget_shards(frozenset(shards))
        self._retries.keep(lambda task: self.shard_of(task) in self._held)

    def shard_of(self, task: Task) -> int:
        """Give a task's shard: without a hash where the host tells it."""
        host = self._by_name.get(task.host)
        if host is not None and host.shard is not None:
            return host.shard
        return self._shards.number(task.host, task.key if isinstance(task, PageTask) else urls.key(task.url))

    def in_flight_of(self, shard: int) -> int:
        """Tell how many tasks of a shard, held or just let go, are in flight."""
        return self._shards.in_flight[shard]

    # -- tasks go out

    def take(self, now: float) -> PageTask | RobotsTask | None:
        """Hand out what may be fetched at `now`, or None."""
        self._bring_retries(now)
        task = self.scheduler.take(now)
        if task is None:
            return None
        self._goes_out(task)
        if isinstance(task, PageTask):
            self._pages_in_flight[task.key] = task.flags.label
        return task

    def probe(self, now: float, host: str = "", url: str = "") -> RobotsTask | None:
        """Hand out a probe of the network; see `HostScheduler.probe`."""
        self._bring_retries(now)
        task = self.scheduler.probe(now, host, url)
        if task is not None:
            self._goes_out(task)
        return task

    def _bring_retries(self, now: float) -> None:
        while (due := self._retries.pop_due(now)) is not None:
            host = self._by_name[due.host]
            self._hosts.put_first(host, due, behind=True)
            self.scheduler.schedule(host)

    def _goes_out(self, task: Task) -> None:
        self.in_flight += 1
        self._shards.in_flight[self.shard_of(task)] += 1

    def next_at(self) -> float | None:
        """Give when `take` may next have a task, if it has none now; None: not before a task comes back."""
        times = [at for at in (self.scheduler.next_at(), self._retries.next_at()) if at is not None]
        return min(times, default=None)

    # -- tasks come back

    def finish(
        self,
        task: PageTask | RobotsTask,
        asked_at: float | None,
        end: End = End.OPEN,
        *,
        at: float = 0.0,
        stored: bool = False,
    ) -> None:
        """Take a task back that is over. `asked_at`: when its request was surely with the server, None: none was made.

        `at`: with AGAIN, when the next attempt may be made. `stored`: its host has one more stored page.
        If a shorter way to a told page has become known meanwhile, it is made pending again.
        """
        if end is End.BACK:
            self._give_back(task)
        elif end is End.AGAIN:
            self.retry(task, at)
        shard = self.shard_of(task)
        self.in_flight -= 1
        self._shards.in_flight[shard] -= 1
        if isinstance(task, PageTask):
            self._pages_in_flight.pop(task.key, None)
            if end is End.TOLD:
                self.tell(task)
            elif end is End.FAILED and shard in self._held:
                self._held[shard].table.failed(task.fingerprint)
        self.scheduler.finish(task.host, asked_at, stored=stored)

    def tell(self, task: PageTask) -> None:
        """Take in that the links of a page are in the logs, by the depth of its task, which is over."""
        number = self.shard_of(task)
        if (shard := self._held.get(number)) is None:
            return
        fingerprint = task.fingerprint
        shard.table.told(fingerprint, task.depth)
        if shard.table.deep and not shard.table.settled(fingerprint):
            host = self._by_name.get(task.host) or self._meet(task.host, task.url, number, shard)
            if host is not None:
                self._hosts.push(host, task.depth, task.referrer, task.url, task.flags.to_tell())
                self.scheduler.schedule(host)

    def retry(self, task: PageTask | RobotsTask, at: float) -> bool:
        """Let a task be tried once more, not before `at`: one that ends so, or one to which another page has led back.

        Tells whether that is possible: its shard is held, and its domain has not too many hosts.
        """
        number = self.shard_of(task)
        if (shard := self._held.get(number)) is None:
            return False
        host = self._by_name.get(task.host) or self._meet(task.host, task.url, number, shard)
        if host is None:
            return False
        if isinstance(task, RobotsTask):
            self.scheduler.retry_robots(host, at)
        else:
            self._retries.add(task, at)
        return True

    def _give_back(self, task: Task) -> None:
        """Make a task pending again as the same attempt; it keeps its `check`."""
        host = self._by_name.get(task.host)
        if host is not None and isinstance(task, PageTask) and self.shard_of(task) in self._held:
            self._hosts.put_first(host, task)

    def forgive(self, hosts: Collection[str]) -> None:
        """The failures of these hosts were not theirs: the network was gone."""
        self.scheduler.forgive(hosts)
        self._retries.forgive(frozenset(hosts))

    def forget_what_is_over(self, now: float) -> None:
        """Forget rests that are over. If many hosts are known by name, set aside those that have nothing to do."""
        self.scheduler.forget_past_rests(now)
        if len(self._by_name) >= self._crowded and not self._shards.by_url:
            self.scheduler.set_aside_idle(now, self._retries.hosts())
            self._crowded = max(_CROWDED, 5 * len(self._by_name) // 4)

    # -- figures

    @property
    def pending(self) -> int:
        """Tell how many URLs are pending."""
        return self._hosts.pending + len(self._retries)

    @property
    def idle(self) -> bool:
        """Nothing is pending and nothing in flight."""
        return not self.pending and not self.in_flight

    def pending_by_label(self) -> Counter[str]:
        """Tell how many URLs of each label are pending, or in flight; this takes time if many wait for another try."""
        in_flight = Counter(filter(None, self._pages_in_flight.values()))
        return self._hosts.labels + in_flight + self._retries.labels()

    def host_figures(self, now: float, most: int) -> dict[str, HostFigure]:
        """Tell how `most` hosts do at most; it takes some time."""
        return figures(self._by_name, self.scheduler, now, most)

    @property
    def known(self) -> int:
        """Tell of how many URLs something is known."""
        return self._shards.known


# -- tasks that are tried again later


class Retries:
    """The tasks that wait, in the order of their times. Nothing here knows of hosts and shards."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, PageTask]] = []
        self._turn = itertools.count()  # of two with the same time, the one that was added first goes first

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, task: PageTask, at: float) -> None:
        """Keep a task as its next attempt, until `at`."""
        heapq.heappush(self._heap, (at, next(self._turn), task._replace(attempt=task.attempt + 1)))

    def pop_due(self, now: float) -> PageTask | None:
        """Take out the task that has been due longest; None if no task is due."""
        return heapq.heappop(self._heap)[2] if self._heap and self._heap[0][0] <= now else None

    def next_at(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def hosts(self) -> set[str]:
        """Give the hosts of the tasks that wait."""
        return {task.host for _, _, task in self._heap}

    def labels(self) -> Counter[str]:
        """Give how many tasks of each label wait."""
        return Counter(task.flags.label for _, _, task in self._heap if task.flags.label)

    def keep(self, wanted: Callable[[PageTask], bool]) -> None:
        """Forget all tasks except the wanted ones."""
        self._heap = [entry for entry in self._heap if wanted(entry[2])]
        heapq.heapify(self._heap)

    def forgive(self, hosts: Collection[str]) -> None:
        """The last failures of these hosts were not theirs: their tasks get that attempt back."""
        self._heap = [
            (at, turn, task._replace(attempt=max(task.attempt - 1, 1)) if task.host in hosts else task)
            for at, turn, task in self._heap
        ]
