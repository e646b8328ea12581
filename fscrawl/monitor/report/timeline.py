"""How a crawl went over time, from the heartbeat logs, one at a time and as a stream.

Vocabulary:
  edge       one of a few hundred moments, evenly spread from the first line of any log to the last one
  sample     a few lines of a long log: it is read at some hundred places, evenly spread; a short log is read whole
  timeline   the values of a counter at the edges, summed over machines; between two beats of a machine a counter
             is taken to grow evenly

Promise: memory does not grow with the logs, and of each log some 3 MiB are read at most. A machine writes as much in
half a day; of a longer run the curves show samples. The last values are exact. Times are by the clocks of the machines,
which are never compared: the curves are only as good as those clocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from fscrawl.fleet.beat import Goodbye, Hello, Line, parse_lines
from fscrawl.fleet.leases import Machinery
from fscrawl.monitor.machine_status import MachineStatus
from fscrawl.monitor.report.svg import Point

EDGES = 181
CounterName = Literal["pages", "bytes", "errors", "pending"]
_SAMPLES = 2 * EDGES
_SAMPLE_BYTES = 1 << 13  # several lines, unless many hosts rest
_ENDS_BYTES = 1 << 16  # of a log's beginning and end, where its first and its last line are


class Values(NamedTuple):
    """The counters of a machine at one moment."""

    pages: float = 0.0
    bytes: float = 0.0
    errors: float = 0.0
    pending: float = 0.0


@dataclass
class Timeline:
    """`machines`: what the ends of their logs say, the earliest first; `values`: of all machines, one for each edge."""

    machines: list[MachineStatus] = field(default_factory=list)
    edges: list[float] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)

    def of(self, counter: CounterName) -> list[Point]:
        """Give the values of a counter; none if the crawl was too short."""
        return [Point(at, getattr(values, counter)) for at, values in zip(self.edges, self.values, strict=True)]

    def speed(self, counter: CounterName) -> list[Point]:
        """Give how much a counter grew a second, between each two edges."""
        return [
            Point((before.at + after.at) / 2, max(0.0, after.value - before.value) / (after.at - before.at))
            for before, after in itertools.pairwise(self.of(counter))
        ]


def timeline_of(machinery: Machinery) -> Timeline:
    """Read all heartbeat logs."""
    machines = [_ends_of(machinery, name) for name in machinery.machines()]
    timeline = Timeline(sorted((m for m in machines if m.took_part), key=lambda m: (m.greeted_at, m.name)))
    moments = [at for machine in timeline.machines for at in (machine.greeted_at, machine.seen_at) if at > 0]
    first, last = min(moments, default=0.0), max(moments, default=0.0)
    if last - first < 1:
        return timeline
    step_s = (last - first) / (EDGES - 1)
    timeline.edges = [*(first + number * step_s for number in range(EDGES - 1)), last]
    timeline.values = [Values()] * EDGES
    for machine in timeline.machines:
        own = values_at(_lines_of(machinery, machine.name), timeline.edges)
        timeline.values = [_sum(total, values) for total, values in zip(timeline.values, own, strict=True)]
    return timeline


def _sum(a: Values, b: Values) -> Values:
    return Values(a.pages + b.pages, a.bytes + b.bytes, a.errors + b.errors, a.pending + b.pending)


def _ends_of(machinery: Machinery, name: str) -> MachineStatus:
    machine = MachineStatus(name)
    machine.take(machinery.read_heartbeats(name, 0, most=_ENDS_BYTES))
    size = machinery.heartbeats_size(name)
    if size > _ENDS_BYTES:
        machine.take(machinery.read_heartbeats(name, size - _ENDS_BYTES))
    return machine


def _lines_of(machinery: Machinery, name: str) -> Iterator[Line]:
    """Stream a log, or samples of a long one: two between each two edges, if it is as long as the crawl."""
    offset, size = 0, machinery.heartbeats_size(name)
    if size > _SAMPLES * _SAMPLE_BYTES:
        offset = size - _ENDS_BYTES
        for place in range(0, offset, size // _SAMPLES):
            yield from parse_lines(machinery.read_heartbeats(name, place, _SAMPLE_BYTES))
    while data := machinery.read_heartbeats(name, offset):
        offset += len(data)
        yield from parse_lines(data)


def values_at(lines: Iterator[Line], edges: list[float]) -> Iterator[Values]:
    """Give a machine's counters at each edge: zeros before its first line; nothing is pending after its last line.

    >>> from fscrawl.fleet.beat import Beat
    >>> lines = [Hello("m", at=10), Beat(pages=100, pending=7, at=20)]
    >>> [values.pages for values in values_at(iter(lines), [5, 10, 15, 20, 25])]
    [0.0, 0.0, 50.0, 100, 100]
    """
    before_at, before = 0.0, Values()
    ahead = 0
    for line in lines:
        at, values = _values_of(line)
        while ahead < len(edges) and edges[ahead] < at:
            part = (edges[ahead] - before_at) / (at - before_at) if before_at else 0.0
            yield Values(*(a + part * (b - a) for a, b in zip(before, values, strict=True)))
            ahead += 1
        if at >= before_at:
            before_at, before = at, values
    for edge in edges[ahead:]:
        yield before if edge <= before_at else before._replace(pending=0.0)


def _values_of(line: Line) -> tuple[float, Values]:
    if isinstance(line, Hello):
        return line.at, Values()
    beat = line.counters if isinstance(line, Goodbye) else line
    return beat.at, Values(beat.pages, beat.bytes, beat.failures, beat.pending)
