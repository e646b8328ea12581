"""What the unit tests share: no disk is waited for, and faults are waited out in a moment."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fscrawl.fleet import heartbeat
from fscrawl.frontier import places
from fscrawl.frontier.frontier import Frontier
from fscrawl.storage import creation, retrying
from tests.support.beats import Logs
from tests.support.fixtures import no_fsync  # noqa: F401 (a fixture)
from tests.support.frontiers import chosen

_LIMIT_S = 0.25  # a second try comes within it, on a busy machine, too


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
def few_places(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set constants of `frontier.places`."""

    def set_constants(**values: float) -> None:
        for name, value in values.items():
            monkeypatch.setattr(places, name, value)

    return set_constants


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
