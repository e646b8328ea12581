"""All lines, as a command reads them: of logs and snapshots."""

import pytest

from fscrawl.config.settings import Settings
from fscrawl.errors import RecordError
from fscrawl.fleet.all_lines import AllLines
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import LogWriter, Place
from fscrawl.fleet.logs import TreeLogs
from fscrawl.fleet.snapshots import Snapshots
from fscrawl.fleet.terms import Term
from fscrawl.storage.records import FORMAT, TreeRecord, new_machinery
from fscrawl.store import Tree, create

KEY = "7a6c7479c7501fe8a6019e32"


@pytest.fixture
def tree(tmp_path):
    create(tmp_path / "root", TreeRecord(FORMAT, "c", "t", 16, "host", new_machinery()), "", "")
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


def name_of(line):
    return line.url.rpartition("/")[2] if isinstance(line, Found) else "told"


def lines_of(tree, shards=None):
    return [(machine, name_of(line)) for machine, line in AllLines(tree, shards).lines()]


def pending(tree, shards=None, **more):
    names, reader = [], AllLines(tree, shards)
    reader.read_snapshots(lambda snapshot: names.extend(map(name_of, snapshot.pending())), **more)
    return names, set(reader.damaged)


def test_logs(tree):
    """Whatever a machine said of its own shards or of others' is read, as often as one asks."""
    write(tree, "m-2-bb", found(3, "own"), own=True)
    write(tree, "m-1-aa", found(3, "one"), Told(3, KEY, 0, "0123456789abcdef"), found(4, "two"))
    assert lines_of(tree) == [("m-1-aa", "one"), ("m-1-aa", "told"), ("m-1-aa", "two"), ("m-2-bb", "own")]
    assert lines_of(tree, {4}) == [("m-1-aa", "two")]
    reader = AllLines(tree)
    assert [m for m, _ in reader.lines(["m-2-bb"])] == ["m-2-bb"]
    assert len(list(reader.lines())) == len(list(reader.lines())) == 4


def make_snapshot(tree):
    logs = TreeLogs(tree)
    snapshots = Snapshots(tree.files, logs, "m-1-aa")
    term = Term.of(Settings(), [], tree.record, 0)
    return snapshots.make(3, 1, {"m-1-aa": LogReader(logs, "").end_of("m-1-aa")}, term)


def test_snapshots(tree):
    """The newest whole snapshot of a shard is read; one that is torn is reported, an old one if it is asked for."""
    write(tree, "m-1-aa", found(3, "one"))
    old, new = (tree.root / make_snapshot(tree).path for _ in range(2))
    assert pending(tree) == (["one"], set())
    assert pending(tree, {4}) == ([], set())
    new.write_bytes(new.read_bytes()[:-3])
    assert pending(tree) == (["one"], {".fscrawl/snap/3.1.2"})
    make_snapshot(tree)
    old.write_bytes(b"")
    assert pending(tree) == (["one"], set())
    assert pending(tree, check_old=True) == (["one"], {".fscrawl/snap/3.1.1", ".fscrawl/snap/3.1.2"})


def test_a_snapshot_that_is_removed_meanwhile(tree):
    """A machine may have made a newer one, and removed the one that is being read: the newer one is read, too."""
    write(tree, "m-1-aa", found(3, "one"))
    first, read = tree.root / make_snapshot(tree).path, []

    def take(snapshot):
        read.append(snapshot.head.number)
        if first.exists():
            make_snapshot(tree)
            first.unlink()
            raise RecordError("it was removed meanwhile")

    reader = AllLines(tree)
    reader.read_snapshots(take)
    assert (read, reader.damaged) == ([1, 2], {})


def test_a_damaged_log(tree):
    """A log of which a part is missing is named, as far as its machine's beats tell; the others are read."""
    write(tree, "m-1-aa", found(3, "one"))
    write(tree, "m-2-bb", found(3, "two"))
    path = tree.root / ".fscrawl/log/m-1-aa/0.log"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes().replace(b"\nB ", b"\n\0 "))
    reader = AllLines(tree, said={"m-1-aa": Place(0, size), "m-3-cc": Place(0, 20)})
    assert [line.url for _, line in reader.lines()] == ["http://a.example/two"]
    assert set(reader.cuts) == {"m-1-aa", "m-3-cc"}
    for machine in ("m-1-aa", "m-3-cc"):
        Generations(tree.files).ensure({"reason": "cut", "log": machine, "expected": [0, size]})
    reader = AllLines(tree, said={"m-1-aa": Place(0, size), "m-3-cc": Place(0, 20)})
    assert len(list(reader.lines())) == 1
    assert reader.cuts == {}


def test_a_file_that_is_no_log(tree):
    """A file that somebody has put beside the logs stops nobody."""
    write(tree, "m-1-aa", found(3, "one"))
    (tree.root / ".fscrawl/log/notes.txt").write_text("mine")
    (tree.root / ".fscrawl/log/m-1-aa/notes.txt").write_text("mine")
    assert TreeLogs(tree).log_machines() == ["m-1-aa"]
    assert lines_of(tree) == [("m-1-aa", "one")]


def test_nothing(tree):
    """A new tree has nothing to say."""
    reader = AllLines(tree)
    reader.read_snapshots(pytest.fail)
    assert (list(reader.lines()), reader.cuts) == ([], {})
