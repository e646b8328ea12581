"""Runs that were killed are packed, too, when they have been silent for weeks; and one of them may wake up then."""

import os
import time
from collections import Counter

import pytest

from fscrawl.errors import MemoryGone
from fscrawl.fleet import packing
from fscrawl.fleet.beat import Hello, line_of
from fscrawl.fleet.label_figures import LabelFigure
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.logs import TreeLogs
from fscrawl.fleet.past_runs import PastRuns
from fscrawl.fleet.status_file import StatusFile, StatusWriter
from fscrawl.storage.layout import log_path
from fscrawl.store import Tree
from tests.support.members import MINE, url
from tests.support.packs import all_read, crashes, files, generations, packs

RUNS = 5
HOME = url(MINE[0])
WEEKS_S = 15 * 86400.0
AFTER_S = 150  # a machine knows who is dead, and packs; the files stay for a while
SPOTS = [f"spot-{number}" for number in range(RUNS)]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(packing, "FEWEST", 4)


def heartbeats(world, name):
    return world.root / f".fscrawl/machines/{name}.log"


def grow_old(world, *names, age_s=WEEKS_S):
    for name in names:
        then = time.time() - age_s
        os.utime(heartbeats(world, name), (then, then))


def join_and_say(world, name):
    """Let a machine join, and find a page."""
    member = world.join(name)
    member.settle()
    member.membership.discover([url(MINE[0], name)], 1, "")
    member.membership.ledger.flush()
    member.tick()
    member.beat()
    return member


@pytest.fixture
def spot(world):
    """Give a world in which some machines have found a page each, and were killed weeks ago."""
    world.create(HOME)
    for name in SPOTS:
        member = join_and_say(world, name)
        figures = StatusFile(labels={"shoes": LabelFigure(stored=1)})
        StatusWriter(member.tree.files, lambda figures=figures: figures, lambda now, most: {}).write_last()
        member.kill()
        world.clock.now += 100
    grow_old(world, *SPOTS)
    return world


def packed(world):
    """Let a machine pack all that is there, and remove the files when all others must know the pack."""
    member = world.join("packer")
    world.pass_time(AFTER_S, member)
    assert len(packs(world)) == 1
    world.pass_time(300, member)
    return member


def test_killed_weeks_ago(spot):
    """All their files go, and every answer is the same as before. Nobody waits for them any more."""
    before = all_read(spot)
    member = packed(spot)
    assert files(spot) == (["packer"], ["packer"], 1)
    assert not list(spot.root.glob(".fscrawl/machines/*.json"))
    after = all_read(spot)
    assert {name: after[name] for name in before} == before
    late = spot.join("late")
    assert [peer.machine for peer in late.membership.fleet.live_peers(late.now)] == ["packer"]
    assert late.membership.fleet.has_dead(late.now), "their temporary files are still looked for"
    late.settle()
    assert late.frontier.pending + member.frontier.pending == RUNS + 1
    assert generations(spot) == []


def test_killed_days_ago(spot):
    """A machine that was silent for days may be a laptop: it stays, and the share is asked for its age once only."""
    grow_old(spot, "spot-1", age_s=13 * 86400)
    grow_old(spot, "spot-2", age_s=-86400)  # the clock of the file server was wrong
    member, asked = spot.join("packer"), []
    care = member.membership._housekeeping._packing
    modified_at = care._files.modified_at
    care._files.modified_at = lambda path: asked.append(path) or modified_at(path)
    spot.pass_time(2500, member)
    assert packs(spot) == []
    assert sum("spot-1" in path for path in asked) == 1
    assert not care.is_due((), ["spot-0", "spot-1", "spot-2", "spot-3"])


def test_killed_and_left(spot):
    """A pack has runs of both kinds. A run that is long silent is packed when it has been so for weeks."""
    grow_old(spot, "spot-1", age_s=13 * 86400)
    night = spot.join("night-0")
    spot.pass_time(30, night)
    night.leave()
    member = packed(spot)
    assert files(spot)[0] == ["packer", "spot-1"]
    spot.clock.now += 2 * 86400
    grow_old(spot, "spot-1")
    care = member.membership._housekeeping._packing
    care.pack({}, {"spot-1": Place(0, 0)})
    assert len(packs(spot)) == 1, "one is too few"
    assert care._may_be_over("spot-1")


def test_a_share_that_tells_no_times(spot):
    """Whatever it says of the age of a log, a machine that beats is not packed."""
    member, other = spot.join("packer"), spot.join("other")
    for _ in range(30):
        spot.pass_time(10, member, other)
        grow_old(spot, "other")
    assert len(packs(spot)) == 1
    assert member.membership._machinery.past.where("other") is None


def test_no_log_of_ones_own(spot):
    """A process whose own heartbeats are missing cannot tell the age of others."""
    tree = Tree(spot.root, "nobody")
    packing.Packing(tree.files, PastRuns(tree.files)).pack({}, dict.fromkeys(SPOTS))
    assert packs(spot) == []


def test_what_is_torn_stays(spot):
    """Of a log with half a block at its end, readers need the file; so they do of torn heartbeats."""
    log = spot.root / log_path("spot-1", 0)
    log.write_bytes(log.read_bytes() + b"B 7 7 ")
    shorter = spot.root / log_path("spot-2", 0)
    shorter.write_bytes(shorter.read_bytes().partition(b"\n")[0] + b"\n")
    heartbeats(spot, "spot-3").write_bytes(heartbeats(spot, "spot-3").read_bytes() + b'{"be')
    heartbeats(spot, "hello-1-aa").write_bytes(line_of(Hello("hello-1-aa")))
    grow_old(spot, "spot-1", "spot-2", "spot-3", "hello-1-aa")
    packed(spot)
    assert files(spot) == (["packer", "spot-3"], ["packer", "spot-1", "spot-2", "spot-3"], 1)
    assert log.exists()
    assert shorter.exists()


