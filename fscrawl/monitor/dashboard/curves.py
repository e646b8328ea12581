"""Curves from beats: levels and rates at moments of equal distance. Pure.

Vocabulary:
  beat      (time, value): what a counter was when a machine wrote it down
  moment    a multiple of the step. So a curve moves by whole steps, and its points keep their values
  level     a counter at a moment, on the straight line between two beats; None if the machine was not there
  rate      how much a counter grew in the step before a moment, per second or minute; None if the machine was not
            there at any time in it
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple


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
