"""The tables of the dashboard, each asked for by its name.

A new table is a class with a method `table`, one line in `TABLES`, and one in `Views.table`.

Promise: each answer is made from a snapshot that is fresh, so a tree that is gone is an error, and not an old table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fscrawl.fleet.leases import Machinery
from fscrawl.monitor.dashboard import hosts, shards, tasks
from fscrawl.monitor.dashboard.latest import Latest
from fscrawl.monitor.dashboard.paces import PaceReader, of_snapshot
from fscrawl.monitor.dashboard.tables import Query


class Table(NamedTuple):
    """What may be asked of a table: its columns to sort by, the first one if none is named, and parts of its rows."""

    sorts: tuple[str, ...]
    only: tuple[str, ...]


TABLES = {
    "hosts": Table(hosts.SORTS, hosts.ONLY),
    "tasks": Table(tasks.SORTS, tasks.ONLY),
    "shards": Table(shards.SORTS, shards.ONLY),
}


class Views:
    """The tables over one tree. `table` may be called from many threads."""

    def __init__(self, latest: Latest) -> None:
        machinery = Machinery(latest.tree)
        self._latest = latest
        self._paces = PaceReader(machinery.host_figures)
        self._hosts = hosts.Hosts(latest.tree)
        self._tasks = tasks.Tasks()
        self._shards = shards.Shards(machinery, latest.tree.record.shards)
        self._makers: dict[str, Callable[[Query], dict[str, Any]]] = {
            "hosts": self._host_table,
            "tasks": lambda query: self._latest.ask(lambda snapshot: self._tasks.table(snapshot, query)),
            "shards": self._shard_table,
        }

    def table(self, name: str, query: Query) -> dict[str, Any]:
        """Give a page of a table of TABLES; TreeError if the tree cannot be read now."""
        return self._makers[name](query)

    def _host_table(self, query: Query) -> dict[str, Any]:
        snapshot = self._latest.ask(lambda view: view)
        return self._hosts.table(query, of_snapshot(self._paces, snapshot).hosts, snapshot.now)

    def _shard_table(self, query: Query) -> dict[str, Any]:
        snapshot = self._latest.ask(lambda view: view)
        return self._shards.table(snapshot, of_snapshot(self._paces, snapshot), query)

    def close(self) -> None:
        """End what goes on beside the requests."""
        self._hosts.close()
