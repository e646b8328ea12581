"""The summary of a snapshot for the page: what `status --json` says, and curves. Pure.

Vocabulary:
  beat      (time, value): what a counter was when a machine wrote it down
  moment    a multiple of the step. So a curve moves by whole steps, and its points keep their values
  level     a counter at a moment, on the straight line between two beats; None if the machine was not there
  rate      how much a counter grew in the step before a moment, per second or minute; None if the machine was not
            there at any time in it

Promise: its size does not depend on how long the crawl has run. It lists only the last hundred machines that have left
or died, at most eight machines have their own curves, and a curve has a fixed number of points.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from fscrawl.fleet.beat import Beat
from fscrawl.monitor.snapshot import WINDOWS_S, MachineStatus, Snapshot, state_of
from fscrawl.monitor.status import as_json, machine_as_json


class Grid(NamedTuple):
    """`points` moments, `step_s` apart, the last not after the time it was made for."""

    since: float
    step_s: float
    points: int

    def moments(self) -> list[float]:
        return [self.since + number * self.step_s for number in range(self.points)]


def grid(now: float, step_s: float, points: int) -> Grid:
    """Give moments that cover the time before `now`.

    >>> grid(1003.0, 5.0, 120)
    Grid(since=405.0, step_s=5.0, points=120)
    """
    return Grid((now // step_s - points + 1) * step_s, step_s, points)


def levels(beats: Sequence[tuple[float, float]], moments: Iterable[float]) -> list[float | None]:
    """Give the level at each moment; both in order of time.

    >>> levels([(0.0, 0.0), (10.0, 100.0)], [-1.0, 0.0, 5.0, 10.0, 11.0])
    [None, 0.0, 50.0, 100.0, None]
    """
    found: list[float | None] = []
    after = 0
    for moment in moments:
        while after < len(beats) and beats[after][0] < moment:
            after += 1
        found.append(_between(beats, after, moment))
    return found


def _between(beats: Sequence[tuple[float, float]], after: int, moment: float) -> float | None:
    if after == len(beats):
        return None
    at, value = beats[after]
    if at == moment:
        return value
    if after == 0:
        return None
    before_at, before = beats[after - 1]
    return before + (value - before) * (moment - before_at) / (at - before_at)


def rates(
    beats: Sequence[tuple[float, float]], moments: Sequence[float], step_s: float, unit_s: float = 1.0
) -> list[float | None]:
    """Give the growth between each two moments for each `unit_s` seconds: one fewer than the moments, `step_s` apart.

    All growth is there, also of a machine that came and left between two moments.

    >>> rates([(1.0, 0.0), (3.0, 10.0)], [-5.0, 0.0, 5.0, 10.0], 5.0)
    [None, 2.0, None]
    """
    if not beats:
        return [None for _ in moments[1:]]
    (first, lowest), (last, highest) = beats[0], beats[-1]
    there = levels(beats, moments)
    values = [
        (lowest if moment <= first else highest) if level is None else level
        for moment, level in zip(moments, there, strict=True)
    ]
    return [
        None if until <= first or since >= last else max(0.0, later - earlier) * unit_s / step_s
        for (since, until), (earlier, later) in zip(
            itertools.pairwise(moments), itertools.pairwise(values), strict=True
        )
    ]


def summed(curves: Iterable[Sequence[float | None]]) -> list[float | None]:
    """Add curves; None where no curve has a value.

    >>> summed([[1.0, None, None], [2.0, 3.0, None]])
    [3.0, 3.0, None]
    """
    return [
        sum(there) if (there := [value for value in values if value is not None]) else None
        for values in zip(*curves, strict=True)
    ]


WINDOWS = {"10min": 600.0, "1h": 3600.0}
POINTS = 120
_FEWEST_POINTS = 24
_OWN_CURVES = 8  # more colours cannot be distinguished
_LISTED = 100
_MINUTE_S = 60.0
_SHORTEST_STEP_S = 0.1
_Curves = dict[str, list[float | None]]


def summary(snapshot: Snapshot, window: str = "1h", span: tuple[float, float] | None = None) -> dict[str, Any]:
    """Give the summary of a snapshot. Its curves cover one of WINDOWS before now, or a `span`: from, to (UNIX time)."""
    facts = as_json(snapshot)
    shown = [*snapshot.alive(), *_gone_lately(snapshot)]
    since, until = span or (snapshot.now - WINDOWS[window], snapshot.now)
    charted = _charted(snapshot.machines, since)
    colours = {machine.name: number for number, machine in enumerate(charted[:_OWN_CURVES])}
    del facts["at"]  # else it would always be news
    return {
        **facts,
        "now": round(snapshot.now, 1),
        "meaning": state_of(snapshot).meaning,
        "roughly": snapshot.roughly,
        "bytes_per_s": round(snapshot.rate(WINDOWS_S["1 min"], "bytes")),
        "labels": dict(itertools.islice(facts["labels"].items(), _LISTED)),
        "machines": [
            {
                **machine_as_json(snapshot, machine),
                "beat_at": round(machine.heard_at(snapshot.now), 1),
                "colour": colours.get(machine.name),
            }
            for machine in shown
        ],
        "unlisted": len(snapshot.machines) - len(shown),
        "curves": _curves(charted, _grid(charted, until, max((until - since) / POINTS, _SHORTEST_STEP_S))),
    }


def _gone_lately(snapshot: Snapshot) -> list[MachineStatus]:
    over = [machine for machine in snapshot.machines if machine.state != "alive"]
    return heapq.nlargest(_LISTED, over, key=lambda machine: machine.last.at)


def _charted(machines: Sequence[MachineStatus], since: float) -> list[MachineStatus]:
    """Give the machines with beats since then. The first eight get their own curves: those with the most pages.

    These eight are in the order of their first beat, so that a machine keeps its colour when others join.
    """
    found = [machine for machine in machines if len(_beats(machine)) > 1 and machine.last.at > since]
    found.sort(key=lambda machine: (-machine.last.pages, machine.name))
    own = sorted(found[:_OWN_CURVES], key=lambda machine: (_beats(machine)[0].at, machine.name))
    return [*own, *found[_OWN_CURVES:]]


def _beats(machine: MachineStatus) -> list[Beat]:
    """Give its beats. If the first one is known, the hello before it counts as a beat: nothing was done yet.

    A run of a few seconds has a hello and a goodbye, and no beat between them.
    """
    beats = list(machine.history)
    is_whole = bool(beats) and not beats[0].number  # that of the first beat is 0, and a goodbye has none
    if is_whole and 0 < machine.greeted_at < beats[0].at:
        return [Beat(at=machine.greeted_at), *beats]
    return beats


def _grid(charted: Sequence[MachineStatus], now: float, step_s: float) -> Grid:
    """Choose the moments of the curves. They end where every live machine has a beat, so that no sum lacks a machine.

    A crawl that began recently is drawn from its beginning.
    """
    beats = [machine.last.at for machine in charted if machine.state == "alive"]
    until = max(min(beats, default=now), now - _MINUTE_S)
    began = min((_beats(machine)[0].at for machine in charted), default=now)
    points = max(_FEWEST_POINTS, min(POINTS, math.ceil((until - began) / step_s)))
    return grid(until, step_s, points + 1)


def _curves(charted: Sequence[MachineStatus], at: Grid) -> dict[str, Any]:
    all_curves = [_curves_of(machine, at) for machine in charted]
    series = [
        {"name": machine.name, **_rounded(curves)}
        for machine, curves in zip(charted, all_curves[:_OWN_CURVES], strict=False)
    ]
    if rest := all_curves[_OWN_CURVES:]:
        together = {name: summed(curves[name] for curves in rest) for name in rest[0]}
        series.append({"name": f"{len(rest)} others", **_rounded(together)})
    return {"since": at.since + at.step_s, "step_s": at.step_s, "count": at.points - 1, "series": series}


def _curves_of(machine: MachineStatus, at: Grid) -> _Curves:
    moments = at.moments()
    history = [beat for beat in _beats(machine) if beat.at > at.since - _MINUTE_S]

    def rate(number: Callable[[Beat], float], unit_s: float = 1.0) -> list[float | None]:
        return rates([(beat.at, number(beat)) for beat in history], moments, at.step_s, unit_s)

    return {
        "pages": rate(lambda beat: beat.stored),
        "errors": rate(lambda beat: beat.failures, _MINUTE_S),
        "pending": levels([(beat.at, beat.pending) for beat in history], moments)[1:],
        "bytes": rate(lambda beat: beat.bytes),
    }


def _rounded(curves: _Curves) -> _Curves:
    """Leave four digits: of a slow crawl, the rates are small."""
    return {name: [v if v is None else float(f"{v:.4g}") for v in curve] for name, curve in curves.items()}
