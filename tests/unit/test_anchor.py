"""Whether `.fscrawl` is still what a machine joined, after all that people and servers do to it."""

import os
import shutil

import pytest
from msgspec.structs import replace

from fscrawl.errors import MemoryGone, NotATreeError, TreeBusyError, TreeError
from fscrawl.fleet.anchor import Anchor, cause_of, must_wait_s, note_waited, unless_gone
from fscrawl.storage.layout import heartbeat_path
from fscrawl.storage.records import FORMAT, TreeRecord, new_machinery
from fscrawl.store import Tree, TreeFiles, create

ME = "m-1-aa"


class Moored:
    """A machine that has joined a tree, and writes its log."""

    def __init__(self, root):
        self.root, self.slept = root, []
        self.record = TreeRecord(FORMAT, "c", "t", 16, "host", new_machinery())
        create(root, self.record, "", "")
        self.tree = Tree(root, ME)
        self.log = self.tree.files.log(heartbeat_path(ME))
        self.anchor = Anchor(self.tree, self.log, self.slept.append)
        self.lines = 0
        self.beat()

    def beat(self):
        self.lines += 1
        self.log.append(b'{"beat":%d}\n' % self.lines)

    @property
    def path(self):
        return self.root / heartbeat_path(ME)

    @property
    def tree_json(self):
        return self.root / ".fscrawl/tree.json"


@pytest.fixture
def moored(tmp_path):
    moored = Moored(tmp_path / "root")
    yield moored
    moored.log.close()


def test_all_is_well(moored):
    """While nobody touches anything, each look says so, and waits for nothing."""
    for _ in range(3):
        moored.beat()
        assert moored.anchor.check()
    assert moored.slept == []


def test_a_log_without_lines(tmp_path):
    """A log that has nothing in it yet is the own one as long as it is there."""
    moored = Moored(tmp_path / "root")
    log = moored.tree.files.log(heartbeat_path("m-2-bb"))
    anchor = Anchor(Tree(moored.root, "m-2-bb"), log, moored.slept.append)
    assert anchor.check()
    (moored.root / heartbeat_path("m-2-bb")).unlink()
    with pytest.raises(MemoryGone):
        anchor.check()
    log.close()
    moored.log.close()


def delete(moored):
    shutil.rmtree(moored.root / ".fscrawl")


def delete_the_record(moored):
    moored.tree_json.unlink()


def make_anew(moored):
    delete(moored)
    create(moored.root, replace(moored.record, machinery=new_machinery()), "", "")


def record_of_another(moored):
    moored.tree_json.write_bytes(replace(moored.record, machinery=new_machinery()).to_json())


def delete_the_log(moored):
    moored.path.unlink()


def cut_the_log(moored):
    os.truncate(moored.path, 5)


def empty_the_log(moored):
    os.truncate(moored.path, 0)


def restore_an_older_log(moored):
    """The backup is of the time before the last beat; then this machine beats on, into the file that was deleted."""
    shutil.copy(moored.path, moored.root / "backup")
    moored.beat()
    moored.path.unlink()
    shutil.copy(moored.root / "backup", moored.path)


def swap_for_an_equal_copy(moored):
    """What is written after that goes into the file that was deleted."""
    shutil.copy(moored.path, moored.root / "backup")
    moored.path.unlink()
    shutil.copy(moored.root / "backup", moored.path)
    moored.beat()


def restore_in_place(moored):
    """The same inode has the lines of a backup; the next line is appended to them, at another place."""
    shutil.copy(moored.path, moored.root / "backup")
    moored.beat()
    shutil.copyfile(moored.root / "backup", moored.path)
    moored.beat()


@pytest.mark.parametrize(
    "harm",
    [
        *(delete, delete_the_record, make_anew, record_of_another),
        *(delete_the_log, cut_the_log, empty_the_log, restore_an_older_log, swap_for_an_equal_copy, restore_in_place),
    ],
)
def test_gone(moored, harm):
    """Whatever is not as this machine left it is told in one line, which names the file."""
    harm(moored)
    with pytest.raises(MemoryGone) as raised:
        moored.anchor.check()
    assert str(raised.value).startswith(f"{moored.root}/.fscrawl")
    assert str(raised.value).endswith("while this machine was running")
    assert "\n" not in str(raised.value)


def test_a_log_that_was_cut_while_its_server_was_away(moored, monkeypatch):
    """A writer that opens its file again after a fault sees that it is another one, also when it has written to it."""

    def fail(*args):
        raise OSError(5, "EIO")

    shutil.copy(moored.path, moored.root / "backup")
    moored.beat()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="EIO"):
            moored.log._append_once(b"{}\n")
    moored.path.unlink()
    shutil.copy(moored.root / "backup", moored.path)
    moored.beat()
    with pytest.raises(MemoryGone):
        moored.anchor.check()


