"""The table of hosts. A thread lists two directories for the names, and the directories of each host for its counts.

Vocabulary:
  row      a host: its directory, its number of records and of failures (None: not counted yet)
  page     fifty rows of those that match a search, in the requested order
  pass     one count of all hosts, for a request that sorts by counts; at most one starts every ten minutes

Promise: a request never waits for a count. Hosts that are shown are counted first, and again while they are shown. If
the tree cannot be read, counting stops until the next request.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fscrawl import hostnames, urls
from fscrawl.errors import TreeError
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.store import Tree

PAGE_ROWS = 50
SORTS = ("host", "records", "failures")
_NAMES_LIVE_S = 20.0
_COUNT_LIVES_S = 10.0
_PASS_LIVES_S = 600.0
_FIRST_LISTING_S = 2.0


class Count(NamedTuple):
    """How many records and failures a host had at a time of the monotonic clock."""

    records: int
    failures: int
    at: float


@dataclass(frozen=True, slots=True)
class Query:
    """A request: hosts that a search for `text` finds, sorted by `sort` (one of SORTS), page number `page` from 0."""

    text: str = ""
    sort: str = "records"
    descending: bool = True
    page: int = 0


def arrange(names: Iterable[str], counts: Mapping[str, Count], query: Query) -> tuple[int, list[str]]:
    """Give the number of hosts that match, and those of the page. `names` are sorted; uncounted hosts come last.

    >>> counts = {"a": Count(1, 0, 0.0), "c": Count(5, 0, 0.0)}
    >>> arrange(["a", "b", "c"], counts, Query())
    (3, ['c', 'a', 'b'])
    >>> arrange(["a", "b", "c"], counts, Query("C", "host"))
    (1, ['c'])
    """
    left = list(filter(hostnames.search(query.text), names)) if query.text.strip() else list(names)
    if query.sort == "host":
        if query.descending:
            left.reverse()
    else:
        column = SORTS.index(query.sort) - 1
        sign = -1 if query.descending else 1
        there = sorted((name for name in left if name in counts), key=lambda name: sign * counts[name][column])
        left = [*there, *(name for name in left if name not in counts)]
    start = query.page * PAGE_ROWS
    return len(left), left[start : start + PAGE_ROWS]


def _numbers(count: Count | None) -> dict[str, int | None]:
    return {"records": count.records, "failures": count.failures} if count else {"records": None, "failures": None}


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

    def table(self, query: Query) -> dict[str, Any]:
        """Give a page of the table, with the counts that are known; TreeError if the tree could not be listed."""
        self._wake()
        self._listed.wait(_FIRST_LISTING_S)
        if self._trouble is not None:
            raise self._trouble
        counts = self._counts.copy()  # one atomic copy: the thread goes on counting
        found, page = arrange(self._names, counts, query)
        self._want(page, everything=query.sort != "host")
        rows = [{"host": name, "spoken": urls.shown_host(name), **_numbers(counts.get(name))} for name in page]
        return {
            "hosts": len(self._names),
            "counted": len(counts),
            "found": found,
            "page": query.page,
            "pages": max(1, -(-found // PAGE_ROWS)),
            "listed": self._listed.is_set(),
            "rows": rows,
        }

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
