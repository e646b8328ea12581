"""A machine that starts while somebody writes `crawl.toml`, of which half is no TOML, or `seeds.txt`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl.config import seeds
from fscrawl.config import watcher as module
from fscrawl.config.settings import END, Settings, apply, parse, render
from fscrawl.config.watcher import EditWatcher, ListFiles, read_settings, wait_for_lists
from fscrawl.errors import SettingsError
from fscrawl.storage import controls
from fscrawl.storage.mounts import CACHES_LIVE_S
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Tree, create

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")
SHORT = "[politeness]\ndelay = 7\n"
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
    for place in (module, controls):
        monkeypatch.setattr(place, "caches_live_s", lambda root: request.param)
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


def test_an_old_file_without_its_last_line(tree: Tree, clock: Clock) -> None:
    """On a share the time counts for nothing: it may be that of what somebody has replaced a moment ago."""
    path = tree.root / "crawl.toml"
    path.write_text(SHORT)
    os.utime(path, (0, 0))
    clock.now = 1e9
    assert read_settings(tree, print).politeness.delay == 7
    waits_s = module.caches_live_s(tree.root)
    assert waits_s <= clock.now - 1e9 < waits_s + 1


def test_half_of_what_was_used_before(tree: Tree, clock: Clock) -> None:
    """Half of it is another text, and is waited for."""
    path, whole = tree.root / "crawl.toml", f"{SHORT}[crawl]\nscope = 'host'\n"
    path.write_text(whole)
    EditWatcher(tree, parse(whole, record=RECORD), frozenset(), print)
    path.write_text(SHORT)
    clock.then = lambda: path.write_text(whole)
    assert read_settings(tree, print).crawl.scope == "host"
    assert 1 < clock.now < 2


def test_a_seed_without_a_newline(tree: Tree, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a local disk, nobody writes on in a file of seeds that is some seconds old; a share may show an old time."""
    monkeypatch.setattr(seeds, "time", clock)
    clock.now, path = 1e9, tree.root / "seeds.txt"
    path.write_text("http://a.example/\nhttp://b.example/")
    os.utime(path, (clock.now - 4, clock.now - 4))
    told = list[str]()
    assert list(seeds.wait_for_seeds(tree, told.append)) == ["http://a.example/", "http://b.example/"]
    waits_s = 3 if module.caches_live_s(tree.root) else 0
    assert waits_s <= clock.now - 1e9 < waits_s + 1
    assert len(told) == bool(waits_s)


def test_a_list_without_a_newline(tree: Tree, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of values for seeds is waited for as well: half a value would be a page that does not exist."""
    monkeypatch.setattr(seeds, "time", clock)
    clock.now, path, told = 1e9, tree.root / "names.txt", list[str]()
    chosen = parse("[[site]]\nhosts = ['a.example']\nseeds = ['http://a.example/{names.txt}']\n")
    path.write_text("one\ntw")
    os.utime(path, (clock.now, clock.now))

    def then() -> None:
        path.write_text("one\ntwo")
        os.utime(path, (1e9 + 1, 1e9 + 1))

    clock.then = then
    wait_for_lists(tree, chosen, told.append)
    assert clock.now - 1e9 > 3
    assert ListFiles(tree, print)("names.txt") == "one\ntwo"
    assert told == [f"{path}: the last line does not end with a newline; waiting a few seconds for the rest of it"]
    path.unlink()
    with pytest.raises(SettingsError, match=r"names\.txt does not exist; write it there"):
        wait_for_lists(tree, chosen, told.append)
