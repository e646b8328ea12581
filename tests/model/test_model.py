"""The protocol of tree format 2 keeps its invariants in random schedules, and each of its rules is needed for that."""

from __future__ import annotations

import pytest

from tests.model.__main__ import violation
from tests.model.rules import RULES, Rule
from tests.model.schedule import run
from tests.support import effort

_CHUNK = 25  # schedules of one test
_CHUNKS = 320 if effort.FULL else 4  # 8,000 schedules, which CI runs; 100 in `make test`
_NEEDED = [rule for rule in RULES if rule.seed is not None]


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_no_schedule_violates_an_invariant(chunk: int) -> None:
    """Schedules of crashes, pauses, cuts, edits, joins, lost replies and restored backups."""
    for seed in range(chunk * _CHUNK, (chunk + 1) * _CHUNK):
        try:
            run(seed)
        except Exception as error:
            raise AssertionError(f"`python -m tests.model minimise {seed}` tells it: {error}") from error


@pytest.mark.parametrize("rule", _NEEDED, ids=lambda rule: rule.name)
def test_a_rule_is_needed(rule: Rule) -> None:
    """Without the rule, a schedule violates an invariant. (After a change: `python -m tests.model mutate`.)"""
    assert rule.seed is not None
    assert violation(rule.seed, rule)


@pytest.mark.parametrize("rule", _NEEDED, ids=lambda rule: rule.name)
def test_with_the_rule_it_holds(rule: Rule) -> None:
    """The same schedule keeps all invariants with the rule."""
    assert rule.seed is not None
    assert not violation(rule.seed, Rule("", "", faults=rule.faults))
