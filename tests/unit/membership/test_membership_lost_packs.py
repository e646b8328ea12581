"""A pack is damaged, or somebody removes it, while machines know what was in it."""

import json

import pytest

from fscrawl.admin.audit import audit
from fscrawl.errors import MemoryGone
from fscrawl.fleet import packing, past_runs
from fscrawl.fleet.beat import Beat, Goodbye, Hello, line_of
from fscrawl.store import Tree
from tests.support.members import MINE, shard, url

RUNS = 6
HOME = url(MINE[0])


@pytest.fixture
def pack(world, monkeypatch):
    """Give the pack of some past runs, whose own files are gone; a machine that knows it is `packer`."""
    (path,) = make_packs(world, monkeypatch)
    return path


@pytest.fixture
def packs(world, monkeypatch):
    """Give a pack for each run."""
    monkeypatch.setattr(packing, "_PACK_BYTES", 1)
    return make_packs(world, monkeypatch)


def make_packs(world, monkeypatch):
    monkeypatch.setattr(packing, "FEWEST", RUNS)
    world.create(HOME)
    for number in range(RUNS):
        member = world.join(f"night-{number}")
        member.settle()
        member.membership.discover([url(MINE[0], f"{number}")], 1, "")
        member.leave()
    world.pass_time(500, world.join("packer"))
    assert [path.name for path in (world.root / ".fscrawl/log").iterdir()] == ["packer"]
    return sorted((world.root / ".fscrawl/machines").glob("past.*"))


def generations(world):
    return sorted(path.name for path in (world.root / ".fscrawl/again").iterdir())


def settle(world, *members):
    for member in members:
        member.crawl()
    world.pass_time(300, *members)


@pytest.mark.gate
def test_machines_that_know_it_and_one_that_does_not(world, pack):
    """Who joins later does not know what was in it, and the others do. All agree on the end all the same."""
    (packer,) = world.members
    settle(world, packer)
    pack.write_bytes(b"")
    late = world.join("late")
    with pytest.raises(MemoryGone, match=r"past\.1"):
        world.pass_time(300, packer, late)
    packer.kill()
    again = world.join("again")
    settle(world, late, again)
    assert generations(world) == ["1"]
    assert late.membership.ledger.vector_hash() == again.membership.ledger.vector_hash()
    assert late.is_over()
    assert again.is_over()


def test_a_machine_that_needs_it_again(world, pack):
    """One generation is made for all that was in it."""
    (packer,) = world.members
    settle(world, packer)
    packer.membership._machinery.past._kept.clear()
    pack.unlink()
    packer.membership._intake.begin(packer.held, {})
    with pytest.raises(MemoryGone, match=r"past\.1"):
        world.pass_time(300, packer)
    assert generations(world) == ["1"]
    packer.kill()
    again = world.join("again")
    world.pass_time(300, again)
    settle(world, again)
    assert generations(world) == ["1"]
    assert again.is_over()


@pytest.mark.gate
def test_a_pack_that_comes_back(world, pack):
    """A generation was made because somebody could not read it. Who can read it goes on."""
    (packer,) = world.members
    settle(world, packer)
    data = pack.read_bytes()
    pack.write_bytes(b"")
    late = world.join("late")
    world.pass_time(100, late)
    pack.write_bytes(data)
    world.pass_time(60, packer)
    assert generations(world) == ["1"]
    settle(world, packer, late)
    world.pass_time(500, packer, late)
    assert packer.membership.ledger.vector_hash() == late.membership.ledger.vector_hash()
    assert late.is_over()


def test_snapshots_that_name_its_logs(world, pack):
    """What they name is lost with the pack: that is one finding, and after the next run none."""
    (packer,) = world.members
    settle(world, packer)
    number, ledger = shard(MINE[0]), packer.membership.ledger
    ledger.flush()
    epoch = packer.membership.fleet.held[number]
    head = packer.membership._snapshots.make(number, epoch, ledger.ends(), ledger.rules.term)
    assert "night-1" in head.at
    packer.leave()
    pack.write_bytes(b"")
    assert found_by_audit(world) == 1
    late = world.join("late")
    settle(world, late)
    late.leave()
    assert generations(world) == ["1"]
    assert found_by_audit(world) == 0


def found_by_audit(world):
    tree = Tree(world.root, "auditor")
    return audit(tree, world.settings(), frozenset(world.seeds), sleep=lambda _: None).found["damaged_logs"]


def test_a_repair(world, pack):
    """It makes the one generation that is needed, and a second one has nothing to do."""
    (packer,) = world.members
    settle(world, packer)
    packer.leave()
    pack.write_bytes(b"")
    tree = Tree(world.root, "auditor")
    audit(tree, world.settings(), frozenset(world.seeds), repair=True, sleep=lambda _: None)
    assert generations(world) == ["1"]
    assert found_by_audit(world) == 0
    late = world.join("late")
    settle(world, late)
    assert late.is_over()
    assert generations(world) == ["1"]


@pytest.mark.gate
def test_many_packs_that_somebody_removes(world, packs):
    """One generation is made for those with numbers in a row."""
    (packer,) = world.members
    settle(world, packer)
    packer.leave()
    for pack in packs[1:5]:
        pack.unlink()
    assert found_by_audit(world) == 1
    late = world.join("late")
    settle(world, late)
    assert [reasons(world)[0][name] for name in ("log", "expected")] == ["past.5", [0, 4]]
    packs[0].unlink()
    settle(world, world.join("later"))
    assert [reason["log"] for reason in reasons(world)] == ["past.5", "past.1"]
    assert found_by_audit(world) == 0


def test_a_heartbeat_that_speaks_of_packs_that_never_were(world, pack, monkeypatch):
    """One generation is made for all of them, and the crawl goes on."""
    monkeypatch.setattr(past_runs, "_MOST_PACKS", 100)
    (packer,) = world.members
    settle(world, packer)
    packer.leave()
    forged = [Hello("forged"), Beat(packs=10**15), Goodbye(Beat(packs=10**15), finished=True)]
    (world.root / ".fscrawl/machines/forged.log").write_bytes(b"".join(map(line_of, forged)))
    late = world.join("late")
    world.pass_time(100, late)
    settle(world, late)
    assert late.is_over()
    assert [reason["log"] for reason in reasons(world)] == ["past.100"]


def test_a_generation_that_somebody_has_made_up(world, pack):
    """It speaks of more packs than there can be."""
    (packer,) = world.members
    settle(world, packer)
    reason = {"reason": "cut", "log": "past.999999999999999", "expected": [0, 2**61]}
    (world.root / ".fscrawl/again/1").write_text(json.dumps(reason))
    settle(world, packer)
    assert packer.is_over()


def reasons(world):
    return [json.loads((world.root / ".fscrawl/again" / name).read_text()) for name in generations(world)]
