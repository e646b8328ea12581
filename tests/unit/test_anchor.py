"""Whether `.fscrawl` is still what a machine joined, after all that people and servers do to it."""

import os
import shutil

import pytest
from msgspec.structs import replace

from fscrawl.errors import MemoryGone, NotATreeError
from fscrawl.fleet.anchor import Anchor
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
    assert str(raised.value).endswith("while this machine ran; nothing stored is lost: start the same command again")
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
    assert not moored.anchor.check(), "this beat does not count"
    assert moored.anchor.check()
    moored.tree_json.write_bytes(whole[:20])
    moored.anchor._sleep = moored.slept.append
    with pytest.raises(NotATreeError, match=r"tree\.json: not JSON"):
        moored.anchor.check()
