"""How many different things a rule has left out: exact while they are few, and about right whatever is taken away."""

from __future__ import annotations

import random

import pytest

from fscrawl.util.distinct import MOST, LeftOut


def some(number: int, seed: int = 1) -> list[int]:
    return [random.Random(f"{seed} {each}").getrandbits(64) for each in range(number)]


def counted(found: LeftOut) -> LeftOut:
    """Give what another machine makes of what this one writes."""
    other = LeftOut()
    other.merge(LeftOut.from_json(found.to_json()))
    return other


def test_few_are_exact() -> None:
    """Up to the limit every one is counted, once, by whoever reads it; one that is taken away is not."""
    found = LeftOut()
    found.update({"scope": some(MOST) + some(MOST)})
    found.discard("scope", some(1)[0])
    for each in (found, counted(found), counted(counted(found))):
        assert each["scope"] == MOST - 1
        assert not each.is_about("scope")
    assert (found["deny"], list(found), found.is_about("deny")) == (0, ["scope"], False)


def test_many_are_about_right() -> None:
    """Of a hundred thousand the number is right to some percent, in whatever order and in how many parts they come."""
    parts = [LeftOut(), LeftOut()]
    for number, each in enumerate(some(100_000)):
        parts[number % 3 == 0].add("scope", each)
    total = LeftOut()
    for part in parts:
        total.merge(LeftOut.from_json(part.to_json()))
    assert total["scope"] == pytest.approx(100_000, rel=0.08)
    assert total.is_about("scope")


@pytest.mark.parametrize("kept", [50_000, 90_000])
def test_many_that_are_taken_away(kept: int) -> None:
    """Where some are taken away again, the number follows, for others, too."""
    found, all_of_them = LeftOut(), some(100_000)
    found.update({"max_depth": all_of_them})
    for each in all_of_them[kept:]:
        found.discard("max_depth", each)
    for each in (found, counted(found)):
        assert each["max_depth"] == pytest.approx(kept, rel=0.1)
        assert each.is_about("max_depth")


@pytest.mark.parametrize("value", ["", 1, [1], [0, ""], [1 << 65, ""], ["1", ""], [5, "?"], [5, "AAAAAAAAAAk="], None])
def test_what_somebody_wrote(value: object) -> None:
    """What is no such count is left out."""
    assert LeftOut.from_json({"scope": value}) == {}
    assert LeftOut.from_json([value]) == {}
