"""Past runs are packed on one mount and read on others, whose views of directories are old."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fscrawl.fleet import packing
from fscrawl.fleet.beat import Beat, Goodbye, Hello, line_of
from fscrawl.fleet.leases import Machinery
from fscrawl.fleet.lines import Found
from fscrawl.fleet.log_writer import LogWriter, Place
from fscrawl.fleet.logs import TreeLogs
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Tree, create
from tests.support.shares.marks import on
from tests.support.shares.place import SharedPlace
from tests.support.shares.share import GLUSTERFS, SSHFS

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("share"), on(SSHFS, GLUSTERFS)]

RUNS = [f"night-{number}-{number:02x}" for number in range(8)]
VIEWS_LIVE_S = 40.0  # sshfs and GlusterFS keep a listing for 20 s at most


def _leave(tree: Tree) -> Place:
    """Leave what a past run leaves; give where its log ends."""
    writer = LogWriter(TreeLogs(tree), tree.machine)
    writer.add(Found(1, 0, "", f"http://a.example/{tree.machine}"), own=True)
    writer.flush()
    writer.close()
    log = Machinery(tree).heartbeat_log()
    log.append(line_of(Hello(tree.machine)) + line_of(Goodbye(Beat(log=writer.place, pages=7), finished=True)))
    log.close()
    return writer.place


def _read(tree: Tree, machinery: Machinery) -> dict[str, bytes]:
    """Read what is there of past runs: heartbeats, and segment 0."""
    logs = TreeLogs(tree, machinery.past)
    machinery.machines()
    found = {}
    for machine in RUNS:
        view = logs.open_segment(machine, 0)
        found[machine] = machinery.read_heartbeats(machine, 0) + (view.read(0, view.size) if view else b"")
        if view is not None:
            view.close()
    return found


def test_past_runs_are_packed(place: SharedPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files and directories of a packed run go, and nobody misses them, as soon as views are new enough."""
    monkeypatch.setattr(packing, "FEWEST", len(RUNS))
    place.root.mkdir()
    roots = [place.next() / "root" for _ in range(3)]
    create(roots[0], TreeRecord(2, "c", "t", 4, "host", "0" * 32), "", "")
    ends = {machine: _leave(Tree(roots[0], machine)) for machine in RUNS}
    tree = Tree(roots[1], "old")
    old = Machinery(tree)
    before = _read(tree, old)
    assert all(b"a.example" in data and b"bye" in data for data in before.values())
    packer = Tree(roots[2], "packer")
    work = packing.Packing(packer.files, Machinery(packer).past)
    work.pack(ends)
    until = time.monotonic() + VIEWS_LIVE_S
    while not old.past.packs and time.monotonic() < until:
        time.sleep(1)
        old.machines()
    work.remove(0.0)
    assert _read(tree, old) == before
    assert _read(packer, Machinery(packer)) == before
    machinery = Path(place.root) / "root/.fscrawl"
    assert sorted(path.name for path in (machinery / "machines").iterdir()) == ["past.1"]
    assert list((machinery / "log").iterdir()) == []
