"""All threads of a worker process are on one core, and go to another one if that is better."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from fscrawl.util import home_core
from fscrawl.util.home_core import HomeCore, Ticks, better_cores, homes, read_ticks

THREADS = Path("/proc/self/task")
CORES = sorted(os.sched_getaffinity(0))
two_cores = pytest.mark.skipif(len(CORES) < 2, reason="this computer has one core only")


@pytest.fixture(autouse=True)
def _free_again() -> Iterator[None]:
    """Let this process go where it may go, whatever a test has done."""
    yield
    for thread in THREADS.iterdir():
        os.sched_setaffinity(int(thread.name), CORES)


class Heads(random.Random):
    """A coin that falls as is wanted."""

    def __init__(self, value: float = 0.0) -> None:
        super().__init__(0)
        self.value = value

    def random(self) -> float:
        return self.value


# -- the choice


def test_each_process_gets_another_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight cores, each is the home of one process before any is the home of two, wherever the first one is."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    for pid in range(8):
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        assert set(homes(8)) == set(range(8))
        assert sorted(homes(16)) == sorted([*range(8), *range(8)])


def test_cores_that_share_circuits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Four processes on four double cores never share one."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    for core in range(8):
        (tmp_path / str(core)).write_text(f"{core // 2 * 2}-{core // 2 * 2 + 1}\n")
    monkeypatch.setattr(home_core, "_SIBLINGS", f"{tmp_path}/{{}}")
    for pid in range(8):
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        assert {core // 2 for core in homes(4) if core is not None} == {0, 1, 2, 3}


@pytest.mark.parametrize("listed", ["0,4", "x", ""])
def test_odd_lists_of_siblings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, listed: str) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 4})
    (tmp_path / "4").write_text(listed)
    monkeypatch.setattr(home_core, "_SIBLINGS", f"{tmp_path}/{{}}")
    assert set(homes(2)) == {0, 4}


def test_no_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one core, and where the system binds nothing to cores, nobody has a home."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3})
    assert homes(2) == [None, None]
    monkeypatch.delattr(os, "sched_getaffinity")
    assert homes(2) == [None, None]
    home = HomeCore(None)
    home.settle()
    home.look(1.0)
    assert home.core is None


BEFORE = {0: Ticks(100, 1000), 1: Ticks(100, 1000), 2: Ticks(100, 1000)}


@pytest.mark.parametrize(
    ("own", "idle", "better"),
    [
        (0.5, (0, 90, 80), {1, 2}),
        (0.5, (0, 90, 20), {1}),
        (0.5, (0, 40, 40), set()),  # the others are hardly better
        (0.9, (0, 90, 90), set()),  # it is ours alone
        (0.2, (50, 90, 90), set()),  # there is time enough
    ],
)
def test_better_cores(own: float, idle: tuple[int, ...], better: set[int]) -> None:
    """A core is better if it is idle for more than half of the time, and home is full and shared."""
    after = {core: Ticks(100 + idle[core], 1100) for core in BEFORE}
    assert better_cores(0, own, BEFORE, after) == better


def test_better_cores_without_figures() -> None:
    """A core that has counted nothing, has come, or has gone is not better, and no reason to leave."""
    assert better_cores(0, 0.5, BEFORE, BEFORE) == set()
    assert better_cores(0, 0.5, {}, {}) == set()
    after = {0: Ticks(100, 1100), 3: Ticks(900, 1000)}
    assert better_cores(0, 0.5, BEFORE, after) == set()


def test_ticks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They are those of the system; without them, there are none."""
    assert set(CORES) <= set(read_ticks())
    assert all(0 <= each.idle <= each.all for each in read_ticks().values())
    stat = tmp_path / "stat"
    monkeypatch.setattr(home_core, "_STAT", stat)
    assert read_ticks() == {}
    stat.write_text("cpu  9 9 9 9 9 9 9 9\ncpu2 1 2 3 40 5 6 7 8 100 100\nintr 5\n")
    assert read_ticks() == {2: Ticks(45, 72)}
    stat.write_text("cpu2 1 2 3\n")
    assert read_ticks() == {}


# -- the process


def moving(monkeypatch: pytest.MonkeyPatch, coin: float = 0.0, used_s: float = 0.5) -> HomeCore:
    """Give a process that is at home on the first core, which it shares, and has looked once."""
    after = {core: Ticks(100 + 90 * (core != CORES[0]), 1100) for core in CORES}
    ticks = iter([{core: Ticks(100, 1000) for core in CORES}, after])
    times = iter([100.0, 100.0 + used_s, 100.0 + 2 * used_s])
    monkeypatch.setattr(home_core, "read_ticks", lambda: next(ticks))
    monkeypatch.setattr(home_core, "time", SimpleNamespace(process_time=lambda: next(times)))
    home = HomeCore(CORES[0], Heads(coin))
    home.settle()
    home.look(1000.0)
    home.look(1000.5)  # too early
    home.look(1001.0)
    return home


@two_cores
def test_all_threads_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are bound to the first core, and then to a better one, with those that have begun in between."""
    home = moving(monkeypatch)
    assert home.core == CORES[0]
    assert os.sched_getaffinity(0) == {CORES[0]}
    home.look(1002.0)
    assert home.core != CORES[0]
    assert {tuple(os.sched_getaffinity(int(each.name))) for each in THREADS.iterdir()} == {(home.core,)}


@two_cores
def test_one_of_two_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """By chance: or both of those that share a home would go to the same other core, again and again."""
    home = moving(monkeypatch, coin=0.5)
    home.look(1002.0)
    assert home.core == CORES[0]


@two_cores
def test_who_has_no_work_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is read, either."""
    home = moving(monkeypatch, used_s=0.05)
    home.look(1002.0)
    assert home.core == CORES[0]
    assert home_core.read_ticks(), "nobody has read the first figures"


@two_cores
def test_others_may_bind_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has bound it to other cores is obeyed."""
    home = moving(monkeypatch)
    os.sched_setaffinity(0, CORES[:2])
    home.look(1002.0)
    assert home.core is None
    assert os.sched_getaffinity(0) == set(CORES[:2])


@two_cores
def test_cores_that_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the process cannot be bound, it stays as it is."""
    missing = HomeCore(max(CORES) + 4096)
    missing.settle()
    assert missing.core is None
    home = moving(monkeypatch)
    monkeypatch.setattr(home_core, "better_cores", lambda *_: {CORES[1]})

    def refuse(pid: int, cores: set[int]) -> None:
        raise OSError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    home.look(1002.0)
    monkeypatch.undo()
    assert home.core == CORES[0]
