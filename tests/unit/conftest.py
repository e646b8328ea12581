"""What the unit tests share: faults are waited for only as long as a test needs, and no disk is waited for."""

from __future__ import annotations

import os

import pytest

from fscrawl import store
from fscrawl.fleet import heartbeat
from fscrawl.storage import retrying

_LIMIT_S = 0.05


@pytest.fixture(autouse=True)
def _no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tree that is made is flushed to the disk, which takes 20 times as long as to make it."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True)
def _short_retrying(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (retrying.BRIEF, store._WITH_OTHERS, heartbeat._RETRYING):
        monkeypatch.setattr(each, "limit_s", _LIMIT_S)
