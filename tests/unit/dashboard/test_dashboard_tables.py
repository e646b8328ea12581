"""What the dashboard makes of the machines' files about their hosts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fscrawl.errors import TreeBusyError
from fscrawl.fleet.host_figures import Said
from fscrawl.fleet.leases import Machinery
from fscrawl.frontier.host_figures import Cause, Figures, HostFigure
from fscrawl.monitor.dashboard import reasons
from fscrawl.monitor.dashboard.paces import HostNow, PaceReader, Paces, of_snapshot
from fscrawl.monitor.snapshot import Snapshot
from fscrawl.storage.records import timestamp
from tests.support.beats import Clock, Logs

NO_PACES = Paces({}, {})


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path / "tree")


def write(logs: Logs, name: str, text: str | dict[str, Any]) -> None:
    path = logs.root / ".fscrawl" / "machines" / name
    path.write_text(text if isinstance(text, str) else json.dumps(text))


def labels_of(logs: Logs, machine: str, **labels: dict[str, int]) -> None:
    write(logs, f"{machine}.labels.json", labels)


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
    view = fleet(logs)
    for machine, at in (("a", 3600 + 96), ("p", 85), ("d", 0)):
        hosts = {f"{machine}.example": {"pending": 7, "wait": 60, "why": "retry-after"}, "all.example": {"pending": 1}}
        write(logs, f"{machine}.hosts.json", {"at": timestamp(logs.at(at)), "shards": {"3": 4}, "hosts": hosts})
    paces = of_snapshot(PaceReader(Machinery(logs.tree).host_figures, logs.clock), view)
    assert {name: (host.machine, host.until) for name, host in paces.hosts.items()} == {
        "a.example": ("a", logs.at(103 + 60 - 5)),
        "p.example": ("p", logs.at(95 + 60 - 10)),
        "all.example": ("a", 0),
    }
    assert paces.hosts["all.example"].figure.pending == 2  # with `partition = "url"` two machines have a host
    assert paces.pending == {"a": {3: 4}, "p": {3: 4}}
    assert reasons.why(paces.hosts["p.example"]) == "the crawl is paused"


def test_files_are_read_seldom_and_in_time(logs: Logs) -> None:
    """A file is read every ten seconds, what cannot be read keeps what it said, and reading ends after a second."""
    view, clock, asked, said = fleet(logs), Clock(), [], Said(1.0, Figures({1: 2}, {}))
    trouble = False

    def read(machine: str) -> Said:
        asked.append(machine)
        clock.now += 2.0
        if trouble:
            raise TreeBusyError("no answer")
        return said

    reader = PaceReader(read, clock)
    assert of_snapshot(reader, view).pending["a"] == {1: 2}
    assert asked == ["a"]
    of_snapshot(reader, view)
    assert asked == ["a", "p"]
    assert of_snapshot(reader, view).pending == {"a": {1: 2}, "p": {1: 2}}
    assert asked == ["a", "p"]
    clock.now, trouble = 100.0, True
    assert of_snapshot(reader, view).pending["a"] == {1: 2}
    with reader._lock:
        assert of_snapshot(reader, view).pending["a"] == {1: 2}
    assert reader.ask([], 0.0) == Paces({}, {})


@pytest.mark.parametrize("cause", list(Cause))
def test_each_cause_has_words(cause: Cause) -> None:
    """Each cause is said in words, and one of a newer version as it is."""
    host = HostNow("m", HostFigure(cause=cause, failures=3), 0.0, "")
    assert " " in reasons.why(host)
    newer = host._replace(figure=HostFigure(cause="eclipse", set_by="moon"))
    assert (reasons.why(newer), reasons.set_by(newer)) == ("eclipse", "moon")


def test_what_keeps_a_machine_keeps_its_hosts() -> None:
    """If a machine has no network, its hosts wait for that; one that was given up does not."""
    waits = HostNow("m", HostFigure(cause=Cause.DELAY), 0.0, "no network")
    assert reasons.why(waits) == "its machine has no network"
    assert reasons.why(waits._replace(figure=HostFigure(cause=Cause.GIVEN_UP))) == "given up: it failed for too long"
    failing = waits._replace(figure=HostFigure(cause=Cause.FAILING, failures=12), doing="")
    assert reasons.why(failing) == "rests: it failed too often (12 in a row)"
