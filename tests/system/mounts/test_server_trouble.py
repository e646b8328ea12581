"""The file server stops, dies, or is out of reach of one machine, while three machines crawl.

$FSCRAWL_TROUBLE_S says how long that lasts (25 without it; 120 is what the promise is about).
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager

import pytest

from tests.support.crawling import check_tree
from tests.support.shares.marks import on
from tests.support.shares.place import SharedPlace
from tests.support.shares.share import FLAVOURS
from tests.support.shares.trouble import DEAD_AFTER_S, TROUBLE_S, Crawl

# After the trouble a machine goes on within this: a TCP connection tries again in doubling times, up to as long as it
# has been cut already, and at most every 120 s.
RECOVERY_S = min(2 * TROUBLE_S, 120) + 45
PATIENCE_S = TROUBLE_S + RECOVERY_S
LIMIT_S = 2 * TROUBLE_S + 3 * RECOVERY_S + 150

pytestmark = pytest.mark.timeout(LIMIT_S)
MACHINES = (0, 1, 2)


@on(*FLAVOURS)
def test_a_server_that_stands_still(place: SharedPlace) -> None:
    """While the server is stopped every machine stops asking in time; when it goes on all do, and nothing is lost."""
    _all_in_trouble(place, place.share.paused(), "server stopped and continued")


@on(*(each for each in FLAVOURS if each.survives))
def test_a_server_that_is_killed_and_started_again(place: SharedPlace) -> None:
    """Machines whose mounts outlive their connection wait for a server that was killed, and go on; nothing is lost."""
    _all_in_trouble(place, place.share.killed(), "server killed and restarted", kills=1)


def _all_in_trouble(place: SharedPlace, trouble: AbstractContextManager[None], fault: str, kills: int = 0) -> None:
    """Let the server of all machines be in trouble for a while, and see that they stop asking, and go on."""
    with Crawl(place, PATIENCE_S, LIMIT_S) as crawl:
        crawl.begin()
        with trouble:
            began = time.monotonic()
            time.sleep(TROUBLE_S)
            ended = time.monotonic()
        print(f"in trouble from {began:.2f} to {ended:.2f}")
        recovery_s = crawl.recovery_s(MACHINES, ended, RECOVERY_S)
        late = [each for number in MACHINES for each in crawl.beyond_the_fence(number, began, ended)]
        crawl.end(fault, faults=1, hit=3, recovery_s=recovery_s, fenced=len(late), kills=kills)
        assert late == []


@on(*FLAVOURS)
def test_a_machine_that_is_cut_off(place: SharedPlace) -> None:
    """A machine without its server stops asking before others take its hosts; they do; it comes back by itself."""
    with Crawl(place, PATIENCE_S, LIMIT_S) as crawl:
        crawl.begin()
        with place.share.cut(place.mounts[0]):
            began = time.monotonic()
            time.sleep(TROUBLE_S)
            ended = time.monotonic()
        print(f"in trouble from {began:.2f} to {ended:.2f}")
        hosts = {each.host for each in crawl.asked_between(0, began - DEAD_AFTER_S, began)}
        taken = {each.host for n in (1, 2) for each in crawl.asked_between(n, began + DEAD_AFTER_S / 2, ended)}
        late = crawl.beyond_the_fence(0, began, ended)
        recovery_s = crawl.recovery_s([0], ended, RECOVERY_S)
        crawl.end("one machine cut off", faults=1, hit=1, recovery_s=recovery_s, fenced=len(late))
        assert late == []
        assert hosts <= taken, "hosts that nobody has taken over"


@on(*(each for each in FLAVOURS if not each.survives))
def test_a_mount_that_dies(place: SharedPlace) -> None:
    """Where the mount dies with its connection machines stop with exit code 75; once mounted again a run completes."""
    with Crawl(place, patience_s=5, deadline_s=LIMIT_S) as crawl:
        crawl.begin()
        with place.share.killed():
            for member in crawl.fleet.members:
                member.running.wait(60)
        for member in crawl.fleet.members:
            assert member.code == 75, member.output()
            assert "Traceback" not in member.output(), member.output()
            assert len(member.output().splitlines()) <= 3, member.output()
            member.close()
        check_tree(place.root, whole=False)
        crawl.fleet.members.clear()
        back = time.monotonic()
        for number, point in enumerate(place.mounts):
            place.share.attach(point)
            crawl.start(number, place.seen_from(point))
        recovery_s = crawl.recovery_s(MACHINES, back, RECOVERY_S)
        crawl.end("server killed, mounted again", faults=1, hit=3, recovery_s=recovery_s, fenced=0, kills=1)
