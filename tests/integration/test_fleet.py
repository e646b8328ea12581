"""Any number of machines on one tree, each a process group of its own, and a web that counts every request."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.crawling import check_tree, pages
from tests.fleet import Fleet
from tests.web import Web, linked_site


def hosts_of(count: int, net: int = 20) -> list[str]:
    return [f"127.0.{net + n // 200}.{n % 200 + 1}" for n in range(count)]


def test_three_machines_make_one_crawl(tmp_path: Path) -> None:
    """Three machines store every page once, fetch none twice, and keep the delay of each host between them."""
    hosts = hosts_of(30)
    with Web(linked_site(12, 3), hosts=hosts) as web, Fleet(tmp_path / "t", {"politeness.delay": 0.1}) as fleet:
        fleet.start(seeds=[web.url(host, "/") for host in hosts])
        fleet.wait_for_tree()
        fleet.start()
        fleet.start()
        fleet.wait_for_all(60)
        assert [member.code for member in fleet.members] == [0, 0, 0], [m.output() for m in fleet.members]
    assert web.duplicates() == {}
    assert min(web.smallest_gap_s(host) for host in hosts) >= 0.1
    stored = pages(tmp_path / "t")
    assert len(stored) == 30 * 13  # "/" and "/0" are two URLs
    assert len({record.machine for record in stored.values()}) == 3
    check_tree(tmp_path / "t")


@pytest.mark.fleet
def test_eight_machines_over_two_hundred_hosts(tmp_path: Path) -> None:
    """Eight machines of four workers store 10,000 pages once each, with no duplicate fetch and every delay kept."""
    hosts = hosts_of(200)
    site = linked_site(49, 5)  # "/" and "/0" are two URLs: 50 pages
    with (
        Web(site, hosts=hosts, deadline_s=300) as web,
        Fleet(tmp_path / "t", {"politeness.delay": 0.2, "fleet.beat": 2, "fleet.dead_after": 10}, workers=4) as fleet,
    ):
        fleet.start(seeds=[web.url(host, "/") for host in hosts])
        fleet.wait_for_tree()
        for _ in range(7):
            fleet.start()
        fleet.wait_for_all(250)
        assert [member.code for member in fleet.members] == [0] * 8, [m.output() for m in fleet.members]
    last = max(exchange.answered for exchange in web.exchanges)
    assert time.monotonic() - last < 3 * 2 + 3, "the end is seen within three beats (and a busy machine's start)"
    gap = min(web.smallest_gap_s(host) for host in hosts)
    print(f"pages {web.count()}, duplicates {len(web.duplicates())}, smallest gap {gap:.3f} s")
    assert web.duplicates() == {}
    assert gap >= 0.2
    assert len(pages(tmp_path / "t")) == 200 * 50
    check_tree(tmp_path / "t")


def chaos(fleet: Fleet, web: Web, rng: random.Random, every_s: float, rounds: int) -> list[tuple[float, float]]:
    """Every `every_s` kill a machine, pause one past `dead_after`, or let one join; give the (time, until) of faults.

    `until`: how long what was in flight at the fault may still be asked for again; a paused machine comes back late.
    """
    faults: list[tuple[float, float]] = []
    for _ in range(rounds):
        wait_until = time.monotonic() + every_s
        while time.monotonic() < wait_until and not all(member.over for member in fleet.members):
            time.sleep(0.02)
        running = [member for member in fleet.members if not member.over]
        paused = [member for member in running if member.stopped_at is not None]
        for member in paused:
            if time.monotonic() - (member.stopped_at or 0) > 5:
                member.resume()
        active = [member for member in running if member.stopped_at is None]
        if not running:
            break
        kind = rng.choice(["kill", "pause", "join"])
        if kind == "join" or len(active) < 3:
            fleet.start()
        elif kind == "kill":
            rng.choice(active).kill()
            faults.append((time.monotonic(), 0))
        else:
            member = rng.choice(active)
            member.pause()
            faults.append((time.monotonic(), 0))
    for member in fleet.members:
        if member.stopped_at is not None and not member.over:
            member.resume()
    return faults


@pytest.mark.fleet
@pytest.mark.parametrize("seed", [1, 2])
def test_chaos(tmp_path: Path, seed: int) -> None:
    """Machines that are killed, paused past dead_after and join lose no page; what is fetched twice was in flight."""
    hosts, rng = hosts_of(200), random.Random(seed)
    settings = {"politeness.delay": 0.2, "fleet.beat": 0.5, "fleet.dead_after": 4}
    with (
        Web(linked_site(49, 5), hosts=hosts, deadline_s=300) as web,
        Fleet(tmp_path / "t", settings, workers=4) as fleet,
    ):
        fleet.start(seeds=[web.url(host, "/") for host in hosts])
        fleet.wait_for_tree()
        for _ in range(7):
            fleet.start()
        faults = chaos(fleet, web, rng, every_s=3, rounds=8)
        fleet.wait_for_all(120)
        survivors = [member for member in fleet.members if member.code != -9]
        assert [member.code for member in survivors] == [0] * len(survivors), [m.output() for m in survivors]
    twice = web.duplicates()
    lanes = 4 * 4  # fetches at a time of one machine
    gap = min(web.smallest_gap_s(host) for host in hosts)
    print(f"pages {web.count()}, faults {len(faults)}, duplicates {len(twice)}, smallest gap {gap:.3f} s")
    assert sum(n - 1 for n in twice.values()) <= lanes * len(faults)
    assert len(pages(tmp_path / "t")) == 200 * 50
    check_tree(tmp_path / "t", whole=False)
