"""`.fscrawl` on a real directory: logs, leases."""

import errno
import json
import os
from pathlib import Path

import pytest

from fscrawl.commands import crawling as crawl
from fscrawl.errors import TreeBusyError, TreeError
from fscrawl.fleet.machinery import Lease, Machinery, Peer
from fscrawl.storage.append_log import Log, newest, tail
from fscrawl.storage.block_log import LogEnd, LogView
from fscrawl.storage.probe_directory import ProbeDirectory
from fscrawl.storage.records import TreeRecord
from fscrawl.storage.retrying import BRIEF
from fscrawl.store import Tree, create

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")


@pytest.fixture
def root(tmp_path):
    create(tmp_path / "root", RECORD, "", "")
    return tmp_path / "root"


@pytest.fixture
def make(root):
    return lambda machine="m-1-aa": Machinery(Tree(root, machine))


@pytest.fixture
def machinery(make):
    return make()


def write(path, data):
    Path(path).write_bytes(data)
    return str(path)


# -- logs


def test_log(tmp_path):
    """A log grows by what is appended, also where there was one before."""
    for data in (b"1\n", b"2\n"):
        log = Log(str(tmp_path / "log"))
        log.append(data)
        log.close()
    assert (tmp_path / "log").read_bytes() == b"1\n2\n"


def test_short_writes(tmp_path, monkeypatch):
    """A write that takes a part only is gone on with, and then flushed to the server."""
    synced = []
    whole = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: whole(fd, data[:2]))
    monkeypatch.setattr(os, "fsync", synced.append)
    log = Log(str(tmp_path / "log"))
    assert len(synced) == 1  # its directory, for its name
    log.append(b"12345\n")
    log.close()
    assert (tmp_path / "log").read_bytes() == b"12345\n"
    assert len(synced) == 2


@pytest.mark.parametrize("landed", [b"", b"tw", b"two\n"])
def test_an_append_that_fails(tmp_path, monkeypatch, landed):
    """Lines whose append failed come again, on lines of their own, whatever of them is there."""
    path = tmp_path / "log"
    log = Log(str(path))
    log.append(b"one\n")
    write, failures = os.write, [errno.EIO]

    def failing(descriptor, data):
        if failures:
            write(descriptor, landed)
            raise OSError(failures.pop(), "Input/output error")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", failing)
    log.append(b"two\n")
    log.append(b"three\n")
    log.close()
    assert path.read_bytes() == b"one\n" + landed + b"\ntwo\nthree\n"
    assert log.size == path.stat().st_size


def test_a_handle_that_the_server_does_not_know(tmp_path, monkeypatch):
    """An fsync that says that there is no such file is made again with a new handle, unless the file is missing."""
    path = tmp_path / "log"
    log = Log(str(path))
    fsync, failures = os.fsync, [errno.ENOENT]

    def failing(descriptor):
        if failures:
            raise OSError(failures.pop(), "No such file or directory")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    log.append(b"one\n")
    assert path.read_bytes() == b"one\n\none\n"
    path.unlink()
    failures.append(errno.ENOENT)
    with pytest.raises(TreeError, match="it is not there"):
        log.append(b"two\n")


def test_a_log_that_the_server_does_not_know(tmp_path, monkeypatch):
    """An fsync of an open log that says that there is no such file is a stale handle: the caller tries anew."""
    end = LogEnd(str(tmp_path / "m.log"))

    def unknown(descriptor):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(os, "fsync", unknown)
    with pytest.raises(OSError, match="Stale") as raised:
        end.write(b"one\n", 0)
    assert raised.value.errno == errno.ESTALE
    end.close()


def test_a_log_of_blocks_is_closed_once(tmp_path):
    """To close an end or a view again does nothing; what was written is there."""
    path = str(tmp_path / "0.log")
    end = LogEnd(path)
    assert end.write(b"one\n", 0) == end.write(b"one\n", 0) == 4
    view = LogView(path, BRIEF)
    assert view.read(0, 4) == b"one\n"
    for each in (end, end, view, view):
        each.close()
    assert view.read(0, 4) == b"one\n", "it is opened anew"
    view.close()


def test_short_reads(tmp_path, monkeypatch):
    """A read that gives less than is there is gone on with: half a line would look like the end."""
    path = write(tmp_path / "log", b"1234\n5678\n")
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, offset: real(fd, min(size, 3), offset))
    assert tail(path, 0) == b"1234\n5678\n"


def test_log_errors(tmp_path, monkeypatch):
    """A log in no directory, and a disk that is full, are errors of the tree."""
    with pytest.raises(TreeError, match="it is not there"):
        Log(str(tmp_path / "gone" / "log"))
    log = Log(str(tmp_path / "log"))

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TreeError, match="the disk is full"):
        log.append(b"1\n")
    log.close()


