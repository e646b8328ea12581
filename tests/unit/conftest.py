"""What the unit tests share: no disk is waited for, faults are waited out in a moment, and no test takes long."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import find
from hypothesis import strategies as st

from fscrawl.fleet import heartbeat
from fscrawl.frontier.frontier import Frontier
from fscrawl.storage import creation, retrying
from tests.support import effort
from tests.support.beats import Logs
from tests.support.frontiers import chosen

_LIMIT_S = 0.25  # a second try comes within it, on a busy machine, too


@pytest.fixture(autouse=True)
def _no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tree that is made is flushed to the disk, which takes 20 times as long as to make it."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True)
def _short_retrying(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (retrying.BRIEF, creation._WITH_OTHERS, heartbeat._RETRYING):
        monkeypatch.setattr(each, "limit_s", _LIMIT_S)


@pytest.fixture
def make_frontier() -> Iterator[Callable[..., Frontier]]:
    """Make frontiers with some settings, without robots.txt where nothing else is said; close them in the end."""
    made: list[Frontier] = []

    def make(*assignments: str, **options: Any) -> Frontier:
        made.append(Frontier(chosen(*assignments), rng=random.Random(1), **options))
        return made[-1]

    yield make
    for frontier in made:
        frontier.close()


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path / "tree")


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make an `os` function fail from its call number `since` on, for this thread; `within`: only for such paths."""

    def fault(function: str, code: int, *, since: int = 1, within: str = "") -> None:
        real, thread, calls = getattr(os, function), threading.get_ident(), []

        def faulty(*args: Any, **options: Any) -> Any:
            paths = [os.fspath(arg) for arg in args if isinstance(arg, str | Path)]
            if threading.get_ident() != thread or (within and not any(within in path for path in paths)):
                return real(*args, **options)
            calls.append(args)
            if len(calls) < since:
                return real(*args, **options)
            if function == "close":
                real(*args)
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, function, faulty)

    return fault


# They should take half a second at most, on a quiet computer. On a busy one, processor time grows, too: the parts of a
# core are shared, and so are caches. The same test was seen to take from 0.3 to 1.3 s.
LIMIT_CPU_S = 2.0
MEASURED = 4  # times as long where coverage is measured


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    """Compute before the first test what it would be blamed for: hypothesis's tables of Unicode take a second or two.

    They are kept in .hypothesis/, which a fresh checkout does not have.
    """
    find(st.text(), lambda text: True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a unit test that takes far too long to be one.

    It is the processor time of this process and not the time on the wall, so that a busy machine fails no test. With
    FSCRAWL_TESTS=all, which tries five times as much, there is no limit.
    """
    before = time.process_time()
    yield
    took_s = time.process_time() - before
    most_s = LIMIT_CPU_S * (MEASURED if item.config.getoption("cov_source", None) else 1)
    if took_s > most_s and not effort.FULL:
        pytest.fail(f"a unit test that takes {took_s:.2f} s of processor time, and not {most_s} s at most")
