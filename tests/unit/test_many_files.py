"""Many files of one directory: listed in little memory, and read with few calls."""

import os
from pathlib import Path

import pytest

from fscrawl.storage.layout import HTMLS, LINKS
from fscrawl.storage.many_files import Keys, list_keys
from tests.support.stores import HOST, KEY, OTHER
from tests.support.trees import Grown


@pytest.fixture
def grown(tmp_path):
    tree = Grown(tmp_path / "tree")
    for number in range(40):
        tree.page(f"http://{HOST}/{number}")
    return tree


def listed(grown, top=LINKS):
    return f"{top}/{HOST}", list(grown.tree.sorted_keys(top, HOST))


def test_keys_are_those_of_the_tree_in_order(grown):
    """All keys are listed, sorted; a rendered page and a stranger's file are no other pages."""
    grown.rendered(f"http://{HOST}/r", b"<p>a", b"<p>b")
    (grown.root / f"htmls/{HOST}/notes.html").write_text("x")
    for top in (LINKS, HTMLS):
        _, keys = listed(grown, top)
        assert keys == sorted(set(grown.tree.keys(top, HOST)))
        assert len(keys) == 41


def test_what_is_no_directory_has_no_keys(grown):
    """A missing directory, and a link or a file in its place, have no keys."""
    (grown.root / "links/b.example").symlink_to(grown.root / f"links/{HOST}")
    (grown.root / "links/c.example").write_text("x")
    for host in ("b.example", "c.example", "d.example"):
        assert list(list_keys(grown.tree.files, LINKS, f"links/{host}")) == []


def test_a_key_that_is_listed_twice_is_one():
    """Some file systems list a file that is being replaced twice."""
    keys = Keys()
    for key in (OTHER, KEY, OTHER):
        keys.add(key)
    assert list(keys) == [KEY, OTHER]


def test_reading_beside(grown):
    """What is a file of the right size is read; all else is left to whoever looks closer."""
    path, keys = listed(grown)
    names = [f"{key}.json" for key in keys[:6]]
    here = grown.root / path
    (here / names[1]).unlink()
    (here / names[2]).unlink()
    (here / names[2]).symlink_to(here / names[0])
    (here / names[3]).unlink()
    os.mkfifo(here / names[3])
    (here / names[4]).write_bytes(b"x" * 5000)
    read = grown.tree.read_beside(path, names, 4000)
    assert [data is not None for data in read] == [True, False, False, False, False, True]
    assert read[0] == (here / names[0]).read_bytes()
    assert grown.tree.read_beside("links/nowhere.example", ["a", "b"], 10) == [None, None]


def test_a_file_that_fails_amid(grown, monkeypatch):
    """A file that cannot be read is left out."""
    path, keys = listed(grown)
    name = f"{keys[0]}.json"

    def fails(descriptor, size):
        raise OSError(5, "I/O error")

    monkeypatch.setattr(os, "read", fails)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert grown.tree.read_beside(path, [name], 1 << 20) == [None]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
