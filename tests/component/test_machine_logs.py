"""Logs of machines on real files: two processes' views of one tree, and what fails in calls on files."""

import errno
import os

import pytest

from fscrawl.errors import MemoryGone, TreeBusyError, TreeError
from fscrawl.fleet.generations import UrlLogs
from fscrawl.fleet.lines import Surveyed
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.storage.layout import log_directory, log_path
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.storage.retrying import Retrying
from fscrawl.store import Tree, create
from tests.support.log_files import ALL, found

RECORD = TreeRecord(format=FORMAT, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")
LOG = log_path(1, "a")


@pytest.fixture
def root(tmp_path):
    create(tmp_path / "root", RECORD, "", "")
    (tmp_path / "root" / log_directory(1)).mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture
def files(root):
    tree = Tree(root, "a")
    tree.files.retrying = Retrying(0.3)
    return UrlLogs(tree.files, 1)


@pytest.fixture
def writer(files):
    writer = LogWriter(files, "a")
    writer.open()
    yield writer
    writer.close()


@pytest.fixture
def reader(root):
    return LogReader(UrlLogs(Tree(root, "b").files, 1), shards=10)


@pytest.fixture
def fail(monkeypatch):
    """Let the first call of an `os` function from now on fail, after it was made if `made`."""

    def fail(function, code=errno.EIO, *, made=False):
        real, left = getattr(os, function), [1]

        def faulty(*arguments, **options):
            if not left:
                return real(*arguments, **options)
            left.pop()
            if made:
                real(*arguments, **options)
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, function, faulty)

    return fail


def write(writer, number):
    assert writer.add(found(1, number), own=False)
    assert writer.add(found(2, number), own=True)
    writer.flush()


def test_from_machine_to_machine(root, writer, reader):
    """What one machine flushes another reads; a take reads it again. The log is one file."""
    got = []
    for number in range(9):
        write(writer, number)
        writer.check()
        got += reader.read("a", {1}, until=writer.place if number % 2 else None)
    assert got == [found(1, number) for number in range(9)]
    assert reader.places["a"] == writer.place == (root / LOG).stat().st_size
    assert list(reader.read_shards("a", {2}, 0, writer.place)) == [found(2, number) for number in range(9)]
    assert reader.damaged == {}


def test_listings(root, files, writer):
    """Strange names are no logs."""
    write(writer, 1)
    for name in (".hidden", "notes.txt", ".a.log.swp", "a.log~"):
        (root / log_directory(1) / name).touch()
    assert files.machines() == ["a"]
    assert UrlLogs(files._files, 0).machines() == []
    assert (files.size("a"), files.size("b"), files.open_view("b")) == (writer.place, None, None)


@pytest.mark.parametrize("function", ["pwrite", "fsync", "fstat"])
@pytest.mark.parametrize("made", [True, False])
def test_a_write_that_fails(root, writer, reader, fail, function, made):
    """Whatever call of a write fails: it is made again at the same place, and all is read once."""
    write(writer, 0)
    fail(function, made=made)
    write(writer, 1)
    write(writer, 2)
    assert list(reader.read("a", {1}, until=writer.place)) == [found(1, number) for number in range(3)]
    assert writer.place == (root / LOG).stat().st_size
    writer.check()


def test_short_writes(writer, reader, monkeypatch):
    """A write that takes less than it was given is gone on with."""
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: real(fd, data[:7], offset))
    write(writer, 0)
    assert list(reader.read("a", {1}, until=writer.place)) == [found(1, 0)]


@pytest.mark.parametrize("function", ["open", "fsync", "fstat", "pwrite"])
def test_an_opening_that_fails(files, reader, fail, function):
    """Whatever call fails when a log is made: it is made."""
    writer = LogWriter(files, "a")
    fail(function)
    writer.open()
    write(writer, 0)
    writer.close()
    assert list(reader.read("a", {1}, until=writer.place)) == [found(1, 0)]
    assert reader.damaged == {}


@pytest.mark.parametrize("function", ["open", "fstat", "pread", "listdir"])
def test_a_look_that_fails(writer, reader, fail, function):
    """Whatever call of a look fails with an error that may pass, it is made again, on a new handle."""
    for number in range(5):
        write(writer, number)
    fail(function, errno.ESTALE)
    assert len(list(reader.read("a", {1}))) == 5


def test_a_full_disk(writer, reader, fail):
    """A disk that is full is said at once. The lines stay, and are written when there is room."""
    write(writer, 0)
    fail("pwrite", errno.ENOSPC)
    with pytest.raises(TreeError, match="the disk is full") as caught:
        write(writer, 1)
    assert not isinstance(caught.value, TreeBusyError)
    writer.flush()
    assert set(reader.read("a", {1})) == {found(1, 0), found(1, 1)}


def test_short_reads(writer, reader, monkeypatch):
    """A read that gives less than is there is gone on with."""
    for number in range(5):
        write(writer, number)
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, offset: real(fd, min(size, 7), offset))
    assert list(reader.read("a", {1})) == [found(1, number) for number in range(5)]
    assert reader.damaged == {}


def test_a_file_that_was_replaced(root, writer, reader):
    """A log that was put back from a copy is found by the look after the next flush, though the handle is good."""
    write(writer, 0)
    path = root / LOG
    copy = path.read_bytes()
    path.unlink()
    path.write_bytes(copy)
    writer.check()
    writer.add(Surveyed(1), own=True)
    writer.flush()
    with pytest.raises(MemoryGone, match=r"log/a\.log: \d+ bytes are there, after \d+ were written"):
        writer.check()


def test_no_share(root, writer, files):
    """A log cannot be begun where its directory is gone."""
    write(writer, 0)
    (root / LOG).unlink()
    (root / log_directory(1)).rmdir()
    with pytest.raises(TreeError, match="it is not there"):
        LogWriter(files, "c").open()
    with pytest.raises(MemoryGone, match="it is gone"):
        writer.check()


def test_nothing_of_others(writer, reader):
    """Shards that are not asked for are named and not given."""
    write(writer, 0)
    assert list(reader.read("a", {7})) == []
    assert reader.needed == {1, 2}
    assert list(reader.read_shards("a", ALL, 0, writer.place)) == [found(1, 0), found(2, 0)]
