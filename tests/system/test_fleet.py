"""Any number of machines on one tree, each a process group of its own, and a web that counts every request.

`place` is where they find the tree: a local directory here, mounts of a share in `tests/system/mounts`.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from fscrawl import urls
from fscrawl.store import Tree
from tests.support.crawling import check_tree, pages
from tests.support.fixtures import in_both, in_both_but_later
from tests.support.fleet import Fleet, Place
from tests.support.web import Request, Response, Web, linked_site

HTML = {"Content-Type": "text/html; charset=utf-8"}
RENEWED = {"fleet.dead_after": 10}  # for so long the machines of a .fscrawl that was deleted are waited for


def hosts_of(count: int, net: int = 20) -> list[str]:
    return [f"127.0.{net + n // 200}.{n % 200 + 1}" for n in range(count)]


@in_both
def test_three_machines_make_one_crawl(place: Place) -> None:
    """Three machines store every page once, fetch none twice, and keep the delay of each host between them."""
    hosts = hosts_of(30)
    delay_s = 0.4 + place.meeting_s / 4  # time to start, and for listings: of the machines, and of what is handed over
    with Web(linked_site(12, 3), hosts=hosts) as web, Fleet(place, {"politeness.delay": delay_s}) as fleet:
        fleet.start(seeds=[web.url(host, "/") for host in hosts])
        fleet.wait_for_tree()
        fleet.start()
        fleet.start()
        fleet.wait_for_all(60)
        assert [member.code for member in fleet.members] == [0, 0, 0], [m.output() for m in fleet.members]
        assert not any("damaged" in member.output() for member in fleet.members)
    assert web.duplicates() == {}
    assert min(web.smallest_gap_s(host) for host in hosts) >= delay_s
    stored = pages(place.root)
    assert len(stored) == 30 * 13  # "/" and "/0" are two URLs
    assert len({record.machine for record in stored.values()}) == 3
    check_tree(place.root)


@pytest.mark.fleet
@pytest.mark.proof
@pytest.mark.timeout(400)
def test_eight_machines_over_two_hundred_hosts(place: Place) -> None:
    """Eight machines of four workers store 10,000 pages once each, with no duplicate fetch and every delay kept."""
    hosts = hosts_of(200)
    site = linked_site(49, 5)  # "/" and "/0" are two URLs: 50 pages
    with (
        Web(site, hosts=hosts, deadline_s=300) as web,
        Fleet(place, {"politeness.delay": 0.2, "fleet.beat": 2, "fleet.dead_after": 10}, workers=4) as fleet,
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
    assert len(pages(place.root)) == 200 * 50
    check_tree(place.root)


def chaos(
    fleet: Fleet, web: Web, rng: random.Random, every_s: float, rounds: int, pause_s: float = 5
) -> list[tuple[float, float]]:
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
            if time.monotonic() - (member.stopped_at or 0) > pause_s:
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
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("layout", "seed"),
    [
        ("files", 1),
        pytest.param("files", 2, marks=pytest.mark.proof),
        pytest.param("packs", 1, marks=pytest.mark.proof),
    ],
    indirect=["layout"],
)
def test_chaos(place: Place, seed: int) -> None:
    """Machines that are killed, paused past dead_after and join lose no page; what is fetched twice was in flight."""
    hosts, rng = hosts_of(200), random.Random(seed)
    settings = {"politeness.delay": 0.2, "fleet.beat": 0.5, "fleet.dead_after": 4}
    with (
        Web(linked_site(49, 5), hosts=hosts, deadline_s=300) as web,
        Fleet(place, settings, workers=4) as fleet,
    ):
        fleet.start(seeds=[web.url(host, "/") for host in hosts])
        fleet.wait_for_tree()
        for _ in range(7):
            fleet.start()
        faults = chaos(fleet, web, rng, every_s=3, rounds=8)
        fleet.wait_for_all(120)
        survivors = [member for member in fleet.members if member.code != -9]
        assert [member.code for member in survivors] == [0] * len(survivors), [m.output() for m in survivors]
        damaged = [output for member in survivors if "damaged" in (output := member.output())]
        assert not damaged, "\n".join(damaged)
    twice = web.duplicates()
    lanes = 4 * 4  # fetches at a time of one machine
    gap = min(web.smallest_gap_s(host) for host in hosts)
    print(f"pages {web.count()}, faults {len(faults)}, duplicates {len(twice)}, smallest gap {gap:.3f} s")
    assert sum(n - 1 for n in twice.values()) <= lanes * len(faults)
    assert len(pages(place.root)) == 200 * 50
    check_tree(place.root, whole=False)


def quick(delay: float = 0.0, **more: object) -> dict[str, object]:
    return {"politeness.delay": delay, **more}


def test_a_machine_that_hears_late_is_waited_for(place: Place) -> None:
    """A slow page on one machine keeps all others, idle meanwhile, from leaving; its links are then crawled."""

    def pages_of(request: Request) -> Response:
        if request.path == "/":
            return Response(200, HTML, b"<a href=/slow>s</a>")
        if request.path == "/slow":
            links = "".join(f'<a href="//{host}:{request.headers["host"].split(":")[1]}/late">l</a>' for host in hosts)
            return Response(200, HTML, links.encode(), delay_s=4)
        return Response(200, HTML, b"late")

    hosts = hosts_of(12)
    with Web(pages_of, hosts=hosts) as web, Fleet(place, quick()) as fleet:
        fleet.start(seeds=[web.url(hosts[0], "/")])
        fleet.wait_for_tree()
        fleet.start()
        fleet.start()
        fleet.wait_for_all(40)
        assert [member.code for member in fleet.members] == [0, 0, 0], [m.output() for m in fleet.members]
        assert not any("damaged" in member.output() for member in fleet.members)
    assert sum(web.count(host, "/late") for host in hosts) == 12
    assert web.duplicates() == {}


def test_an_empty_handed_fleet_ends(place: Place) -> None:
    """Machines that find all done leave at once, exit 0, and fetch nothing."""
    with Web(linked_site(5, 2), hosts=hosts_of(3)) as web, Fleet(place, quick()) as fleet:
        fleet.start(seeds=[web.url(host, "/") for host in hosts_of(3)])
        fleet.wait_for_all(30)
        asked = web.count()
        fleet.start()
        fleet.start()
        fleet.wait_for_all(30)
        assert [member.code for member in fleet.members] == [0, 0, 0]
        assert web.count() == asked


@in_both_but_later
def test_deleting_the_machinery_loses_nothing(place: Place) -> None:
    """A tree whose .fscrawl was deleted crawls on to completion and fetches no stored page again."""
    hosts = hosts_of(4)
    with Web(linked_site(40, 3), hosts=hosts) as web, Fleet(place, quick(0.02, **RENEWED)) as fleet:
        first = fleet.start(seeds=[web.url(host, "/") for host in hosts])
        first.until(lambda: web.count() > 60, "some pages")
        first.running.signal(signal.SIGINT)
        fleet.wait_for_all(30)
        stored = set(pages(place.root))
        shutil.rmtree(place.root / ".fscrawl")
        again = fleet.start()
        fleet.wait_for_all(60)
        assert again.code == 0, again.output()
    assert web.duplicates() == {}
    assert len(stored) < len(pages(place.root)) == 4 * 41
    check_tree(place.root)


@in_both_but_later
def test_deleting_the_machinery_under_running_machines(place: Place) -> None:
    """Two machines under which .fscrawl is deleted end, and the same commands go on in one of their making.

    The first one went on with logs that nobody could see any more, and with leases that were claimed anew: a third of
    the pages was fetched twice, delays were not kept, and pages were missing though both ended with exit code 0.
    """
    hosts = hosts_of(8)
    delay_s = 0.1
    with Web(linked_site(40, 3), hosts=hosts) as web, Fleet(place, quick(delay_s, **RENEWED)) as fleet:
        one = fleet.start(seeds=[web.url(host, "/") for host in hosts])
        fleet.wait_for_tree()
        two = fleet.start()
        one.until(
            lambda: len({record.machine for record in pages(place.root).values()}) == 2, "both have stored pages", 60
        )
        moved = place.root / "deleted"
        (place.root / ".fscrawl").rename(moved)
        fleet.wait_for_all(30)
        shutil.rmtree(moved)
        assert [member.code for member in (one, two)] == [75, 75], [m.output() for m in fleet.members]
        again = [fleet.start(), fleet.start()]
        fleet.wait_for_all(120)
        assert [member.code for member in again] == [0, 0], [m.output() for m in fleet.members]
    assert sum(web.duplicates().values()) <= 2 * 2 * 4, "no more than were in flight"
    assert min(web.smallest_gap_s(host) for host in hosts) >= delay_s
    assert len(pages(place.root)) == 8 * 41
    check_tree(place.root)


@in_both_but_later
def test_reseed_finds_what_no_log_says(place: Place) -> None:
    """A link that is in a record and in no log is found by --reseed; that a log was cut is noticed without it."""
    with Web(linked_site(20, 2), hosts=hosts_of(1)) as web, Fleet(place, quick()) as fleet:
        fleet.start(seeds=[web.url(hosts_of(1)[0], "/")])
        fleet.wait_for_all(30)
        gone = next(url for url in pages(place.root) if url.endswith("/13"))
        other = gone.removesuffix("/13") + "/12"
        _unstore(place.root, gone)
        for log in place.root.glob(".fscrawl/generations/*/log/*.log"):
            said = log.read_bytes().replace(urls.key(gone).encode(), urls.key(other).encode())
            log.write_bytes(said.replace(gone.encode(), other.encode()))
        fleet.start()
        fleet.wait_for_all(30)
        assert gone not in pages(place.root), "no log says it, and all that links to it was told"
        fleet.start("--reseed")
        fleet.wait_for_all(30)
        assert gone in pages(place.root)
        _unstore(place.root, gone)
        for log in place.root.glob(".fscrawl/generations/*/log/*.log"):
            os.truncate(log, log.stat().st_size // 2)
        noticing = fleet.start()
        fleet.wait_for_all(30 + place.caches_s)
        assert "bytes can be read; all records are read again" in noticing.output()
        assert gone in pages(place.root)
        assert [member.code for member in fleet.members] == [0] * 4, [m.output() for m in fleet.members]


def _unstore(root: Path, url: str) -> None:
    tree, host, key = Tree(root, "m-1-aa"), urls.host(url), urls.key(url)
    tree.files.remove(tree.body_path(host, key, None))
    tree.files.remove(tree.tree_path("links", host, key))


def test_seeds_and_settings_are_followed(place: Place) -> None:
    """With --wait, an added seed and an edit of crawl.toml reach running machines; a broken edit is reported."""
    hosts, root = hosts_of(3), place.root
    with Web(linked_site(4, 2), hosts=hosts) as web, Fleet(place, quick(**{"crawl.scope": '"host"'})) as fleet:
        one = fleet.start("--wait", seeds=[web.url(hosts[0], "/")])
        fleet.wait_for_tree()
        two = fleet.start("--wait")
        two.until(lambda: len(list((root / ".fscrawl" / "machines").glob("*.log"))) == 2, "the second machine")
        one.until(lambda: web.count(hosts[0]) == 5, "the first host")
        toml = root / "crawl.toml"
        good = toml.read_text()
        toml.write_text(good.replace("delay = 0", "delay = true"))
        for member in (one, two):
            member.until(lambda m=member: "the last good settings stay" in m.output(), "the broken edit")
        with (root / "seeds.txt").open("a") as seeds:
            seeds.write(web.url(hosts[1], "/") + "\n")
        one.until(lambda: web.count(hosts[1]) == 5, "the added seed")
        toml.write_text(good.replace("# max_depth =", "max_depth = 1"))
        with (root / "seeds.txt").open("a") as seeds:
            seeds.write(web.url(hosts[2], "/") + "\n")
        one.until(lambda: web.count(hosts[2]) >= 3, "the third host")
        for member in (one, two):
            member.running.signal(signal.SIGTERM)
        fleet.wait_for_all(20)
        assert [member.code for member in (one, two)] == [143, 143]


def test_clocks_years_apart(place: Place, tmp_path: Path) -> None:
    """Machines whose clocks differ by years share a crawl as others do: no time of one is compared with another's."""
    faked = tmp_path / "clock"
    faked.mkdir()
    (faked / "sitecustomize.py").write_text(
        "import os, time\nreal = time.time\ntime.time = lambda: real() + float(os.environ['CLOCK_OFFSET_S'])\n"
    )
    hosts, year_s = hosts_of(36), 365 * 86400.0  # so many that each machine surely gets one
    with Web(linked_site(20, 3), hosts=hosts) as web, Fleet(place, quick(0.4 + place.meeting_s / 10)) as fleet:
        for offset_s in (0.0, 5 * year_s, -20 * year_s):
            env = {**os.environ, "PYTHONPATH": str(faked), "CLOCK_OFFSET_S": str(offset_s)}
            fleet.start(seeds=[] if fleet.members else [web.url(host, "/") for host in hosts], env=env)
            fleet.wait_for_tree()
        fleet.wait_for_all(40)
        assert [member.code for member in fleet.members] == [0, 0, 0], [m.output() for m in fleet.members]
        assert not any("damaged" in member.output() for member in fleet.members)
    years = {record.fetched_at[:4] for record in pages(place.root).values()}
    assert len(years) == 3
    assert web.duplicates() == {}
