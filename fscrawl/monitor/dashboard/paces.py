"""What the machines that are alive say about their hosts, put together for the dashboard. Pure.

Promise: two machines' clocks are never compared. A status file and the beats of its machine have the same clock, and
the dashboard knows when it has seen the last beat.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from fscrawl.frontier.host_figures import HostFigure
from fscrawl.monitor.machine_status import MachineStatus
from fscrawl.monitor.snapshot import Snapshot

_NO_UNTIL = 0.0


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
        return _NO_UNTIL
    since_s = max(0.0, machine.last.at - machine.status.written_at)  # by the machine's clock
    return round(machine.heard_at(now) + wait_s - since_s, 1)


def _both(one: HostNow, other: HostNow) -> HostNow:
    """Put together what two machines say about a host whose URLs they share; the longer wait counts."""
    longer = max(one, other, key=lambda each: (each.until, each.figure.pending))
    pending, in_flight = (getattr(one.figure, name) + getattr(other.figure, name) for name in ("pending", "in_flight"))
    return longer._replace(figure=replace(longer.figure, pending=pending, in_flight=in_flight))
