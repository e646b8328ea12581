"""When the processes of a pool begin. Time is a fake."""

import pytest

from fscrawl.engine import pool as spare
from fscrawl.engine.pool import Slot, Spare


class Started:
    """Starts processes, each of which takes some time."""

    def __init__(self, monkeypatch, takes_s):
        self.now, self.slots, self._takes_s = 0.0, [], takes_s
        monkeypatch.setattr(spare.time, "monotonic", lambda: self.now)

    def __call__(self, slot):
        self.now += self._takes_s
        slot.start_at = None
        self.slots.append(slot)


@pytest.mark.parametrize(("takes_s", "begun"), [(0.001, 40), (0.02, 8 + 3), (9.0, 8 + 1)])
def test_a_few_at_a_time(monkeypatch, takes_s, begun):
    """However long a process takes to start, one call stands still for a moment only; and it starts one at least."""
    slots = [Slot() for _ in range(40)]
    start = Started(monkeypatch, takes_s)
    waiting = Spare(slots, start)
    waiting.start_first()
    assert start.slots == slots[:8]
    slots[0].in_flight = dict.fromkeys(map(str, range(100)))
    waiting.start_more(slots)
    assert len(start.slots) == begun


def test_no_more_than_there_are(monkeypatch):
    """Where all have begun, nothing is looked at."""
    start = Started(monkeypatch, 0.0)
    waiting = Spare([Slot()], start)
    waiting.start_first()
    waiting.start_more(None)
    assert len(start.slots) == 1
