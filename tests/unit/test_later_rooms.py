"""A room that trees of older versions have not is made when it is needed, and never where there is no tree."""

import errno
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from fscrawl.errors import TreeError
from fscrawl.storage import later_rooms
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.later_rooms import make_room
from fscrawl.storage.layout import FILES, HTMLS
from fscrawl.storage.records import PageRecord
from fscrawl.store import Tree, create
from tests.support.stores import KEY, RECORD

HOST = "a.example"
PAGE = PageRecord(f"http://{HOST}/", KEY, 0, "", "t", "m", 200, {}, 4, "ab", 0.1, ())
DOCUMENT = replace(PAGE, file="pdf")


@pytest.fixture
def tree(tmp_path):
    create(tmp_path / "root", RECORD, "", "")
    (tmp_path / "root" / FILES).rmdir()
    return Tree(tmp_path / "root", "m")


@pytest.mark.parametrize("fanout", [0, 1])
@pytest.mark.parametrize("partition", ["host", "url"])
def test_first_document(tree, fanout, partition):
    """The first document makes the room, and its directories; a page of HTML does not."""
    tree.record = replace(tree.record, fanout=fanout, partition=partition)
    tree.put_page(HOST, PAGE, b"body")
    assert not (tree.root / FILES).exists()
    tree.put_page(HOST, DOCUMENT, b"body")
    assert (tree.root / tree.body_path(HOST, KEY, "pdf")).read_bytes() == b"body"
    assert tree.body(HOST, KEY, file="pdf") == b"body"
    assert list(tree.root.glob("*.tmp")) == []


def test_no_tree(tree):
    """Where the share is gone, an empty directory is left as it is; and no other room is ever made."""
    away = tree.root.rename(tree.root.with_name("away"))
    tree.root.mkdir()
    with pytest.raises(TreeError) as caught:
        tree.put_page(HOST, DOCUMENT, b"body")
    assert caught.value.is_missing
    assert list(tree.root.iterdir()) == []
    tree.root.rmdir()
    away.rename(tree.root)
    (tree.root / HTMLS).rmdir()
    with pytest.raises(TreeError):
        tree.put_page(HOST, PAGE, b"body")
    assert not (tree.root / HTMLS).exists()


def test_a_share_that_goes_meanwhile(tree, monkeypatch):
    """What is mounted over the root after the look, or taken away, gets no room: it is made where the tree was seen."""
    real = os.stat
    away = tree.root.with_name("away")

    def stat(path, **options):
        found = real(path, **options)
        if str(path).endswith("tree.json") and not away.exists():
            tree.root.rename(away)
            tree.root.mkdir()
        return found

    monkeypatch.setattr(later_rooms.os, "stat", stat)
    with pytest.raises(TreeError):
        make_room(TreeFiles(tree.root, "m"), FILES)
    assert list(tree.root.iterdir()) == []


def test_many_at_once(tree, monkeypatch):
    """Of many machines that need the room at once, one makes it."""
    made = []
    real = os.mkdir
    monkeypatch.setattr(os, "mkdir", lambda path, *more: (real(path, *more), made.append(str(path)))[0])
    each = [threading.Thread(target=make_room, args=(TreeFiles(tree.root, f"m{n}"), FILES)) for n in range(8)]
    for thread in each:
        thread.start()
    for thread in each:
        thread.join()
    assert (tree.root / FILES).is_dir()
    assert len(made) == 1


def test_the_one_that_makes_it_was_killed(tree, monkeypatch):
    """A machine that took the name and was killed is waited for, for a while."""
    monkeypatch.setattr(later_rooms, "_OTHERS_TAKE_S", 0.05)
    making = tree.root / ".files.making.0-0.tmp"
    making.touch()
    make_room(tree.files, FILES)
    assert (tree.root / FILES).is_dir()
    assert not making.exists()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_planted(tree, tmp_path, kind):
    """A file or a link in place of the room is an error of the whole tree."""
    place = tree.root / FILES
    place.touch() if kind == "file" else place.symlink_to(tmp_path)
    with pytest.raises(TreeError, match="mount --bind"):
        make_room(tree.files, FILES)


@pytest.mark.parametrize("code", [errno.EPERM, errno.EEXIST])
def test_another_machine_is_first(tree, monkeypatch, code):
    """If the room is there by now, whatever the file system says, all is well."""
    real = os.mkdir

    def mkdir(path, *more):
        real(path, *more)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(later_rooms.os, "mkdir", mkdir)
    make_room(tree.files, FILES)
    assert (tree.root / FILES).is_dir()


def test_denied(tree, monkeypatch):
    """A machine that may not make it says so."""

    def mkdir(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(later_rooms.os, "mkdir", mkdir)
    with pytest.raises(TreeError, match="not permitted"):
        make_room(tree.files, FILES)


def test_not_to_be_found_yet(tree, monkeypatch):
    """What another machine is making, and cannot be found yet, is waited for."""
    real, calls = os.mkdir, []

    def mkdir(path, *more):
        calls.append(path)
        if len(calls) < 3:
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        real(path, *more)

    monkeypatch.setattr(later_rooms.os, "mkdir", mkdir)
    make_room(tree.files, FILES)
    assert (tree.root / FILES).is_dir()


def test_flushed(tree, monkeypatch):
    """Where files are flushed, so is the name of the room."""
    done = []
    monkeypatch.setattr(os, "fsync", lambda fd: done.append(Path(f"/proc/self/fd/{fd}").readlink()))
    tree.files.fsync = True
    make_room(tree.files, FILES)
    assert tree.root in done
