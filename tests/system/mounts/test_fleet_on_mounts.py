"""The fleet's tests with a mount for each machine, and a short chaos."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Self

import pytest

from tests.support.crawling import check_tree
from tests.support.fixtures import in_both
from tests.support.fleet import Fleet
from tests.support.shares.findings import found
from tests.support.shares.marks import on
from tests.support.shares.place import SharedPlace
from tests.support.shares.share import GLUSTERFS, SSHFS
from tests.support.web import Web, linked_site
from tests.system import test_fleet as suite

pytestmark = [pytest.mark.timeout(300), on(SSHFS, GLUSTERFS)]

test_three_machines_make_one_crawl = suite.test_three_machines_make_one_crawl
test_a_machine_that_hears_late_is_waited_for = suite.test_a_machine_that_hears_late_is_waited_for
test_an_empty_handed_fleet_ends = suite.test_an_empty_handed_fleet_ends
test_deleting_the_machinery_loses_nothing = suite.test_deleting_the_machinery_loses_nothing
test_reseed_finds_what_no_log_says = suite.test_reseed_finds_what_no_log_says
test_seeds_and_settings_are_followed = suite.test_seeds_and_settings_are_followed
test_clocks_years_apart = suite.test_clocks_years_apart

# The suite's tests that are a crawl from beginning to end, of a site that nobody changes: what they do to it.
WHOLE_CRAWLS = {
    "test_three_machines_make_one_crawl": "none, three machines",
    "test_a_machine_that_hears_late_is_waited_for": "none, three machines",
    "test_deleting_the_machinery_loses_nothing": "machinery deleted",
    "test_clocks_years_apart": "clocks years apart",
}


@pytest.fixture(autouse=True)
def ledger(request: pytest.FixtureRequest, place: SharedPlace, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Note what came of the suite's whole crawls, also of those that failed."""
    webs: list[Web] = []

    class Kept(Web):
        def __enter__(self) -> Self:
            webs.append(self)
            return super().__enter__()

    monkeypatch.setattr(suite, "Web", Kept)
    yield
    what = WHOLE_CRAWLS.get(request.function.__name__)
    for web in webs if what else ():
        findings = found(place.root, web)
        findings.note(place.share.flavour.name, what or "", faults=0 if what and what.startswith("none") else 1)


@in_both
def test_a_short_chaos(place: SharedPlace) -> None:
    """Machines that are killed, paused past dead_after and join lose no page; what is fetched twice was in flight."""
    hosts, site, delay_s = suite.hosts_of(24), linked_site(24, 5), 1.0
    with Web(site, hosts=hosts, deadline_s=280) as web, Fleet(place, {"politeness.delay": delay_s}) as fleet:
        fleet.start(seeds=[web.url(host, "/") for host in hosts])
        fleet.wait_for_tree()
        for _ in range(3):
            fleet.start()
        faults = suite.chaos(fleet, web, random.Random(1), every_s=5, rounds=6, pause_s=12)
        fleet.wait_for_all(60)
        survivors = [member for member in fleet.members if member.code != -9]
        kills = len(fleet.members) - len(survivors)
        findings = found(place.root, web, delay_s)
        resumed_at = [at for member in fleet.members for at in member.resumed_at]
        findings.excuse(resumed_at)
        findings.note(place.share.flavour.name, "machines killed, paused, joining", faults=len(faults), kills=kills)
        assert [member.code for member in survivors] == [0] * len(survivors), [m.output() for m in survivors]
        assert not any("damaged" in member.output() for member in survivors)
    check_tree(place.root, whole=False)
    assert (len(findings.stored), findings.lost, findings.torn) == (24 * 25, set(), [])
    in_flight = 4 * len(faults)
    assert findings.duplicates <= in_flight
    print(f"faults at {[at for at, _ in faults]}, resumed at {resumed_at}, too soon:")
    print(*((one.host, one.arrived, other.arrived) for one, other in findings.hasty), sep="\n")
    assert findings.hasty == []
