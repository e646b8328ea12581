"""The table of hosts. A thread lists two directories for the names, and the directories of each host for its counts.

Vocabulary:
  row      a host: its directory, its number of records and of failures (None: not counted yet), and what its machine
           says about it (see `paces`)
  page     fifty rows of those that match a search, in the requested order
  pass     one count of all hosts, for a request that sorts by counts; at most one starts every ten minutes

Promise: a request never waits for a count. Hosts that are shown are counted first, and again while they are shown. If
the tree cannot be read, counting stops until the next request.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fscrawl import hostnames, urls
from fscrawl.errors import TreeError
from fscrawl.monitor.dashboard import reasons
from fscrawl.monitor.dashboard.paces import HostNow
from fscrawl.monitor.dashboard.tables import PAGE_ROWS, Query, cut, place, sort_rows
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.store import Tree

__all__ = ["ONLY", "PAGE_ROWS", "SORTS", "Count", "Hosts", "Query", "arrange"]

SORTS = ("records", "host", "failures", "pending", "until")
ONLY = ("", "held", "pending")
_NAMES_LIVE_S = 20.0
_COUNT_LIVES_S = 10.0
_PASS_LIVES_S = 600.0
_FIRST_LISTING_S = 2.0


class Count(NamedTuple):
    """How many records and failures a host had at a time of the monotonic clock."""

    records: int
    failures: int
    at: float


def arrange(
    names: Iterable[str],
    counts: Mapping[str, Count],
    query: Query,
    told: Mapping[str, HostNow] | None = None,
) -> tuple[int, list[str]]:
    """Give the number of hosts that match, and those of the page. `names` are sorted; hosts without a value come last.

    `told`: what machines say about hosts. `query.only`: "held" for those that a limit or a rest holds back, "pending"
    for those with pending URLs.

    >>> counts = {"a": Count(1, 0, 0.0), "c": Count(5, 0, 0.0)}
    >>> arrange(["a", "b", "c"], counts, Query())
    (3, ['c', 'a', 'b'])
    >>> arrange(["a", "b", "c"], counts, Query("C", "host"))
    (1, ['c'])
    """
    told = told or {}
    left = list(names)
    if query.only:  # the others were not told of
        left = [name for name in left if name in told and _is_wanted(told[name], query.only)]
    if query.text.strip():
        left = list(filter(hostnames.search(query.text), left))
    if query.sort == "host":
        if query.descending:
            left.reverse()
    else:
        left = sort_rows(left, _value_of(query.sort, counts, told), descending=query.descending)
    return len(left), cut(left, query.page)


def _is_wanted(host: HostNow, only: str) -> bool:
    return host.figure.cause in reasons.HELD_BACK if only == "held" else host.figure.pending > 0


def _value_of(sort: str, counts: Mapping[str, Count], told: Mapping[str, HostNow]) -> Callable[[str], float | None]:
    if sort in {"records", "failures"}:
        column = ("records", "failures").index(sort)
        return lambda name: counts[name][column] if name in counts else None
    if sort == "pending":
        return lambda name: told[name].figure.pending if name in told else None
    return lambda name: told[name].until or None if name in told else None


def _has(names: list[str], name: str) -> bool:
    at = bisect_left(names, name)
    return at < len(names) and names[at] == name


def _numbers(count: Count | None) -> dict[str, int | None]:
    return {"records": count.records, "failures": count.failures} if count else {"records": None, "failures": None}


def _told(host: HostNow | None, now: float) -> dict[str, Any]:
    """Give what a machine says about a host; {} if none does."""
    if host is None:
        return {}
    return {
        "pending": host.figure.pending,
        "in_flight": host.figure.in_flight,
        "delay_s": host.figure.delay_s,
        "set_by": reasons.set_by(host),
        "why": reasons.why(host),
        "held": host.figure.cause in reasons.HELD_BACK,
        "until": host.until if host.until > now else None,
        "machine": host.machine,
    }


class Hosts:
    """The hosts of a tree. `table` may be called from many threads; the counting begins with the first call."""

    def __init__(self, tree: Tree, clock: Callable[[], float] = time.monotonic) -> None:
        self._tree = tree
        self._clock = clock
        self._names: list[str] = []
        self._counts: dict[str, Count] = {}
        self._news = threading.Condition()
        self._listed = threading.Event()
        self._listed_at = float("-inf")
        self._wanted: deque[str] = deque()
        self._passing: Iterator[str] | None = None
        self._passed_at = float("-inf")
        self._trouble: TreeError | None = None
        self._asked = False
        self._over = False
        self._thread: threading.Thread | None = None

    def table(self, query: Query, told: Mapping[str, HostNow] | None = None, now: float = 0.0) -> dict[str, Any]:
        """Give a page of the table, with the counts that are known; TreeError if the tree could not be listed.

        `told`: what machines say about hosts; those without a record yet are listed, too.
        """
        told = told or {}
        self._wake()
        self._listed.wait(_FIRST_LISTING_S)
        if self._trouble is not None:
            raise self._trouble
        counts = self._counts.copy()  # one atomic copy: the thread goes on counting
        names, new = self._with(told.keys())
        counts.update((name, Count(0, 0, 0.0)) for name in new)  # nothing of it is stored yet
        found, page = arrange(names, counts, query, told)
        self._want([name for name in page if name not in new], everything=query.sort in {"records", "failures"})
        rows = [
            {
                "host": name,
                "spoken": urls.shown_host(name),
                **_numbers(counts.get(name)),
                **_told(told.get(name), now),
            }
            for name in page
        ]
        return {
            "now": now,
            "hosts": len(names),
            "counted": sum(map(counts.__contains__, names)),  # not of hosts that are gone
            "held": sum(host.figure.cause in reasons.HELD_BACK for host in told.values()),
            **place(found, query.page),
            "listed": self._listed.is_set(),
            "rows": rows,
        }

    def _with(self, told: Iterable[str]) -> tuple[list[str], set[str]]:
        """Give the names of all hosts, and of those among them that have no directory yet."""
        names = self._names
        new = {name for name in told if not _has(names, name)} if self._listed.is_set() else set()
        return (sorted([*names, *new]) if new else names), new

    def close(self) -> None:
        """End the counting after the current host."""
        with self._news:
            self._over = True
            self._news.notify()

    def _wake(self) -> None:
        with self._news:
            self._asked = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hosts", daemon=True)
                self._thread.start()
            self._news.notify()

    def _want(self, page: list[str], *, everything: bool) -> None:
        old = self._clock() - _COUNT_LIVES_S
        with self._news:
            self._wanted = deque(name for name in page if name not in self._counts or self._counts[name].at < old)
            if everything and self._passing is None and self._clock() - self._passed_at > _PASS_LIVES_S:
                self._passed_at = self._clock()
                self._passing = iter(self._names)
            self._news.notify()

    # -- the thread

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._over or self._asked or self._wanted or self._passing)
                if self._over:
                    return
                self._asked = False
            try:
                self._list()
                self._count()
            except TreeError as error:
                self._forget_work(error)
            self._listed.set()

    def _list(self) -> None:
        if self._clock() - self._listed_at < _NAMES_LIVE_S:
            return
        self._check()
        names = sorted({*self._tree.hosts(LINKS), *self._tree.hosts(ERRS)})
        self._names, self._trouble, self._listed_at = names, None, self._clock()

    def _check(self) -> None:
        """Raise a TreeError if the tree is gone: an empty mount point looks like a tree without hosts."""
        Tree(self._tree.root, self._tree.machine)

    def _count(self) -> None:
        name = self._next()
        if name is not None:
            records, failures = len(self._tree.keys(LINKS, name)), len(self._tree.keys(ERRS, name))
            if not records and not failures:
                self._check()
            self._counts[name] = Count(records, failures, self._clock())

    def _next(self) -> str | None:
        with self._news:
            if self._wanted:
                return self._wanted.popleft()
            if self._passing is not None:
                for name in self._passing:
                    return name
                self._passing = None
        return None

    def _forget_work(self, error: TreeError) -> None:
        with self._news:
            self._trouble, self._listed_at = error, float("-inf")
            self._wanted.clear()
            self._passing, self._passed_at = None, float("-inf")
