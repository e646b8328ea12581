"""What to fetch next: which URLs are known, which are pending, and when each host may be asked again.

Vocabulary:
  known       every URL that is done, failed for good, pending or in flight; each is handed out once
  pending     known and not yet handed out, in a queue per host
  in flight   handed out, and not yet reported back
  ready       a host that has something pending, fewer than `per_host` in flight, and whose time has come
  shard       what this machine holds, or lets go; a URL of a shard that it does not hold is not its business
  rest        a host is not asked before a given time: its delay, Retry-After, a failing robots.txt

Promise: no URL is handed out twice but by `retry`; two hand-outs for a host are at least `delay` apart, counted from
the moment when the earlier request was surely with the server; hosts take turns by earliest allowed time, so a large
host never starves the rest. Times are monotonic seconds and come in as arguments.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, KeysView
from functools import lru_cache
from typing import Any, NamedTuple

from fscrawl import urls
from fscrawl.config.settings import Settings
from fscrawl.frontier import marks
from fscrawl.frontier.host_stats import HostStats
from fscrawl.frontier.queue import Queue, Scratch
from fscrawl.frontier.seen import SeenSet
from fscrawl.frontier.task import Task
from fscrawl.politeness.pace import Pace
from fscrawl.politeness.robots import VALID_S

_PAUSED_S = 1.0  # until it is looked again whether a host may be asked
_MEMORY_BYTES = 32 * 1024 * 1024  # of pending lines; more go to the scratch file


class Location(NamedTuple):
    """Where a URL belongs: its host directory, its digest, its shard."""

    host: str
    digest: bytes
    shard: int


class _Shard:
    __slots__ = ("check_until", "known", "taken_at")

    def __init__(self, taken_at: float | None, check_s: float) -> None:
        self.known = SeenSet()
        self.taken_at = taken_at  # None: nobody had it before
        self.check_until = 0.0 if taken_at is None else taken_at + check_s


class _Host:
    __slots__ = (
        "gave_up",
        "in_flight",
        "in_heap",
        "name",
        "open",
        "opened_at",
        "pace",
        "pages",
        "queue",
        "ready_at",
        "robots_attempt",
        "shard",
        "site",
        "taken_at",
        "urgent",
    )

    def __init__(self, name: str, site: str, shard: int | None, taken_at: float | None, *, is_open: bool) -> None:
        self.name = name
        self.site = site  # its registrable domain
        self.shard = shard  # None: each of its URLs has its own
        self.taken_at = taken_at
        self.queue = Queue()
        self.urgent: list[Task] | None = None  # retries that are due
        self.in_flight = 0
        self.in_heap = False
        self.ready_at = 0.0
        self.pace = Pace()
        self.gave_up = ""  # the class of its failures, once nothing more is hoped for
        self.open = is_open  # its robots.txt is known
        self.opened_at = float("inf") if is_open else 0.0
        self.robots_attempt = 1
        self.pages = 0


def _ready_at(host: _Host) -> float:
    """Give when its turn may come; nothing is asked of one that was given up, so nothing is waited for."""
    return 0.0 if host.gave_up else host.ready_at


@lru_cache(maxsize=65536)  # for hosts of others' shards; those that were met know theirs
def _shard_of_host(host: str, shards: int) -> int:
    return urls.shard(host, shards)


class Frontier:
    """The frontier of one machine. Not thread-safe: it belongs to the main loop."""

    def __init__(
        self,
        settings: Settings,
        done_keys: Callable[[str], Iterable[str]] = lambda host: (),  # noqa: ARG005
        pages_of: Callable[[str], int] = lambda host: 0,  # noqa: ARG005
        shards: int = 256,
        rng: random.Random | None = None,
        scratch: Scratch | None = None,
    ) -> None:
        """`done_keys(host)`: keys that are stored or failed already, asked once, when a host is first met.

        `pages_of(host)`: how many pages of it are stored; asked then too, if `max_pages_per_host` is set.
        """
        self.settings = settings
        self.cut: Counter[str] = Counter()  # URLs left out, by the limit that did it
        self.pending = 0
        self.in_flight = 0
        self._done_keys = done_keys
        self._pages_of = pages_of
        self._shards: dict[int, _Shard] = {}
        self._hosts: dict[str, _Host] = {}
        self._ready: list[tuple[float, int, _Host]] = []
        self._later: list[tuple[float, int, Task]] = []
        self._turn = itertools.count()
        self._rests: dict[str, float] = {}  # host, met or not → until when it was told to rest
        self._hosts_of_site: Counter[str] = Counter()
        self.paused: frozenset[str] = frozenset()  # hosts to leave alone, with their port or without
        self._health = HostStats()
        self._rng = rng or random.Random()
        self._scratch = scratch or Scratch()
        self._in_memory_bytes = 0
        self._in_flight_of: Counter[int] = Counter()
        self._by_url = settings.crawl.partition == "url"
        self._shard_count = shards

    # -- in

    def add(self, url: str, depth: int, referrer: str, location: Location | None = None, mark: str = "") -> bool:
        """Make a normal form pending unless it is known or beyond a limit; tell whether it now is.

        Where the mark says that it is wanted anew it is so although it is known.
        """
        name, digest, number = location or self.location(url)
        shard = self._shards.get(number) or self.hold(number)
        limit = self.settings.crawl.max_depth
        if limit is not None and depth > limit:
            self.cut["max_depth"] += 1
            return False  # not known: a shorter way to it may be found yet
        host = self._hosts.get(name) or self._meet(name, url, number, shard)
        if host is None:
            self.cut["max_hosts_per_domain"] += 1
            return False
        if not shard.known.add(int.from_bytes(digest[:8])) and not (mark and marks.is_anew(mark)):
            return False
        if mark and marks.again_of(mark):
            self._hope(host)
        self._push(host, depth, referrer, url, mark)
        return True

    def _push(self, host: _Host, depth: int, referrer: str, url: str, mark: str) -> None:
        self._in_memory_bytes += host.queue.push(depth, referrer, url, mark)
        self.pending += 1
        if self._in_memory_bytes > _MEMORY_BYTES:
            for each in self._hosts.values():
                each.queue.spill(self.settings.crawl.order, self._scratch)
            self._in_memory_bytes = 0
        if not host.in_heap:
            self._schedule(host)

    def _meet(self, name: str, url: str, number: int, first: _Shard) -> _Host | None:
        """Make a host's queue; None if its domain has too many hosts already."""
        site = urls.site(urls.hostname(url))
        if self._hosts_of_site[site] >= self.settings.crawl.max_hosts_per_domain:
            return None
        self._hosts_of_site[site] += 1
        shard = None if self._by_url else number
        is_open = not self.settings.politeness.robots
        host = self._hosts[name] = _Host(name, site, shard, first.taken_at, is_open=is_open)
        if first.taken_at is not None:
            host.ready_at = first.taken_at + self._delay(host)
        host.ready_at = max(host.ready_at, self._rests.get(name, 0.0))
        self._know_done(name)
        if self.settings.crawl.max_pages_per_host is not None:
            host.pages = self._pages_of(name)
        return host

    def _know_done(self, name: str) -> None:
        for key in self._done_keys(name):
            shard = self._shards.get(self._shard_of(name, bytes.fromhex(key)))
            if shard is not None:
                shard.known.add(urls.fingerprint(key))

    # -- shards

    def location(self, url: str) -> Location:
        """Give where a normal form belongs."""
        digest = urls.digest(url)
        host = self._hosts.get(url.split("/", 3)[2])  # most directories are called as the host is in the URL
        if host is not None and host.shard is not None:
            return Location(host.name, digest, host.shard)
        name = urls.host(url)
        return Location(name, digest, self._shard_of(name, digest))

    def shard_of(self, url: str) -> int:
        """Give the shard of a normal form."""
        return self.location(url).shard

    def _shard_of_task(self, task: Task) -> int:
        """As `shard_of`, without a hash where the host tells."""
        host = self._hosts.get(task.host)
        return self.shard_of(task.url) if host is None or host.shard is None else host.shard

    def holds(self, shard: int) -> bool:
        return shard in self._shards

    @property
    def shards(self) -> KeysView[int]:
        """The shards held, as they are at any time."""
        return self._shards.keys()

    def _shard_of(self, host: str, digest: bytes) -> int:
        if self._by_url:
            return urls.shard(digest[:12].hex(), self._shard_count)
        return _shard_of_host(host, self._shard_count)

    def hold(self, shard: int, taken_at: float | None = None, *, check_s: float = 0.0) -> _Shard:
        """Take a shard on. `taken_at`: when, if another had it before.

        Then its hosts may just have been asked: they rest for their delay first; and for `check_s` seconds a listing
        may not show all that was stored, so that tasks say that the tree must be asked by name.
        """
        assert not self._in_flight_of[shard], "what is in flight would be counted to the new holding"
        return self._shards.setdefault(shard, _Shard(taken_at, check_s))

    def learn_done(self) -> None:
        """After `hold`, with `partition = "url"`: ask again what is done of hosts met before."""
        if self._by_url:
            for name in self._hosts:
                self._know_done(name)

    def let_go(self, shard: int) -> None:
        """Forget all of a shard but what is in flight; whoever holds it next has it from the feeds."""
        del self._shards[shard]
        for host in list(self._hosts.values()):
            if self._by_url:
                self._filter(host)
            elif host.shard == shard:
                self.pending -= host.queue.count + len(host.urgent or ())
                host.queue, host.urgent = Queue(), None
                self._hosts_of_site[host.site] -= 1
                del self._hosts[host.name]
                self._health.forget(host.name)
        for due in [each for each in self._later if not self._holds(each[2])]:
            self._later.remove(due)
            self.pending -= 1
        heapq.heapify(self._later)

    def _filter(self, host: _Host) -> None:
        """Keep of a host's pending URLs those of shards that are held."""
        before, host.queue = host.queue, Queue()
        while before.count:
            line = before.pop("breadth", self._scratch, self._rng)
            if self.holds(self.shard_of(line.url)):
                host.queue.push(*line)
            else:
                self.pending -= 1
        kept = [task for task in host.urgent or () if self._holds(task)]
        self.pending -= len(host.urgent or ()) - len(kept)
        host.urgent = kept or None

    def _holds(self, task: Task) -> bool:
        return self._shard_of_task(task) in self._shards

    def in_flight_of(self, shard: int) -> int:
        """Tell how many tasks of a shard, held or just let go, are in flight."""
        return self._in_flight_of[shard]

    # -- out

    def take(self, now: float) -> Task | None:
        """Hand out what may be fetched at `now`, or None."""
        self._wake(now)
        while self._ready and self._ready[0][0] <= now:
            _, _, host = heapq.heappop(self._ready)
            host.in_heap = False
            if self._is_paused(host):
                host.ready_at = max(host.ready_at, now + _PAUSED_S)
            task = self._next_of(host, now) if _ready_at(host) <= now else None
            if task is not None:
                host.in_flight += 1
                self.in_flight += 1
                shard = self._shard_of_task(task)
                self._in_flight_of[shard] += 1
                if self.settings.politeness.per_host > 1:  # the next one need not wait for this one's answer
                    host.ready_at = max(host.ready_at, now + self._delay(host))
                self._schedule(host)
                check = bool(task.mark) or now < self._shards[shard].check_until
                return task if task.check == check else task._replace(check=check)
            if host.ready_at > now:  # it was told to rest meanwhile
                self._schedule(host)
        return None

    def _is_paused(self, host: _Host) -> bool:
        return bool(self.paused) and (host.name in self.paused or urls.without_port(host.name) in self.paused)

    def _wake(self, now: float) -> None:
        """Bring retries that are due to the front of their hosts' queues."""
        while self._later and self._later[0][0] <= now:
            task = heapq.heappop(self._later)[2]
            self.pending -= 1
            self.give_back(task)
            self._schedule(self._hosts[task.host])

    def _next_of(self, host: _Host, now: float) -> Task | None:
        if not (host.queue.count or host.urgent):
            return None
        if host.gave_up:
            task = self._first_of(host)
            return task._replace(mark=marks.gave_up(host.gave_up, task.mark))
        if now - host.opened_at > VALID_S:
            host.open = False
        if not host.open:
            return self._ask_for_robots(host)
        limit = self.settings.crawl.max_pages_per_host
        if limit is not None and host.pages + host.in_flight >= limit:
            if host.pages >= limit:
                self._drop(host)
            return None
        return self._first_of(host)

    def _first_of(self, host: _Host) -> Task:
        if host.urgent:
            task = host.urgent.pop()
            self.pending -= 1
            return task
        return self._pop(host)

    def _pop(self, host: _Host) -> Task:
        depth, referrer, url, mark = host.queue.pop(self.settings.crawl.order, self._scratch, self._rng)
        self.pending -= 1
        return Task(url, host.name, urls.key(url), depth, referrer, 1, check=False, mark=mark)

    def _ask_for_robots(self, host: _Host) -> Task | None:
        """Give the task that opens a host; None while one is under way."""
        if host.in_flight:
            return None
        task = host.urgent[-1] if host.urgent else self._peek(host)
        return Task(task.url, host.name, "", 0, "", host.robots_attempt, "robots")

    def _peek(self, host: _Host) -> Task:
        task = self._pop(host)
        host.urgent = [task]
        self.pending += 1
        return task

    def _drop(self, host: _Host) -> None:
        """Forget what is pending for a host that has reached its limit."""
        dropped = host.queue.count + len(host.urgent or ())
        self.cut["max_pages_per_host"] += dropped
        self.pending -= dropped
        host.queue = Queue()
        host.urgent = None

    # -- back

    def finish(self, task: Task, asked_at: float | None, *, stored: bool = False) -> None:
        """Take a task back that is over. `asked_at`: when its request was surely with the server, None: none was made.

        `stored`: a page more for its host.
        """
        self.in_flight -= 1
        self._in_flight_of[self._shard_of_task(task)] -= 1
        host = self._hosts.get(task.host)
        if host is None:  # its shard has been let go
            return
        host.in_flight -= 1
        host.pages += stored
        if asked_at is not None:
            host.ready_at = max(host.ready_at, asked_at + self._delay(host))
        self._schedule(host)

    def retry(self, task: Task, at: float) -> None:
        """Before its `finish`: make a task pending again as its next attempt, not before `at`."""
        host = self._hosts.get(task.host)
        if host is None or not self._holds(task):
            return
        if task.kind == "robots":
            host.robots_attempt += 1
            host.ready_at = max(host.ready_at, at)
            return
        heapq.heappush(self._later, (at, next(self._turn), task._replace(attempt=task.attempt + 1)))
        self.pending += 1

    def give_back(self, task: Task) -> None:
        """Before its `finish`: make a task pending again that nobody has begun."""
        host = self._hosts.get(task.host)
        if host is not None and task.kind == "page" and self._holds(task):
            host.urgent = [*(host.urgent or ()), task]
            self.pending += 1

    def open(self, name: str, delay_s: float, now: float) -> None:
        """A host's robots.txt is known and asks for `delay_s` between requests: its pages may be handed out."""
        host = self._hosts.get(name)
        if host is None:
            return
        host.open = True
        host.opened_at = now
        host.robots_attempt = 1
        host.pace.robots_delay_s = delay_s
        if host.taken_at is not None:
            host.ready_at = max(host.ready_at, host.taken_at + self._delay(host))
        self._schedule(host)

    def is_open(self, name: str) -> bool:
        return self._hosts[name].open

    # -- how hosts do

    def rest(self, name: str, until: float) -> None:
        """Ask nothing more of a host, met or not, before `until`."""
        self._rests[name] = max(until, self._rests.get(name, 0.0))
        host = self._hosts.get(name)
        if host is not None:
            host.ready_at = max(host.ready_at, until)

    def delay_s(self, name: str) -> float:
        """Give a host's seconds between two requests."""
        host = self._hosts.get(name)
        return self._delay(host) if host else self.settings.politeness.delay

    def rests(self, now: float) -> dict[str, float]:
        """Give the hosts that were told to rest, and for how many seconds yet; may be called by another thread."""
        return {name: until - now for name, until in self._rests.copy().items() if until > now}

    def health(self, now: float) -> dict[str, Any]:
        """Tell how the hosts do, for those who watch; may be called by another thread."""
        return {"resting": len(self.rests(now)), **self._health.told()}

    def tidy(self, now: float) -> None:
        """Forget rests that are over."""
        self._rests = {name: until for name, until in self._rests.items() if until > now}

    def ask_out_of_turn(self, name: str, now: float) -> bool:
        """Tell whether a host may be asked for something that is no task; then its delay counts from now."""
        host = self._hosts.get(name)
        if self._rests.get(name, 0.0) > now:
            return False
        if host is not None:
            if host.in_flight or host.ready_at > now:
                return False
            host.ready_at = now + self._delay(host)
        return True

    def answered(self, name: str, latency_s: float) -> None:
        """A host answered a request."""
        host = self._hosts.get(name)
        if host is not None:
            host.pace.answered(latency_s)
        self._health.answered(name, latency_s)

    def failed(self, task: Task, class_: str, now: float) -> None:
        """A host did not answer a request, or said that it cannot: after many in a row it rests, and is given up."""
        host = self._hosts.get(task.host)
        if host is None:
            return
        no_robots = task.kind == "robots" and task.attempt > self.settings.fetch.retries
        pause_s = host.pace.failed(now, self.settings.politeness, at_once=no_robots)
        self._health.failed(task.host, host.pace.failures)
        if host.pace.should_give_up(now, self.settings.politeness):
            self.give_up(task.host, class_)
        elif pause_s:
            self.rest(task.host, now + pause_s)

    def give_up(self, name: str, class_: str) -> None:
        """Nothing more is hoped for of a host: hand out what is pending, to be written down as failed."""
        host = self._hosts.get(name)
        if host is not None:
            host.gave_up = class_
            self._health.given_up(name)
            self._reschedule(host)

    def forgive(self, names: Iterable[str]) -> None:
        """The failures of these hosts were not theirs: the network was gone."""
        names = frozenset(names)
        for name in names:
            host = self._hosts.get(name)
            if host is not None:
                host.pace.forget_failures()
                host.robots_attempt = 1
                self._health.forgiven(name)
        self._later = [
            (at, turn, task._replace(attempt=max(task.attempt - 1, 1)) if task.host in names else task)
            for at, turn, task in self._later
        ]

    def _hope(self, host: _Host) -> None:
        """Somebody asks for another try."""
        if host.gave_up:
            host.gave_up = ""
            self._health.hoped_for(host.name)
            host.pace.forget_failures()
            host.robots_attempt = 1

    def _reschedule(self, host: _Host) -> None:
        """Let a host's turn come earlier than it was to."""
        if host.in_heap:
            self._ready = [entry for entry in self._ready if entry[2] is not host]
            heapq.heapify(self._ready)
            host.in_heap = False
        self._schedule(host)

    # -- what it knows

    @property
    def idle(self) -> bool:
        """Nothing is pending and nothing in flight."""
        return not self.pending and not self.in_flight

    @property
    def hosts(self) -> int:
        """Hosts met."""
        return len(self._hosts)

    @property
    def known(self) -> int:
        """URLs known."""
        return sum(len(shard.known) for shard in self._shards.values())

    def next_at(self) -> float | None:
        """When `take` may next have something that it has not now; None: not before a task comes back."""
        times = [heap[0][0] for heap in (self._ready, self._later) if heap]
        return min(times, default=None)

    def close(self) -> None:
        self._scratch.close()

    def _delay(self, host: _Host) -> float:
        return host.pace.delay_s(self.settings.politeness)

    def _schedule(self, host: _Host) -> None:
        """Put a host into the heap if it has something to hand out."""
        if host.in_heap or host.in_flight >= self.settings.politeness.per_host:
            return
        if host.queue.count or host.urgent:
            heapq.heappush(self._ready, (_ready_at(host), next(self._turn), host))
            host.in_heap = True
