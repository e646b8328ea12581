"""The hosts that were met, and the URLs that wait in their queues.

Vocabulary:
  met         a URL of the host was added; from then on the host has a queue
  pending     a URL that waits in the queue of its host
  urgent      a pending task that goes before the queue: it was handed out once before
  open        a host whose robots.txt is known
  given up    a host that failed for so long that it is asked nothing more
  set aside   a host without anything to do: some 60 bytes are kept of it. When it is recalled, it is as it was

Promise: a pending URL is popped once, unless its host is forgotten. When the queues need more memory than
`_MEMORY_BYTES`, they are moved to the local disk, where they take about twice their size at most. Nothing here looks at
times: that is the scheduler's job.
"""

from __future__ import annotations

import itertools
import random
import struct
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from fscrawl import urls
from fscrawl.config.settings import CrawlSettings
from fscrawl.frontier.flags import Flags
from fscrawl.frontier.queue import Line, Queue, Scratch
from fscrawl.frontier.task import PageTask
from fscrawl.politeness import ROBOTS_VALID_S
from fscrawl.politeness.pace import SIZE_BYTES as PACE_BYTES
from fscrawl.politeness.pace import Pace

_MEMORY_BYTES = 32 * 1024 * 1024  # of pending lines
_ALWAYS = float("inf")  # open: nobody asks for its robots.txt
_COUNT = struct.Struct("=I")
_ROW = struct.Struct("=QId??BB")  # site, pages, opened_at, is_open, is_listed, robots_attempt, given_up; and the pace


class Host:
    """A host: its queue, its pace, and when its turn is. Only `Hosts` and the scheduler change it."""

    __slots__ = (
        "address",
        "failure",
        "given_up",
        "in_flight",
        "in_heap",
        "is_listed",
        "is_open",
        "is_quick",
        "labels",
        "name",
        "opened_at",
        "pace",
        "pages",
        "parked",
        "queue",
        "ready_at",
        "robots_attempt",
        "shard",
        "site",
        "taken_at",
        "turn",
        "urgent",
        "waits_for",
        "was_retry",
        "woken_by",
    )

    def __init__(self, name: str, site: int, shard: int | None, taken_at: float | None, *, is_open: bool) -> None:
        self.name = name
        self.site = site  # fingerprint of its registrable domain
        self.shard = shard  # None: each of its URLs has its own
        self.taken_at = taken_at  # when its shard was taken over from another machine, None: it was not
        self.queue = Queue()
        self.urgent: list[PageTask] | None = None
        self.was_retry = False  # its last task was tried again
        self.labels: Counter[str] | None = None  # of what is pending; most crawls have no labels
        self.in_flight = 0
        self.parked = 0  # of these, pages that wait to be read or rendered
        self.in_heap = False  # the scheduler has set its next turn, or will when there is a place
        self.turn = -1  # the number of the turn that was set last; no other one counts
        self.address: str | None = None  # of its last answer, or presumed; None: not looked up, "": not known
        self.is_quick = False  # a page of it was answered, and it answers soon
        self.waits_for: object = None  # the group that has no place for it
        self.woken_by: Any = None  # the group that has a place for it now
        self.ready_at = 0.0  # it is asked nothing before
        self.pace = Pace()
        self.failure = ""  # the class of the last one; it is not kept of a host that is set aside
        self.given_up = ""  # the class of its failures, once it is given up
        self.is_listed = False  # the tree was asked what it holds of the host
        self.is_open = is_open
        self.opened_at = _ALWAYS if is_open else 0.0
        self.robots_attempt = 1
        self.pages = 0  # stored; those of earlier runs are counted only if `max_pages_per_host` is set

    def look_at_robots(self, now: float, *, wanted: bool) -> None:
        """Open the host if nobody wants its robots.txt (any more). Else close it if that is not known, or too old."""
        if not wanted:
            self.is_open, self.opened_at = True, _ALWAYS
        elif self.opened_at == _ALWAYS or now - self.opened_at > ROBOTS_VALID_S:
            self.is_open = False

    @property
    def pending(self) -> int:
        return self.queue.count + len(self.urgent or ())


class _Aside:
    """The hosts of one shard that were set aside."""

    def __init__(self, taken_at: float | None) -> None:
        self.taken_at = taken_at
        self.rows = Rows(_ROW.size + PACE_BYTES)


