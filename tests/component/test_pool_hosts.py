"""Which worker gets a host: its own, as long as that one has room."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fscrawl.engine import pool as pool_module
from fscrawl.request import Request, spelling
from tests.support.pools import Start, pools, task


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    with pools(root) as start:
        yield start


def test_memory_of_hosts(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker of each host is remembered, for a limited number of hosts."""
    monkeypatch.setattr(pool_module, "_HOSTS", 10)
    pool = start(workers=2, threads=2)
    monkeypatch.setattr(pool, "_send_tasks", lambda slot, now: None)
    for n in range(100):
        pool.submit(task(f"http://{n}.example/"))
    assert len(pool._slot_of) == 10
    assert pool._slot_of.get("99.example") is not None


def test_a_host_stays_with_its_worker(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host moves to another worker if its own stays busy, is full, or works on the host already; not by chance."""
    pool = start(workers=2, threads=2)
    monkeypatch.setattr(pool, "_send_tasks", lambda slot, now: None)

    def submit(host: str, page: int) -> int:
        pool.submit(task(f"http://{host}.example/{page}"))
        slot = pool._slot_of.get(f"{host}.example")
        assert slot is not None
        return pool._slots.index(slot)

    def fill(count: int) -> None:
        """Let worker 0 have so many tasks of other hosts, and worker 1 none."""
        for slot in pool._slots:
            slot.in_flight.clear()
        for n in range(count):
            each = task(f"http://other-{n}.example/")
            pool._slots[0].in_flight[each.key] = each
        pool._by_load = None  # as after answers
        for slot in pool._slots:
            slot.note_busy(time.monotonic(), 2)

    assert submit("a", 1) == 0
    fill(3)
    assert submit("a", 2) == 0  # worker 1 has nothing to do, but only now
    assert submit("a", 3) == 1  # two pages side by side
    fill(1)
    assert submit("b", 1) == 1
    assert submit("c", 1) == 0
    fill(3)
    monkeypatch.setattr(pool_module, "_UNEVEN_S", -1.0)  # for as long as that
    assert submit("c", 2) == 1
    monkeypatch.undo()
    fill(8)
    assert submit("d", 1) == 1
    pool._slot_of.put("d.example", pool._slots[0])
    assert submit("d", 2) == 1  # as full as it may be
    pool._slots[0].in_flight.clear()
    pool._slots[1].in_flight.clear()


def test_sessions_of_a_host_stay(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """All sessions of a host are with one worker, however busy it is: another one would open them anew."""
    pool = start(workers=2, threads=2)
    monkeypatch.setattr(pool, "_send_tasks", lambda slot, now: None)
    for n in range(16):
        pool.submit(task(spelling(Request(f"http://a.example/{n}", session=str(n % 3)))))
        pool.submit(task(f"http://a.example/{n}"))
    of_sessions = [sum("#" in each.url for each in slot.in_flight.values()) for slot in pool._slots]
    assert sorted(of_sessions) == [0, 16]


def test_slow_hosts_are_shared_out(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each worker has as many tasks of slow hosts as the others, wherever these hosts were before."""
    pool = start(workers=3, threads=4)
    monkeypatch.setattr(pool, "_send_tasks", lambda slot, now: None)
    for n in range(6):
        url = f"http://{n}.example/"
        pool._slot_of.put(f"{n}.example", pool._slots[0])
        pool.submit(task(url), slow=True)
    assert [len(slot.slow) for slot in pool._slots] == [2, 2, 2]
    for slot in pool._slots:
        slot.in_flight.clear()
