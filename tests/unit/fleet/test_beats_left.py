"""What is kept of heartbeat logs: those of months are packed, too, and to read them costs no more than of days."""

import itertools
import json

import pytest

from fscrawl.fleet import beats_left as module
from fscrawl.fleet.beats_left import beats_left, thinned
from fscrawl.fleet.command_log import write_command_log
from fscrawl.fleet.lines import Found
from fscrawl.fleet.logs import Logs
from fscrawl.fleet.packing import FEWEST, Packing
from fscrawl.fleet.past_runs import PastRuns
from fscrawl.storage.layout import heartbeat_path
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.store import Tree, create

HELLO = b'{"hello":"m-1-aa"}\n'
BYE = b'{"bye":true,"pages":7}\n'
PATH = heartbeat_path("m-1-aa")


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "root"
    create(root, TreeRecord(FORMAT, "c", "", 9, "host", 32 * "a"), "", "")
    return Tree(root, "packer-1-aa")


def write(tree, beats, end=BYE):
    """Write a heartbeat log with so many beats, of some 450 bytes each as a crawl has them."""
    lines = [b'{"beat":%d,"x":"%s"}\n' % (number, b"x" * 430) for number in range(beats)]
    data = HELLO + b"".join(lines) + end
    (tree.root / PATH).write_bytes(data)
    return data


@pytest.mark.parametrize("beats", [0, 1, 30])
def test_a_short_log(tree, beats):
    """It is kept as it is."""
    data = write(tree, beats)
    assert beats_left(tree.files, PATH) == (data, len(data))


@pytest.mark.parametrize("beats", [60, 5000, 30_000])
def test_a_long_log(tree, beats):
    """Its first line and the last three are kept, and lines from everywhere between them, each whole and in order."""
    data = write(tree, beats)
    kept, size = beats_left(tree.files, PATH)
    lines = kept.splitlines(keepends=True)
    assert size == len(data)
    assert lines[0] == HELLO
    assert lines[-3:] == data.splitlines(keepends=True)[-3:]
    numbers = [json.loads(line)["beat"] for line in lines[1:-1]]
    assert numbers == sorted(set(numbers))
    assert min(beats, 100) <= len(lines) < 300
    assert max(b - a for a, b in itertools.pairwise(numbers)) <= beats / 60 + 1


def test_what_reading_costs(tree, monkeypatch):
    """It does not grow with the log."""
    read = []
    monkeypatch.setattr(module, "_MOST_READ_BYTES", 1 << 20)
    real = tree.files.tail
    monkeypatch.setattr(tree.files, "tail", lambda *of: read.append(real(*of)) or read[-1], raising=False)
    for beats in (5000, 30_000):
        write(tree, beats)
        read.clear()
        beats_left(tree.files, PATH)
        assert len(read) <= 130
        assert sum(map(len, read)) <= 3 << 20


@pytest.mark.parametrize("beats", [3, 20_000])
def test_a_last_line_that_is_torn(tree, beats):
    """The log is not kept at all: its goodbye may be missing."""
    data = write(tree, beats, BYE[:-1])
    assert beats_left(tree.files, PATH) == (b"", len(data))


def test_a_log_that_is_missing(tree):
    """Nothing is kept of it."""
    assert beats_left(tree.files, PATH) == (b"", 0)


def test_a_run_of_a_month_is_packed(tree):
    """It was left for ever: each start, and each `status`, opened its files."""
    names = [f"cmd-{number}-aa" for number in range(FEWEST)]
    for name in names:
        write_command_log(Tree(tree.root, name), [Found(0, 0, "", "http://a.example/")])
    write(tree, 20_000)
    past = PastRuns(tree.files)
    packing = Packing(tree.files, past, iter(range(1000)).__next__)
    packing.pack(dict.fromkeys([*names, "m-1-aa"]))
    packing.remove(0)
    assert past.where("m-1-aa") == 1
    assert not (tree.root / PATH).exists()
    assert Logs(tree).read_newest_heartbeats("m-1-aa", 0, 64)[0].endswith(BYE)


def test_thinned():
    """Of many heartbeats, the first one and the last three stay, and as many between them as a curve needs."""
    lines = [b'{"beat":%d}\n' % number for number in range(5000)]
    kept = thinned(b"".join(lines), 16_000).splitlines(keepends=True)
    assert kept[0] == lines[0]
    assert kept[-3:] == lines[-3:]
    assert 128 <= len(kept) <= 300
    assert thinned(b"".join(lines), 1 << 20) == b"".join(lines)
