"""What is packed of past runs, and when their files go: only what is whole, whatever a share shows for a moment."""

import itertools

import pytest

from fscrawl.fleet import log_writer, packing
from fscrawl.fleet.command_log import write_command_log
from fscrawl.fleet.label_figures import LabelFigure
from fscrawl.fleet.lines import Found
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.logs import Logs, TreeLogs
from fscrawl.fleet.packing import Packing
from fscrawl.fleet.past_runs import PastRuns
from fscrawl.storage.layout import log_path, status_path
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.store import Tree, create

NAMES = [f"cmd-{number}-aa" for number in range(4)]
LINES = [Found(number % 3, 1, "", f"http://h{number}.example/") for number in range(9)]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Give a tree in which commands have left logs of several segments."""
    monkeypatch.setattr(packing, "FEWEST", 1)
    sizes = {**log_writer.LogWriter.__init__.__kwdefaults__, "segment_bytes": 100}
    monkeypatch.setattr(log_writer.LogWriter.__init__, "__kwdefaults__", sizes)
    monkeypatch.setattr("fscrawl.fleet.command_log._FLUSH_EVERY_BYTES", 60)
    root = tmp_path / "root"
    create(root, TreeRecord(FORMAT, "c", "", 9, "host", 32 * "a"), "", "")
    for name in NAMES:
        write_command_log(Tree(root, name), LINES)
    assert len(TreeLogs(Tree(root, "x")).log_segments(NAMES[0])) > 2
    return root


@pytest.fixture
def pack(root):
    """Give a function that packs, and removes what is in the pack."""
    tree = Tree(root, "packer")
    past = PastRuns(tree.files)
    reader = LogReader(TreeLogs(tree, past), "x")
    ends = {name: reader.end_of(name) for name in NAMES}
    packing_ = Packing(tree.files, past, itertools.count().__next__)

    def pack_and_remove(files=None, *, remove=True):
        if files is not None:
            packing_._files = files
        packing_.pack(ends)
        packing_._files = tree.files
        if remove:
            packing_.remove(0)
        return past

    pack_and_remove.ends = ends
    return pack_and_remove


def lines_of(root, name, end):
    reader = LogReader(TreeLogs(Tree(root, "reader")), "x")
    begin = Place(min(TreeLogs(Tree(root, "reader")).log_segments(name)), 0)
    found = list(reader.read_shards(name, range(9), begin, end))
    assert reader.cuts == {}
    return found


class View:
    """Files as an old view shows them."""

    def __init__(self, files, **shown):
        self._files, self._shown = files, shown

    def __getattr__(self, name):
        real, shown = getattr(self._files, name), self._shown.get(name)
        return real if shown is None else lambda path, *more, **most: shown(real(path, *more, **most), path)


def test_the_log_of_a_command(root, pack):
    """It is packed as that of a machine, whatever it said."""
    before = {name: lines_of(root, name, pack.ends[name]) for name in NAMES}
    assert pack().with_logs() == NAMES
    assert not any((root / ".fscrawl/log").iterdir())
    assert {name: lines_of(root, name, pack.ends[name]) for name in NAMES} == before


def test_a_log_whose_beginning_was_removed(root, pack):
    """What is there is packed; and the log begins where it began before."""
    (root / log_path(NAMES[0], 0)).unlink()
    before = lines_of(root, NAMES[0], pack.ends[NAMES[0]])
    assert min(pack().segments(NAMES[0])) == 1
    assert lines_of(root, NAMES[0], pack.ends[NAMES[0]]) == before


def test_a_listing_that_shows_what_was_removed(root, pack):
    """A segment that is gone is no empty one: who read that from the pack would take it for a cut, for ever."""
    (root / log_path(NAMES[0], 0)).unlink()
    old = View(Tree(root, "packer").files, names=lambda names, path: ["0.log", *names] if NAMES[0] in path else names)
    assert pack(old).segments(NAMES[0]) is None
    assert (root / log_path(NAMES[0], 1)).exists()
    lines_of(root, NAMES[0], pack.ends[NAMES[0]])


def test_zeros_in_place_of_what_was_written(root, pack):
    """NFS may show the size of a file before its content. The log is not packed like that."""
    first = log_path(NAMES[0], 1)
    view = View(Tree(root, "packer").files, read=lambda data, path: bytes(len(data)) if path == first else data)
    assert pack(view).segments(NAMES[0]) is None
    assert len(lines_of(root, NAMES[0], pack.ends[NAMES[0]])) == len(LINES)


def test_a_view_that_is_shorter(root, pack):
    """A segment that seems to end early is not packed like that."""
    first = log_path(NAMES[0], 1)
    view = View(
        Tree(root, "packer").files,
        read=lambda data, path: data[:-3] if path == first else data,
        size=lambda size, path: size - 3 if path == first else size,
    )
    assert pack(view).segments(NAMES[0]) is None
    assert len(lines_of(root, NAMES[0], pack.ends[NAMES[0]])) == len(LINES)


@pytest.mark.parametrize("old", [b"", b'{"labels": {"shoes": {"stored": 1}}}'])
def test_an_old_status_file(root, pack, old):
    """Machines replace this file, and a share may show an old one: what is newer stays, and counts."""
    path = root / status_path(NAMES[0])
    path.write_bytes(b'{"labels": {"shoes": {"stored": 7}}}')
    same = status_path(NAMES[1])
    (root / same).write_bytes(b'{"labels": {"shoes": {"stored": 2}}}')
    view = View(
        Tree(root, "packer").files,
        read=lambda data, path: old if path == status_path(NAMES[0]) else data,
        size=lambda size, path: len(old) if path == status_path(NAMES[0]) else size,
    )
    pack(view)
    assert path.exists()
    assert not (root / same).exists()
    logs = Logs(Tree(root, "reader"))
    assert {name: labels for name in logs.with_status() if (labels := logs.status(name).labels)} == {
        NAMES[0]: {"shoes": LabelFigure(stored=7)},
        NAMES[1]: {"shoes": LabelFigure(stored=2)},
    }
