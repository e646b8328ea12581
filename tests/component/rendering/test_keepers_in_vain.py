"""Keepers of which some have a browser, and others get none: memory may be short for one more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fscrawl.config.settings import RenderSettings
from fscrawl.engine import browsers as module
from fscrawl.engine.browsers import Browsers
from fscrawl.errors import NoBrowserError
from fscrawl.render.client import render
from fscrawl.render.executable import VARIABLE, find
from fscrawl.render.messages import Answer, GaveWay, Job, Lanes, Options, Rendered, Trouble
from tests.support.keepers import HEADERS, URL

TWO = RenderSettings(when="always", browsers=2)


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a file: while it is there, no browser starts."""
    sign, script = tmp_path / "no-browser", tmp_path / "browser"
    real = find()
    script.write_text(f'#!/bin/sh\n[ -e {sign} ] && exit 1\nexec {real} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(script))
    monkeypatch.setattr(module, "_AGAIN_S", 0.0)
    return sign


@pytest.fixture
def browsers(warnings: list[str]) -> Iterator[Browsers]:
    made = Browsers(warnings.append)
    yield made
    made.close()


def page(browsers: Browsers, waits_s: float = 5.0) -> Rendered | Trouble | GaveWay:
    """Ask for a page. It does not wait for long: while keepers end, there may be nobody to take it."""
    options = Options("idle", 20.0, 1_000_000, frozenset(), 0, screenshot=False, user_agent="test")
    job = Job(URL, 200, HEADERS, b"<p>a page", (), options)
    return render(browsers.address, job, lambda ask: Answer(ask.number), Lanes(), waits_s=waits_s)


def rendered_while_others_end(browsers: Browsers, others: int) -> None:
    """Render pages until so many keepers without a browser have ended; each time another one takes the place."""
    ended, before = 0, list(browsers._keepers)
    deadline = time.monotonic() + 90.0
    while ended < others:
        assert time.monotonic() < deadline
        page(browsers)
        assert browsers.keep(TWO) is None
        ended += sum(each not in browsers._keepers for each in before)
        before = list(browsers._keepers)


def test_one_browser_is_enough(browsers: Browsers, sign: Path, warnings: list[str]) -> None:
    """The machine stays while some keeper has a browser, and says once that another one gets none."""
    browsers.keep(TWO)
    assert isinstance(page(browsers, 60.0), Rendered)
    sign.touch()
    rendered_while_others_end(browsers, module._MOST_IN_VAIN + 1)
    assert sum("of 2 browsers, 1 does not start" in each for each in warnings) == 1


def test_no_browser_at_all(browsers: Browsers, sign: Path) -> None:
    """It leaves when none has one: also if some have had one, and have died."""
    browsers.keep(TWO)
    assert isinstance(page(browsers, 60.0), Rendered)
    sign.touch()
    for keeper in browsers._keepers:
        keeper.kill()
        keeper.join()
    deadline, unable = time.monotonic() + 90.0, None
    while unable is None:
        assert time.monotonic() < deadline
        unable = browsers.keep(TWO)
        if unable is None:
            assert not isinstance(page(browsers), Rendered)
    assert isinstance(unable, NoBrowserError)