def test_tail(tmp_path):
    """A tail is whole lines from an offset: half a last line waits, past the end there is nothing."""
    path = write(tmp_path / "log", b"one\ntwo\nhal")
    assert tail(path, 0) == b"one\ntwo\n"
    assert tail(path, 4) == b"two\n"
    assert tail(path, 8) == b""
    assert tail(path, 11) == b""
    assert tail(path, 1000) == b""
    assert tail(str(tmp_path / "gone"), 0) == b""


def test_long_tail(tmp_path, monkeypatch):
    """A tail is read in pieces, each of whole lines."""
    monkeypatch.setattr("fscrawl.storage.append_log._READ_BYTES", 10)
    path = write(tmp_path / "log", b"one\ntwo\nthree\n")
    assert [tail(path, 0), tail(path, 8)] == [b"one\ntwo\n", b"three\n"]


def test_an_id_is_taken_once(root, make, monkeypatch):
    """Of two machines with one id the second takes another; the log of the first stays as it is."""
    first = crawl._with_its_own_id(Tree(root, "m-1-aa"))
    Machinery(first).heartbeat_log().append(b"{}\n")
    ids = iter(["m-1-aa", "m-1-bb"])
    monkeypatch.setattr(crawl, "new_machine_id", lambda: next(ids))
    second = crawl._with_its_own_id(Tree(root, "m-1-aa", fsync=True))
    assert (first.machine, second.machine, second.files.machine) == ("m-1-aa", "m-1-bb", "m-1-bb")
    assert second.files.fsync
    assert make().read_heartbeats("m-1-aa", 0) == b"{}\n"
    assert sorted(make().machines()) == ["m-1-aa", "m-1-bb"]


def test_an_id_whose_reply_is_lost(root, monkeypatch):
    """If the reply is lost after the log was made, another id is taken: it cannot be told whose the log is."""
    real, lost = os.open, []

    def forgetful(path, flags, *mode, **options):
        descriptor = real(path, flags, *mode, **options)
        if flags & os.O_EXCL and not lost:
            lost.append(path)
            os.close(descriptor)
            raise OSError(errno.ETIMEDOUT, "Connection timed out")
        return descriptor

    monkeypatch.setattr(os, "open", forgetful)
    assert crawl._with_its_own_id(Tree(root, "m-1-aa")).machine != "m-1-aa"


def test_newest(tmp_path):
    """The newest lines are all from an offset, or, if they are too many, the last whole ones; half a line waits."""
    path = write(tmp_path / "log", b"one\ntwo\nthree\nfour\nhal")
    assert newest(path, 0, 100) == (b"one\ntwo\nthree\nfour\n", 19)
    assert newest(path, 4, 100) == (b"two\nthree\nfour\n", 19)
    assert newest(path, 0, 17) == (b"three\nfour\n", 19)
    assert newest(path, 19, 100) == newest(path, 19, 1) == (b"", 19)
    assert newest(path, 1000, 100) == (b"", 1000)
    assert newest(str(tmp_path / "gone"), 7, 100) == (b"", 7)


def test_newest_of_long_lines(tmp_path):
    """At least two lines are read, however long they are."""
    lines = [b"%d" % n * 5000 + b"\n" for n in range(4)]
    path = write(tmp_path / "log", b"".join(lines))
    data, end = newest(path, 0, 10)
    assert data.endswith(lines[2] + lines[3])
    assert end == 20_004
    assert newest(path, 15_003, 10) == (lines[3], 20_004)


def test_newest_without_lines(tmp_path, monkeypatch):
    """NULs of a crashed server are not read as a whole to find a line; a line that comes after them is found."""
    monkeypatch.setattr("fscrawl.storage.append_log._READ_BYTES", 1000)
    path = write(tmp_path / "log", b"one\n" + b"\0" * 5000)
    assert newest(path, 0, 10) == (b"", 0)
    write(tmp_path / "log", b"one\n" + b"\0" * 5000 + b"\ntwo\n")
    assert newest(path, 0, 10) == (b"two\n", 5009)


def test_a_peer_is_read_from_the_ends_of_its_log(machinery, root, monkeypatch):
    """Of three weeks of beats a joiner reads some KiB: the hello and the newest beats. So it does when it is behind."""
    log = root / ".fscrawl" / "machines" / "b.log"
    log.write_bytes(b'{"hello":"b","pid":7}\n')
    beats = b"".join(b'{"beat":%d,"shards":%d,"pages":%d}\n' % (n, n, n) for n in range(20_000))
    read, pread = [], os.pread
    monkeypatch.setattr(os, "pread", lambda *args: read.append(pread(*args)) or read[-1])
    peer = Peer("b", 0.0)
    for times in (1, 2):
        with log.open("ab") as file:
            file.write(beats)
        peer.hear(peer.listen(machinery), 5.0 * times)
        assert (peer.greeting.pid, peer.last().shards, peer.grown_at) == (7, 19_999, 5.0 * times)
        assert [beat.number for beat in peer.beats] == [19_998, 19_999]
        assert peer.offset == log.stat().st_size
        assert sum(map(len, read)) <= times * 8 * 1024
    with log.open("ab") as file:
        file.write(b'{"bye":true,"finished":true}\n')
    peer.hear(peer.listen(machinery), 15.0)
    assert peer.bye.finished


