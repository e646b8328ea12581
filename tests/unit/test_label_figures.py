"""How far each task is: what a machine counts."""

from __future__ import annotations

from collections import Counter

from fscrawl.fleet import status_file
from fscrawl.fleet.status_file import OTHERS, LabelCounter, LabelFigure, summed


def test_counted() -> None:
    """Records are counted with what is pending; a record may go away again."""
    counter = LabelCounter(lambda: Counter({"a": 2, "ü ": 0, "new": 1}))
    counter.add("", stored=1)
    counter.add("a", stored=2)
    counter.add("a", failed=1, stored=-1)
    found = counter.figures()
    assert found["a"] == LabelFigure(1, 0, 1, 2)
    assert found["a"].found == 4
    assert found["new"] == LabelFigure(pending=1)
    assert summed([found, found])["a"] == LabelFigure(2, 0, 2, 4)


def test_many_labels(monkeypatch) -> None:
    """What belongs to more labels than a file may have is counted together."""
    monkeypatch.setattr(status_file, "_MOST_LABELS", 10)
    counter = LabelCounter(lambda: Counter({str(number): 1 for number in range(30)}))
    for number in range(15):
        counter.add(str(number), stored=1)
    found = counter.figures()
    assert len(found) == 11
    assert found[OTHERS] == LabelFigure(stored=5, pending=20)
    assert summed([found])["3"] == LabelFigure(stored=1, pending=1)
