"""Real kernel NFS: a server and two clients in virtual machines, crawling a web on the host.

The short form, for every change: v4.2 whole, and a crawl on v3. FSCRAWL_NFS=all runs everything on both, and
`test_nfs_all.py` too.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from fscrawl.storage.mounts import CACHES_LIVE_S
from tests.support.crawling import pages
from tests.support.guests import mountstats
from tests.support.guests.crawls import BEAT_S, DEAD_AFTER_S, LANES, Site, await_over, begin, lost, stored
from tests.support.guests.guest import Begun, Guest
from tests.support.guests.lab import Lab
from tests.support.ledger import Entry, note
from tests.support.shares.cost import FLAT, Cost

pytest_plugins = ["tests.support.guests.fixtures"]
pytestmark = pytest.mark.timeout(1200)

BOTH = ["4.2", "3"]
ALL = BOTH if os.environ.get("FSCRAWL_NFS") == "all" else ["4.2"]
CEILING = 11.0  # RPCs a page; two files published cost 8: v4.2 OPEN, v3 LOOKUP and CREATE, WRITE, v4.2 CLOSE, RENAME
CEILING_OF_PACKS = 1.0


@pytest.mark.parametrize("lab", BOTH, indirect=True)
def test_two_clients_make_one_crawl(lab: Lab, tmp_path: Path) -> None:
    """Two clients store every page once, fetch none twice, keep each host's delay between them, and leave."""
    root, delay_s = "/mnt/tree/crawl", 1.0
    settings = {"politeness.delay": delay_s, "fleet.dead_after": 60}  # a guest on a busy host stands still for a while
    # twelve hosts: of six, one client in thirty crawls had none
    with Site(12, 40) as site, begin(lab.clients[0], root, site=site, settings=settings) as first:
        first.until(site.count, "a first request", 120)
        with begin(lab.clients[1], root) as second:
            await_over([first, second])
    missed = lost(lab, root, site, tmp_path / "tree")
    stored_by = Counter(record.machine.split("-")[0] for record in pages(tmp_path / "tree").values())
    soon = site.too_soon(delay_s)
    print(f"NFS v{lab.version}: {dict(stored_by)}, duplicates {site.duplicates()}, too soon {len(soon)}")
    note(
        Entry(f"NFS v{lab.version}", "none", pages=stored_by.total(), lost=missed, duplicates=site.duplicates(),
              violations=len(soon))
    )  # fmt: skip
    assert missed == 0
    assert site.duplicates() == 0
    assert soon == []
    assert set(stored_by) == {"client1", "client2"}


@pytest.mark.parametrize("lab", ALL, indirect=True)
def test_rpcs_a_page(lab: Lab) -> None:
    """A stored page costs no more RPCs than the ceiling, in a tree ten times as large, and beside another machine."""
    root = "/mnt/tree/cost"
    first_client, second_client = lab.clients
    with Site(8, 800) as site, begin(first_client, root, site=site, settings={"fleet.beat": 10}) as first:
        young = cost(lab, [first_client], root, first, site, 20)
        old = cost(lab, [first_client], root, first, site, 1100)
        with begin(second_client, root) as second:
            both = both_at_work(lab, root, site, [first, second])
            beside = cost(lab, lab.clients, root, first, site, both)
            for machine in (first, second):
                machine.tell("INT")
            for machine in (first, second):
                assert machine.wait(300).code == 130
    print(f"NFS v{lab.version}, a small tree: {young}\na tree ten times as large: {old}\ntwo machines: {beside}")
    assert max(young.a_page, old.a_page, beside.a_page) <= CEILING
    assert old.a_page <= young.a_page * FLAT
    assert beside.a_page <= young.a_page * FLAT


