"""A file gets its name in one step, whatever the file system says and whoever else is at work."""

import contextlib
import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.storage import atomic, retrying
from fscrawl.storage.atomic import claim, publish, read_file, temporary_owner
from fscrawl.storage.retrying import Retrying
from tests.support.stored_files import KEY, names


@pytest.mark.parametrize("action", [publish, claim])
@pytest.mark.parametrize("function", ["open", "write", "fsync", "close", "stat"])
def test_full_disk(tmp_path, fault, action, function):
    """A disk that is full at any step is said with advice, and leaves neither file nor temporary."""
    fault(function, errno.ENOSPC, within=str(tmp_path) if function in {"open", "stat"} else "")
    with pytest.raises(TreeError, match="/file: the disk is full; free some space"):
        action(tmp_path / "file", b"data", "m", fsync=True)
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - a Path would ask os.stat


@pytest.mark.parametrize(("action", "function"), [(publish, "rename"), (claim, "link")])
@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.EIO, errno.EDQUOT])
def test_failing_last_step(tmp_path, fault, action, function, code):
    """A file that cannot get its name leaves no temporary, and what had the name before is untouched."""
    (tmp_path / "file").write_bytes(b"old")
    fault(function, code)
    with pytest.raises(TreeError) as caught:
        action(tmp_path / "file", b"new", "m")
    assert str(caught.value).startswith(f"{tmp_path}/file: ")
    assert ";" in str(caught.value) or "input/output" in str(caught.value)
    assert (names(tmp_path), (tmp_path / "file").read_bytes()) == (["file"], b"old")


@pytest.mark.parametrize(
    ("code", "advice"), [(errno.EACCES, "must be able to read there, and"), (errno.EROFS, "mount it read-write")]
)
def test_forbidden(tmp_path, fault, code, advice):
    """A directory that may not be written is a TreeError that stops the machine, with advice."""
    fault("open", code, within=str(tmp_path))
    with pytest.raises(TreeError, match=advice) as caught:
        publish(tmp_path / "file", b"", "m")
    assert (caught.value.stop, caught.value.retry, caught.value.exit_code) == (True, False, 75)


def test_passing_fault(tmp_path, fault):
    """A stale handle may be tried again."""
    fault("rename", errno.ESTALE)
    with pytest.raises(TreeBusyError):
        publish(tmp_path / "file", b"", "m")
    assert names(tmp_path) == []


@pytest.mark.parametrize("action", [publish, claim])
def test_short_file(tmp_path, monkeypatch, action):
    """A file that came out shorter than what was written is never published."""
    real = os.stat
    monkeypatch.setattr(
        os,
        "stat",
        lambda path, **options: SimpleNamespace(st_size=0) if str(path).endswith(".tmp") else real(path, **options),
    )
    with pytest.raises(TreeError, match="shorter than what was written"):
        action(tmp_path / "file", b"data", "m")
    assert names(tmp_path) == []


