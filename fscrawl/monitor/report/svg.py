"""Plots as inline SVG, without a library and without a script. Pure: numbers and labels to markup.

Vocabulary:
  line chart   a line over time, with the area below it
  bars         horizontal bars, one for each row: its label on the left, its value on the right

Promise: labels may come from the web: they are escaped, and long ones are cut. Each plot has a title and a description
for screen readers. Its colours are CSS variables of the page (`--accent`, `--soft`), so it is light or dark like the
page.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fscrawl.util.terminal import plain

WIDTH = 480
_HEIGHT = 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 10, 26  # around a line chart
_ROW = 22
_LABEL_WIDTH = 170
_BAR_WIDTH = 180
_LABEL_CHARS = 24


class Point(NamedTuple):
    """A value at a time (UNIX time)."""

    at: float
    value: float


class Row(NamedTuple):
    """A bar. `told`: its value as text."""

    label: str
    value: float
    told: str


def escaped(text: str) -> str:
    """Make text safe in HTML, in attributes too; control characters and lone surrogates become question marks.

    >>> escaped('<a href="x">\\x00')
    '&lt;a href=&quot;x&quot;&gt;?'
    """
    return html.escape(plain(text))


def cut(text: str, most: int) -> str:
    """Cut text in its middle, so that its beginning and its end stay visible.

    >>> cut("www.a-long-name.example", 15), cut("short", 15)
    ('www.a-l…example', 'short')
    """
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[-end:]}"


def ticks(highest: float, most: int = 4, *, whole: bool = False) -> list[float]:
    """Give round numbers from 0 on, at most `most` steps, the last at or above `highest`. `whole`: no fractions.

    >>> ticks(7), ticks(0), ticks(1), ticks(1, whole=True)
    ([0.0, 2.0, 4.0, 6.0, 8.0], [0.0, 1.0], [0.0, 0.5, 1.0], [0.0, 1.0])
    """
    if highest <= 0:
        return [0.0, 1.0]
    unit = 10.0 ** math.floor(math.log10(highest / most))
    step = next(unit * factor for factor in (1, 2, 5, 10, 20) if unit * factor * most >= highest)
    step = max(step, 1.0) if whole else step
    return [step * number for number in range(math.ceil(highest / step) + 1)]


def _figure(slug: str, title: str, description: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-labelledby="{slug}-title {slug}-desc">'
        f'<title id="{slug}-title">{escaped(title)}</title><desc id="{slug}-desc">{escaped(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def line_chart(
    slug: str,
    title: str,
    points: Sequence[Point],
    told: Callable[[float], str],
    time: Callable[[float], str],
    *,
    whole: bool = False,
) -> str:
    """Draw a line through two points or more, in order of time. `slug`: an id that no other plot has.

    `told(value)` and `time(seconds)`: how values and times are written. `whole`: the values are whole numbers.
    """
    first, last = points[0][0], points[-1][0]
    marks = ticks(max(value for _, value in points), whole=whole)
    wide, high = WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x(at: float) -> float:
        return _LEFT + wide * (at - first) / (last - first)

    def y(value: float) -> float:
        return _TOP + high * (1 - value / marks[-1])

    parts = []
    for mark in marks:
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(mark):.1f}" y2="{y(mark):.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y(mark) + 4:.1f}" text-anchor="end">{escaped(told(mark))}</text>')
    for part, anchor in ((0.0, "start"), (0.25, "middle"), (0.5, "middle"), (0.75, "middle"), (1.0, "end")):
        at = first + part * (last - first)
        parts.append(f'<text x="{x(at):.1f}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{escaped(time(at))}</text>')
    line = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in points)
    ground = f"{y(0):.1f}"
    parts.append(f'<polygon class="area" points="{x(first):.1f},{ground} {line} {x(last):.1f},{ground}"/>')
    parts.append(f'<polyline class="line" points="{line}"/>')
    highest = max(points, key=lambda point: point[1])
    description = (
        f"From {time(first)} to {time(last)}. Highest: {told(highest[1])} at {time(highest[0])};"
        f" at the end: {told(points[-1][1])}."
    )
    return _figure(slug, title, description, _HEIGHT, parts)


def bars(slug: str, title: str, rows: Sequence[Row]) -> str:
    """Draw a bar for each row; "" if there are no rows."""
    if not rows:
        return ""
    most = max(value for _, value, _ in rows) or 1
    parts = []
    for number, (label, value, told) in enumerate(rows):
        middle = number * _ROW + _ROW / 2
        wide = max(1.0, _BAR_WIDTH * value / most)
        parts.append(
            f"<g><title>{escaped(label)}: {escaped(told)}</title>"
            f'<text x="{_LABEL_WIDTH - 8}" y="{middle + 4:g}" text-anchor="end">'
            f"{escaped(cut(label, _LABEL_CHARS))}</text>"
            f'<rect class="bar" x="{_LABEL_WIDTH}" y="{middle - 7:g}" width="{wide:.1f}" height="14" rx="2"/>'
            f'<text x="{_LABEL_WIDTH + wide + 6:.1f}" y="{middle + 4:g}">{escaped(told)}</text></g>'
        )
    said = "; ".join(f"{label}: {told}" for label, _, told in rows[:5])
    more = f"; and {len(rows) - 5} more" if len(rows) > 5 else ""
    return _figure(slug, title, f"{said}{more}.", len(rows) * _ROW, parts)
