"""The table of hosts: their names from two directories, their counts, and what machines say about them.

Vocabulary:
  row      a host: its directory, its number of records and of failures, and what its machine says about it
  page     fifty rows of those that match a search, in the requested order

Promise: names are listed, and a host is counted, every twenty seconds at most. Only the hosts of a page are counted.
Two machines' clocks are never compared: a status file and the beats of its machine have the same clock, and the
dashboard knows when it has seen the last beat. Each cause has its words; one of a newer version is shown as it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from fscrawl import hostnames, urls
from fscrawl.frontier.host_figures import Cause, HostFigure
from fscrawl.monitor.snapshot import MachineStatus, Snapshot
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.store import Tree
from fscrawl.util.parallel import READERS, in_turn_if_slow

PAGE_ROWS = 50

Row = TypeVar("Row")


class Query(msgspec.Struct, frozen=True):
    """A request: rows that a search for `text` finds, sorted by the column `sort`, page number `page` from 0.

    `only`: a part of the rows, such as those that wait; "" for all.
    """

    text: str = ""
    sort: str = "pending"
    descending: bool = True
    page: int = 0
    only: str = ""


def cut(rows: Sequence[Row], page: int) -> list[Row]:
    """Give a page of the rows.

    >>> cut(range(120), 2)
    [100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119]
    """
    return list(rows[page * PAGE_ROWS : (page + 1) * PAGE_ROWS])


def place(found: int, page: int) -> dict[str, int]:
    """Say which page of how many an answer is.

    >>> place(51, 0)
    {'found': 51, 'page': 0, 'pages': 2}
    """
    return {"found": found, "page": page, "pages": max(1, -(-found // PAGE_ROWS))}


class HostNow(NamedTuple):
    """A host as its machine sees it.

    until   when it may be asked again, by the clock of the dashboard (UNIX time); 0 if nobody can say
    doing   what keeps its machine from fetching
    """

    machine: str
    figure: HostFigure
    until: float
    doing: str


def hosts_now(snapshot: Snapshot) -> dict[str, HostNow]:
    """Give the hosts that the machines of a snapshot have, by directory."""
    hosts: dict[str, HostNow] = {}
    for machine in snapshot.alive():
        for name, figure in machine.status.hosts.items():
            here = HostNow(machine.name, figure, _until(figure.wait_s, machine, snapshot.now), machine.doing)
            hosts[name] = _both(hosts[name], here) if name in hosts else here
    return hosts


def _until(wait_s: float, machine: MachineStatus, now: float) -> float:
    """Give when a wait is over, by the clock of `now`."""
    if not wait_s:
        return 0.0
    since_s = max(0.0, machine.last.at - machine.status.written_at)  # by the machine's clock
    return round(machine.heard_at(now) + wait_s - since_s, 1)


def _both(one: HostNow, other: HostNow) -> HostNow:
    """Put together what two machines say about a host whose URLs they share; the longer wait counts."""
    longer = max(one, other, key=lambda each: (each.until, each.figure.pending))
    pending, in_flight = (getattr(one.figure, name) + getattr(other.figure, name) for name in ("pending", "in_flight"))
    return longer._replace(figure=replace(longer.figure, pending=pending, in_flight=in_flight))


_CAUSES: dict[str, str] = {
    Cause.NOTHING: "nothing to do",
    Cause.GIVEN_UP: "given up: it failed for too long",
    Cause.PAUSED: "paused by a sign",
    Cause.RETRY_AFTER: "rests: its answer asked for a pause (Retry-After)",
    Cause.COSTLY: "rests: its answers take much of the processor",
    Cause.FAILING: "rests: it failed too often",
    Cause.TOLD: "rests: its last machine logged that",
    Cause.ROBOTS: "its robots.txt comes first",
    Cause.SITE: "its domain has as many requests as it may",
    Cause.ADDRESS: "its IP address has as many requests as it may",
    Cause.SLOW: "slow hosts have as many requests as they may",
    Cause.PER_HOST: "has as many requests as it may",
    Cause.DELAY: "its delay is not over",
    Cause.TURN: "waits for its turn",
}
_MACHINES = {
    "paused": "the crawl is paused",
    "fenced": "its machine cannot reach the tree",
    "no network": "its machine has no network",
    "stopping": "its machine is leaving",
}
_SETS = {
    "settings": "by the settings",
    "robots": "by its robots.txt",
    "answers": "its answers are slow",
    "failures": "after failures",
}
_HELD_BACK = frozenset(
    {Cause.GIVEN_UP, Cause.PAUSED, Cause.RETRY_AFTER, Cause.COSTLY, Cause.FAILING, Cause.TOLD}
    | {Cause.SITE, Cause.ADDRESS, Cause.SLOW}
)


def why(host: HostNow) -> str:
    """Say why a host is asked nothing now."""
    cause = host.figure.cause
    if host.doing in _MACHINES and cause not in {Cause.GIVEN_UP, Cause.PAUSED}:
        return _MACHINES[host.doing]
    words = _CAUSES.get(cause, cause)
    failures = host.figure.failures
    return f"{words} ({failures} in a row)" if failures > 1 and cause == Cause.FAILING else words


def set_by(host: HostNow) -> str:
    """Say what sets the delay of a host.

    >>> from fscrawl.frontier.host_figures import HostFigure
    >>> set_by(HostNow("m", HostFigure(set_by="robots"), 0.0, ""))
    'by its robots.txt'
    """
    return _SETS.get(host.figure.set_by, host.figure.set_by)


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
        return len(left), cut(left, query.page)
    values: dict[str, float] = {name: live[name].figure.pending for name in left if name in live}
    if query.sort == "until":
        values = {name: until for name in values if (until := live[name].until)}
    there = sorted(values, key=values.__getitem__, reverse=query.descending)
    return len(left), cut([*there, *(name for name in left if name not in values)], query.page)


def _is_wanted(host: HostNow, only: str) -> bool:
    return host.figure.cause in _HELD_BACK if only == "held" else host.figure.pending > 0


def counted(tree: Tree, names: Iterable[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Count the records and the failures of hosts by listing their files, several hosts at a time."""

    def count(name: str) -> tuple[int, int]:
        return len(tree.keys(LINKS, name)), len(tree.keys(ERRS, name))

    names = list(names)
    return zip(names, in_turn_if_slow(count, names, READERS), strict=True)


def row_of(name: str, numbers: tuple[int, int], host: HostNow | None, now: float) -> dict[str, Any]:
    """Give the row of a host. `numbers`: of its records and failures; `host`: what its machine says about it."""
    row = {"host": name, "spoken": urls.shown_host(name), "records": numbers[0], "failures": numbers[1]}
    if host is None:
        return row
    return {
        **row,
        "pending": host.figure.pending,
        "in_flight": host.figure.in_flight,
        "delay_s": host.figure.delay_s,
        "set_by": set_by(host),
        "why": why(host),
        "held": host.figure.cause in _HELD_BACK,
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
            "held": sum(host.figure.cause in _HELD_BACK for host in live.values()),
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
