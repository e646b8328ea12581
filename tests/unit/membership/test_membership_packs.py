"""Past runs are packed, and their files go: whoever comes finds in the packs what stood in the files."""

import errno
import os

import pytest

from fscrawl.admin.audit import audit
from fscrawl.fleet import packing
from fscrawl.fleet.label_figures import LabelFigure
from fscrawl.fleet.leases import Machinery
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.logs import TreeLogs
from fscrawl.fleet.past_runs import PastRuns
from fscrawl.fleet.status_file import StatusFile, StatusWriter
from fscrawl.monitor.snapshot import Observer
from fscrawl.store import Tree
from tests.support.members import MINE, url
from tests.support.packs import all_read, crashes, files, generations, packs

RUNS = 6
HOME = url(MINE[0])


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(packing, "FEWEST", 4)


@pytest.fixture
def weeks(world, monkeypatch):
    """Give a world in which some machines have found a page each, and left; none of them packs anything."""
    world.create(HOME)
    with monkeypatch.context() as patch:
        patch.setattr(packing, "FEWEST", 1000)
        for number in range(RUNS):
            member = world.join(f"night-{number}")
            member.settle()
            member.membership.discover([url(MINE[0], f"{number}")], 1, "")
            if number % 2:
                figures = StatusFile(labels={"shoes": LabelFigure(stored=number)})
                StatusWriter(member.tree.files, lambda figures=figures: figures, lambda now, most: {}).write_last()
            member.leave()
    return world


def packed(world):
    """Let a machine pack all that is there, and remove the files when all others must know the pack."""
    member = world.join("packer")
    world.pass_time(20, member)
    assert len(packs(world)) == 1
    world.pass_time(400, member)
    return member


def test_a_pack_has_all_that_was_there(weeks):
    """Files and directories of past runs go, and every answer is the same as before."""
    before = all_read(weeks)
    member = packed(weeks)
    assert files(weeks) == (["packer"], ["packer"], 1)
    assert member.membership.fleet.pages_elsewhere == 7 * RUNS
    after = all_read(weeks)
    assert {name: after[name] for name in before} == before


def test_who_comes_later_knows_as_much(weeks):
    """A machine that joins reads the pack, and agrees with one that has read the files on where all logs end."""
    member = packed(weeks)
    late = weeks.join("late")
    weeks.rounds(5)
    late.settle()
    assert late.frontier.pending + member.frontier.pending == RUNS + 1
    assert late.membership.fleet.pages_elsewhere == 7 * RUNS + 7
    for each in (member, late):
        each.crawl()
        each.membership.ledger.flush()
    weeks.rounds(5)
    assert member.membership.ledger.vector_hash() == late.membership.ledger.vector_hash()
    assert generations(weeks) == []


def test_status_and_audit(weeks):
    """They count what the runs have stored, and find nothing wrong."""
    member = packed(weeks)
    member.crawl()
    member.leave()
    snapshot = Observer(Tree(weeks.root, "observer")).look()
    assert snapshot.total("pages") == 7 * (RUNS + 1)
    assert snapshot.is_exact
    assert snapshot.labels()["shoes"].stored == 1 + 3 + 5
    report = audit(Tree(weeks.root, "auditor"), weeks.settings(), frozenset(weeks.seeds))
    assert set(report.found) <= {"unexpected_bodies"}  # of the pages of this world


def test_the_second_time_nothing_is_read_again(weeks):
    """Each run is in one pack: too few that are not packed yet stay as they are."""
    packed(weeks).leave()
    member = weeks.join("next")
    weeks.pass_time(800, member)
    assert len(packs(weeks)) == 1
    assert files(weeks)[0] == ["next", "packer"]


def test_a_running_machine_whose_view_is_old(weeks):
    """A file that is gone is looked for in packs."""
    logs = TreeLogs(Tree(weeks.root, "reader"), PastRuns(Tree(weeks.root, "reader").files))
    packed(weeks)
    assert logs.log_segments("night-1") == [0]
    assert logs.open_segment("night-1", 0).size == logs.segment_size("night-1", 0) > 0
    assert logs.segment_size("night-1", 1) is None


@pytest.mark.parametrize("method", ["read_heartbeats", "read_newest_heartbeats"])
def test_heartbeats_that_are_packed_during_a_look(weeks, method):
    """To read thousands of them takes a slow share longer than packs need to settle. None is left out of a count."""
    machinery = Machinery(Tree(weeks.root, "reader"), lambda: weeks.clock.now)
    read = getattr(machinery, method)
    names = machinery.machines()
    before = [read(name, 0) for name in names]
    packed(weeks)
    assert "night-1" not in files(weeks)[0]
    assert [read(name, 0) for name in names] == before
    assert read("nobody", 0) in (b"", (b"", 0))


def test_a_long_log_stays(weeks, monkeypatch):
    """Readers need parts of it only; the heartbeats go into the pack all the same."""
    monkeypatch.setattr(packing, "_MOST_LOG_BYTES", 10)
    before = all_read(weeks)
    packed(weeks)
    assert files(weeks) == (["packer"], sorted([*(f"night-{n}" for n in range(RUNS)), "packer"]), 1)
    assert all_read(weeks)["night-1", 0] == before["night-1", 0]


def test_what_is_not_as_its_goodbye_says(weeks):
    """A log that is shorter than its goodbye says is not packed, and heartbeats without a goodbye are not."""
    machinery = weeks.root / ".fscrawl"
    log = machinery / "log/night-1/0.log"
    log.write_bytes(log.read_bytes()[:-3])
    beats = machinery / "machines/night-2.log"
    beats.write_bytes(beats.read_bytes().replace(b"bye", b"why"))
    torn = machinery / "machines/night-3.log"
    torn.write_bytes(torn.read_bytes() + b"torn")
    packed(weeks)
    names = files(weeks)
    assert {"night-2", "night-3"} < set(names[0])
    assert "night-1" in names[1]
    assert log.exists()


