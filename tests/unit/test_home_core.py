"""All threads of a worker process are on one core that is nobody else's home, and go to a better one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from fscrawl.util import home_core
from fscrawl.util.home_core import HomeCore, Ticks, better_cores, homes, read_ticks

THREADS = Path("/proc/self/task")
CORES = sorted(os.sched_getaffinity(0))
two_cores = pytest.mark.skipif(len(CORES) < 2, reason="this computer has one core only")


@pytest.fixture(autouse=True)
def computer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Give the directory of a computer on which nobody is at home; let this process go anywhere again afterwards."""
    for core in {*CORES, *range(8)}:
        (tmp_path / f"cpu{core}" / "topology").mkdir(parents=True)
    monkeypatch.setattr(home_core, "_CORE", f"{tmp_path}/cpu{{}}")
    yield tmp_path
    release()


def release() -> None:
    """Let this process run anywhere, as another one would that has just begun."""
    for thread in THREADS.iterdir():
        with contextlib.suppress(ProcessLookupError):  # the system may end a thread a moment after Python has joined it
            os.sched_setaffinity(int(thread.name), CORES)


def bound() -> set[tuple[int, ...]]:
    """Give where the threads of this process may run."""
    return {tuple(sorted(os.sched_getaffinity(int(each.name)))) for each in THREADS.iterdir()}


# -- the choice


