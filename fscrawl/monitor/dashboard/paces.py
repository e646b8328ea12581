"""What the machines say about their hosts and shards, put together for the dashboard.

Vocabulary:
  reports   the file of one machine (`fleet.host_figures`); only those of machines that are alive count
  until     when a host may be asked again, by the clock of the dashboard

Promise: a file is read every ten seconds at most, for all who look, and the reading of all files stops after a second:
the other files come next time. Two machines' clocks are never compared: a file and the beats of its machine have the
same clock, and the dashboard knows when it has seen the last beat.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fscrawl.errors import TreeError
from fscrawl.fleet.host_figures import NOTHING, Said
from fscrawl.frontier.host_figures import HostFigure
from fscrawl.monitor.machine_status import MachineStatus
from fscrawl.monitor.snapshot import Snapshot

_LIVES_S = 10.0
_BUDGET_S = 1.0
_NO_UNTIL = 0.0


class HostNow(NamedTuple):
    """A host as its machine sees it. `until`: UNIX time, 0 if nobody can say; `doing`: what keeps its machine."""

    machine: str
    figure: HostFigure
    until: float
    doing: str


class Paces(NamedTuple):
    """What is known now. `hosts`: by directory; `pending`: machine → shard → pending URLs."""

    hosts: Mapping[str, HostNow]
    pending: Mapping[str, Mapping[int, int]]


class PaceReader:
    """Reads the machines' files. `ask` may be called from many threads; `read` reads the file of a machine."""

    def __init__(self, read: Callable[[str], Said], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._reports: dict[str, Said] = {}
        self._read_at: dict[str, float] = {}
        self._latest = Paces({}, {})

    def ask(self, machines: Sequence[MachineStatus], now: float) -> Paces:
        """Give what these machines, which are alive, say. While another thread reads, the last answer is given."""
        if not self._lock.acquire(blocking=False):
            return self._latest
        try:
            if self._read_some([machine.name for machine in machines]):
                self._latest = _together(machines, self._reports, now)
        finally:
            self._lock.release()
        return self._latest

    def _read_some(self, names: Sequence[str]) -> bool:
        """Read the files that were read longest ago, within the budget; tell whether anything may have changed."""
        began = self._clock()
        gone = self._reports.keys() - set(names)
        for name in gone:
            del self._reports[name], self._read_at[name]
        due = [name for name in names if began - self._read_at.get(name, float("-inf")) >= _LIVES_S]
        due.sort(key=lambda name: self._read_at.get(name, float("-inf")))
        for name in due:
            if self._clock() - began > _BUDGET_S:
                break
            self._read_at[name] = self._clock()
            self._reports.setdefault(name, NOTHING)
            with contextlib.suppress(TreeError):  # the next look may succeed
                self._reports[name] = self._read(name)
        return bool(gone or due)


def _together(machines: Sequence[MachineStatus], reports: Mapping[str, Said], now: float) -> Paces:
    hosts: dict[str, HostNow] = {}
    pending: dict[str, Mapping[int, int]] = {}
    for machine in machines:
        of_machine = reports.get(machine.name, NOTHING)
        pending[machine.name] = of_machine.figures.shards
        for name, figure in of_machine.figures.hosts.items():
            here = HostNow(machine.name, figure, _until(figure.wait_s, of_machine, machine, now), machine.doing)
            hosts[name] = _both(hosts[name], here) if name in hosts else here
    return Paces(hosts, pending)


def _until(wait_s: float, reports: Said, machine: MachineStatus, now: float) -> float:
    """Give when a wait is over, by the clock of `now`."""
    since_s = max(0.0, machine.last.at - reports.at)  # by the machine's clock
    return round(machine.heard_at(now) + wait_s - since_s, 1) if wait_s else _NO_UNTIL


def _both(one: HostNow, other: HostNow) -> HostNow:
    """Put together what two machines say about a host whose URLs they share; the longer wait counts."""
    longer = max(one, other, key=lambda each: (each.until, each.figure.pending))
    pending, in_flight = (getattr(one.figure, name) + getattr(other.figure, name) for name in ("pending", "in_flight"))
    return longer._replace(figure=longer.figure._replace(pending=pending, in_flight=in_flight))


def of_snapshot(reader: PaceReader, snapshot: Snapshot) -> Paces:
    """Give what the machines of a snapshot say that are alive."""
    return reader.ask(snapshot.alive(), snapshot.now)
