"""A fleet in which each machine has a mount of its own, with faults at random, lost for a while, or stale views."""

from __future__ import annotations

import errno
import itertools
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fscrawl.fleet.beat import Beat
from fscrawl.fleet.machinery import Peer
from tests.support.crawling import check_tree, pages
from tests.support.faults import Fault
from tests.support.faulty.trials import Tally
from tests.support.faulty.waiting import wait_for
from tests.support.fleet import DYING, Fleet, Member
from tests.support.passthrough import Passthrough, missing
from tests.support.web import Web, linked_site

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=f"not here: {', '.join(missing())}"),
    pytest.mark.timeout(240),
]

SEED = int(os.environ.get("FSCRAWL_SEED") or time.time() // 86400)
DEAD_AFTER_S = DYING["fleet.dead_after"]
DELAY_S = 0.2
THREADS = 4  # of each machine's one worker: so many pages are in flight at most
HOSTS = [f"127.0.42.{n}" for n in range(1, 7)]
PAGES = 100  # at a delay of 0.2 s they take 20 s, and some for each take-over
IN_FLIGHT_S = 0.5  # a request that arrives so soon after a fault was under way when it began
CHANCE = [
    Fault("error", errno.EIO, every=1, chance=0.01),
    Fault("error", errno.ESTALE, every=1, chance=0.01),
    Fault("lost", errno.ETIMEDOUT, every=1, chance=0.01),
    Fault("twice", every=1, chance=0.05),
    Fault("short", every=1, chance=0.05),
    Fault("deferred", errno.EIO, every=1, chance=0.02),
    Fault("slow", seconds=0.3, every=1, chance=0.005),
]


STALE = {
    "listings, as sshfs has them": Fault("stale-listing", seconds=20, every=1),
    "look-ups of a missing name, as NFS has them": Fault("stale-missing", path="/STOP$", seconds=30, every=1),
}


@pytest.fixture
def backing(tmp_path: Path) -> Path:
    made = tmp_path / "backing"
    made.mkdir()
    return made


@contextmanager
def machines(backing: Path, faults: list[Fault]) -> Iterator[tuple[Web, Fleet, list[Passthrough]]]:
    """Start three machines, each on a mount with these faults, and wait until they are in the middle of a crawl."""
    settings = {**DYING, "politeness.delay": DELAY_S, "store.patience": 60}
    with ExitStack() as stack:
        web = stack.enter_context(Web(linked_site(PAGES, 4, body_bytes=2000), HOSTS))
        mounts = [stack.enter_context(Passthrough(backing, seed=SEED + n)) for n in range(3)]
        fleet = stack.enter_context(Fleet(backing / "tree", settings, threads=THREADS))
        for mount in mounts:
            seeds = [] if fleet.members else [web.url(host, "/") for host in HOSTS]
            fleet.start(seeds=seeds, root=mount.path / "tree")
            mount.inject(*faults)
            fleet.wait_for_tree()
        wait_for(lambda: web.count() > 15 * len(HOSTS), "some of the pages")
        yield web, fleet, mounts


def test_faults_at_random(backing: Path) -> None:
    """Three machines with faults at random, one hung and one cut off past `dead_after`, store every page."""
    tally = Tally("three machines, at random", runs=1)
    print(f"FSCRAWL_SEED={SEED}")
    with machines(backing, CHANCE) as (web, fleet, mounts):
        begun = []
        for number, fault in ((2, Fault("hang", every=1)), (1, Fault("error", errno.EHOSTDOWN, every=1))):
            begun.append(time.monotonic())
            _out_of_reach(backing / "tree", mounts[number], fleet.members[number], fault, tally)
        fleet.wait_for_all(90)
        tally.faults += sum(mount.injected().total() for mount in mounts)
        _check_ends(fleet.members)
    _judge(tally, web, backing / "tree", begun)
    tally.conclude()


def test_stale_listings(backing: Path) -> None:
    """Machines whose listings are 20 s old fetch nothing again but what a killed one was at."""
    tally = Tally("stale listings, and a SIGKILL", runs=1, kills=1)
    with machines(backing, [Fault("stale-listing", seconds=20, every=1)]) as (web, fleet, mounts):
        killed_at = time.monotonic()
        fleet.members[1].kill()
        fleet.wait_for_all(120)
        tally.faults = sum(mount.injected().total() for mount in mounts) + 1
        _check_ends([fleet.members[0], fleet.members[2]])
    _judge(tally, web, backing / "tree", [killed_at])
    assert tally.faults > 1
    tally.conclude()


@pytest.mark.parametrize("view", STALE)
def test_a_sign_is_seen(backing: Path, view: str) -> None:
    """STOP ends all machines within seconds, though their listings, or their look-ups of it, are stale."""
    with machines(backing, [STALE[view]]) as (_, fleet, mounts):
        (backing / "tree" / "STOP").touch()
        fleet.wait_for_all(10)
        _check_ends(fleet.members)
        assert sum(mount.injected().total() for mount in mounts) > 0
    check_tree(backing / "tree")


def _check_ends(members: list[Member]) -> None:
    told = [member.output() for member in members]
    assert [member.code for member in members] == [0] * len(members), told
    assert not any("Traceback" in each for each in told), told


def _out_of_reach(tree: Path, mount: Passthrough, member: Member, fault: Fault, tally: Tally) -> None:
    """Keep a machine from its tree for twice `dead_after`: one fault, however many calls; then it must take part again.

    That it stores again is not asked for: by chance it may be wanted for none of the hosts.
    """
    mount.heal()
    before = mount.injected().total()
    mount.inject(fault)
    time.sleep(2 * DEAD_AFTER_S)
    number = _last_beat(tree, member).number or 0
    tally.faults -= mount.injected().total() - before - 1
    mount.heal()
    mount.inject(*CHANCE)

    def takes_part() -> bool:
        beat = _last_beat(tree, member)
        return member.over or ((beat.number or 0) > number + 1 and beat.state == "")

    took_s = wait_for(takes_part, "the machine takes part again")
    assert member.code in (None, 0), f"exit code {member.code}\n{member.output()}"
    tally.recovery_s = max(tally.recovery_s or 0, took_s)


def _last_beat(tree: Path, member: Member) -> Beat:
    logs = (tree / ".fscrawl" / "machines").glob(f"*-{member.pid}-*.log")
    log = max(logs, key=lambda path: path.stat().st_mtime)  # whose name seemed taken has taken another one
    peer = Peer(log.stem, 0.0)
    peer.take(log.read_bytes())
    return peer.last()


def _judge(tally: Tally, web: Web, tree: Path, begun: list[float]) -> None:
    """Nothing is lost or torn; what came twice, or too soon, was under way when a machine lost its tree."""
    stored = pages(tree)
    paths = ["/", *(f"/{n}" for n in range(PAGES))]
    tally.pages = len(stored)
    tally.lost = len({web.url(host, path) for host in HOSTS for path in paths} - set(stored))
    tally.duplicates = sum(web.duplicates().values()) - len(web.duplicates())
    check_tree(tree, whole=tally.kills == 0)
    for host in HOSTS:
        asked = [each.arrived for each in web.requests(host)]
        for before, after in itertools.pairwise(asked):
            if after - before < DELAY_S and not any(0 <= after - at < IN_FLIGHT_S for at in begun):
                tally.violations += 1
                tally.problems.append(f"{host}: {after - before:.3f} s between two requests")
    if tally.lost or tally.duplicates > THREADS * len(begun):
        tally.problems.append(f"lost {tally.lost}, fetched twice {web.duplicates()}")
