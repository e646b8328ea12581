"""What all machines have said, as a command reads it: logs, snapshots, old feeds."""

import shutil

import pytest

from fscrawl.config.settings import CrawlSettings
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.fleet.logs import TreeLogs
from fscrawl.fleet.said import SNAPSHOT, Said
from fscrawl.fleet.snapshots import Snapshots
from fscrawl.fleet.terms import Term
from fscrawl.storage.records import FORMAT, TreeRecord, new_machinery
from fscrawl.store import Tree, create

KEY = "7a6c7479c7501fe8a6019e32"


@pytest.fixture
def tree(tmp_path):
    create(tmp_path / "root", TreeRecord(FORMAT, "c", "t", 16, 0, "host", new_machinery()), "", "")
    return Tree(tmp_path / "root", "reader")


def found(shard, name):
    return Found(shard, 1, KEY, f"http://a.example/{name}")


def write(tree, machine, *lines, own=False):
    writer = LogWriter(TreeLogs(tree), machine)
    writer.open()
    for line in lines:
        writer.add(line, own=own)
    writer.flush()
    writer.close()


def said(tree, shards=None):
    return [(machine, line.url.rpartition("/")[2]) for machine, line in Said(tree).found(shards)]


def test_logs(tree):
    """Whatever a machine found for itself or for others is read; other lines are not given."""
    write(tree, "m-2-bb", found(3, "own"), own=True)
    write(tree, "m-1-aa", found(3, "one"), Told(3, KEY, 0, "0123456789abcdef"), found(4, "two"))
    assert said(tree) == [("m-1-aa", "one"), ("m-1-aa", "two"), ("m-2-bb", "own")]
    assert said(tree, {4}) == [("m-1-aa", "two")]
    assert said(tree, {4, 3}) == said(tree) == said(tree)


def test_feeds(tree):
    """A tree that was once of format 1 has feeds, too."""
    (tree.root / ".fscrawl/feed").mkdir()
    (tree.root / ".fscrawl/feed/old-1-aa.log").write_text(
        f"3 1 {KEY} http://a.example/x\n4 1 {KEY} http://a.example/y\n"
    )
    write(tree, "m-1-aa", found(3, "one"))
    assert said(tree) == [("m-1-aa", "one"), ("old-1-aa", "x"), ("old-1-aa", "y")]
    assert said(tree, [4]) == [("old-1-aa", "y")]


def test_snapshots(tree):
    """What waits by a snapshot counts, also where the logs are gone; one that is torn is passed by."""
    term = Term.of(CrawlSettings(), [], tree.record, 0)
    write(tree, "m-1-aa", found(3, "one"))
    logs = TreeLogs(tree)
    snapshots = Snapshots(tree.files, logs, "m-1-aa", shards=16)
    for _ in range(2):
        snapshots.make(3, 1, {"m-1-aa": LogReader(logs, "").end_of("m-1-aa")}, term)
    shutil.rmtree(tree.root / ".fscrawl/log/m-1-aa")
    assert said(tree) == [(SNAPSHOT, "one")]
    assert said(tree, {4}) == []
    newest = tree.root / ".fscrawl/snap/3.1.2"
    newest.write_bytes(newest.read_bytes()[:-3])
    assert said(tree) == [(SNAPSHOT, "one")]


def test_a_damaged_log(tree):
    """A log that holds less than it should is named; the others are read."""
    write(tree, "m-1-aa", found(3, "one"))
    write(tree, "m-2-bb", found(3, "two"))
    path = tree.root / ".fscrawl/log/m-1-aa/0.log"
    path.write_bytes(path.read_bytes().replace(b"\nB ", b"\n\0 "))
    reader = Said(tree)
    assert [line.url for _, line in reader.found()] == ["http://a.example/two"]
    assert reader.cut == {"m-1-aa"}


def test_nothing(tree):
    """A new tree has nothing to say."""
    reader = Said(tree)
    assert (list(reader.found()), reader.cut) == ([], frozenset())
