"""Machines at work, watched and steered from another process."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawling import Done, Running, check_tree, pages
from tests.support.fleet import QUICK, Fleet
from tests.support.web import Web, linked_site

HOSTS = [f"127.0.9.{n}" for n in range(1, 7)]
BEAT_S = 0.5  # QUICK's
OBEYED_BEATS = 2 + 6  # two, a request in flight, and a machine that has to share its cores
LONG = {"politeness.delay": 0.1}  # three thousand pages of six hosts take minutes


def command(root: Path, *words: str) -> Done:
    verb, *flags = words
    with Running([sys.executable, "-m", "fscrawl", verb, "--root", str(root), *flags]) as running:
        return running.wait()


def look(root: Path) -> dict[str, Any]:
    done = command(root, "status", "--json")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def until(root: Path, holds: Callable[[dict[str, Any]], object], what: str, timeout_s: float = 20.0) -> dict[str, Any]:
    """Look until `holds` is true of a look; the test fails past the deadline."""
    deadline = time.monotonic() + timeout_s
    while not holds(told := look(root)):
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}\n{told}"
    return told


def wait_for_beats(fleet: Fleet, more: int) -> None:
    """Wait until each machine has beaten so often: a computer that stands still holds up beats, too, and no clock."""

    def beats(log: Path) -> int:
        return log.read_bytes().count(b'"beat":')

    wanted = {log: beats(log) + more for log in (fleet.root / ".fscrawl" / "machines").glob("*.log")}
    assert len(wanted) == len(fleet.members)
    deadline = time.monotonic() + 30
    while any(beats(log) < number for log, number in wanted.items()):
        assert time.monotonic() < deadline, f"not {more} beats"
        time.sleep(0.02)


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(linked_site(500, 5), hosts=HOSTS) as web:
        yield web


@pytest.fixture
def fleet(tmp_path: Path, web: Web) -> Iterator[Fleet]:
    """Two machines at work on a crawl that takes minutes."""
    assert QUICK["fleet.beat"] == BEAT_S
    with Fleet(tmp_path / "tree", LONG) as fleet:
        fleet.start(seeds=[web.url(host, "/") for host in HOSTS])
        fleet.wait_for_tree()
        fleet.start()
        until(fleet.root, lambda told: told["alive"] == 2 and told["pages"] > 20, "two machines at work")
        yield fleet


def asked_since(web: Web, moment: float, host: str | None = None) -> int:
    return sum(exchange.arrived > moment for exchange in web.requests(host))


def wait_for_requests(web: Web, moment: float, host: str | None = None) -> None:
    deadline = time.monotonic() + 20
    while not asked_since(web, moment, host):
        assert time.monotonic() < deadline, "nothing is fetched"
        time.sleep(0.02)


def test_status_while_machines_run_and_after(tmp_path: Path) -> None:
    """Status tells two machines at work, what they have and how fast they are; and after the end what there is."""
    hosts = [f"127.0.9.{n}" for n in range(11, 17)]
    # ten seconds and more: machines must still be at work when one that started late is looked at
    with Web(linked_site(100, 4), hosts=hosts) as web, Fleet(tmp_path / "t", {"politeness.delay": 0.1}) as fleet:
        fleet.start(seeds=[web.url(host, "/") for host in hosts])
        fleet.wait_for_tree()
        fleet.start()

        def at_work(told: dict[str, Any]) -> bool:
            """Both have beaten, and not only said hello."""
            return told["alive"] == 2 and told["pages"] > 20 and all(each["memory"] > 0 for each in told["machines"])

        told = until(fleet.root, at_work, "two machines at work")
        assert told["state"] == "running"
        assert told["pages_per_s"]["1 min"] > 0
        assert not any(each["settings_differ"] for each in told["machines"])
        table = command(fleet.root, "status").out
        assert table.startswith("running: ")
        machines = tuple(each["name"] for each in told["machines"])
        assert [len(line) <= 80 for line in table.splitlines() if line.startswith(machines)] == [True, True]
        with Running(
            [sys.executable, "-m", "fscrawl", "status", "--root", str(fleet.root), "--watch", "--json"]
        ) as watch:
            fleet.wait_for_all(60)
            done = watch.wait()
        assert (done.code, done.err) == (0, "")
    told = look(fleet.root)
    assert (told["state"], told["alive"], told["left"]) == ("finished", 0, 2)
    assert told["pages"] == len(pages(fleet.root)) == 6 * 101
    assert json.loads(done.out.splitlines()[-1])["pages"] == told["pages"]
    assert told["bytes"] == sum(record.bytes for record in pages(fleet.root).values())


def test_a_machine_that_is_killed_is_dead(fleet: Fleet) -> None:
    """A machine that was killed is dead at the next look from the same host, and the other stays alive."""
    fleet.members[1].kill()
    told = look(fleet.root)
    assert (told["state"], told["alive"], told["dead"]) == ("running", 1, 1)


def cpu_s(pid: int) -> float:
    """Give the processor time of a process in seconds, without its workers."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_pause_and_resume_are_obeyed_within_two_beats(fleet: Fleet, web: Web) -> None:
    """Two beats after `pause` nothing is fetched any more, machines stay and say so; after `resume` they go on."""
    assert command(fleet.root, "pause").code == 0
    wait_for_beats(fleet, OBEYED_BEATS)
    obeyed, worked_s = time.monotonic(), cpu_s(fleet.members[0].pid)
    wait_for_beats(fleet, 6)
    assert asked_since(web, obeyed) == 0
    assert cpu_s(fleet.members[0].pid) - worked_s < BEAT_S, "it waits, and does not look all the time"
    assert not any(member.over for member in fleet.members)
    told = look(fleet.root)
    assert {each["doing"] for each in told["machines"]} == {"paused"}
    assert (told["state"], told["alive"], told["signs"]) == ("paused", 2, ["PAUSE"])
    assert told["pending"] > 0
    resumed = time.monotonic()
    assert command(fleet.root, "resume").out == "removed: PAUSE\n"
    wait_for_requests(web, resumed)
    until(fleet.root, lambda told: told["state"] == "running" and told["in_flight"], "at work again")
    assert web.duplicates() == {}


