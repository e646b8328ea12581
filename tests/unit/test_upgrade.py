"""A tree of format 1 is brought to format 2, whatever its machines left, and however many do it at once."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fscrawl import urls
from fscrawl.errors import NotATreeError, TreeError
from fscrawl.fleet import upgrade as module
from fscrawl.fleet.beat import line_of
from fscrawl.fleet.heartbeat import hello, new_machine_id
from fscrawl.fleet.lines import Found
from fscrawl.fleet.log_reader import LogReader
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.logs import Logs, TreeLogs
from fscrawl.fleet.upgrade import OldMachines, check_format, upgraded
from fscrawl.storage import upgrading
from fscrawl.storage.layout import MACHINERY_ROOMS
from fscrawl.store import Tree
from tests.support.format1 import SHARDS, OldTree

KEY = "7a6c7479c7501fe8a6019e32"
MOMENT = "2026-11-22T09:35:49.454Z"
RETRY = f"1 {KEY} http://a.example/x again={MOMENT}"
DEAD_AFTER_S = 60.0


class Upgrade:
    """An upgrade with a clock that sleeping moves; `meanwhile(seconds)` is called at each sleep."""

    def __init__(self, root):
        self.root, self.now, self.warnings = root, 1000.0, []
        self.meanwhile = lambda seconds: None

    def sleep(self, seconds):
        self.now += seconds
        self.meanwhile(self.now - 1000.0)

    def __call__(self, machine="new-1-aa"):
        tree = Tree(self.root, machine)
        return upgraded(tree, DEAD_AFTER_S, self.warnings.append, clock=lambda: self.now, sleep=self.sleep)

    @property
    def waited_s(self):
        return self.now - 1000.0


@pytest.fixture
def old(tmp_path):
    return OldTree(tmp_path / "root")


@pytest.fixture
def upgrade(old):
    return Upgrade(old.root)


def said(root):
    """Give the lines that all machines of format 2 will read."""
    logs = TreeLogs(Tree(root, "reader"))
    reader = LogReader(logs, "reader")
    return [
        line
        for machine in logs.log_machines()
        for line in reader.read_shards(machine, range(SHARDS), Place(0, 0), reader.end_of(machine))
    ]


def tree_json(root):
    return json.loads((root / ".fscrawl/tree.json").read_text())


def test_left_cleanly(old, upgrade):
    """A finished crawl is brought to format 2 at once; its crawl, shards and leases stay."""
    old.stands("far-1-aa", RETRY, f"1 {KEY} http://a.example/y")
    old.bye("far-1-aa", finished=True)
    before = tree_json(old.root)
    tree = upgrade()
    assert (upgrade.waited_s, upgrade.warnings) == (0, [])
    after = tree_json(old.root)
    assert after == {**before, "format": 2, "machinery": tree.record.machinery}
    assert len(after["machinery"]) == 32
    assert Tree(old.root, "m").record == tree.record
    assert tree.record.over_pages is None
    assert [path.name for path in (old.root / ".fscrawl/leases").iterdir()] == [f"{urls.shard('a.example', SHARDS)}.1"]
    assert all((old.root / room).is_dir() for room in MACHINERY_ROOMS)
    assert "log/" in (old.root / ".fscrawl/README").read_text()


def test_retries_are_put_into_a_log(old, upgrade):
    """What a person has asked for is not lost: it stands in a log, with a heartbeat log that says goodbye."""
    old.feed("far-1-aa", RETRY, f"1 {KEY} http://a.example/y")
    old.feed("far-2-bb", f"1 {KEY} http://a.example/z again={MOMENT},sitemap")
    tree = upgrade()
    lines = said(old.root)
    assert sorted(line.url for line in lines) == ["http://a.example/x", "http://a.example/z"]
    assert all(isinstance(line, Found) and line.flags.retry_of == MOMENT for line in lines)
    assert OldMachines(Logs(tree)).doubtful == frozenset()
    assert len(Logs(tree).machines()) == 1
    upgrade("new-2-bb")
    assert len(Logs(tree).machines()) == 1, "the feeds are read once"


def test_killed_before_the_retries_are_in_a_log(old, upgrade, monkeypatch):
    """If the first machine is killed before it has written the retries, the next one reads the feeds."""
    old.feed("far-1-aa", RETRY)
    with monkeypatch.context() as patched:
        patched.setattr(module, "write_command_log", lambda *_: (_ for _ in ()).throw(TreeError("killed")))
        with pytest.raises(TreeError, match="killed"):
            upgrade()
    upgrade("new-2-bb")
    assert [line.url for line in said(old.root)] == ["http://a.example/x"]


def test_a_shard_that_there_is_not(old, upgrade):
    """A line whose shard was damaged is passed by."""
    (old.root / ".fscrawl/feed/far-1-aa.log").write_text(f"{SHARDS} {RETRY}\n-1 {RETRY}\n")
    upgrade()
    assert said(old.root) == []


def test_killed(old, upgrade):
    """A machine that was killed elsewhere is waited for as long as it may be silent, and a line says so."""
    old.stands("far-1-aa")
    upgrade()
    assert upgrade.waited_s == DEAD_AFTER_S
    assert len(upgrade.warnings) == 1
    assert "60 s" in upgrade.warnings[0]
    assert "far-1-aa" in upgrade.warnings[0]
    upgrade("new-2-bb")
    assert upgrade.waited_s == DEAD_AFTER_S, "the next machine need not wait again"


def test_killed_here(old, upgrade):
    """A machine whose process is known to have ended is not waited for."""
    mine = hello("here-1-aa")
    old.hello("here-1-aa", boot=mine.boot, pidns=mine.pidns, pid=mine.pid, start="1")
    upgrade()
    assert upgrade.waited_s == 0


def test_without_a_hello(old, upgrade):
    """An empty log is of a machine that may just begin; one of this computer is judged by its name."""
    old.log("far-1-aa").touch()
    old.log(new_machine_id()).touch()
    upgrade()
    assert upgrade.waited_s == DEAD_AFTER_S
    assert "far-1-aa" in upgrade.warnings[0]
    assert str(os.getpid()) not in upgrade.warnings[0]


def test_two_live_machines(old, upgrade):
    """Machines that go on are named, and the tree is left to them; when they have been stopped it goes on."""
    for name in ("far-2-bb", "far-1-aa"):
        old.stands(name)
    upgrade.meanwhile = lambda seconds: [old.beat(name) for name in ("far-1-aa", "far-2-bb")]
    with pytest.raises(TreeError, match=r"the machine far-1-aa of an older fscrawl .* stop it") as raised:
        upgrade()
    assert raised.value.exit_code == 75
    assert "\n" not in str(raised.value)
    assert upgrade.waited_s == DEAD_AFTER_S
    assert tree_json(old.root)["format"] == 2, "no further machine of format 1 can join"
    for name in ("far-1-aa", "far-2-bb"):
        old.bye(name)
    upgrade()
    assert upgrade.waited_s == DEAD_AFTER_S


def test_machines_that_leave_meanwhile(old, upgrade):
    """As soon as the last one has said goodbye, the crawl goes on."""
    old.stands("far-1-aa")

    def leave(seconds):
        old.beat("far-1-aa")
        if seconds > 20:
            old.bye("far-1-aa")

    upgrade.meanwhile = leave
    upgrade()
    assert 20 < upgrade.waited_s < 25


def test_one_that_joined_at_the_last_moment(old, upgrade):
    """A machine of format 1 that has read the old record a moment ago is found when its log appears."""
    old.stands("far-1-aa")
    upgrade.meanwhile = lambda seconds: old.beat("far-2-bb", int(seconds)) if seconds > 5 else None
    with pytest.raises(TreeError, match="far-2-bb"):
        upgrade()


def test_a_process_of_this_computer(old, upgrade):
    """A machine whose process runs here is running, also if it has not beaten for long."""
    mine = hello("here-1-aa")
    old.hello("here-1-aa", boot=mine.boot, pidns=mine.pidns, pid=mine.pid, start=mine.start)
    with pytest.raises(TreeError, match="here-1-aa"):
        upgrade()


def test_machines_of_format_2(old, upgrade):
    """Machines that have upgraded the tree, too, are not waited for."""
    upgrade("new-1-aa")
    (old.root / ".fscrawl/upgraded").unlink()
    old.log("new-1-aa").write_bytes(line_of(hello("new-1-aa")))
    upgrade("new-2-bb")
    assert upgrade.waited_s == 0


def test_many_at_once(old):
    """Machines that upgrade a tree at the same moment agree on one record."""
    start = threading.Barrier(8)

    def job(number):
        tree = Tree(old.root, f"new-{number}-aa")
        start.wait(timeout=10)
        return upgraded(tree, DEAD_AFTER_S, [].append).record

    with ThreadPoolExecutor(8) as pool:
        records = list(pool.map(job, range(8)))
    assert set(records) == {Tree(old.root, "m").record}
    assert list(old.root.rglob("*.tmp")) == []


def test_the_first_was_killed(old, upgrade, monkeypatch):
    """If the machine that claimed the record was killed before it renamed it, the next one does that."""
    monkeypatch.setattr(upgrading, "_FIRST_TAKES_S", 0.1)
    monkeypatch.setattr(upgrading.TreeFiles, "publish", lambda *_: (_ for _ in ()).throw(TreeError("killed")))
    with pytest.raises(TreeError, match="killed"):
        upgrade()
    monkeypatch.undo()
    monkeypatch.setattr(upgrading, "_FIRST_TAKES_S", 0.1)
    claimed = json.loads((old.root / ".fscrawl/tree2.json").read_text())
    assert upgrade("new-2-bb").record.machinery == claimed["machinery"]


def test_one_that_read_the_old_record_long_ago(old, upgrade):
    """A machine that comes late finds the record that was agreed, also if `.fscrawl` was made anew since."""
    late = Tree(old.root, "new-2-bb")
    agreed = upgrade().record
    assert upgrading.upgrade_record(old.root, "new-2-bb", late.record) == agreed


def test_damaged_record(old, upgrade, monkeypatch):
    """A record that cannot be read is named."""
    monkeypatch.setattr(upgrading, "_FIRST_TAKES_S", 0.1)
    (old.root / ".fscrawl/tree2.json").write_text("{")
    with pytest.raises(NotATreeError, match=r"tree2\.json: not JSON"):
        upgrade()


def test_a_tree_of_format_2(old, upgrade, monkeypatch):
    """A tree that was made in format 2 costs one look."""
    upgrade()
    (old.root / ".fscrawl/tree2.json").unlink()
    (old.root / ".fscrawl/upgraded").unlink()
    monkeypatch.setattr(module, "OldMachines", None)
    assert upgrade().record.format == 2


def test_what_older_versions_read(old, upgrade):
    """A version that knows only format 1 reads these fields first, and then says that it must be updated."""
    upgrade()
    facts = tree_json(old.root)
    types = {name: type(facts[name]) for name in ("format", "crawl", "created_at", "shards", "fanout", "partition")}
    assert list(types.values()) == [int, str, str, int, int, str]
    assert facts["format"] > 1


def test_commands_that_write(old, upgrade):
    """A command that writes for the machines asks for a crawl first."""
    with pytest.raises(TreeError, match=r"format 1; .*fscrawl crawl --root"):
        check_format(Tree(old.root, "m"))
    check_format(upgrade())
