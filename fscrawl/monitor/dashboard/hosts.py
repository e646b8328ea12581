"""The table of hosts: their names from two directories, their counts, and what machines say about them (`paces`).

Vocabulary:
  row      a host: its directory, its number of records and of failures, and what its machine says about it
  page     fifty rows of those that match a search, in the requested order

Promise: names are listed, and a host is counted, every twenty seconds at most. Only the hosts of a page are counted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fscrawl import hostnames, urls
from fscrawl.monitor.dashboard import reasons
from fscrawl.monitor.dashboard.paces import HostNow
from fscrawl.monitor.dashboard.tables import Query, cut, place, sort_rows
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS, in_turn_if_slow

SORTS = ("pending", "host", "until")
ONLY = ("", "held", "pending")
_LISTINGS_LIVE_S = 20.0


def arrange(names: Iterable[str], query: Query, live: Mapping[str, HostNow] | None = None) -> tuple[int, list[str]]:
    """Give the number of hosts that match, and those of the page. `names` are sorted; hosts without a value come last.

    `live`: what machines say about hosts. `query.only`: "held" for those that a limit or a rest holds back, "pending"
    for those with pending URLs.

    >>> arrange(["a", "b", "c"], Query("C", "host"))
    (1, ['c'])
    """
    live = live or {}
    left = list(names)
    if query.only:  # the others are not known
        left = [name for name in left if name in live and _is_wanted(live[name], query.only)]
    if query.text.strip():
        left = list(filter(hostnames.search(query.text), left))
    if query.sort == "host":
        if query.descending:
            left.reverse()
    else:
        left = sort_rows(left, _value_of(query.sort, live), descending=query.descending)
    return len(left), cut(left, query.page)


def _is_wanted(host: HostNow, only: str) -> bool:
    return host.figure.cause in reasons.HELD_BACK if only == "held" else host.figure.pending > 0


def _value_of(sort: str, live: Mapping[str, HostNow]) -> Callable[[str], float | None]:
    if sort == "pending":
        return lambda name: live[name].figure.pending if name in live else None
    return lambda name: live[name].until or None if name in live else None


def counted(tree: Tree, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Count the records and the failures of hosts by listing their files, several hosts at a time."""

    def count(name: str) -> tuple[int, int]:
        return len(tree.keys(LINKS, name)), len(tree.keys(ERRS, name))

    names = list(names)
    return dict(zip(names, in_turn_if_slow(count, names, READERS), strict=True))


def row_of(name: str, numbers: tuple[int, int], host: HostNow | None, now: float) -> dict[str, Any]:
    """Give the row of a host. `numbers`: of its records and failures; `host`: what its machine says about it."""
    records, failures = numbers
    live = _live(host, now)
    return {"host": name, "spoken": urls.shown_host(name), "records": records, "failures": failures, **live}


def _live(host: HostNow | None, now: float) -> dict[str, Any]:
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
    """The hosts of a tree. `table` may be called from many threads."""

    def __init__(self, tree: Tree, clock: Callable[[], float] = time.monotonic) -> None:
        self._tree = tree
        self._clock = clock
        self._names: list[str] = []
        self._counts: dict[str, tuple[int, int]] = {}  # of hosts that were shown since the names were listed
        self._listed_at = float("-inf")
        self._lock = threading.Lock()

    def table(self, query: Query, live: Mapping[str, HostNow], now: float) -> dict[str, Any]:
        """Give a page of the table; TreeError if the tree cannot be listed.

        `live`: what machines say about hosts; those without a record yet are listed, too.
        """
        names = sorted({*self._list(), *live})
        found, page = arrange(names, query, live)
        counts = self._counts
        counts.update(counted(self._tree, (name for name in page if name not in counts)))
        return {
            "now": now,
            "hosts": len(names),
            "held": sum(host.figure.cause in reasons.HELD_BACK for host in live.values()),
            **place(found, query.page),
            "rows": [row_of(name, counts[name], live.get(name), now) for name in page],
        }

    def _list(self) -> list[str]:
        with self._lock:
            if self._clock() - self._listed_at >= _LISTINGS_LIVE_S:
                self._names = [*{*self._tree.hosts(LINKS), *self._tree.hosts(ERRS)}]
                self._counts = {}
                self._listed_at = self._clock()
            return self._names
