"""The curves and bars of a report."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from fscrawl.fleet.beat import Beat
from fscrawl.fleet.leases import Machinery
from fscrawl.monitor.report import svg
from fscrawl.monitor.report.timeline import timeline_of, values_at
from fscrawl.util.humanize import count, size
from tests.support.beats import Logs
from tests.support.documents import HOSTILE, tags

# -- over time


def test_without_logs_there_is_no_timeline(tmp_path: Path) -> None:
    """A tree whose machinery was deleted, or whose machines said hello and no more, has no curves."""
    logs = Logs(tmp_path / "t")
    logs.write("m", [])
    timeline = timeline_of(Machinery(logs.tree))
    assert (timeline.edges, timeline.of("pages"), timeline.speed("pages")) == ([], [], [])


def test_long_logs_are_streamed(tmp_path: Path) -> None:
    """Of a log of many MiB the ends tell the machine, and the timeline has all of it."""
    logs = Logs(tmp_path / "t")
    logs.write("m", [logs.beat(n, pages=n, text="x" * 500) for n in range(1, 10_001)])
    timeline = timeline_of(Machinery(logs.tree))
    assert timeline.machines[0].last.pages == 10_000
    assert timeline.machines[0].greeted_at == logs.at(0)
    assert timeline.of("pages")[90][1] == pytest.approx(5_000)


def test_a_clock_that_goes_back_makes_no_curve_go_back() -> None:
    """Beats of an earlier time than the one before are passed over."""
    beats = [Beat(pages=pages, at=at) for at, pages in ((10, 0), (20, 10), (5, 11), (15, 12), (30, 20))]
    assert [values.pages for values in values_at(iter(beats), [10, 15, 20, 25, 30])] == [0, 5, 10, 15, 20]


# -- plots


def test_ticks_cover_what_there_is() -> None:
    """Whatever the highest value, there are at most five round ticks, from 0 to it or above."""
    for highest in (0.001, 0.7, 1, 3, 9.99, 10, 1e3, 123456, 1e12, 2**62):
        marks = svg.ticks(highest)
        assert 2 <= len(marks) <= 5
        assert marks[0] == 0
        assert marks[-1] >= highest > marks[-2]


def test_no_mark_of_an_axis_is_told_twice() -> None:
    """Of a few pages or bytes the axis has whole numbers, each once: not "1, 0, 0"."""
    for highest in (0, 1, 2, 3, 5, 7, 30, 1200, 25_000_000):
        for told in (count, size):
            marks = [told(mark) for mark in svg.ticks(highest, whole=True)]
            assert len(set(marks)) == len(marks) > 1
    drawn = svg.line_chart("c", "Pages", [svg.Point(0, 0), svg.Point(9, 1)], count, str, whole=True)
    assert drawn.count(">0</text>") == 1


def test_a_plot_is_named_for_those_who_hear_it() -> None:
    """A plot is an image with a title and a description, and names them by their ids."""
    drawn = svg.line_chart(
        "c",
        "Pages",
        [svg.Point(0, 1), svg.Point(10, 5), svg.Point(20, 3)],
        lambda value: f"{value:g}",
        lambda at: f"{at:g} s",
    )
    image = ET.fromstring(drawn)
    assert image.get("role") == "img"
    assert image.get("aria-labelledby") == "c-title c-desc"
    assert [(each.tag, each.get("id"), each.text) for each in image[:2]] == [
        ("title", "c-title", "Pages"),
        ("desc", "c-desc", "From 0 s to 20 s. Highest: 5 at 10 s; at the end: 3."),
    ]


def test_bars_are_as_long_as_their_values() -> None:
    """A bar's length is its part of the longest; of none there is no plot, and one of 0 can be seen."""
    image = ET.fromstring(svg.bars("b", "B", [svg.Row(f"r{n}", n, f"{n} x") for n in range(7)]))
    widths = [float(bar.get("width", 0)) for bar in image.iter("rect")]
    assert widths == [1, *(180 * n / 6 for n in range(1, 7))]
    assert image.findtext("desc") == "r0: 0 x; r1: 1 x; r2: 2 x; r3: 3 x; r4: 4 x; and 2 more."
    assert ET.fromstring(svg.bars("b", "B", [svg.Row("r", 0, "0")])).findtext("desc") == "r: 0."
    assert svg.bars("b", "B", []) == ""


def test_labels_from_the_web_stay_text() -> None:
    """Labels of a plot are escaped and cut, whatever is in them."""
    drawn = svg.bars("b", HOSTILE, [svg.Row(HOSTILE, 1, HOSTILE)])
    assert tags(ET.fromstring(drawn)) == {"svg": 1, "title": 2, "desc": 1, "g": 1, "text": 2, "rect": 1}