def eight_cores(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(home_core, "random", SimpleNamespace(randrange=lambda _: first))


@pytest.mark.parametrize("first", range(8))
def test_each_process_begins_with_another_core(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    """And then tries all others."""
    eight_cores(monkeypatch, first)
    found = homes(8)
    assert {cores[0] for cores in found} == set(range(8))
    assert all(sorted(cores) == list(range(8)) for cores in found)


@pytest.mark.parametrize("first", range(8))
def test_cores_that_share_circuits(monkeypatch: pytest.MonkeyPatch, computer: Path, first: int) -> None:
    """Four processes on four double cores do not begin on the same one."""
    for core in range(8):
        lower = core // 2 * 2
        (computer / f"cpu{core}/topology/thread_siblings_list").write_text(f"{lower}{'-,'[core // 4]}{lower + 1}\n")
    eight_cores(monkeypatch, first)
    assert {cores[0] // 2 for cores in homes(4)} == {0, 1, 2, 3}


@pytest.mark.parametrize("listed", ["x", ""])
def test_odd_lists_of_siblings(monkeypatch: pytest.MonkeyPatch, computer: Path, listed: str) -> None:
    (computer / "cpu1/topology/thread_siblings_list").write_text(listed)
    eight_cores(monkeypatch, 0)
    assert homes(1) == [list(range(8))]


def test_no_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one core, with fewer cores than processes, and where the system binds nothing to cores."""
    eight_cores(monkeypatch, 0)
    assert homes(9) == [[]] * 9
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert homes(1) == [[]]
    monkeypatch.delattr(os, "sched_getaffinity")
    assert homes(2) == [[], []]
    home = HomeCore([])
    home.look(1.0)
    assert home.core is None


BEFORE = {0: Ticks(100, 1000), 1: Ticks(100, 1000), 2: Ticks(100, 1000)}


@pytest.mark.parametrize(
    ("own", "idle", "better"),
    [
        (0.5, (0, 90, 80), {1, 2}),
        (0.5, (0, 90, 20), {1}),
        (0.5, (0, 40, 30), {1}),  # as much for us, and the rest of home for others
        (0.2, (0, 30, 20), {1}),
        (0.9, (0, 90, 90), set()),  # it is ours alone
        (0.2, (50, 90, 90), set()),  # there is time enough
    ],
)
def test_better_cores(own: float, idle: tuple[int, ...], better: set[int]) -> None:
    """A core is better if it has as much time as we get at home, which is full and shared."""
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


def at_home(monkeypatch: pytest.MonkeyPatch, used_s: float = 0.5) -> HomeCore:
    """Give a process that is at home on the first core, which it shares, and has looked once since."""
    after = {core: Ticks(100 + 90 * (core != CORES[0]), 1100) for core in CORES}
    before = {core: Ticks(100, 1000) for core in CORES}
    ticks = iter([before, before, after])
    times = iter([100.0, 100.0 + used_s, 100.0 + 2 * used_s])
    monkeypatch.setattr(home_core, "read_ticks", lambda: next(ticks))
    monkeypatch.setattr(home_core, "time", SimpleNamespace(process_time=lambda: next(times)))
    home = HomeCore(CORES)
    home.look(999.0)
    home.look(1000.0)
    home.look(1000.5)  # too early
    home.look(1001.0)
    return home


@two_cores
def test_all_threads_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are bound to the first core, and then to a better one; the first one is free for others."""
    home = at_home(monkeypatch)
    assert home.core == CORES[0]
    assert bound() == {(CORES[0],)}
    home.look(1002.0)
    assert home.core == CORES[1]
    assert bound() == {(CORES[1],)}
    another = HomeCore(CORES)
    release()
    another.look(1.0)
    assert another.core == CORES[0]


@two_cores
def test_who_gets_next_to_nothing_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that others keep waiting may have much to do."""
    home = at_home(monkeypatch, used_s=0.01)
    home.look(1002.0)
    assert home.core == CORES[1]


@two_cores
def test_a_core_is_the_home_of_one() -> None:
    """The second process takes the next core, and the last one none, until one is free."""
    all_of_them = [HomeCore(CORES) for _ in range(len(CORES) + 1)]
    for each in all_of_them:
        release()
        each.look(1.0)
    assert [each.core for each in all_of_them] == [*CORES, None]
    last = all_of_them[-1]
    all_of_them[0]._leave()
    release()
    last.look(1.5)
    assert last.core is None, "it looks once a second"
    last.look(2.0)
    assert last.core == CORES[0]


@two_cores
def test_a_better_core_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left to whoever is there."""
    home = at_home(monkeypatch)
    for core in CORES[1:]:
        assert home_core._take(core) is not None
    home.look(1002.0)
    assert home.core == CORES[0]
    assert bound() == {(CORES[0],)}


@two_cores
def test_others_may_bind_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has bound it to other cores is obeyed, for good."""
    home = at_home(monkeypatch)
    for thread in THREADS.iterdir():
        os.sched_setaffinity(int(thread.name), CORES[:2])
    for at in (1002.0, 1003.0, 1004.0):
        home.look(at)
        assert home.core is None
        assert bound() == {tuple(CORES[:2])}
    assert home_core._take(CORES[0]) is not None


@two_cores
def test_others_may_bind_the_main_thread_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """All others follow it: where they were may be somebody's home now."""
    home = at_home(monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(os.sched_getaffinity, 0).result() == {CORES[0]}
        os.sched_setaffinity(0, {CORES[1]})
        home.look(1002.0)
        assert pool.submit(os.sched_getaffinity, 0).result() == {CORES[1]}
    assert home.core is None


@two_cores
def test_others_may_bind_a_process_without_a_home() -> None:
    """Then it does not look for one any more."""
    held = [home_core._take(core) for core in CORES]
    home = HomeCore(CORES)
    home.look(1.0)
    assert home.core is None
    os.sched_setaffinity(0, CORES[:1])
    for lock in held:
        assert lock is not None
        os.close(lock)
    home.look(2.0)
    os.sched_setaffinity(0, CORES)
    home.look(3.0)
    assert home.core is None


def _no_directory(computer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_core, "_CORE", f"{computer}/none{{}}")


def _may_not_bind(computer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, cores: set[int]) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)


@pytest.mark.parametrize("trouble", [_no_directory, _may_not_bind])
def test_systems_without_homes(
    computer: Path, monkeypatch: pytest.MonkeyPatch, trouble: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    """Where cores cannot be locked, or threads not bound, the process runs anywhere."""
    trouble(computer, monkeypatch)
    home = HomeCore(CORES)
    home.look(1.0)
    monkeypatch.undo()
    assert home.core is None
    assert bound() == {tuple(CORES)}


@two_cores
def test_a_core_that_may_not_be_used_any_more(monkeypatch: pytest.MonkeyPatch, computer: Path) -> None:
    """A process that cannot be bound to its new home stays where it is."""
    home = at_home(monkeypatch)
    with pytest.MonkeyPatch.context() as patch:
        _may_not_bind(computer, patch)
        home.look(1002.0)
    assert home.core == CORES[0]
    assert home_core._take(CORES[0]) is None
    assert home_core._take(CORES[1]) is not None


@two_cores
def test_a_thread_that_cannot_be_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were bound before it come back."""
    home = at_home(monkeypatch)
    bind = os.sched_setaffinity
    refused = []

    def refuse_others(thread: int, cores: set[int]) -> None:
        if cores == {CORES[1]} and thread != os.getpid():
            refused.append(thread)
            raise PermissionError
        bind(thread, cores)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        monkeypatch.setattr(os, "sched_setaffinity", refuse_others)
        home.look(1002.0)
        monkeypatch.setattr(os, "sched_setaffinity", bind)
        assert refused
        assert bound() == {(CORES[0],)}
    assert home.core == CORES[0]
