"""A `crawl.toml`, a `seeds.txt` or a list that cannot be read any more while a machine runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fscrawl.config.settings import FILE, Settings, render
from fscrawl.config.watcher import EditWatcher, ListFiles
from fscrawl.storage import kinds
from fscrawl.storage.mounts import CACHES_LIVE_S
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Tree, create

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")
SEED = "http://a.example/"


@pytest.mark.parametrize("name", [FILE, "seeds.txt"])
def test_a_link_in_its_place(root: Path, name: str) -> None:
    """It is told once, with the path and what to do; what was read before stays in force."""
    create(root, RECORD, render(Settings()), f"{SEED}\n")
    warnings: list[str] = []
    watch = EditWatcher(Tree(root, "m"), Settings(), frozenset([SEED]), warnings.append)
    path = root / name
    path.rename(root / "aside")
    path.symlink_to("aside")
    for now in range(3):
        assert not watch.settings_edited(now)
        assert watch.new_seeds() == []
    (said,) = warnings
    assert said.startswith(f"{path}: it is a symbolic link, and none is followed inside a crawl; ")
    assert said.endswith("; what was read before stays in force")
    path.unlink()
    (root / "aside").rename(path)
    assert not watch.settings_edited(4)
    assert watch.new_seeds() == []
    assert (watch.settings, watch.seeds, len(warnings)) == (Settings(), {SEED}, 1)


@pytest.mark.parametrize("name", [FILE, "seeds.txt"])
def test_a_file_that_grows_and_grows(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody writes a log into it: it is told once that it is too long, not for each new length; and again later."""
    create(root, RECORD, render(Settings()), f"{SEED}\n")
    warnings: list[str] = []
    watch = EditWatcher(Tree(root, "m"), Settings(), frozenset([SEED]), warnings.append)
    path, before = root / name, (root / name).read_text()
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setitem(kinds.MOST_BYTES, name, len(before))
            for more in range(1, 4):
                path.write_text(before + "# x\n" * more)
                watch.settings_edited(0)
                watch.new_seeds()
        path.write_text(before)
        watch.settings_edited(0)
        watch.new_seeds()
    assert len(warnings) == 2
    assert all("no file of its kind has more than" in said for said in warnings)


def test_settings_that_somebody_deletes(root: Path) -> None:
    """A file that is missing for a moment is being replaced. After a minute it is told once that it is missing."""
    create(root, RECORD, render(Settings()), f"{SEED}\n")
    warnings: list[str] = []
    watch = EditWatcher(Tree(root, "m"), Settings(), frozenset([SEED]), warnings.append)
    path = root / FILE
    text = path.read_text()
    path.unlink()
    for now in (0, CACHES_LIVE_S):
        assert not watch.settings_edited(now)
    path.write_text(text)
    assert not watch.settings_edited(CACHES_LIVE_S + 1)
    path.unlink()
    for now in (100, 100 + CACHES_LIVE_S):
        assert not watch.settings_edited(now)
    assert warnings == []
    for now in (101 + CACHES_LIVE_S, 102 + CACHES_LIVE_S):
        assert not watch.settings_edited(now)
    assert warnings == [f"{path}: somebody has deleted it; what was read before stays in force"]


def test_a_list_that_cannot_be_read(root: Path) -> None:
    """Its values stay, and it is told once why nothing new comes from it."""
    create(root, RECORD, render(Settings()), "")
    warnings: list[str] = []
    lists, path = ListFiles(Tree(root, "m"), warnings.append), root / "names.txt"
    path.write_text("a\n")
    assert lists("names.txt") == "a\n"
    path.unlink()
    path.mkdir()
    for _ in range(2):
        assert not lists.look(("names.txt",))
    assert lists("names.txt") == "a\n"
    assert warnings == [f"{path}: it is a directory, not a file; remove it; what was read before stays in force"]