def test_heartbeats(machinery, make):
    """A machine is listed once it has a log, and others read it."""
    assert machinery.machines() == []
    log = machinery.heartbeat_log()
    log.append(b"{}\n")
    log.close()
    assert make("other").machines() == ["m-1-aa"]
    assert make("other").read_heartbeats("m-1-aa", 0) == b"{}\n"
    assert machinery.read_heartbeats("nobody", 0) == b""


def test_strange_machines(machinery, root):
    """Names that are no logs are no machines."""
    for name in (".hidden.log", "a.txt", "b.log~", "log"):
        write(root / ".fscrawl" / "machines" / name, b"")
    assert machinery.machines() == []


# -- leases


def test_claim(machinery, make):
    """An epoch is won by one, who is named in it; others are told so, and by whom it is held."""
    other = make("other")
    assert machinery.claim_lease(3, 1, "m-1-aa")
    assert not other.claim_lease(3, 1, "other")
    assert not machinery.claim_lease(3, 1, "m-1-aa"), "a second claim is not the first"
    assert other.lease(3, 1) == Lease(3, 1, "m-1-aa")
    assert other.has_lease(3, 1)
    assert not other.has_lease(3, 2)
    assert other.claim_lease(3, 2, "third")
    assert sorted(machinery.leases()) == [(3, 1), (3, 2)]
    assert machinery.lease(3, 2).holder == "third"


def test_lost_reply(machinery, monkeypatch):
    """A link() that succeeded and says EEXIST, because it was sent twice, is a success."""
    link = os.link

    def twice(source, target):
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", twice)
    assert machinery.claim_lease(3, 1, "m-1-aa")
    assert not machinery.claim_lease(3, 1, "m-1-aa")


def test_drop(machinery):
    """An epoch that was dropped is gone, and may be dropped twice."""
    machinery.claim_lease(3, 1, "a")
    machinery.drop_lease(3, 1)
    machinery.drop_lease(3, 1)
    assert machinery.leases() == []
    assert machinery.lease(3, 1) == Lease(3, 1, "")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b"7", b"\xff\xfe", b"\0" * 40])
def test_torn_lease(machinery, root, data):
    """Of a lease that cannot be read, the holder is not known."""
    write(root / ".fscrawl" / "leases" / "3.1", data)
    assert machinery.lease(3, 1) == Lease(3, 1, "")


def test_strange_holder(machinery, root):
    """A holder is text, whatever somebody wrote."""
    write(root / ".fscrawl" / "leases" / "3.1", json.dumps({"holder": 7, "new": 1}).encode())
    assert machinery.lease(3, 1).holder == "7"


def test_strange_leases(machinery, root):
    """Names that are no leases, temporaries among them, are not listed."""
    for name in (".3.1.m-1-aa.7-0.tmp", "3", "3.", ".1", "3.1.2", "3.1~", "a.1", "-3.1"):
        write(root / ".fscrawl" / "leases" / name, b"")
    assert machinery.leases() == []


def test_no_answer_is_no_no(machinery, monkeypatch):
    """A file system that cannot say whether an epoch was claimed has not said that it was not."""

    def stale(path, *_, **__):
        raise OSError(errno.ESTALE, "Stale file handle")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", stale)
        with pytest.raises(TreeBusyError):
            machinery.has_lease(3, 1)


def test_no_directories(machinery, root):
    """Where the machinery was deleted there is nothing to list, and claiming says that it is gone."""
    for name in ("machines", "generations", "leases"):
        (root / ".fscrawl" / name).rmdir()
    assert (machinery.machines(), machinery.leases()) == ([], [])
    assert not machinery.has_lease(3, 1)
    with pytest.raises(TreeError, match="it is not there"):
        machinery.claim_lease(3, 1, "m")


# -- the directory of a probe


def test_probe_directory(root):
    """In a directory of its own a machine can try out what the file system does, and leave nothing behind."""
    directory = ProbeDirectory(Tree(root, "m").files, "m")
    assert directory.names() == []
    directory.make()
    assert [directory.create("a", b"1\n"), directory.create("a", b"2\n")] == [True, False]
    directory.append("a", b"3\n4")
    assert directory.read("a") == b"1\n3\n"
    assert [directory.link("a", "b"), directory.link("a", "b")] == [True, False]
    directory.rename("b", "c")
    assert sorted(directory.names()) == ["a", "c"]
    directory.clear(["a", "b", "c"])
    directory.clear(["a"])
    assert not Path(directory.path).exists()
