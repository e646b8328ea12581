"""The sums of a report, and how little memory they take."""

from __future__ import annotations

import math
import tracemalloc
from pathlib import Path

import pytest

from fscrawl.monitor.report import totals
from fscrawl.monitor.report.totals import Best, Bodies, Fact, Totals
from tests.support import effort
from tests.support.trees import Grown

FACT = Fact("0" * 24, "http://a.example/", "", "page", 0, 200, "text/html", "", 0, 0, 0.0, 0, "", "", "")


def test_the_best_are_kept_in_order() -> None:
    """Of any number of items the ten highest stay, the highest first, of equals the one that came first."""
    best = Best()
    for number in range(100):
        best.add(number % 7, number)
    assert best.items() == [(6, number) for number in range(6, 76, 7)]


def test_bodies_take_24_bytes_a_page() -> None:
    """Many pages are kept in 24 bytes each, and the duplicates among them are found."""
    count = 100_000 if effort.FULL else 40_000
    tracemalloc.start()
    bodies = Bodies()
    for number in range(count):
        bodies.add(number % (count - 1) + 1, number % 3, f"{number:024x}")
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < count * 32
    assert bodies.duplicates(["a", "b", "c"]) == (2, 1, [totals.Duplicate(2, "a", "0" * 24)])


def test_what_the_web_makes_up_is_counted_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Content types and classes beyond so many different ones are counted together."""
    monkeypatch.setattr(totals, "_DIFFERENT", 3)
    sums = Totals(names=["a"])
    for number in range(10):
        sums.count("a", 0, FACT._replace(type=f"x/{number}"))
        sums.count_failure("a", totals.Failure(f"c{number}", "u", "m"))
    assert sums.types == {"x/0": 1, "x/1": 1, "x/2": 1, totals.OTHER: 7}
    assert set(sums.examples) == {"c0", "c1", "c2"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"headers": {}}, {"type": "(none)"}),
        ({"headers": {"content-type": " Text/HTML ; charset=x"}}, {"type": "text/html"}),
        ({"headers": {"content-type": "x/" + "y" * 200}}, {"type": "x/" + "y" * 98}),
        ({"sha256": "none"}, {"fingerprint": 0}),
        ({"sha256": "f" * 64}, {"fingerprint": 2**64 - 1}),
        ({"bytes": -5, "elapsed": -1.0}, {"bytes": 0, "elapsed_s": 0.0}),
        ({"bytes": 10**40, "elapsed": math.inf}, {"bytes": 1 << 62, "elapsed_s": 1 << 62}),
    ],
)
def test_records_that_somebody_wrote_by_hand(tmp_path: Path, fields: dict, expected: dict) -> None:
    """Whatever a record says, what counts of it is a number or a short text."""
    record = Grown(tmp_path / "t").page("http://a.example/", **fields)
    fact = totals.fact_of(record, "0" * 24)
    assert {name: getattr(fact, name) for name in expected} == expected
