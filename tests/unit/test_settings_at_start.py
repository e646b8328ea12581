"""A machine that starts while somebody writes `crawl.toml`: half of the text is no TOML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl.config import watcher as module
from fscrawl.config.settings import END, Settings, apply, render
from fscrawl.config.watcher import read_settings
from fscrawl.errors import SettingsError
from fscrawl.storage.caches import CACHES_LIVE_S
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Tree, create

RECORD = TreeRecord(format=1, crawl="c1", created_at="t", shards=512, fanout=0, partition="host")
WHOLE = render(apply(Settings(), ["politeness.delay=7"]))


class Clock:
    """Time that passes by sleeping only; `then`: what happens after the first second."""

    def __init__(self) -> None:
        self.now = 0.0
        self.then: Callable[[], object] = lambda: None

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now > 1:
            self.then()


@pytest.fixture(params=[0.0, CACHES_LIVE_S])
def clock(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "caches_live_s", lambda root: request.param)
    return clock


@pytest.fixture
def tree(root: Path) -> Tree:
    create(root, RECORD, WHOLE, "http://a.example/\n")
    return Tree(root, "m")


@pytest.mark.parametrize("half", [WHOLE[: WHOLE.index("delay = 7") + 8], "\0" * len(WHOLE)])
def test_it_waits_for_the_rest(tree: Tree, clock: Clock, half: str) -> None:
    """What is cut off, or shows as zeros for a moment, is no mistake; nothing is said."""
    path, told = tree.root / "crawl.toml", list[str]()
    path.write_text(half)
    clock.then = lambda: path.write_text(WHOLE)
    assert read_settings(tree, told.append).politeness.delay == 7
    assert (told, 1 < clock.now < 2) == ([], True)


@pytest.mark.parametrize(("text", "waits_s"), [("[fetch\n", 3), (f"[fetch\n{END}", 0)])
def test_a_mistake(tree: Tree, clock: Clock, text: str, waits_s: float) -> None:
    """A mistake that stays is told after three seconds; in a file with its last line at once."""
    (tree.root / "crawl.toml").write_text(text)
    with pytest.raises(SettingsError, match="not valid TOML"):
        read_settings(tree, print)
    assert waits_s <= clock.now < waits_s + 1
