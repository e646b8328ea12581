"""What the unit tests share: faults are waited for only as long as a test needs, and no disk is waited for."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fscrawl.fleet import heartbeat
from fscrawl.frontier.frontier import Frontier
from fscrawl.storage import creation, retrying
from tests.support.frontiers import chosen

_LIMIT_S = 0.05


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
