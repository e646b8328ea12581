"""What is made in a tree is as open as its root, whatever the umasks and groups of its users are."""

import os
import subprocess
from pathlib import Path

import pytest

from fscrawl import cli
from fscrawl.admin.doctor import directory as doctor
from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING
from fscrawl.engine.messages import WorkerSetup
from fscrawl.errors import TreeError
from fscrawl.storage.layout import DIRECTORIES
from fscrawl.storage.permissions import Access, access_of, fitting_umask
from fscrawl.store import Tree, create
from tests.support.first_page import PAGE, RECORD, fill

MODES = [0o700, 0o750, 0o755, 0o775, 0o770, 0o777, 0o2775, 0o2770]


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def bits(path):
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o000])
def test_as_open_as_the_root(root, mode, umask):
    """Directories have the root's bits, files those without execution, whatever the user's umask is."""
    root.chmod(mode)
    os.umask(umask)
    fill(root)
    for path in root.rglob("*"):
        assert bits(path) == (mode & 0o777 if path.is_dir() else mode & 0o666), path
        if path.is_dir() and mode & 0o070 != (mode & 0o007) << 3:
            assert path.stat().st_mode & 0o2000, path


def test_a_root_that_is_made(tmp_path):
    """A root that did not exist is as open as the user's umask lets it be, and so is all that is in it."""
    os.umask(0o027)
    fill(tmp_path / "new")
    assert {bits(path) for path in (tmp_path / "new").rglob("*")} == {0o750, 0o640}


def test_a_sticky_root(root):
    """In a root like /tmp, others may not write what a machine makes."""
    root.chmod(0o1777)
    os.umask(0o022)
    fill(root)
    assert {bits(path) for path in root.rglob("*")} == {0o775, 0o664}


def test_the_umask_comes_back(root):
    """A tree is made with the umask that fits it; afterwards the process has its own."""
    root.chmod(0o777)
    os.umask(0o027)
    create(root, RECORD, "", "")
    with pytest.raises(ZeroDivisionError), fitting_umask(access_of(str(root))):
        raise ZeroDivisionError
    assert os.umask(0o027) == 0o027


def test_pages_cost_no_further_call(root, monkeypatch):
    """When a process has taken the umask, it asks for no permissions and sets none."""
    root.chmod(0o2775)
    tree = fill(root)
    for name in ("chmod", "chown", "fchmod", "fchown", "umask"):
        monkeypatch.setattr(os, name, None)
    monkeypatch.setattr("fscrawl.storage.files.access_of", None)
    tree.put_page("b.example", PAGE, b"body")
    assert bits(root / "links/b.example") == 0o775


def test_workers(root):
    """A worker process takes the umask of its machine."""
    root.chmod(0o775)
    tree = fill(root)
    os.umask(0o077)
    setup = WorkerSetup(root, RECORD, "m-1-aa", False, 1, umask=tree.files.umask)
    setup.tree().put_page("b.example", PAGE, b"body")
    assert (bits(root / "links/b.example"), bits(root / "htmls/b.example")) == (0o775, 0o775)


def test_commands(root):
    """A sign that a command makes is as open as the root; a command that only looks keeps its user's umask."""
    root.chmod(0o775)
    fill(root)
    os.umask(0o077)
    assert cli.main(["status", "--root", str(root)]) == 0
    assert os.umask(0o077) == 0o077
    assert cli.main(["pause", "--root", str(root)]) == 0
    assert bits(root / "PAUSE") == 0o664


def test_a_root_that_is_gone(tmp_path):
    """The umask of a root that is not there is a TreeError."""
    create(tmp_path / "root", RECORD, "", "")
    tree = Tree(tmp_path / "root", "m")
    (tmp_path / "root").rename(tmp_path / "away")
    with pytest.raises(TreeError, match="it is not there"):
        tree.files.adopt_umask()
    assert tree.files.access() is None


# -- the doctor


def test_the_doctor_finds_nothing(root):
    """A tree that was made so is as open as its root."""
    root.chmod(0o2775)
    (result,) = doctor.openness(fill(root))
    assert result.level == OK
    assert result.what.endswith(f": rwxrwsr-x of group {root.stat().st_gid}")


def test_the_doctor_finds_closed_directories(root, monkeypatch):
    """Directories that lack the root's bits are named, with the command that mends them."""
    tree = fill(root)
    (root / "links").chmod(0o700)
    (root / "links/a.example").chmod(0o700)
    root.chmod(0o775)
    group = root.stat().st_gid
    (result,) = doctor.openness(tree)
    assert result.level == WARNING
    assert result.what.startswith("htmls and 10 more directories are less open than the root: rwxr-xr-x of group ")
    assert f"chgrp -R {group} {root} && chmod -R u+rwX,g+rwX,o+rX {root} && find {root} -type d" in result.advice
    monkeypatch.setattr(os, "access", lambda path, _: not path.endswith("links"))
    (result,) = doctor.openness(tree)
    assert result.level == PROBLEM
    assert result.what.startswith("links and 10 more directories are less open")
    assert result.what.endswith("; this user cannot write there")


@pytest.mark.parametrize("name", ["-x", "my tree's"])
def test_the_command_that_opens_directories_can_be_copied(tmp_path, monkeypatch, name):
    """Its shell takes the root for one word, and for no option."""
    monkeypatch.chdir(tmp_path)
    tree = fill(Path(name))
    Path(name, "links").chmod(0o700)
    Path(name).chmod(0o2775)
    (result,) = doctor.openness(tree)
    subprocess.run(["sh", "-e", "-c", result.advice.partition("  ")[2]], check=True)
    assert [found.level for found in doctor.openness(tree)] == [OK]


def test_the_doctor_finds_another_group(root, monkeypatch):
    """A directory of another group is told only if the group may do more than others may."""
    root.chmod(0o755)
    tree = fill(root)
    for directory in DIRECTORIES:
        (root / directory).chmod(0o777)
    find = tree.files.access

    def of_another_group(path=""):
        found = find(path)
        return found._replace(group=found.group + 1) if path == "feed" or path.endswith("robots") else found

    monkeypatch.setattr(tree.files, "access", of_another_group)
    assert [each.level for each in doctor.openness(tree)] == [OK]
    root.chmod(0o775)
    tree.files.make_directory("errs/a.example")
    (root / "errs/a.example").chmod(0o775)
    results = [each.what for each in doctor.openness(tree)]
    assert results[0].startswith((".fscrawl/robots", "htmls")), results


def test_a_directory_that_vanishes(root, monkeypatch):
    """A directory that is gone meanwhile, or a whole tree, is not judged."""
    tree = fill(root)
    (root / "errs").rmdir()
    assert [each.level for each in doctor.openness(tree)] == [OK]
    monkeypatch.setattr(tree.files, "access", lambda _="": None)
    assert list(doctor.openness(tree)) == []


def test_words():
    """Bits that a root lacks are no demand."""
    root = Access(0o750, 0, 7)
    assert (Access(0o700, 0, 7).lacks(root), Access(0o777, 0, 7).lacks(root)) == (0o050, 0)
    assert (root.group_counts, Access(0o755, 0, 7).group_counts) == (True, False)