def test_a_fault_that_passes(moored, monkeypatch):
    """A writer that opens its own file again goes on."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda *args: (_ for _ in ()).throw(OSError(5, "EIO")))
        with pytest.raises(OSError, match="EIO"):
            moored.log._append_once(b"{}\n")
    moored.beat()
    assert moored.anchor.check()


@pytest.mark.parametrize("path", [".fscrawl/tree.json", heartbeat_path(ME)])
def test_missed_for_an_instant(moored, path):
    """A name that is missing at the first look, and there at the second, is believed by neither."""
    there = moored.root / path
    there.rename(moored.root / "aside")
    moored.anchor._sleep = lambda seconds: (moored.root / "aside").rename(there)
    assert not moored.anchor.check()
    assert moored.anchor.check()


def test_a_name_that_only_a_listing_shows(moored, monkeypatch):
    """A listing and a look by name are never old at the same time: as long as they differ nothing is believed."""
    moored.tree_json.unlink()
    monkeypatch.setattr(TreeFiles, "names", lambda self, path: ["tree.json"])
    assert not moored.anchor.check()
    monkeypatch.undo()
    with pytest.raises(MemoryGone):
        moored.anchor.check()


def test_unmounted(moored):
    """Where the whole tree is missing, the share is not there: that is no reason to make a new `.fscrawl`."""
    moored.root.rename(moored.root.with_name("elsewhere"))
    moored.root.mkdir()
    with pytest.raises(NotATreeError, match="is the share mounted"):
        moored.anchor.check()


def test_a_damaged_record(moored):
    """Half a tree.json may be a half-read one; if it stays so, its path and what is wrong are told."""
    whole = moored.tree_json.read_bytes()
    moored.tree_json.write_bytes(whole[:20])
    moored.anchor._sleep = lambda seconds: moored.tree_json.write_bytes(whole)
    assert moored.anchor.check()
    moored.tree_json.write_bytes(whole[:20])
    moored.anchor._sleep = moored.slept.append
    with pytest.raises(NotATreeError, match=r"tree\.json: not JSON"):
        moored.anchor.check()


def test_the_reason_of_an_error(moored):
    """A file that is missing before a machine has a log may be missing with all of `.fscrawl`: that is told then."""
    error, passing = TreeError("a lease cannot be made"), TreeBusyError("not now")
    assert cause_of(moored.tree, error) is error
    delete(moored)
    assert cause_of(moored.tree, passing) is passing
    assert isinstance(cause_of(moored.tree, error), MemoryGone)


# -- a new `.fscrawl` over the pages of an old one


@pytest.fixture
def root(tmp_path):
    """Give the root of a tree with a page, whose `.fscrawl` was deleted."""
    root = tmp_path / "root"
    create(root, TreeRecord(FORMAT, "c", "t", 16, "host", new_machinery()), "", "")
    (root / "links/a.example").mkdir()
    shutil.rmtree(root / ".fscrawl")
    return root


def make(root):
    create(root, TreeRecord(FORMAT, "c", "t", 16, "host", new_machinery()), "", "")


def test_a_new_tree_need_not_wait(tmp_path):
    """Where nothing is stored, no machine can have been at work."""
    make(tmp_path / "root")
    assert must_wait_s(Tree(tmp_path / "root", ME), 60, 60) == 0


@pytest.mark.parametrize(
    ("dead_after_s", "caches_s", "wait_s"), [(30, 60, 75), (60, 60, 90), (60, 30, 60), (60, 0, 60)]
)
def test_wait_for_machines_of_the_one_before(root, dead_after_s, caches_s, wait_s):
    """Each machine waits, until one has waited: that was long enough for all."""
    make(root)
    for name in (ME, "m-2-bb", ME):
        assert must_wait_s(Tree(root, name), dead_after_s, caches_s) == wait_s
    note_waited(Tree(root, "m-2-bb"))
    assert must_wait_s(Tree(root, ME), dead_after_s, caches_s) == 0


def test_a_note_of_the_one_before(root):
    """If only a part of `.fscrawl` was deleted, what says there that somebody has waited does not count."""
    make(root)
    note_waited(Tree(root, ME))
    (root / ".fscrawl/tree.json").unlink()
    make(root)
    assert must_wait_s(Tree(root, ME), 60, 0) == 60


def test_a_word_about_a_file_of_a_tree_that_is_gone(root):
    """While the tree is there, a warning of one of its files is given; when all is missing, another line says so."""
    make(root)
    said = []
    warn = unless_gone(Tree(root, ME), said.append)
    warn("one")
    shutil.rmtree(root / ".fscrawl")
    warn("two")
    assert said == ["one"]
