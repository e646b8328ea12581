"""A `crawl.toml`, a `seeds.txt` or a list that cannot be read any more while a machine runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fscrawl.config.settings import FILE, Settings, render
from fscrawl.config.watcher import EditWatcher
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Tree, create

RECORD = TreeRecord(format=1, crawl="c1", created_at="t", shards=512, fanout=0, partition="host")
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