def test_logs_in_packs_are_read_once(spot, monkeypatch):
    """They never grow. To go through all of them in each round would take a machine's time."""
    packed(spot)
    late = spot.join("late")
    opened = []
    real = TreeLogs.open_segment

    def noted(self, machine, segment):
        opened.append(machine)
        return real(self, machine, segment)

    monkeypatch.setattr(TreeLogs, "open_segment", noted)
    spot.pass_time(100, late)
    assert 1 <= max(Counter(machine for machine in opened if machine in SPOTS).values()) <= 3


# -- a machine that wakes up


@pytest.fixture
def asleep(spot):
    """Give a machine that was suspended weeks ago, in a world with others that were killed."""
    member = join_and_say(spot, "asleep")
    spot.members.remove(member)
    spot.clock.now += WEEKS_S
    grow_old(spot, "asleep")
    return member


def wake(member):
    """Let it beat again after a gap: it fetches nothing until the fence is taken down."""
    member.heart.pause()
    member.tick()
    assert member.membership.fenced
    member.beat()


def test_it_wakes_up_when_its_files_are_gone(spot, asleep):
    """Its first beat tells it so; it claims nothing, and nothing of what it has said is lost."""
    packed(spot)
    wake(asleep)
    assert isinstance(asleep.heart.trouble, MemoryGone)
    assert asleep.membership.fenced


def test_it_wakes_up_when_it_is_packed(spot, asleep):
    """Its files are still there, and nobody reads them any more. It learns that before it claims anything."""
    spot.pass_time(AFTER_S, spot.join("packer"))
    assert len(packs(spot)) == 1
    wake(asleep)
    assert asleep.heart.trouble is None
    spot.clock.now += 11
    with pytest.raises(MemoryGone, match=r"asleep\.log: it was silent for so long"):
        asleep.tick()
    assert not asleep.heart.readmitted


def test_it_wakes_up_and_its_listing_is_old(spot, asleep):
    """It asks by name for a pack that its listing does not show yet."""
    spot.pass_time(AFTER_S, spot.join("packer"))
    past = asleep.membership._machinery.past
    past._files = OldListing(past._files)
    wake(asleep)
    spot.clock.now += 11
    with pytest.raises(MemoryGone):
        asleep.tick()


class OldListing:
    """Files of which the listing is of before there were packs."""

    def __init__(self, files):
        self._files = files

    def __getattr__(self, name):
        return getattr(self._files, name)

    def names(self, path):
        return [name for name in self._files.names(path) if not name.startswith("past.")]


@pytest.mark.gate
@pytest.mark.parametrize(("before", "times"), [("_run", True), ("_read", True), ("_write", True), ("_write", False)])
def test_it_wakes_up_while_others_are_read(spot, asleep, monkeypatch, before, times):
    """Who packs looks once more at the last moment. So it is not packed, and goes on as if nothing had been.

    `times`: the file system tells at once when a file was changed.
    """
    woken = []
    real = getattr(packing.Packing, before)

    def waking(self, *args, **facts):
        if not woken and (before == "_write" or "asleep" in args[0]):
            woken.append(True)
            asleep.beat()
            if not times:
                grow_old(spot, "asleep")
        return real(self, *args, **facts)

    monkeypatch.setattr(packing.Packing, before, waking)
    member = packed(spot)
    assert files(spot)[0] == ["asleep", "packer"]
    assert member.membership._machinery.past.where("asleep") is None
    wake(asleep)
    spot.clock.now += 11
    asleep.tick()
    assert not asleep.membership.fenced
    assert asleep.heart.trouble is None


def test_all_of_them_wake_up(spot, asleep, monkeypatch):
    """Then there is nothing to pack."""
    monkeypatch.setattr(packing.Packing, "_is_as_read", lambda *_: False)
    spot.pass_time(AFTER_S, spot.join("packer"))
    assert packs(spot) == []


def test_what_it_says_when_it_is_packed(spot, asleep):
    """One has heard it, and those who know the pack have not. That is a cut, so all is told from the records."""
    packer, other = spot.join("packer"), spot.join("other")
    past = other.membership._machinery.past
    real, past._files = past._files, OldListing(past._files)
    while not packs(spot):
        spot.pass_time(10, packer, other)
    asleep.membership.discover([url(MINE[0], "late")], 1, "")
    asleep.membership.ledger.flush()
    other.membership.ledger.hear({"asleep": None})
    past._files = real
    spot.pass_time(300, packer, other)
    assert generations(spot) == ["1"]
    late = spot.join("late")
    spot.rounds(3)
    assert len({member.membership.ledger.vector_hash() for member in (packer, other, late)}) == 1


@pytest.mark.gate
@pytest.mark.parametrize("call", ["open", "link", "unlink", "rmdir", "write", "stat"])
def test_a_machine_that_ends_in_the_middle(spot, monkeypatch, call):
    """Wherever that is, all is there, in files or in a pack; and the next machine goes on."""
    before = all_read(spot)
    member = spot.join("packer")
    tree = Tree(spot.root, "packer")
    ends = dict.fromkeys(SPOTS)

    def work():
        mine = packing.Packing(tree.files, PastRuns(tree.files))
        mine.pack({}, ends)
        mine.remove(0.0)

    for _ in crashes(monkeypatch, call, work, 600):
        now = all_read(spot)
        assert {name: now[name] for name in before} == before
    assert files(spot) == (["packer"], ["packer"], 1)
    assert member.heart.trouble is None