@pytest.mark.parametrize("lab", ALL, indirect=True)
def test_rpcs_a_page_of_packs(lab: Lab) -> None:
    """Pages in packs are written in groups: the file server is asked a few times for all that a worker stores at once.

    A guest is slow. What a page costs falls with the pages a second of a worker.
    """
    root, client = "/mnt/tree/packs", lab.clients[0]
    settings = {"fleet.beat": 10, "store.layout": "packs"}
    with Site(8, 800) as site, begin(client, root, site=site, threads=16, settings=settings) as machine:
        machine.until(lambda: site.count() >= 20, "20 requests", 600)
        began = time.monotonic()
        found = cost(lab, [client], root, machine, site, site.count())
        pages_a_second = 200 / (time.monotonic() - began)
        machine.tell("INT")
        assert machine.wait(300).code == 130
    print(f"NFS v{lab.version}, packs, one worker at {pages_a_second:.1f} pages/s: {found}")
    assert found.a_page <= CEILING_OF_PACKS


def cost(lab: Lab, clients: list[Guest], root: str, running: Begun, site: Site, begin_at: int) -> Cost:
    """Wait for request number `begin_at` and 200 more, and give what the pages stored meanwhile have cost."""
    running.until(lambda: site.count() >= begin_at, f"{begin_at} requests", 600)
    spent_before, pages_before = costs_so_far(lab, clients, root)
    running.until(lambda: site.count() >= begin_at + 200, "200 requests more", 300)
    spent_after, pages_after = costs_so_far(lab, clients, root)
    pages = pages_after - pages_before
    assert pages >= 150
    return Cost("RPCs", spent_after - spent_before, pages)


def costs_so_far(lab: Lab, clients: list[Guest], root: str) -> tuple[Counter[str], float]:
    """Give the RPCs of some clients until now, and the pages stored until then.

    The crawl goes on while guests are asked, for seconds on a busy host. So pages are counted before and after the
    RPCs, and the middle is taken: the count of RPCs falls there.
    """
    before = stored(lab, root)
    spent = spent_on(clients)
    return spent, (before + stored(lab, root)) / 2


def spent_on(clients: list[Guest]) -> Counter[str]:
    spent: Counter[str] = Counter()
    for client in clients:
        spent += mountstats.calls(client.run("cat /proc/self/mountstats").out, "/mnt/tree")
    return spent


def both_at_work(lab: Lab, root: str, site: Site, machines: list[Begun]) -> int:
    """Wait until the second machine has its shards, and nobody asks for pages by name for their sake any more.

    Give the number of requests then.
    """
    leases = f"{root.replace('/mnt', '/srv')}/.fscrawl/leases"
    held = f'grep -h -o \'"holder": *"client2\' {leases}/*.* | wc -l'
    machines[1].until(lambda: int(lab.server.run(held).out), "a lease of the second machine", 300)
    settled = time.monotonic() + max(DEAD_AFTER_S, CACHES_LIVE_S) + 2 * BEAT_S
    machines[1].until(lambda: time.monotonic() > settled, "leases to settle", 120)
    return site.count()


@pytest.mark.parametrize("lab", ALL, indirect=True)
def test_server_loses_power(lab: Lab, tmp_path: Path) -> None:
    """A file server that loses power and boots again costs time: machines go on by themselves, and nothing is lost."""
    root, delay_s = "/mnt/tree/power", 1.0
    with Site(6, 60) as site, begin(lab.clients[0], root, site=site, settings={"politeness.delay": delay_s}) as first:
        first.until(site.count, "a first request", 120)
        with begin(lab.clients[1], root) as second:
            first.until(lambda: site.count() >= 120, "a third of the crawl", 300)
            lab.server.stop()
            time.sleep(3)
            lab.restart_server()
            back = time.monotonic()
            await_over([first, second])
    missed, twice, soon = lost(lab, root, site, tmp_path / "tree"), site.duplicates(), site.too_soon(delay_s)
    recovery_s = site.next_answer(back) - back
    print(f"NFS v{lab.version}: recovery {recovery_s:.1f} s, duplicates {twice}, too soon {len(soon)}, lost {missed}")
    note(
        Entry(f"NFS v{lab.version}", "power loss of the server", faults=1, pages=len(site.urls()) - missed, lost=missed,
              duplicates=twice, violations=len(soon), recovery_s=round(recovery_s, 1))
    )  # fmt: skip
    assert missed == 0
    assert twice <= 2 * LANES
    assert soon == []
