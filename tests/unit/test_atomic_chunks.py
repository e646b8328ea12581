"""A file that is too large for memory gets its name in one step, too."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.storage.atomic import publish_chunks
from fscrawl.storage.files import TreeFiles
from tests.support.stored_files import names

CHUNKS = [b"0" * 70, b"", b"1" * 100, b"23"]


@pytest.mark.parametrize("fsync", [False, True])
def test_publish(tmp_path, fsync):
    """The chunks become one file, which replaces the one before; its size is told."""
    (tmp_path / "file").write_bytes(b"old")
    assert publish_chunks(tmp_path / "file", lambda: CHUNKS, "m", fsync=fsync) == 172
    assert (names(tmp_path), (tmp_path / "file").read_bytes()) == (["file"], b"".join(CHUNKS))


@pytest.mark.parametrize("function", ["open", "write", "fsync", "close", "stat", "rename"])
def test_full_disk(tmp_path, fault, function):
    """A disk that is full at any step leaves neither file nor temporary."""
    fault(function, errno.ENOSPC, within=str(tmp_path) if function in {"open", "stat"} else "")
    with pytest.raises(TreeError, match="/file: the disk is full; free some space"):
        publish_chunks(tmp_path / "file", lambda: CHUNKS, "m", fsync=True)
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - a Path would ask os.stat


def test_written_again(tmp_path, monkeypatch):
    """After a fault that may pass, the data is made again from its beginning."""
    made, real, failures = [], os.write, [errno.EIO]

    def make() -> Iterator[bytes]:
        made.append(1)
        yield from CHUNKS

    def write(descriptor: int, data: bytes) -> int:
        if len(data) == 100 and failures:
            raise OSError(failures.pop(), "once")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    assert publish_chunks(tmp_path / "file", make, "m") == 172
    assert (len(made), (tmp_path / "file").read_bytes()) == (2, b"".join(CHUNKS))


def test_data_that_cannot_be_made(tmp_path):
    """An error while the data is made is passed on, and leaves nothing."""

    def make() -> Iterator[bytes]:
        yield b"0"
        raise LookupError("gone")

    with pytest.raises(LookupError):
        publish_chunks(tmp_path / "file", make, "m")
    assert names(tmp_path) == []


def test_short_file(tmp_path, monkeypatch):
    """A file that came out shorter than what was written is never published."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:1]) and len(data))
    with pytest.raises(TreeBusyError, match="shorter than what was written"):
        publish_chunks(tmp_path / "file", lambda: CHUNKS, "m")
    assert names(tmp_path) == []


@pytest.mark.parametrize(("there", "done"), [(CHUNKS, True), (CHUNKS[:1], False), ([*CHUNKS[:-1], b"xx"], False)])
def test_rename_that_was_sent_twice(tmp_path, monkeypatch, there, done):
    """A rename that finds no temporary has been done before, if the file has the right size and end."""

    def rename(temporary: str, path: str) -> None:
        Path(temporary).unlink()
        (tmp_path / "file").write_bytes(b"".join(there))
        raise FileNotFoundError(errno.ENOENT, "gone")

    monkeypatch.setattr(os, "rename", rename)
    if done:
        publish_chunks(tmp_path / "file", lambda: CHUNKS, "m")
    else:
        with pytest.raises(TreeError):
            publish_chunks(tmp_path / "file", lambda: CHUNKS, "m")


def test_rename_that_lost_its_file(tmp_path, monkeypatch):
    """A rename that finds neither temporary nor file has failed."""

    def rename(temporary: str, path: str) -> None:
        raise FileNotFoundError(errno.ENOENT, "gone")

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(TreeError, match="is the share mounted"):
        publish_chunks(tmp_path / "file", lambda: CHUNKS, "m")


def test_read_range(tmp_path, monkeypatch):
    """A part of a file is read, even in small pieces; what is behind its end is left out; a missing file is None."""
    files = TreeFiles(tmp_path, "m")
    assert files.publish_chunks("file", lambda: [b"0123456789"]) == 10
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, length, offset: real(descriptor, min(length, 3), offset))
    assert [files.read_range("file", *part) for part in [(0, 4), (2, 7), (8, 9), (20, 1)]] == [
        b"0123",
        b"2345678",
        b"89",
        b"",
    ]
    assert files.read_range("missing", 0, 1) is None
