"""What a stored page costs an SFTP server, or the bricks of a GlusterFS volume, by what they count themselves.

The ceilings are a little above what two published files cost there. On kernel NFS: test_nfs.py.
"""

from __future__ import annotations

import time

import pytest

from fscrawl.storage.mounts import CACHES_LIVE_S
from tests.support.crawling import leases
from tests.support.fleet import Fleet
from tests.support.shares.cost import FLAT, Cost
from tests.support.shares.place import SharedPlace
from tests.support.shares.share import GLUSTERFS, SSHFS, Flavour, Share, missing
from tests.support.web import Web, linked_site

pytestmark = pytest.mark.timeout(500)

HOSTS = [f"127.0.51.{n}" for n in range(1, 9)]
PAGES, DELAY_S = 1000, 0.2  # of each host: more than the crawl gets to, 40 a second in all
BEAT_S, DEAD_AFTER_S = 10, 60  # what a crawl has if nobody says otherwise
WINDOW = 400
CEILINGS = {SSHFS: 20.0, GLUSTERFS: 80.0}  # in one file: 9 SFTP requests; 18 calls of each of two bricks
MACHINE = {"fleet.beat": BEAT_S, "fleet.dead_after": DEAD_AFTER_S, "politeness.delay": DELAY_S}


@pytest.mark.parametrize("flavour", CEILINGS, ids=lambda flavour: flavour.name.replace(" ", "-"))
def test_requests_a_page(flavour: Flavour) -> None:
    """A stored page costs no more than the ceiling, and the same in a large tree and beside another machine."""
    if lacking := missing(flavour):
        pytest.skip(f"{flavour.name} needs {', '.join(lacking)}")
    site = linked_site(PAGES, 5, body_bytes=3000)
    with Share(flavour, counting=True) as share, Web(site, HOSTS, deadline_s=450) as web:
        place = SharedPlace(share, "cost")
        try:
            with Fleet(place, MACHINE, threads=8) as fleet:
                fleet.start(seeds=[web.url(host, "/") for host in HOSTS])
                young = cost(fleet, share, web, WINDOW // 4)
                old = cost(fleet, share, web, 10 * WINDOW // 4)
                fleet.start()
                beside = cost(fleet, share, web, both_at_work(fleet, web))
        finally:
            place.close()
    print(f"{flavour.name}, a small tree: {young}\na tree ten times as large: {old}\ntwo machines: {beside}")
    assert max(young.a_page, old.a_page, beside.a_page) <= CEILINGS[flavour]
    assert old.a_page <= young.a_page * FLAT
    assert beside.a_page <= young.a_page * FLAT


def cost(fleet: Fleet, share: Share, web: Web, begin_at: int) -> Cost:
    """Wait for request number `begin_at` and so many more, and give what the pages stored meanwhile have cost."""
    fleet.members[0].until(lambda: web.count() >= begin_at, f"{begin_at} requests", 120)
    before, asked = share.requests(), web.count()
    fleet.members[0].until(lambda: web.count() >= asked + WINDOW, f"{WINDOW} requests more", 60)
    after, now_asked = share.requests(), web.count()
    return Cost("requests", after - before, now_asked - asked)


def both_at_work(fleet: Fleet, web: Web) -> int:
    """Wait until the second machine has hosts of its own, and asks for no page by name for that any more.

    Give the number of requests then.
    """
    second = fleet.members[1]

    def holds_some() -> bool:
        return any(f"-{second.pid}-" in lease for lease in leases(fleet.root).values())

    second.until(holds_some, "a lease of the second machine", 60)
    settled = time.monotonic() + CACHES_LIVE_S + 2 * BEAT_S
    second.until(lambda: time.monotonic() > settled, "leases to settle", 120)
    return web.count()
