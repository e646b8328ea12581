"""What a machine finds out about the mount before it crawls."""

import errno
import os
import re
from collections import Counter

import pytest

from fscrawl import cli, store
from fscrawl.admin import probe
from fscrawl.config import settings
from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.storage import mounts
from fscrawl.storage.probe_directory import ProbeDirectory
from fscrawl.storage.records import FORMAT, TreeRecord

RECORD = TreeRecord(FORMAT, "c1", "t", 512, "host", "0" * 32)


class Time:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def tree(tmp_path):
    store.create(tmp_path / "root", RECORD, "", "")
    return store.Tree(tmp_path / "root", "m-1-aa")


def run(tree, time=None):
    """Probe; give how late an append was seen, and the warnings."""
    time = time or Time()
    told = []
    return probe.probe(tree, told.append, time, time.sleep), told


def left(tree):
    return [path.name for path in (tree.root / ".fscrawl").glob("probe-*")]


def fail(monkeypatch, function, code):
    def failing(*args, **options):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, function, failing)


def test_good_mount(tree):
    """On a file system that keeps everything nothing is said, and nothing is left."""
    assert run(tree) == (0.0, [])
    assert left(tree) == []


def test_few_calls(tree, monkeypatch):
    """A good mount is asked fewer than thirty times, and nothing waits for the disk."""
    calls, real_open, real_close = Counter(), os.open, os.close
    for name in ("open", "write", "close", "fstat", "pread", "link", "rename", "listdir", "unlink", "rmdir", "mkdir"):
        real = getattr(os, name)

        def counting(*args, name=name, real=real, **options):
            calls[name] += 1
            return real(*args, **options)

        monkeypatch.setattr(os, name, counting)
    monkeypatch.setattr(os, "fsync", None)
    opened, closed = os.open, os.close
    looked_up = set()

    def opening(path, flags, *args, **options):
        if not flags & os.O_PATH:
            return opened(path, flags, *args, **options)
        looked_up.add(descriptor := real_open(path, flags, *args, **options))  # no request: any call looks a name up
        return descriptor

    def closing(descriptor):
        if descriptor in looked_up:
            looked_up.remove(descriptor)
            return real_close(descriptor)
        return closed(descriptor)

    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(os, "close", closing)
    run(tree)
    assert calls["link"] == 2
    assert sum(calls.values()) + 4 < 30  # a listing is five calls of the system


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_no_hard_links(tree, monkeypatch, code):
    """Without hard links a crawl is refused, and what was tried is removed."""
    fail(monkeypatch, "link", code)
    with pytest.raises(TreeError, match=r"has no hard links.*put the tree on another file system") as caught:
        run(tree)
    assert caught.value.exit_code == 75
    assert left(tree) == []


def test_link_that_is_not_exclusive(tree, monkeypatch):
    """Where link() takes a name that is taken, a crawl is refused."""
    monkeypatch.setattr(os, "link", lambda old, new: None)
    with pytest.raises(TreeError, match="create a name twice"):
        run(tree)


def test_rename_that_fails(tree, monkeypatch):
    """Where rename() refuses a name that is taken, as sshfs does with some servers, a crawl is refused."""
    fail(monkeypatch, "rename", errno.EPERM)
    with pytest.raises(TreeError, match="does not replace a file by rename"):
        run(tree)


def test_rename_that_does_nothing(tree, monkeypatch):
    """Where a replaced file keeps its old bytes for a second, a crawl is refused."""
    monkeypatch.setattr(os, "rename", lambda old, new: None)
    time = Time()
    with pytest.raises(TreeError, match="does not replace a file by rename"):
        run(tree, time)
    assert time.now == pytest.approx(1.0, abs=0.02)
    assert left(tree) == []


@pytest.mark.parametrize("function", ["link", "rename"])
@pytest.mark.parametrize(("code", "kind"), [(errno.ESTALE, TreeBusyError), (errno.ENOSPC, TreeError)])
def test_passing_faults(tree, monkeypatch, function, code, kind):
    """A fault that says nothing of what the file system can do is reported as itself."""
    fail(monkeypatch, function, code)
    with pytest.raises(kind) as caught:
        run(tree)
    assert "this file system" not in str(caught.value)


