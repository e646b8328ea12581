"""What the dashboard makes of the machines' files about their hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from fscrawl.frontier.host_figures import Cause, HostFigure
from fscrawl.monitor.dashboard.hosts import HostNow, hosts_now, set_by, why
from fscrawl.monitor.snapshot import Snapshot
from tests.support.beats import Logs


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path / "tree")


def fleet(logs: Logs, at: float = 100) -> Snapshot:
    """Four machines: alive, paused, left, dead. The clock of the one that is alive is an hour ahead."""
    logs.write("a", [logs.beat(3600 + at - 10)])
    logs.write("p", [logs.beat(at - 5, state="paused")])
    logs.write("l", [logs.bye(at - 50, pages=0)])
    logs.write("d", [logs.beat(0.5)])
    observer = logs.observer()
    observer.look(logs.at(at))
    logs.write("a", [logs.beat(3600 + at + 1)])
    logs.clock.now = 3
    return observer.look(logs.at(at + 3))


def test_until_by_one_clock(logs: Logs) -> None:
    """A rest ends by the dashboard's clock, however wrong the machine's is; a machine that is gone says nothing."""
    for machine, at in (("a", 3600 + 96), ("p", 85), ("d", 0)):
        rests = {"pending": 7, "wait_s": 60, "cause": "retry-after"}
        logs.say(machine, at, hosts={f"{machine}.example": rests, "all.example": {"pending": 1}})
    hosts = hosts_now(fleet(logs))
    assert {name: (host.machine, host.until) for name, host in hosts.items()} == {
        "a.example": ("a", logs.at(103 + 60 - 5)),
        "p.example": ("p", logs.at(95 + 60 - 10)),
        "all.example": ("a", 0),
    }
    assert hosts["all.example"].figure.pending == 2  # with `partition = "url"` two machines have a host
    assert why(hosts["p.example"]) == "the crawl is paused"


@pytest.mark.parametrize("cause", list(Cause))
def test_each_cause_has_words(cause: Cause) -> None:
    """Each cause is said in words, and one of a newer version as it is."""
    host = HostNow("m", HostFigure(cause=cause, failures=3), 0.0, "")
    assert " " in why(host)
    newer = host._replace(figure=HostFigure(cause="eclipse", set_by="moon"))
    assert (why(newer), set_by(newer)) == ("eclipse", "moon")


def test_what_keeps_a_machine_keeps_its_hosts() -> None:
    """If a machine has no network, its hosts wait for that; one that was given up does not."""
    waits = HostNow("m", HostFigure(cause=Cause.DELAY), 0.0, "no network")
    assert why(waits) == "its machine has no network"
    assert why(waits._replace(figure=HostFigure(cause=Cause.GIVEN_UP))) == "given up: it failed for too long"
    failing = waits._replace(figure=HostFigure(cause=Cause.FAILING, failures=12), doing="")
    assert why(failing) == "rests: it failed too often (12 in a row)"