def test_a_file_that_is_not_what_was_packed_stays(weeks):
    """Somebody may have put another one there."""
    member = weeks.join("packer")
    weeks.pass_time(20, member)
    beats = weeks.root / ".fscrawl/machines/night-2.log"
    beats.write_bytes(beats.read_bytes() + b"more\n")
    weeks.pass_time(400, member)
    assert beats.exists()
    assert files(weeks)[0] == ["night-2", "packer"]


def test_files_that_may_not_be_removed(weeks, monkeypatch):
    """They may be another user's. What else is not needed any more goes all the same."""
    member, removed = weeks.join("packer"), []
    weeks.pass_time(20, member)
    monkeypatch.setattr(member.membership._snapshots, "remove_old", lambda *_: removed.append(True))
    log = weeks.root / ".fscrawl/log/night-0"
    real = os.unlink

    def unlink(path, **options):
        if str(path).endswith("/0.log") and str(log) in os.path.realpath(path):
            raise PermissionError(errno.EACCES, "not yours", path)
        real(path, **options)

    monkeypatch.setattr(os, "unlink", unlink)
    weeks.pass_time(400, member)
    assert log.exists()
    assert removed
    assert any("night-0" in warning and "the next try" in warning for warning in member.warnings)


def test_many_packs(weeks, monkeypatch):
    """A pack that is long enough is closed, and the next one begins."""
    monkeypatch.setattr(packing, "_PACK_BYTES", 1)
    before = all_read(weeks)
    member = weeks.join("packer")
    weeks.pass_time(500, member)
    assert len(packs(weeks)) == RUNS
    assert files(weeks)[0] == ["packer"]
    after = all_read(weeks)
    assert all(after[name] == content for name, content in before.items() if name[1] in (0, "all"))


def noticed(weeks):
    """Let all who look notice that the pack is lost; give a machine that has joined, and made a generation."""
    report = audit(Tree(weeks.root, "auditor"), weeks.settings(), frozenset(weeks.seeds), sleep=lambda _: None)
    assert report.found["damaged_logs"] == 1
    assert not Observer(Tree(weeks.root, "observer")).look().is_exact
    member = weeks.join("next")
    weeks.pass_time(200, member)
    assert generations(weeks) == ["1"]
    assert any("past.1 cannot be read" in warning for warning in member.warnings)
    return member


@pytest.mark.gate
@pytest.mark.parametrize("damage", ["cut", "other", "link"])
def test_a_pack_that_is_damaged(weeks, damage):
    """Nobody knows what it held. So all is told once more from the records, and the crawl goes on."""
    packed(weeks).kill()
    (path,) = packs(weeks)
    data = path.read_bytes()
    if damage == "link":
        path.unlink()
        path.symlink_to("/etc/passwd")
    else:
        path.write_bytes(data[:-5] if damage == "cut" else data.replace(b"bye", b"why"))
    member = noticed(weeks)
    member.crawl()
    weeks.pass_time(200, member)
    assert member.is_over()
    assert generations(weeks) == ["1"]
    report = audit(Tree(weeks.root, "auditor"), weeks.settings(), frozenset(weeks.seeds), sleep=lambda _: None)
    assert not report.found["damaged_logs"]


def test_a_pack_that_is_removed_while_it_is_needed(weeks, monkeypatch):
    """What is not in memory any more is missing; nobody is left with half of it."""
    member = packed(weeks)
    past = member.membership._machinery.past
    past._kept.clear()
    packs(weeks)[0].unlink()
    assert past.run("night-1") is None
    assert past.lost == [1]


def test_two_that_pack_at_the_same_time(weeks):
    """One of them gets the number. Nothing is packed twice, and nothing goes before a pack has it."""
    tree = Tree(weeks.root, "other")
    past = PastRuns(tree.files)
    past.look()
    member = weeks.join("packer")
    weeks.pass_time(20, member)
    ends = dict.fromkeys(Machinery(tree).machines())
    slow = packing.Packing(tree.files, past)
    slow._write({machine: slow._run(machine, end, signed=True) for machine, end in ends.items() if machine != "packer"})
    assert len(packs(weeks)) == 1
    assert past.packs == [1]


def test_a_pack_that_somebody_removes(weeks):
    """Whoever comes later knows by a heartbeat that there was one. All is told once more from the records."""
    packed(weeks).leave()
    packs(weeks)[0].unlink()
    member = noticed(weeks)
    weeks.pass_time(200, member)
    assert generations(weeks) == ["1"]


@pytest.mark.gate
@pytest.mark.parametrize("call", ["open", "link", "unlink", "rmdir", "fsync", "write"])
def test_a_machine_that_ends_in_the_middle(weeks, monkeypatch, call):
    """Wherever that is, all is there, in files or in a pack; and the next machine goes on."""
    before = all_read(weeks)
    tree = Tree(weeks.root, "packer")
    ends = {name: Place(0, len(weeks.log(name))) for name in Machinery(tree).machines()}

    def work():
        past = PastRuns(tree.files)
        mine = packing.Packing(tree.files, past)
        mine.pack(ends)
        mine.remove(0.0)

    for _ in crashes(monkeypatch, call, work, 400):
        assert all_read(weeks) == before
    assert all_read(weeks) == before
    assert files(weeks) == ([], [], 1)


def test_a_number_that_somebody_makes_up(weeks):
    """There is a limit to what one believes."""
    past = PastRuns(Tree(weeks.root, "reader").files)
    past.expect(10**15)
    assert len(past.lost) == 10_000