def test_append_that_nobody_sees(tree, monkeypatch):
    """Where an append is not seen within a second, a crawl is refused."""
    monkeypatch.setattr(ProbeDirectory, "read", lambda self, name: b"")
    time = Time()
    with pytest.raises(TreeError, match="does not show what was appended"):
        run(tree, time)
    assert 1.0 <= time.now < 1.02


def test_append_that_is_seen_late(tree, monkeypatch):
    """An append that is seen half a second later is worth a warning with that time."""
    real, time = ProbeDirectory.read, Time()
    monkeypatch.setattr(ProbeDirectory, "read", lambda self, name: real(self, name) if time.now >= 0.5 else b"")
    late_s, told = run(tree, time)
    assert late_s == pytest.approx(0.5, abs=0.02)
    assert len(told) == 1
    assert "appended data is visible 0.5" in told[0]


def test_listing_without_new_names(tree, monkeypatch):
    """A listing that does not show a new name within a second is worth a warning."""
    monkeypatch.setattr(ProbeDirectory, "names", lambda self: [])
    _, told = run(tree)
    assert [text for text in told if "does not show a new name within 1 s" in text] == told != []


def test_listing_that_is_late(tree, monkeypatch):
    """A listing that shows a new name half a second late is worth a warning with that time."""
    real, time = ProbeDirectory.names, Time()
    monkeypatch.setattr(ProbeDirectory, "names", lambda self: real(self) if time.now >= 0.5 else ["page"])
    assert "a new name 0.5" in run(tree, time)[1][0]


def test_create_that_is_not_exclusive(tree, monkeypatch):
    """Two creations of one name that both succeed are worth a warning."""
    real = ProbeDirectory.create
    monkeypatch.setattr(ProbeDirectory, "create", lambda self, name, data: real(self, name, data) or True)
    _, told = run(tree)
    assert "O_EXCL does not work" in told[0]


@pytest.mark.parametrize(
    ("code", "advice"), [(errno.EROFS, "mounted read-only"), (errno.ENOSPC, "disk is full"), (errno.EACCES, "denied")]
)
def test_mount_that_cannot_be_written(tree, monkeypatch, code, advice):
    """Where nothing can be made, the reason is said with its advice."""
    fail(monkeypatch, "mkdir", code)
    with pytest.raises(TreeError, match=advice):
        run(tree)


def test_directory_that_cannot_be_cleared(tree, monkeypatch):
    """A directory that cannot be removed, as with NFS's left-over names, is left to the audit."""
    fail(monkeypatch, "rmdir", errno.ENOTEMPTY)
    assert run(tree)[1] == []
    assert left(tree) == ["probe-m-1-aa"]


def test_directory_that_is_gone(tree):
    """A directory that somebody removed has no names, and can be cleared."""
    directory = ProbeDirectory(tree.files, "nobody")
    assert directory.names() == []
    directory.clear(["page"])
    assert left(tree) == []


def test_kind_through_a_link(tree, tmp_path, monkeypatch):
    """The type in a message is that of where a symbolic link leads to; without a table of mounts there is none."""
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 8:1 / / rw - ext4 a rw\n2 1 0:9 / {os.path.realpath(tmp_path)}/root rw - nfs4 b rw\n")
    (tmp_path / "link").symlink_to(tree.root)
    fail(monkeypatch, "link", errno.EPERM)
    for there, said in ((table, "this file system (nfs4) has no"), (tmp_path / "none", "this file system has no")):
        monkeypatch.setattr(mounts, "TABLE", there)
        with pytest.raises(TreeError, match=re.escape(said)):
            run(store.Tree(tmp_path / "link", "m-1-aa"))


def test_crawl_probes(tree, monkeypatch, capsys):
    """A crawl into a tree whose mount is refused ends with 75 before anything is fetched."""
    (tree.root / "seeds.txt").write_text("http://127.0.0.1:8/\n")
    (tree.root / "crawl.toml").write_text(settings.render(settings.Settings()))
    fail(monkeypatch, "link", errno.EPERM)
    assert cli.main(["crawl", "--root", str(tree.root)]) == 75
    assert "has no hard links" in capsys.readouterr().err
