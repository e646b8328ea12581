"""Real kernel NFS, the long form, by FSCRAWL_NFS=all: the store's contract, races between clients, and every trouble.

Without the variable nothing of it is collected: the short form is `test_nfs.py`.
"""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import pytest

from tests.support.guests.crawls import BEAT_S, DEAD_AFTER_S, LANES, Site, await_over, begin, holders, lost
from tests.support.guests.lab import Lab
from tests.support.guests.starter import Starter
from tests.support.ledger import Entry, note

pytest_plugins = ["tests.support.guests.fixtures"]
pytestmark = [
    pytest.mark.timeout(1500),
    pytest.mark.parametrize("lab", ["4.2", "3"], indirect=True),
]

DELAY_S = 2.0
FENCED_S = (
    DEAD_AFTER_S / 2 + 1.5
)  # after a cut: no request any more; the slack is for one on its way, and for slow guests
TAKEN_S = DEAD_AFTER_S - BEAT_S - 1.0  # after a cut, at the earliest: another machine counts from the last beat it saw


def test_contract(lab: Lab) -> None:
    """The store keeps every promise of its contract on the mount, in a client."""
    suite = "/opt/checkout/tests/component/test_store.py"
    flags = "-c /dev/null --rootdir /opt/checkout -p no:cacheprovider --import-mode=importlib -q -k mnt"
    line = f"cd /tmp && FSCRAWL_STORE_DIRS=/mnt/tree timeout 1200 python3 -B -m pytest {flags} {suite}"
    done = lab.clients[0].run(line, timeout_s=1260, check=False)
    assert done.code == 0, done.out[-5000:] + done.err
    assert "passed" in done.out
    assert "skipped" not in done.out


def race(lab: Lab, sides: tuple[str, str], rounds: int) -> list[list[object]]:
    """Let both clients do their side at once, round after round, and give what each says of its rounds."""
    directory = f"/mnt/tree/race-{sides[0]}"
    # what is replaced is there before: a client that has missed a name goes on missing it for half a minute
    lab.server.run(f"d={directory.replace('/mnt', '/srv')}; mkdir $d && head -c 50000 /dev/zero >$d/replaced")
    with Starter(2) as starter, contextlib.ExitStack() as ends:
        begun = []
        for client, side in zip(lab.clients, sides, strict=True):
            words = f"python3 -B -m tests.support.guests.race {side} {directory} {client.name} {rounds} {starter.port}"
            begun.append(ends.enter_context(client.begin(f"cd /opt/checkout && {words}", 400)))
        said = []
        for each in begun:
            done = each.wait(400)
            assert done.code == 0, done
            said.append(json.loads(done.out))
    return said


def test_claims_of_two_clients(lab: Lab) -> None:
    """Of two clients that claim the same names at the same time, exactly one wins each."""
    one, other = race(lab, ("claim", "claim"), 200)
    print(f"NFS v{lab.version}: claims won {one.count(True)} and {other.count(True)}")
    assert any(one), "one side was always first: they did not meet"
    assert any(other), "one side was always first: they did not meet"
    assert [sorted(pair, key=bool) for pair in zip(one, other, strict=True)] == [[False, True]] * 200


def test_a_reader_of_what_is_replaced(lab: Lab) -> None:
    """A client that reads what another one replaces again and again sees whole files only."""
    written, read = race(lab, ("write", "read"), 200)
    seen = {what: read.count(what) for what in map(str, read)}
    print(f"NFS v{lab.version}: {seen}")
    assert all(written)
    assert seen.get("whole", 0) >= 100
    assert "torn" not in seen


def test_server_stands_still(lab: Lab, tmp_path: Path) -> None:
    """While the server stands still longer than dead_after, nothing is fetched past the fence; then all goes on."""
    root = "/mnt/tree/still"
    with Site(6, 50) as site, begin(lab.clients[0], root, site=site, settings={"politeness.delay": DELAY_S}) as first:
        first.until(site.count, "a first request", 120)
        with begin(lab.clients[1], root) as second:
            first.until(lambda: site.count() >= 100, "a third of the crawl", 400)
            lab.server.pause()
            paused = time.monotonic()
            try:
                sleep_until(paused + DEAD_AFTER_S + 15)
            finally:
                lab.server.resume()
            back = time.monotonic()
            await_over([first, second])
    beyond = site.arrivals(paused + FENCED_S, back)
    report(lab, root, site, tmp_path, "server stopped", beyond, site.next_answer(back) - back)


