"""The keepers of a machine: as many as the settings say, and by what they say. None of them starts a browser here."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from fscrawl.config.settings import RenderSettings
from fscrawl.engine import browsers as module
from fscrawl.engine.browsers import Browsers

ON = RenderSettings(when="always")


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def browsers(warnings: list[str]) -> Iterator[Browsers]:
    made = Browsers(warnings.append)
    yield made
    made.close()


def _pids(browsers: Browsers) -> list[int | None]:
    return [keeper.pid for keeper in browsers._keepers]


def test_an_edit(browsers: Browsers) -> None:
    """The number of browsers counts at once: new keepers take the place of the old ones. Others change nothing."""
    browsers.keep(ON)
    before = _pids(browsers)
    browsers.keep(replace(ON, scroll=3, when="empty"))
    assert _pids(browsers) == before
    two = replace(ON, browsers=2)
    browsers.keep(two)
    assert len(_pids(browsers)) == 2
    assert not set(before) & set(_pids(browsers))
    browsers.keep(RenderSettings())
    assert _pids(browsers) == []
    browsers.keep(two)
    assert len(_pids(browsers)) == 2


def test_a_keeper_that_dies(browsers: Browsers, warnings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one takes its place, and it is said once."""
    monkeypatch.setattr(module, "_AGAIN_S", 0.0)
    browsers.keep(replace(ON, browsers=2))
    dies, lives = browsers._keepers
    assert dies.pid is not None
    os.kill(dies.pid, signal.SIGKILL)
    dies.join()
    browsers.keep(replace(ON, browsers=2))
    assert lives.pid in _pids(browsers)
    assert dies.pid not in _pids(browsers)
    line = warnings[-1]
    assert line.startswith("a process that renders pages has died (exit code -9)")


@pytest.mark.parametrize(("uid", "warned"), [(0, 1), (1000, 0)])
def test_a_browser_without_its_sandbox(
    browsers: Browsers, warnings: list[str], monkeypatch: pytest.MonkeyPatch, uid: int, warned: int
) -> None:
    """It is said at the start, and not again when settings are edited."""
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    for number in (1, 2):
        browsers.keep(replace(ON, browsers=number))
    assert len(warnings) == warned
