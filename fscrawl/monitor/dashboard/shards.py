"""The table of shards: which machine holds each, how old its beat is, and what is left to do.

Vocabulary:
  newest    the lease of a shard with the highest epoch: it counts
  held      the newest lease names a machine that is alive
  free      its holder is gone: another machine takes it
  empty     nobody has ever held it, as no URL of it was found; such shards are listed only if somebody asks for all

Promise: a lease never changes, so each is read once; one that cannot be read is read again. Reading stops after a
second: the other leases come next time, and until then the table says that they are not read. Leases are listed every
five seconds at most, more seldom if that takes long.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, Protocol

from fscrawl.errors import TreeError
from fscrawl.fleet.leases import Lease
from fscrawl.monitor.dashboard.paces import Paces
from fscrawl.monitor.dashboard.tables import Query, cut, place, sort_rows
from fscrawl.monitor.machine_status import MachineStatus
from fscrawl.monitor.snapshot import Snapshot
from fscrawl.util.parallel import READERS, in_turn

SORTS = ("shard", "holder", "beat_at", "pending")
ONLY = ("", "held", "free", "all")
_LISTED_LIVES_S = 5.0
_TIMES_ITS_COST = 20
_BUDGET_S = 1.0
_AT_A_TIME = 200
_TORN_LIVES_S = 10.0


_STATES = {
    "held": "held",
    "left": "free: its holder has left",
    "dead": "free: its holder is dead",
    "unknown": "free: its holder has no log",
    "never": "empty: no URL of it was found",
    "torn": "not known: the lease cannot be read",
    "unread": "not read yet",
}
_FREE = frozenset({"left", "dead", "unknown"})


class Files(Protocol):
    """The part of `Leases` that is used here."""

    def leases(self) -> list[tuple[int, int]]: ...
    def lease(self, shard: int, epoch: int) -> Lease: ...


class Shards:
    """The shards of a tree: `count` of them. `table` may be called from many threads."""

    def __init__(self, files: Files, count: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = files
        self._count = count
        self._clock = clock
        self._lock = threading.Lock()
        self._epochs: dict[int, int] = {}
        self._listed_at = float("-inf")
        self._listing_took_s = 0.0
        self._leases: dict[int, Lease] = {}
        self._torn_at: dict[int, float] = {}

    def table(self, snapshot: Snapshot, paces: Paces, query: Query) -> dict[str, Any]:
        """Give a page of the table; `query.text` is a number, or a part of a machine's name.

        TreeError if the leases cannot be listed.
        """
        if self._lock.acquire(blocking=False):  # else another thread reads: what is known is shown
            try:
                self._list()
                self._read_some()
            finally:
                self._lock.release()
        leases, epochs = self._leases.copy(), self._epochs
        machines = {machine.name: machine for machine in snapshot.machines}
        rows = [
            _row(shard, epochs.get(shard, 0), leases.get(shard), machines, paces, snapshot.now)
            for shard in range(self._count)
        ]
        found = [row for row in rows if _matches(row, query)]
        ordered = sort_rows(found, lambda row: row[query.sort], descending=query.descending)
        return {
            "now": round(snapshot.now, 1),
            "shards": self._count,
            "running": bool(snapshot.alive()),
            "unread": sum(row["state"] == "unread" for row in rows),
            "torn": sum(row["state"] == "torn" for row in rows),
            "held": sum(row["is_held"] for row in rows),
            "free": sum(row["is_free"] for row in rows),
            "empty": sum(row["state"] == "never" for row in rows),
            "holders": len({row["holder"] for row in rows if row["is_held"]}),
            **place(len(found), query.page),
            "rows": cut(ordered, query.page),
        }

    def _list(self) -> None:
        now = self._clock()
        if now - self._listed_at < max(_LISTED_LIVES_S, _TIMES_ITS_COST * self._listing_took_s):
            return
        newest: dict[int, int] = {}
        for shard, epoch in self._files.leases():
            if shard < self._count and epoch > newest.get(shard, 0):
                newest[shard] = epoch
        self._epochs, self._listed_at = newest, now
        self._listing_took_s = self._clock() - now
        for shard in [shard for shard in self._leases if shard not in newest]:
            del self._leases[shard]

    def _read_some(self) -> None:
        """Read leases that are new, within the budget."""
        began = self._clock()
        due = iter([shard for shard, epoch in self._epochs.items() if self._is_due(shard, epoch, began)])
        with ThreadPoolExecutor(READERS, thread_name_prefix="leases") as pool, contextlib.suppress(TreeError):
            while self._clock() - began < _BUDGET_S and (some := list(islice(due, _AT_A_TIME))):
                jobs = [partial(self._files.lease, shard, self._epochs[shard]) for shard in some]
                for lease in in_turn(pool, jobs):
                    self._leases[lease.shard] = lease
                    if not lease.holder:
                        self._torn_at[lease.shard] = self._clock()

    def _is_due(self, shard: int, epoch: int, now: float) -> bool:
        lease = self._leases.get(shard)
        if lease is None or lease.epoch != epoch:
            return True
        return not lease.holder and now - self._torn_at.get(shard, float("-inf")) > _TORN_LIVES_S


def _row(
    shard: int, epoch: int, lease: Lease | None, machines: Mapping[str, MachineStatus], paces: Paces, now: float
) -> dict[str, Any]:
    current = lease if lease is not None and lease.epoch == epoch else None
    holder = current.holder if current is not None else ""
    machine = machines.get(holder)
    is_held = machine is not None and machine.state == "alive"
    state = _state(epoch, current, machine)
    told = paces.pending.get(holder) if is_held else None
    return {
        "shard": shard,
        "epoch": epoch,
        "holder": holder or None,
        "state": state,
        "words": f"held, {machine.doing}" if machine is not None and is_held and machine.doing else _STATES[state],
        "is_held": is_held,
        "is_free": state in _FREE,
        "beat_at": round(machine.heard_at(now), 1) if machine is not None else None,
        "pending": told.get(shard, 0) if told else None,
    }


def _state(epoch: int, lease: Lease | None, machine: MachineStatus | None) -> str:
    """Say who holds a shard, in one of _STATES."""
    if not epoch:
        return "never"
    if lease is None:
        return "unread"
    if not lease.holder:
        return "torn"
    if machine is None:
        return "unknown"
    return "held" if machine.state == "alive" else machine.state


def _matches(row: dict[str, Any], query: Query) -> bool:
    if not query.only and row["state"] == "never":
        return False
    if query.only in {"held", "free"} and not row[f"is_{query.only}"]:
        return False
    text = query.text.strip()
    return not text or text == str(row["shard"]) or text.casefold() in (row["holder"] or "").casefold()