class Hosts:
    """All hosts that were met: those with something to do by name.

    `pending`: how many URLs wait in their queues; `labels`: of these, how many have which label.
    """

    def __init__(self, settings: CrawlSettings, rng: random.Random, scratch: Scratch) -> None:
        self.by_name: dict[str, Host] = {}
        self.pending = 0
        self.labels: Counter[str] = Counter()
        self.settings = settings
        self._aside: dict[int, _Aside] = {}  # by shard
        self._number_aside = 0
        self._classes = [""]  # of failures for which hosts were given up
        self._hosts_of_site = Rows(_COUNT.size)
        self._in_memory_bytes = 0
        self._rng = rng
        self._scratch = scratch

    def __len__(self) -> int:
        """Tell how many hosts were met; another thread may call this."""
        return len(self.by_name) + self._number_aside

    def meet(self, name: str, url: str, shard: int | None, taken_at: float | None, *, is_open: bool) -> Host | None:
        """Make a host's queue; None if its domain has too many hosts already. `url`: one of its URLs."""
        site = urls.fingerprint_of(urls.site(urls.hostname(url)))
        if self._count_of(site) >= self.settings.max_hosts_per_domain:
            return None
        self._add_to_count(site, 1)
        host = self.by_name[name] = Host(name, site, shard, taken_at, is_open=is_open)
        return host

    def _count_of(self, site: int) -> int:
        row = self._hosts_of_site.get(site)
        return int(_COUNT.unpack(row)[0]) if row else 0

    def _add_to_count(self, site: int, more: int) -> None:
        self._hosts_of_site.put(site, _COUNT.pack(self._count_of(site) + more))

    def forget(self, host: Host) -> None:
        """Forget a host with all that is pending for it."""
        self.pending -= host.pending
        self._in_memory_bytes -= host.queue.memory_bytes
        host.queue.clear(self._scratch)
        host.urgent = None
        if host.labels:
            self.labels -= host.labels  # what falls to 0 is dropped
            host.labels = None
        self._add_to_count(host.site, -1)
        del self.by_name[host.name]

    # -- hosts without anything to do

    def set_aside(self, host: Host) -> None:
        """Keep only some bytes of a host that has nothing pending and nothing in flight, and need not rest."""
        assert host.shard is not None, "a host with URLs in many shards is always known by name"
        if host.given_up not in self._classes:
            self._classes.append(host.given_up)
        given_up = self._classes.index(host.given_up)
        aside = self._aside.setdefault(host.shard, _Aside(host.taken_at))
        is_known = host.is_open, host.is_listed
        row = _ROW.pack(host.site, host.pages, host.opened_at, *is_known, min(host.robots_attempt, 255), given_up)
        aside.rows.put(urls.fingerprint_of(host.name), row + host.pace.to_bytes())
        del self.by_name[host.name]  # nothing of it is pending, so it has no labels
        self._number_aside += 1

    def recall(self, name: str, shard: int | None = None) -> Host | None:
        """Take back a host that was set aside; None if it was not. `shard`: its own; None: look everywhere."""
        if not self._aside:
            return None
        fingerprint = urls.fingerprint_of(name)
        for number in self._aside if shard is None else self._aside.keys() & {shard}:
            aside = self._aside[number]
            row = aside.rows.take(fingerprint)
            if row is not None:
                self._number_aside -= 1
                self.by_name[name] = self._unpacked(row, name, number, aside.taken_at)
                return self.by_name[name]
        return None

    def _unpacked(self, row: bytes, name: str, shard: int, taken_at: float | None) -> Host:
        site, pages, opened_at, is_open, is_listed, robots_attempt, given_up = _ROW.unpack_from(row)
        host = Host(name, site, shard, taken_at, is_open=is_open)
        host.is_listed = is_listed
        host.pages, host.opened_at, host.robots_attempt = pages, opened_at, robots_attempt
        host.given_up = self._classes[given_up]
        host.pace = Pace.from_bytes(row[_ROW.size :])
        return host

    def forget_aside(self, shard: int) -> int:
        """Forget the hosts of a shard that were set aside; tell how many of them were given up."""
        aside = self._aside.pop(shard, None)
        given_up = 0
        for row in aside.rows if aside is not None else ():
            site, *_, class_ = _ROW.unpack_from(row)
            self._add_to_count(site, -1)
            self._number_aside -= 1
            given_up += bool(class_)
        return given_up

    # -- what is pending

    def push(self, host: Host, depth: int, referrer: str, url: str, flags: Flags, *, foreign: bool = False) -> None:
        """Make a URL pending. `foreign`: a page of another host links to it."""
        self._in_memory_bytes += host.queue.push(depth, referrer, url, flags, foreign=foreign)
        self._count(host, flags.label, 1)
        if self._in_memory_bytes > _MEMORY_BYTES:
            self._spill()

    def _count(self, host: Host, label: str, more: int) -> None:
        """Count what has become pending, or is so no more."""
        self.pending += more
        if label:
            if host.labels is None:
                host.labels = Counter()
            host.labels[label] += more
            self.labels[label] += more

    def _spill(self) -> None:
        """Move all queues from memory to the local disk, and there from files of which little is in use any more."""
        for host in self.by_name.values():
            host.queue.spill(self._scratch)
        self._in_memory_bytes = 0
        wasteful = self._scratch.wasteful()
        for host in self.by_name.values() if wasteful else ():
            host.queue.move(self._scratch, wasteful)

    def pop(self, host: Host) -> PageTask:
        """Take the next task of a host that has something pending: an urgent one, or the next of its queue.

        What is tried again takes turns with the queue. If not, some pages that fail each time would be asked alone
        until their host is given up, with all others that it has.
        """
        if host.urgent and not (host.was_retry and host.urgent[-1].attempt > 1 and host.queue.count):
            task = host.urgent.pop()
        else:
            depth, referrer, url, flags, _ = self._pop_line(host.queue, self.settings.order)
            task = PageTask(url, host.name, urls.key(url), depth, referrer, 1, check=False, flags=flags)
        self._count(host, task.flags.label, -1)
        return task

    def _pop_line(self, queue: Queue, order: str) -> Line:
        before_bytes = queue.memory_bytes
        line = queue.pop(order, self._scratch, self._rng)
        self._in_memory_bytes += queue.memory_bytes - before_bytes
        return line

    def peek(self, host: Host) -> PageTask:
        """Give the task of a host that was put first; it stays pending."""
        assert host.urgent
        return host.urgent[-1]

    def put_first(self, host: Host, task: PageTask, *, behind: bool = False) -> None:
        """Make a task pending that was handed out before: it is the next to be popped. `behind`: of such, the last."""
        host.urgent = [task, *(host.urgent or ())] if behind else [*(host.urgent or ()), task]
        self._count(host, task.flags.label, 1)

    def keep(self, host: Host, wanted: Callable[[str], bool]) -> None:
        """Forget what is pending for a host, except the wanted URLs."""
        before, host.queue = host.queue, Queue()
        while before.count:
            line = self._pop_line(before, "breadth")
            if wanted(line.url):
                self._in_memory_bytes += host.queue.push(*line[:4], foreign=line.foreign)
            else:
                self._count(host, line.flags.label, -1)
        urgent, host.urgent = host.urgent or (), None
        for task in urgent:
            if wanted(task.url):
                host.urgent = [*(host.urgent or ()), task]
            else:
                self._count(host, task.flags.label, -1)

    def close(self) -> None:
        self._scratch.close()


