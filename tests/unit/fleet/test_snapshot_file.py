"""A snapshot is read as it was written, or it is told from a whole one."""

import json

import pytest

from fscrawl import urls
from fscrawl.errors import RecordError
from fscrawl.fleet import snapshot_file, snapshots
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.snapshot_file import SnapshotHead, list_snapshots, open_snapshot
from fscrawl.frontier.url_table import UrlTable
from fscrawl.storage.layout import snapshot_directory, snapshot_path
from tests.support.snapshot_files import SHARD, FilesInMemory, url

GENERATION = 4
PATH = snapshot_path(GENERATION, SHARD, 1, 1)


def made(*, deep=False, at=None):
    """Make a snapshot with two URLs of each kind: waiting, failed, told."""
    lines = [Found(SHARD, number % 3, "", url(number)) for number in range(6)]
    lines += [Told(SHARD, urls.key(url(number)), 5, "2026-01-01T00:00:00.000Z") for number in (2, 3)]
    lines += [Told(SHARD, urls.key(url(number)), 0) for number in (4, 5)]
    files = FilesInMemory()
    snapshots.write(files, None, lines, SnapshotHead(GENERATION, SHARD, 1, 1, deep, at=at or {}))
    return files


def opened(files):
    snapshot = open_snapshot(files, GENERATION, SHARD, 1, 1)
    snapshot.check()
    return snapshot


@pytest.mark.parametrize("deep", [False, True])
def test_head(deep):
    """The head is one small read, and says how much of what is in it, and up to where in each log."""
    at = {"m-1": 3, "n-2": 0}
    files = made(deep=deep, at=at)
    head = open_snapshot(files, GENERATION, SHARD, 1, 1).head
    assert (head.generation, head.at, head.deep, head.surveyed) == (GENERATION, at, deep, False)
    assert (head.waiting, head.failed, head.told, head.urls) == (2, 2, 2, 6)
    assert len(files.reads) == 1


def test_large_head():
    """The places of thousands of logs do not fit into the first small read."""
    at = {f"host-{number}-{'ab' * 8}": number for number in range(3000)}
    assert opened(made(at=at)).head.at == at


@pytest.mark.parametrize("size", [0, 10, 300, -66, -65, -1])
def test_torn(size):
    """A snapshot that ends early is found by one small read and its size."""
    files = made()
    files.there[PATH] = files.there[PATH][:size]
    with pytest.raises(RecordError, match=f"^{PATH}: "):
        open_snapshot(files, GENERATION, SHARD, 1, 1)


def test_missing_and_longer():
    """So is one that is missing, or longer than its head says."""
    files = made()
    files.there[PATH] += b"x"
    with pytest.raises(RecordError, match="shorter or longer"):
        open_snapshot(files, GENERATION, SHARD, 1, 1)
    del files.there[PATH]
    with pytest.raises(RecordError, match="it has no head"):
        open_snapshot(files, GENERATION, SHARD, 1, 1)


def test_a_text_without_lines():
    """A text of gigabytes without a newline, which costs nobody anything to make, is not read whole."""
    head = SnapshotHead(GENERATION, SHARD, 1, 1, deep=False, surveyed=False, at={}, text_bytes=1 << 40)
    files = FilesInMemory()
    files.there[PATH] = head.to_json()
    files.read_range = lambda path, offset, length: bytes(length)
    snapshot = snapshot_file.Snapshot(files, head, len(files.there[PATH]))
    with pytest.raises(RecordError, match="a line of its text has no end"):
        list(snapshot.text())


def test_damaged():
    """A byte that has changed anywhere is found when all of it is checked."""
    whole = made().there[PATH]
    for place in range(0, len(whole), 7):
        files = FilesInMemory()
        files.there[PATH] = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        with pytest.raises(RecordError, match=f"^{PATH}: "):
            opened(files)


def test_another_snapshot():
    """A copy under another name is no snapshot of that name."""
    files = made()
    files.there[snapshot_path(GENERATION, SHARD, 1, 2)] = files.there[PATH]
    with pytest.raises(RecordError, match=r"7\.1\.2: it is the snapshot .*7\.1\.1"):
        open_snapshot(files, GENERATION, SHARD, 1, 2)


