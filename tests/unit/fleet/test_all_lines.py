"""All lines of the newest generation, as a command reads them."""

import pytest

from fscrawl.config.settings import Settings
from fscrawl.fleet.generations import Generations, UrlLogs
from fscrawl.fleet.lines import Found, Told
from fscrawl.fleet.log_writer import LogWriter
from fscrawl.fleet.outside import AllLines
from fscrawl.fleet.rules import LinkRules
from fscrawl.storage.layout import log_directory, log_path
from fscrawl.storage.records import FORMAT, TreeRecord, new_machinery
from fscrawl.store import Tree, create

KEY = "7a6c7479c7501fe8a6019e32"
LINKS = LinkRules.of(Settings(), [])


@pytest.fixture
def empty(tmp_path):
    create(tmp_path / "root", TreeRecord(FORMAT, "c", "t", 16, "host", new_machinery()), "", "")
    return Tree(tmp_path / "root", "reader")


@pytest.fixture
def tree(empty):
    Generations(empty.files).begin_next(LINKS, "", "settings")
    return empty


def found(shard, name):
    return Found(shard, 1, KEY, f"http://a.example/{name}")


def write(tree, machine, *lines, own=False, generation=1):
    writer = LogWriter(UrlLogs(tree.files, generation), machine)
    writer.open()
    for line in lines:
        writer.add(line, own=own)
    writer.flush()
    writer.close()
    return writer.place


def name_of(line):
    return line.url.rpartition("/")[2] if isinstance(line, Found) else "told"


def lines_of(tree, shards=None):
    return [(machine, name_of(line)) for machine, line in AllLines(tree, shards).lines()]


def test_logs(tree):
    """Whatever a machine said of its own shards or of others' is read, as often as one asks."""
    write(tree, "m-2-bb", found(3, "own"), own=True)
    write(tree, "m-1-aa", found(3, "one"), Told(3, KEY, 0), found(4, "two"))
    assert lines_of(tree) == [("m-1-aa", "one"), ("m-1-aa", "told"), ("m-1-aa", "two"), ("m-2-bb", "own")]
    assert lines_of(tree, {4}) == [("m-1-aa", "two")]
    reader = AllLines(tree)
    assert [m for m, _ in reader.lines(["m-2-bb"])] == ["m-2-bb"]
    assert len(list(reader.lines())) == len(list(reader.lines())) == 4


def test_only_the_newest_generation(tree):
    """What was said in an old one counts no more, and what beats say of it is not missing."""
    place = write(tree, "m-1-aa", found(3, "one"))
    Generations(tree.files).begin_next(LINKS, "", "reseed")
    write(tree, "m-2-bb", found(3, "two"), generation=2)
    reader = AllLines(tree, said={"m-1-aa": (1, place + 9)})
    assert [name_of(line) for _, line in reader.lines()] == ["two"]
    assert (reader.generation.number, reader.damaged) == (2, {})


def test_a_damaged_log(tree):
    """A log of which a part is missing is named, as far as its machine's beats tell; the others are read."""
    place = write(tree, "m-1-aa", found(3, "one"))
    write(tree, "m-2-bb", found(3, "two"))
    path = tree.root / log_path(1, "m-1-aa")
    path.write_bytes(b"\0" + path.read_bytes()[1:])
    reader = AllLines(tree, said={"m-1-aa": (1, place), "m-3-cc": (1, 20)})
    assert [line.url for _, line in reader.lines()] == ["http://a.example/two"]
    assert {machine: damage[1:] for machine, damage in reader.damaged.items()} == {"m-1-aa": (0, 1), "m-3-cc": (0, 20)}


def test_a_file_that_is_no_log(tree):
    """A file that somebody has put beside the logs stops nobody."""
    write(tree, "m-1-aa", found(3, "one"))
    (tree.root / log_directory(1) / "notes.txt").write_text("mine")
    assert lines_of(tree) == [("m-1-aa", "one")]


def test_nothing(empty):
    """A new tree has nothing to say."""
    reader = AllLines(empty)
    assert (list(reader.lines()), reader.damaged, reader.generation) == ([], {}, None)