def test_a_host_that_is_paused_is_left_alone(fleet: Fleet, web: Web) -> None:
    """Two beats after `pause --host` that host is asked nothing, and the others go on; `resume --host` ends it."""
    host = HOSTS[2]
    sign = f"PAUSE.{host}_{web.port}"
    assert sign in command(fleet.root, "pause", "--host", f"{host}:{web.port}").out
    wait_for_beats(fleet, OBEYED_BEATS)
    obeyed = time.monotonic()
    wait_for_beats(fleet, 3)
    wait_for_requests(web, obeyed)
    assert asked_since(web, obeyed, host) == 0
    told = look(fleet.root)
    assert (told["state"], told["signs"]) == ("running", [sign])
    resumed = time.monotonic()
    assert command(fleet.root, "resume", "--host", f"{host}:{web.port}").code == 0
    wait_for_requests(web, resumed, host)


def test_stop_lets_all_machines_leave_and_none_begin(fleet: Fleet, web: Web) -> None:
    """After `stop` all machines leave with exit code 0 and a clean tree, and a crawl refuses to start in one line."""
    assert command(fleet.root, "stop").code == 0
    fleet.wait_for_all(2 * BEAT_S + 10)
    assert [member.code for member in fleet.members] == [0, 0], [m.output() for m in fleet.members]
    check_tree(fleet.root)
    told = look(fleet.root)
    assert (told["state"], told["left"], told["signs"]) == ("stopped", 2, ["STOP"])
    refused = command(fleet.root, "crawl")
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "fscrawl resume" in refused.err
    assert command(fleet.root, "resume").out == "removed: STOP\n"
    again = fleet.start()
    resumed = time.monotonic()
    wait_for_requests(web, resumed)
    assert not again.over


def test_a_live_edit_shows_in_status(fleet: Fleet) -> None:
    """An edit of crawl.toml is taken up within some beats, and status says when; a wrong one is remarked on."""
    before = look(fleet.root)
    path = fleet.root / "crawl.toml"
    good = path.read_text()
    path.write_text(good.replace("delay = 0.1", "delay = 0.2", 1))
    told = until(
        fleet.root,
        lambda told: told["settings"] != before["settings"] and not any(m["settings_differ"] for m in told["machines"]),
        "both go by the edit",
    )
    assert all(m["settings_at"] > before["at"] for m in told["machines"])
    path.write_text(good.replace("delay = 0.1", "delay = -1", 1))
    said = command(fleet.root, "status").out
    assert "machines keep the last valid settings" in " ".join(said.split())
    warned = time.monotonic() + 20
    while not all("the last good settings stay" in member.output() for member in fleet.members):
        assert time.monotonic() < warned, "nobody minds"
        time.sleep(0.05)
    told = until(fleet.root, lambda told: told["pages"] > before["pages"] + 10, "they go on")
    assert all(m["settings_differ"] for m in told["machines"])
    assert "delay" in told["settings_trouble"]
