"""A long list of seeds is read in slices while a machine runs: other hosts do not wait for it."""

import pytest

from fscrawl.config import watcher
from fscrawl.config.settings import Settings, render
from fscrawl.config.watcher import EditWatcher
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.store import Tree, create

URLS = [f"http://a.example/{number}" for number in range(35)]


@pytest.fixture
def watch(tmp_path, monkeypatch):
    """Give a machine's watcher that reads ten lines in a slice."""
    monkeypatch.setattr(watcher, "_LINES_A_LOOK", 10)
    monkeypatch.setattr(watcher, "_SLICE_S", 0.0)
    create(tmp_path / "t", TreeRecord(FORMAT, "c", "", 4, "host", 32 * "a"), render(Settings()), "http://b.example/\n")
    watch = EditWatcher(Tree(tmp_path / "t", "m"), Settings(), frozenset(["http://b.example/"]), print)
    assert watch.new_seeds() == []
    return watch


def append(watch, *lines):
    with (watch._tree.root / "seeds.txt").open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def test_in_slices(watch):
    """Nothing is given before all was read: each change of the seeds may change the scope, and so all rules."""
    append(watch, *(f"{url}  # x" for url in URLS))
    for _ in range(3):
        assert watch.new_seeds() == []
        assert watch.is_reading
        assert watch.seeds == {"http://b.example/"}
        assert watch.labels == {}
    assert watch.new_seeds() == URLS
    assert not watch.is_reading
    assert watch.labels == dict.fromkeys(URLS, "x")


def test_between_two_looks(watch):
    """It is read on, and the next look gives what was found."""
    append(watch, *URLS)
    assert watch.new_seeds() == []
    watch.go_on(lambda: True)
    assert (watch.is_reading, watch.has_read) == (True, False)
    watch.go_on(lambda: False)
    assert (watch.is_reading, watch.has_read) == (False, True)
    watch.go_on(lambda: True)
    assert watch.new_seeds() == URLS
    assert not watch.has_read


def test_an_edit_meanwhile(watch):
    """What is added while a machine reads is read after that; a line that is gone counts as before."""
    append(watch, *URLS)
    assert watch.new_seeds() == []
    append(watch, "http://c.example/")
    watch.go_on(lambda: False)
    assert watch.new_seeds() == URLS
    assert watch.new_seeds() == ["http://c.example/"]
    (watch._tree.root / "seeds.txt").write_text("http://d.example/\n")
    assert watch.new_seeds() == ["http://d.example/"]


def test_lines_that_say_another_label(watch):
    """All lines are read once more, in slices, too: of a seed on several lines the first one counts."""
    append(watch, *URLS, "http://b.example/  # late")
    found = []
    for _ in range(9):
        found += watch.new_seeds()
    assert found == URLS
    assert not watch.labels