# -- packed rows of hosts that were set aside


_MORE_BITS = 4
_CROWDED = 512  # rows in a bucket, on average; with more, to move them costs more than to find them


class Rows:
    """Rows of `row_bytes` each, by integers below 2**64 that look random, as the first bytes of a hash do.

    The rows are in buckets, in the order of their keys; the upper bits of a key choose the bucket. When the buckets get
    crowded, each is cut into sixteen.

    >>> rows = Rows(2)
    >>> rows.put(7, b"ab"), rows.get(7), rows.take(7), rows.get(7), len(rows)
    (None, b'ab', b'ab', None, 0)
    """

    __slots__ = ("_buckets", "_count", "_shift", "_size")

    def __init__(self, row_bytes: int) -> None:
        self._size = row_bytes
        self._count = 0
        self._shift = 64
        self._buckets: list[tuple[array[int], bytearray]] = [(array("Q"), bytearray())]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[bytes]:
        """Give all rows, in the order of their keys."""
        for _, data in self._buckets:
            for at in range(0, len(data), self._size):
                yield bytes(data[at : at + self._size])

    def _find(self, key: int) -> tuple[array[int], bytearray, int, bool]:
        """Give a key's bucket, where the key is in it or should be, and whether it is there."""
        keys, data = self._buckets[key >> self._shift]
        index = bisect_left(keys, key)
        return keys, data, index, index < len(keys) and keys[index] == key

    def get(self, key: int) -> bytes | None:
        """Give a row, None if it is not there."""
        _, data, index, is_there = self._find(key)
        return bytes(data[index * self._size : (index + 1) * self._size]) if is_there else None

    def put(self, key: int, row: bytes) -> None:
        """Add or replace a row."""
        keys, data, index, is_there = self._find(key)
        at = index * self._size
        data[at : at + self._size * is_there] = row
        if not is_there:
            keys.insert(index, key)
            self._count += 1
            if self._count > _CROWDED * len(self._buckets):
                self._cut()

    def take(self, key: int) -> bytes | None:
        """Remove a row and give it, None if it is not there."""
        keys, data, index, is_there = self._find(key)
        if not is_there:
            return None
        part = slice(index * self._size, (index + 1) * self._size)
        row = bytes(data[part])
        del data[part], keys[index]
        self._count -= 1
        return row

    def _cut(self) -> None:
        self._shift -= _MORE_BITS
        buckets: list[tuple[array[int], bytearray]] = []
        for keys, data in self._buckets:
            first = len(buckets)
            ends = [bisect_left(keys, (first + i) << self._shift) for i in range(1 << _MORE_BITS)] + [len(keys)]
            for start, end in itertools.pairwise(ends):
                buckets.append((keys[start:end], data[start * self._size : end * self._size]))
        self._buckets = buckets
