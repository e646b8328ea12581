"""How machines that meet a new host at once make its directories: one of them does, and the others wait for it."""

import errno
import os
import shutil

import pytest

from fscrawl.errors import TreeError
from fscrawl.storage import files as module
from fscrawl.storage.atomic import temporary_owner
from fscrawl.storage.layout import LONGEST_NAME_BYTES, making_path
from fscrawl.storage.records import FORMAT, PageRecord, TreeRecord
from fscrawl.store import Tree, create

KEY = "ab" * 12
PAGE = PageRecord("http://a.example/", KEY, 0, "", "t", "m", 200, {}, 0, "", 0.1, (), skipped="x")
TAKEN = "links/.a.example.making.0-0.tmp"


class Clock:
    """Time that passes by sleeping only; `meanwhile`: what another machine does then."""

    def __init__(self):
        self.now, self.meanwhile = 0.0, lambda: None

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.meanwhile()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def tree(tmp_path):
    record = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=16, partition="url")
    create(tmp_path / "root", record, "", "")
    return Tree(tmp_path / "root", "m-1-aa")


@pytest.fixture
def made(monkeypatch):
    """List the directories that this machine tries to make."""
    made, mkdir = [], os.mkdir

    def noting(path, *mode):
        made.append(os.path.basename(path))  # noqa: PTH119
        mkdir(path, *mode)

    monkeypatch.setattr(os, "mkdir", noting)
    return made


def test_the_first_machine_makes_them(tree, clock, made):
    """A machine that meets a host alone makes its directories without waiting, and leaves nothing else there."""
    tree.put_page("a.example", PAGE, None)
    assert (made, clock.now) == (["a.example"], 0.0)
    assert [path.name for path in (tree.root / "links").rglob("*")] == ["a.example", f"{KEY}.json"]


def test_others_wait(tree, clock):
    """A machine that finds another one at it waits until that one is done."""
    (tree.root / TAKEN).touch()

    def other_machine():
        if clock.now > 0.5:
            (tree.root / "links/a.example").mkdir(exist_ok=True)
        if clock.now > 1:
            (tree.root / TAKEN).unlink(missing_ok=True)

    clock.meanwhile = other_machine
    tree.put_page("a.example", PAGE, None)
    assert 1 < clock.now < 1.1
    assert tree.is_done("a.example", KEY)
    assert not (tree.root / TAKEN).exists()


def test_a_machine_that_was_killed(tree, clock, made):
    """If the directory does not come, the other machine was killed: then this one makes it, and tidies up."""
    (tree.root / TAKEN).touch()
    tree.put_page("a.example", PAGE, None)
    assert made == ["a.example"]
    assert 2 <= clock.now < 2.1
    assert [path.name for path in (tree.root / "links").iterdir()] == ["a.example"]


@pytest.mark.parametrize(("there", "refusals", "is_free"), [(True, 9, False), (False, 2, True)])
def test_a_name_that_sshfs_refuses(tree, monkeypatch, there, refusals, is_free):
    """On sshfs EPERM says that another machine has the name. If it has given it back, the name is free."""
    real, left = os.open, [errno.EPERM] * refusals
    if there:
        (tree.root / "name").touch()

    def refusing(path, flags, *mode, **options):
        if flags & os.O_EXCL and left:
            raise OSError(left.pop(), "Operation not permitted")
        return real(path, flags, *mode, **options)

    monkeypatch.setattr(os, "open", refusing)
    assert tree.files.reserve_name("name") is is_free


@pytest.mark.parametrize("code", [errno.EPERM, errno.EACCES])
def test_a_name_that_may_not_be_made(tree, monkeypatch, code):
    """If nobody has a name and it cannot be made, that is an error."""

    def refusing(*_, **__):
        raise OSError(code, "no")

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(TreeError, match="must be able to read there, and to write"):
        tree.files.reserve_name("name")


def test_a_share_that_is_gone(tree):
    """Without the directory above it no directory is made, and no file."""
    shutil.rmtree(tree.root / "links")
    with pytest.raises(TreeError, match="is the share mounted"):
        tree.put_page("a.example", PAGE, None)
    assert not (tree.root / "links").exists()


def test_hosts_that_have_one_machine(tmp_path, made, monkeypatch):
    """Where hosts are divided among machines, only one meets a new host: nothing is taken."""
    create(tmp_path / "root", TreeRecord(FORMAT, "c1", "t", 16, "host", "0" * 32), "", "")
    tree = Tree(tmp_path / "root", "m-1-aa")
    monkeypatch.setattr(tree.files, "reserve_name", None)
    made.clear()
    tree.put_page("a.example", PAGE, None)
    assert made == ["a.example"]


def test_what_is_left_is_a_temporary():
    """The file of a machine that was killed is ignored by readers, as a temporary that nobody is writing is."""
    assert temporary_owner(making_path("links/a.example").rpartition("/")[2]) == "making"
    assert len(making_path("h" * 190)) <= LONGEST_NAME_BYTES
