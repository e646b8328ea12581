"""The real machines keep their promises in many random schedules, and what is broken on purpose is found."""

from __future__ import annotations

import pytest

from fscrawl.engine import outcomes
from tests.component.schedules.breakages import BREAKAGES, Breakage
from tests.component.schedules.schedule import Schedule, run
from tests.component.schedules.world import Violation

_CHUNK = 10  # schedules of one test: some seconds
_OTHERS = 200  # that are looked at if the schedule of a breakage does not find it any more
_FOUND = [each for each in BREAKAGES if each.seed is not None]


@pytest.mark.parametrize(
    "chunk",
    [pytest.param(number, marks=pytest.mark.gate if number < 3 else pytest.mark.proof) for number in range(30)],
)
def test_no_schedule_violates_an_invariant(chunk: int) -> None:
    """Crashes, pauses, cuts, edits, joins, lost replies, deletions, and views that are a minute old."""
    for seed in range(chunk * _CHUNK, (chunk + 1) * _CHUNK):
        run(seed)


@pytest.mark.gate
@pytest.mark.parametrize("seed", [66, 68])
def test_a_generation_begins_between_two_links_of_a_page(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Links are taken in one by one, as those of a large page are by parts."""
    monkeypatch.setattr(outcomes, "_FEW_LINKS", 0)
    monkeypatch.setattr(outcomes, "_LINKS_AT_ONCE", 1)
    run(seed, focus="edit")


@pytest.mark.parametrize(
    "breakage",
    [pytest.param(each, id=each.name, marks=pytest.mark.proof if each.slow else pytest.mark.gate) for each in _FOUND],
)
def test_what_is_broken_is_found(breakage: Breakage) -> None:
    """A schedule violates an invariant. The one that did so last is tried first; another change may have spoilt it.

    If none of many finds it: `python -m tests.component.schedules --mutate`.
    """
    assert breakage.seed is not None
    with breakage.made():
        assert any(_is_found_by(seed, breakage) for seed in (breakage.seed, *range(_OTHERS)))


def _is_found_by(seed: int, breakage: Breakage) -> bool:
    try:
        Schedule(seed, focus=breakage.faults).run()
    except Violation:
        return True
    return False


@pytest.mark.proof
@pytest.mark.parametrize("breakage", _FOUND, ids=lambda breakage: breakage.name)
def test_what_is_whole_is_not(breakage: Breakage) -> None:
    """The same schedule keeps all invariants if nothing is broken."""
    assert breakage.seed is not None
    Schedule(breakage.seed, focus=breakage.faults).run()


def test_a_breakage_that_is_not_found_says_why() -> None:
    """For one without a schedule there is a word about it."""
    assert [each.name for each in BREAKAGES if each.seed is None and not each.note] == []