def heads():
    values = json.loads(made().there[PATH].partition(b"\n")[0])
    for name, wrong in (
        *(("generation", 3), ("deep", 0), ("surveyed", 1), ("told", -1), ("told", True), ("told", 1.0)),
        *(("at", []), ("at", {"m": [1]}), ("at", {"m": -1}), ("at", {"m": "3"})),
    ):
        yield json.dumps({**values, name: wrong}).encode()
    for name in values:
        yield json.dumps({other: values[other] for other in values if other != name}).encode()
    yield from (b"{}", b"[]", b"3", b"x", b"[" * 60_000, json.dumps({**values, "more": 1}).encode())


@pytest.mark.parametrize("line", list(heads()))
def test_damaged_heads(line):
    """A head that lacks a field, or has one of a wrong type, is a RecordError."""
    files = FilesInMemory()
    files.there[PATH] = line + b"\n"
    with pytest.raises(RecordError, match=f"^{PATH}: "):
        open_snapshot(files, GENERATION, SHARD, 1, 1)


def test_endless_head():
    """A file without a newline is not read for ever."""
    files = FilesInMemory()
    files.there[PATH] = bytes(1 << 25)
    with pytest.raises(RecordError, match="it has no head"):
        open_snapshot(files, GENERATION, SHARD, 1, 1)


def test_removed_while_it_is_read(monkeypatch):
    """A snapshot that is removed meanwhile is a RecordError, and one that was small was read whole before."""
    files = made()
    small = opened(files)
    monkeypatch.setattr(snapshot_file, "_KEPT_BYTES", 0)
    large = opened(files)
    files.remove(PATH)
    assert (len(list(small.pending())), sum(len(part[0]) for part in small.told())) == (2, 2)
    for read in (large.pending, large.failed, large.told):
        with pytest.raises(RecordError, match="it is missing"):
            list(read())


def test_cut_while_it_is_read(monkeypatch):
    """So is one that gets shorter."""
    monkeypatch.setattr(snapshot_file, "_KEPT_BYTES", 0)
    files = made()
    snapshot = opened(files)
    files.there[PATH] = files.there[PATH][:-80]
    with pytest.raises(RecordError, match="shorter than its head says"):
        list(snapshot.told())


@pytest.mark.parametrize("deep", [False, True])
def test_a_table_loads_it(deep):
    """A table of URLs takes what has failed and what is told as settled; a failure for a table of either kind."""
    snapshot = opened(made(deep=deep))
    for kind in (False, True):
        table = UrlTable(deep=kind)
        for fingerprints, _ in snapshot.failed():
            for each in fingerprints:
                table.failed(each)
        for columns in snapshot.told() if kind == deep else ():
            table.load(*columns)
        settled = [table.settled(urls.fingerprint(urls.key(url(number)))) for number in range(6)]
        assert settled == [False, False, True, True, kind == deep, kind == deep]


def test_depths():
    """Where depths matter, known and told ones are kept."""
    snapshot = opened(made(deep=True))
    told = {each: depths for part in snapshot.told() for each, *depths in zip(*part, strict=True)}
    assert told == {urls.fingerprint(urls.key(url(4))): [1, 0], urls.fingerprint(urls.key(url(5))): [2, 0]}


def test_groups(monkeypatch):
    """URLs come in groups of a bounded size: failed ones those of a piece of the text."""
    monkeypatch.setattr(snapshot_file, "CHUNK_BYTES", 10)
    monkeypatch.setattr(snapshot_file, "GROUP", 1)
    monkeypatch.setattr(snapshots, "GROUP", 1)
    snapshot = opened(made())
    for section in (snapshot.failed, snapshot.told):
        assert [len(part[0]) for part in section()] == [1, 1]


def test_list():
    """Names of snapshots are listed by shard, the newest first; other names are left out."""
    files = FilesInMemory()
    for name in ("7.1.9", "7.2.1", "7.1.10", "8.1.1", ".7.3.1.m.1-0.tmp", "7.4", "x"):
        files.there[f"{snapshot_directory(GENERATION)}/{name}"] = b""
    assert list_snapshots(files, GENERATION) == {7: [(2, 1), (1, 10), (1, 9)], 8: [(1, 1)]}