def test_one_client_is_cut_off(lab: Lab, tmp_path: Path) -> None:
    """A machine cut off from the server asks for nothing past its fence, others take over, it comes back by itself."""
    root = "/mnt/tree/cut"
    with Site(6, 80) as site, begin(lab.clients[0], root, site=site, settings={"politeness.delay": DELAY_S}) as first:
        first.until(site.count, "a first request", 120)
        with begin(lab.clients[1], root) as second:
            first.until(lambda: site.count() >= 130, "a third of the crawl", 400)
            held = holders(lab, root)
            lab.clients[1].cut()
            cut = time.monotonic()
            try:
                sleep_until(cut + DEAD_AFTER_S + 30)
            finally:
                beats = machine_log(lab, root, "client2")
                lab.clients[1].cut(joined=True)
            back = time.monotonic()
            first.until(
                lambda: machine_log(lab, root, "client2") > beats, "a beat of the machine that was cut off", 300
            )
            again = time.monotonic()
            await_over([first, second])
    theirs = [web for web in site.webs if held[site.directory(web)] == "client2"]
    others = [web for web in site.webs if held[site.directory(web)] == "client1"]
    assert theirs, held
    assert others, held
    beyond = sum(site.arrivals(cut + FENCED_S, cut + TAKEN_S, web) for web in theirs)
    assert all(site.arrivals(cut + TAKEN_S, back, web) for web in theirs), "nobody took over"
    assert all(site.arrivals(cut, cut + TAKEN_S, web) for web in others), "the other machine stood still too"
    report(lab, root, site, tmp_path, "network of one machine cut", beyond, again - back)


def test_machines_are_killed(lab: Lab, tmp_path: Path) -> None:
    """Machines killed one after the other, and one whose computer loses power, lose nothing; the rest go on."""
    root, kills = "/mnt/tree/killed", 4
    client = lab.clients[1]
    with Site(6, 60) as site, begin(lab.clients[0], root, site=site, settings={"politeness.delay": DELAY_S}) as first:
        first.until(site.count, "a first request", 120)
        for number in range(1, kills + 2):
            enough = client_pages(lab, root) + 5
            with begin(client, root) as second:
                second.until(lambda: client_pages(lab, root) >= enough, "pages of the second machine", 300)  # noqa: B023
                if number <= kills:
                    second.tell("KILL")
                    second.wait(60)
                else:
                    client.stop()
        try:
            await_over([first])
        finally:  # the tests after this one want it
            client.start()
            client.ready()
            lab.mount(client)
    report(lab, root, site, tmp_path, "machine killed", 0, None, faults=kills + 1, kills=kills)


@pytest.mark.parametrize(
    ("space", "user", "ballast_mb", "pages_each"), [("small", 0, 20, 60), ("quota", 1000, 6, 20)], ids=["disk", "quota"]
)
def test_full(lab: Lab, tmp_path: Path, space: str, user: int, ballast_mb: int, pages_each: int) -> None:
    """A full disk, or quota, stops a machine with exit code 75 and no traceback; with room, the next one completes."""
    root, ballast = f"/mnt/{space}/full", f"/srv/{space}/ballast"
    lab.server.run(f"dd if=/dev/zero of={ballast} bs=1M count={ballast_mb} conv=fsync && chown {user} {ballast}")
    with Site(2, pages_each, body_bytes=150_000) as site:
        with begin(lab.clients[0], root, site=site, user=user) as machine:
            done = machine.wait(400)
        print(f"NFS v{lab.version}: {done.err}")
        assert done.code == 75, done
        assert "Traceback" not in done.err
        assert (
            len([line for line in done.err.splitlines() if "full" in line or "No space" in line or "quota" in line])
            == 1
        )
        lab.server.run(f"rm {ballast}")
        with begin(lab.clients[0], root, user=user) as machine:
            await_over([machine])
    fault = "full disk" if space == "small" else "full quota"
    report(lab, root, site, tmp_path, fault, 0, None, delay_s=0.0)


def report(
    lab: Lab, root: str, site: Site, tmp_path: Path, fault: str, beyond: int, recovery_s: float | None, *,
    faults: int = 1, kills: int = 0, delay_s: float = DELAY_S,
) -> None:  # fmt: skip
    """Check that nothing is lost and torn, that little came twice and nothing too soon, and say so.

    `beyond`: requests past the fence of a machine.
    """
    missed, twice = lost(lab, root, site, tmp_path / "tree"), site.duplicates()
    soon = site.too_soon(delay_s) if delay_s else []
    print(
        f"NFS v{lab.version}, {fault}: lost {missed}, twice {twice}, soon {len(soon)}, beyond {beyond}, {recovery_s} s"
    )
    note(
        Entry(f"NFS v{lab.version}", fault, faults=faults, kills=kills, pages=len(site.urls()) - missed, lost=missed,
              duplicates=twice, violations=len(soon) + beyond,
              recovery_s=None if recovery_s is None else round(recovery_s, 1))
    )  # fmt: skip
    assert missed == 0
    assert twice <= 2 * LANES * faults
    assert soon == []
    assert beyond == 0


def machine_log(lab: Lab, root: str, client: str) -> int:
    """Give the size of the heartbeat logs of a client's machines, as the server sees it."""
    told = lab.server.run(f"cat {root.replace('/mnt', '/srv')}/.fscrawl/machines/{client}-*.log | wc -c").out
    return int(told)


def client_pages(lab: Lab, root: str) -> int:
    """Give how many pages the second client's machines have stored."""
    words = f'grep -l -r \'"machine":"client2\' {root.replace("/mnt", "/srv")}/links | wc -l'
    return int(lab.server.run(words).out)


def sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
