"""When the processes of a pool begin. Time is a fake."""

from types import SimpleNamespace

import pytest

from fscrawl.engine import pool as module
from fscrawl.engine.pool import Pool


def pool_of(monkeypatch, number, takes_s):
    """Give a pool whose processes take some time to start, and the slots that have one."""
    now, begun = [0.0], []

    def start(self, slot):
        now[0] += takes_s
        slot.start_at = None
        begun.append(slot)

    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(Pool, "_start_process", start)
    setup, config = SimpleNamespace(threads=200), SimpleNamespace(identity="")
    return Pool(number, setup, config, hung_after_s=1e9), begun


@pytest.mark.parametrize(("takes_s", "number"), [(0.001, 40), (0.02, 8 + 3), (9.0, 8 + 1)])
def test_a_few_at_a_time(monkeypatch, takes_s, number):
    """However long a process takes to start, one call stands still for a moment only; and it starts one at least."""
    pool, begun = pool_of(monkeypatch, 40, takes_s)
    assert len(begun) == 8
    begun[0].in_flight = dict.fromkeys(map(str, range(100)))
    assert list(pool.wait(0.0)) == []
    assert len(begun) == number


def test_no_more_than_there_are(monkeypatch):
    """Where all have begun, no more begin."""
    pool, begun = pool_of(monkeypatch, 1, 0.0)
    begun[0].in_flight = dict.fromkeys(map(str, range(100)))
    assert list(pool.wait(0.0)) == []
    assert len(begun) == 1
