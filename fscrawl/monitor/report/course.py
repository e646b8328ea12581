"""How a crawl went over time, from whole heartbeat logs, one at a time and as a stream.

Vocabulary:
  edge     one of a few hundred moments, evenly spread from the first line of any log to the last
  course   (edge, value) of a counter, summed over machines; between two beats of a machine it grows evenly

Promise: memory does not grow with the logs. Times are by the machines' own clocks, which nobody compared: the curves
are as good as those are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from fscrawl.fleet.logs import Machinery
from fscrawl.monitor.snapshot import Beat, Machine, read_beats

EDGES = 181
COUNTERS = ("pages", "bytes", "errors", "pending")
_ENDS_BYTES = 1 << 16  # of a log's beginning and end, where its first and its last line are

Values = tuple[float, ...]


@dataclass
class Course:
    """`machines`: what the ends of their logs say, the earliest first; `values`: counter → its value at each edge."""

    machines: list[Machine] = field(default_factory=list)
    edges: list[float] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)

    def of(self, counter: str) -> list[tuple[float, float]]:
        """Give the course of a counter; empty where nothing lasted long enough for one."""
        return list(zip(self.edges, self.values.get(counter, ()), strict=False))

    def speed(self, counter: str) -> list[tuple[float, float]]:
        """Give how fast a counter grew, a second, between each two edges."""
        points = self.of(counter)
        return [((a[0] + b[0]) / 2, max(0.0, b[1] - a[1]) / (b[0] - a[0])) for a, b in itertools.pairwise(points)]


def course_of(machinery: Machinery) -> Course:
    """Read all heartbeat logs."""
    machines = [_ends_of(machinery, name) for name in machinery.machines()]
    course = Course(sorted((m for m in machines if m.took_part), key=lambda m: (m.greeted_at, m.name)))
    moments = [at for machine in course.machines for at in (machine.greeted_at, machine.seen_at) if at > 0]
    first, last = min(moments, default=0.0), max(moments, default=0.0)
    if last - first < 1:
        return course
    step_s = (last - first) / (EDGES - 1)
    course.edges = [*(first + number * step_s for number in range(EDGES - 1)), last]
    sums = [[0.0] * EDGES for _ in COUNTERS]
    for machine in course.machines:
        for edge, values in enumerate(along(beats_of(machinery, machine.name), course.edges)):
            for total, value in zip(sums, values, strict=True):
                total[edge] += value
    course.values = dict(zip(COUNTERS, sums, strict=True))
    return course


def _ends_of(machinery: Machinery, name: str) -> Machine:
    machine = Machine(name)
    machine.take(machinery.read_heartbeats(name, 0, most=_ENDS_BYTES))
    size = machinery.heartbeats_size(name)
    if size > _ENDS_BYTES:
        machine.take(machinery.read_heartbeats(name, size - _ENDS_BYTES))
    return machine


def beats_of(machinery: Machinery, name: str) -> Iterator[Beat]:
    """Stream a log."""
    offset = 0
    while data := machinery.read_heartbeats(name, offset):
        offset += len(data)
        yield from read_beats(data)


def along(beats: Iterator[Beat], edges: list[float]) -> Iterator[Values]:
    """Give a machine's COUNTERS at each edge: nothing before its first line; nothing is pending after its last.

    >>> beats = [Beat(10, {"hello": "m"}), Beat(20, {"pages": 100, "pending": 7})]
    >>> [values[0] for values in along(iter(beats), [5, 10, 15, 20, 25])]
    [0.0, 0.0, 50.0, 100.0, 100.0]
    """
    before_at, before = 0.0, (0.0,) * len(COUNTERS)
    ahead = 0
    for beat in beats:
        values = _values_of(beat)
        while ahead < len(edges) and edges[ahead] < beat.at:
            part = (edges[ahead] - before_at) / (beat.at - before_at) if before_at else 0.0
            yield tuple(a + part * (b - a) for a, b in zip(before, values, strict=True))
            ahead += 1
        if beat.at >= before_at:
            before_at, before = beat.at, values
    for edge in edges[ahead:]:
        yield before if edge <= before_at else (*before[:-1], 0.0)


def _values_of(beat: Beat) -> Values:
    return (
        beat.number("pages"),
        beat.number("bytes"),
        float(sum(beat.table("errors").values())),
        beat.number("pending"),
    )