def test_short_writes(tmp_path, monkeypatch):
    """A write that takes only a part is gone on with."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:3]))
    publish(tmp_path / "file", b"0123456789", "m")
    assert (tmp_path / "file").read_bytes() == b"0123456789"


def test_fsync(tmp_path, monkeypatch):
    """A file is flushed to the disk before it has its name, and then the name, if that is asked for."""
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(names(tmp_path)))
    publish(tmp_path / "a", b"", "m")
    publish(tmp_path / "b", b"", "m", fsync=True)
    assert len(flushed) == 2
    assert "b" not in flushed[0]
    assert "b" in flushed[1]


def test_lost_reply(tmp_path, monkeypatch):
    """A link that was made though it reports EEXIST has won."""
    real = os.link

    def link(source, target):
        real(source, target)
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr(os, "link", link)
    assert claim(tmp_path / "file", b"mine", "m")
    assert names(tmp_path) == ["file"]


def test_claim_of_a_file_that_cannot_be_found_yet(tmp_path, monkeypatch):
    """A file that is there and that a cache does not show is asked for again: it tells who was first."""
    path = tmp_path / "file"
    path.write_bytes(b"hers")
    real, looks = atomic.read_file, []

    def read(path, most):
        looks.append(path)
        if len(looks) < 3:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return real(path, most)

    monkeypatch.setattr(atomic, "read_file", read)
    assert not claim(path, b"mine", "m", retrying=Retrying(5))
    assert names(tmp_path) == ["file"]
    assert len(looks) == 3


@pytest.mark.parametrize("action", [publish, claim])
def test_create_that_was_sent_twice(tmp_path, monkeypatch, action):
    """A temporary that was made though its reply says EEXIST is left for one of another name, and removed."""
    real, lost = os.open, []

    def twice(path, flags, *mode, **options):
        descriptor = real(path, flags, *mode, **options)
        if flags & os.O_EXCL and len(lost) < 2:
            lost.append(path)
            os.close(descriptor)
            raise FileExistsError(errno.EEXIST, "File exists")
        return descriptor

    monkeypatch.setattr(os, "open", twice)
    action(tmp_path / "a", b"mine", "m")
    assert (len(lost), names(tmp_path), (tmp_path / "a").read_bytes()) == (2, ["a"], b"mine")


def test_no_directory(tmp_path):
    """Publishing makes no directory."""
    with pytest.raises(TreeError, match="it is not there"):
        publish(tmp_path / "no" / "file", b"", "m")
    assert names(tmp_path) == []


def test_what_earlier_tries_leave(tmp_path, monkeypatch):
    """A temporary that could neither be checked nor removed is removed when another try has succeeded."""
    failing = {"stat": 1, "unlink": 1}
    for name in tuple(failing):
        real = getattr(os, name)

        def faulty(path, *args, name=name, real=real, **options):
            if str(path).endswith(".tmp") and failing[name]:
                failing[name] -= 1
                raise OSError(errno.EIO, "Input/output error")
            return real(path, *args, **options)

        monkeypatch.setattr(os, name, faulty)
    publish(tmp_path / "page", b"body", "m-1-aa", retrying=Retrying(5.0))
    assert [path.name for path in tmp_path.iterdir()] == ["page"]
    assert not any(failing.values())


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        (f".{KEY}.html.host-7-ab12.0a1b2c3d4e5f6789.tmp", "host-7-ab12"),
        (".tree.json.creation.00000000000000ff.tmp", "creation"),
        (".a.b.example.json.m-1-aa.0a1b2c3d4e5f6789.tmp", "m-1-aa"),
        (".127.0.0.1_8000.json.m-1-aa.0a1b2c3d4e5f6789.tmp", "m-1-aa"),
        (f"{KEY}.html", None),
        ("a.tmp", None),
        (".nfs000000000001", None),
        (f".{KEY}.html.swp", None),
    ],
)
def test_temporary_owner(name, owner):
    """A temporary tells who was writing it, however many dots its name holds."""
    assert temporary_owner(name) == owner


def test_link_whose_reply_is_lost(tmp_path, monkeypatch):
    """A link that was made though an error came back has won, and nobody sees the file without its bytes meanwhile."""
    real, tries = os.link, []

    def link(source, target):
        tries.append(target)
        real(source, target)
        raise OSError(errno.ETIMEDOUT, "Connection timed out")

    written = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: written.append((tmp_path / "a").exists()) or write(fd, data))
    monkeypatch.setattr(os, "link", link)
    assert claim(tmp_path / "a", b"mine", "m")
    assert (len(tries), written, names(tmp_path)) == (2, [False], ["a"])


def test_link_that_another_machine_was_first_with(tmp_path, monkeypatch):
    """A claim is lost, and not at fault, where EPERM means that another machine has the name, as on sshfs."""

    def link(source, target):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(TreeError, match="not permitted"):
        claim(tmp_path / "a", b"mine", "m")
    (tmp_path / "a").write_bytes(b"theirs")
    assert not claim(tmp_path / "a", b"mine", "m")
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EIO])
def test_rename_whose_reply_is_lost(tmp_path, monkeypatch, code):
    """A rename that was made is done, whether it is told as missing (a retransmission) or as an error."""
    real = os.rename

    def rename(source, target):
        real(source, target)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(retrying.BRIEF, "limit_s", 10.0)  # it succeeds at the second try, also on a busy machine
    publish(tmp_path / "a", b"mine", "m")
    assert (names(tmp_path), (tmp_path / "a").read_bytes()) == (["a"], b"mine")


@pytest.mark.parametrize("there", [None, b"theirs"])
def test_rename_that_was_not_made(tmp_path, monkeypatch, there):
    """A rename that does not find its source, and of which nothing has come, is a fault."""

    def rename(source, target):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    if there:
        (tmp_path / "a").write_bytes(there)
    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(TreeError, match="is the share mounted"):
        publish(tmp_path / "a", b"mine", "m")
    assert names(tmp_path) == (["a"] if there else [])


@pytest.mark.parametrize(("code", "fatal"), [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)])
def test_directory_that_cannot_be_synced(tmp_path, monkeypatch, code, fatal):
    """A file system that has nothing to sync in a directory says so; any other error is a fault."""

    def fsync(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").is_dir():
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(TreeError) if fatal else contextlib.nullcontext():
        publish(tmp_path / "a", b"mine", "m", fsync=True)
    assert (tmp_path / "a").read_bytes() == b"mine"


def test_a_passing_fault_is_waited_out(tmp_path, monkeypatch):
    """A stale handle at any step costs another try, and leaves one whole file."""
    for function in ("open", "write", "fsync", "close", "stat", "rename"):
        real, failed = getattr(os, function), []

        def once(*args, function=function, real=real, failed=failed, **options):
            if not failed:
                failed.append(True)
                if function == "close":
                    real(*args)
                raise OSError(errno.ESTALE, "Stale file handle")
            return real(*args, **options)

        with monkeypatch.context() as patched:
            patched.setattr(os, function, once)
            publish(str(tmp_path / function), b"data", "m", fsync=True)
        assert failed, function
        assert (tmp_path / function).read_bytes() == b"data"
    assert len(names(tmp_path)) == 6


def test_read_of_a_file_that_grew(tmp_path, monkeypatch):
    """A file that is longer than its size says (an old attribute, an append meanwhile) is read to its end."""
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    monkeypatch.setattr(os, "fstat", lambda descriptor: SimpleNamespace(st_size=10, st_mode=0o100644))
    assert read_file(str(path)) == b"x" * 100
