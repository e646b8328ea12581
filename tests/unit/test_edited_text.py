"""When a file that people edit is read, by a clock in hand."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from fscrawl.config import seeds, watcher
from fscrawl.config.settings import Settings, render
from fscrawl.config.watcher import EditedText, EditWatcher, ListFiles
from fscrawl.storage.mounts import CACHES_LIVE_S
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Controls, Tree, create


class File:
    """A file on a share: what it shows, and how often it was read."""

    def __init__(self, text="a\n"):
        self.text, self.stamp, self.reads = text, (2, 1.0), 0
        self.seen = EditedText(lambda: self.stamp, self._read)

    def _read(self):
        self.reads += 1
        return self.text

    def reads_from(self, begin, end, step=5):
        """Look at it for some time; return how often it was read."""
        before = self.reads
        for now in range(begin, end, step):
            assert self.seen.look(now) == self.text
        return self.reads - before


@pytest.fixture
def file():
    return File()


def test_a_file_that_nobody_edits(file):
    """In the first minute it is read in each look, since the share may show an old state, and then once a minute."""
    assert file.reads_from(0, 60) == 12
    hours, rounds = 3600, 5
    assert file.reads_from(60, 60 + hours, rounds) <= hours / CACHES_LIVE_S + 3


@pytest.mark.parametrize("stamp", [(9, 1.0), (2, 2.0), None])
def test_an_edit(file, stamp):
    """Another size or another time shows it at once, and then the file is read in each look for a minute."""
    file.reads_from(0, 600)
    file.text, file.stamp = "b\n", stamp
    assert file.seen.look(600) == "b\n"
    assert file.reads_from(605, 660) == 11


def test_an_edit_that_shows_no_new_time(file):
    """An edit of which the share shows neither size nor time is found all the same, a minute later at the latest."""
    file.reads_from(0, 600)
    file.text = "b\n"
    assert any(file.seen.look(600 + later) == "b\n" for later in range(0, 66, 5))


def test_a_size_before_its_text(file):
    """A new size is there before the new text: the text is found in the look in which it is there."""
    file.reads_from(0, 600)
    file.stamp = (9, 2.0)
    assert file.reads_from(600, 620) == 4
    file.text = "b\n"
    assert file.seen.look(620) == "b\n"


def test_a_file_that_is_missing(file):
    """It is looked for in each look."""
    file.text = file.stamp = None
    assert file.reads_from(0, 600) == 120
    file.text = "b\n"
    assert file.seen.look(600) == "b\n"


# -- where they are looked at

RECORD = TreeRecord(format=3, crawl="c1", created_at="t", shards=8, partition="host", machinery="0" * 32)


@pytest.fixture
def tree(tmp_path):
    create(tmp_path / "root", RECORD, render(Settings()), "http://a.example/\n")
    (tmp_path / "root" / "names.txt").write_text("a\nb\n")
    return Tree(tmp_path / "root", "m")


def counted(monkeypatch, of, name):
    """Count the calls of something."""
    calls, real = [], getattr(of, name)

    def call(*args):
        calls.append(args)
        return real(*args)

    monkeypatch.setattr(of, name, call)
    return calls


def test_seeds_and_lists_of_a_machine_that_runs(tree, monkeypatch):
    """In an hour of rounds, files that nobody edits are read some sixty times each in place of once a round."""
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now, time=lambda: clock.now)
    monkeypatch.setattr(watcher, "time", clock)
    reads = counted(monkeypatch, Controls, "seeds"), counted(monkeypatch, Controls, "list_if_there")
    watch = EditWatcher(tree, Settings(), frozenset(), print)
    lists = ListFiles(tree, print, clock.monotonic)
    for _ in range(3600):
        clock.now += 1
        watch.new_seeds()
        lists.look(("names.txt",))
    assert all(each and len(each) < 150 for each in reads)
    assert lists("names.txt") == "a\nb\n"


def added(tree, monkeypatch, count):
    """Add a line to a file of many seeds; give how many lines a machine that runs reads for that."""
    path = tree.root / "seeds.txt"
    path.write_text("".join(f"http://a.example/{number}\n" for number in range(count)))
    watch = EditWatcher(tree, Settings(), frozenset(), print)
    assert len(watch.new_seeds()) == count
    with path.open("a") as file:
        file.write("http://b.example/\n")
    lines = counted(monkeypatch, seeds, "_read_line")
    assert watch.new_seeds() == ["http://b.example/"]
    return len(lines)


def test_a_line_is_added_to_many(tree, monkeypatch):
    """Only what was added is read, however long the file is."""
    assert [added(tree, monkeypatch, count) for count in (10, 40)] == [1, 1]


def test_what_is_said_of_lines_that_are_added(tree):
    """Lines that are added are counted from the beginning of the file, and the first label of a seed counts."""
    path, said = tree.root / "seeds.txt", []
    path.write_text("http://a.example/\n\nhttp://b.example/ # b\n")
    watch = EditWatcher(tree, Settings(), frozenset(), said.append)
    watch.new_seeds()
    with path.open("a") as file:
        file.write("mailto:x\nhttp://c.example/ # c\n")
    assert watch.new_seeds() == ["http://c.example/"]
    assert said == [f"{path}:4:1: not an http or https URL, skipped: mailto:x"]
    assert watch.labels == {"http://b.example/": "b", "http://c.example/": "c"}
    with path.open("a") as file:
        file.write("http://a.example/ # a\nhttp://b.example/ # d\nhttp://d.example/ # d\n")
    assert watch.new_seeds() == ["http://d.example/"]
    assert watch.labels == {"http://b.example/": "b", "http://c.example/": "c", "http://d.example/": "d"}


def test_the_label_of_a_last_line_without_a_newline(tree):
    """The machine has waited for that line when it began, so the seed has its label at once, and not a minute later."""
    (tree.root / "seeds.txt").write_text("http://a.example/ # a\nhttp://b.example/ # b")
    labels = {"http://a.example/": "a", "http://b.example/": "b"}
    watch = EditWatcher(tree, Settings(), frozenset(labels), print, labels=labels)
    assert (watch.new_seeds(), watch.labels) == ([], labels)


@pytest.mark.parametrize("cut", [Path.unlink, lambda path: path.write_text("")], ids=["removed", "emptied"])
def test_seeds_that_an_editor_writes_anew(tree, cut):
    """For a moment there is no seed: those known keep their labels. What is wrong in the new text is said."""
    path, said = tree.root / "seeds.txt", []
    path.write_text("http://a.example/ # a\nhttp://b.example/ # b\n")
    watch = EditWatcher(tree, Settings(), frozenset(), said.append)
    assert watch.new_seeds() == ["http://a.example/", "http://b.example/"]
    cut(path)
    assert (watch.new_seeds(), watch.labels["http://a.example/"]) == ([], "a")
    path.write_text("mailto:x\nhttp://a.example/ # c\nhttp://b.example/\n")
    assert (watch.new_seeds(), watch.labels) == ([], {"http://a.example/": "c"})
    assert said == [f"{path}:1:1: not an http or https URL, skipped: mailto:x"]
