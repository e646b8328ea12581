"""The debts of sites whose pages take long to read."""

from fscrawl.engine.parse_budget import ParseBudget


def test_used_up_and_forgiven():
    """A site that owes a second has used up its time, and has it again when a hundred times the excess is over."""
    budget = ParseBudget()
    budget.charge("a", 0.09, 0)
    assert not budget.is_used_up("a", 0)
    budget.charge("a", 0.91, 0)
    assert [budget.is_used_up("a", now) for now in (0, 89, 91)] == [True, True, False]
    assert not budget.is_used_up("b", 0)


def test_the_debt_is_limited():
    """However long its pages take, a site is read as others are when it has been quiet for ten minutes."""
    budget = ParseBudget()
    for _ in range(100):
        budget.charge("a", 10, 0)
    assert [budget.is_used_up("a", now) for now in (500, 600)] == [True, False]
    assert not budget.is_blank
