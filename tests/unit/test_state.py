"""How the crawl is: each row of the table in `state_of`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fscrawl.admin import doctor
from fscrawl.config.settings import Settings
from fscrawl.fleet.beat import Beat, Goodbye, Hello
from fscrawl.monitor import status
from fscrawl.monitor.dashboard.summary import summary
from fscrawl.monitor.report import gather
from fscrawl.monitor.snapshot import CrawlState, MachineStatus, Snapshot, state_of
from tests.support.beats import Logs


def machine(what: str, at: float) -> MachineStatus:
    """A machine. `what`: "" and words such as "paused" (it is alive and says so), "finished", "left" or "killed"."""
    alive = what not in ("finished", "left", "killed", "hello")
    made = MachineStatus(f"m-{at:g}-{what}", hello=Hello("m", at=1.0), state="alive" if alive else "left")
    if what != "hello":
        made.history.append(Beat(state=what if alive else "", at=at))
    if what in ("finished", "left"):
        made.goodbye = Goodbye(made.last, finished=what == "finished")
    elif not alive:
        made.state = "dead"
    return made


@pytest.mark.parametrize(
    ("machines", "signs", "expected"),
    [
        # none was ever there
        ([], [], "new"),
        ([], ["STOP"], "new"),
        ([], ["PAUSE"], "new"),
        # some are alive, STOP
        ([""], ["STOP"], "stopping"),
        (["", "paused"], ["STOP", "PAUSE"], "stopping"),
        # all are leaving
        (["stopping"], [], "stopping"),
        (["stopping", "stopping"], ["PAUSE"], "stopping"),
        # some are alive, PAUSE
        ([""], ["PAUSE"], "pausing"),
        (["", "stopping"], ["PAUSE", "PAUSE.a.example"], "pausing"),
        # all that stay are paused
        (["paused", "paused"], [], "paused"),
        (["paused", "stopping"], [], "paused"),
        # any other case
        ([""], [], "running"),
        ([""], ["PAUSE.a.example"], "running"),
        (["", "paused"], [], "running"),
        (["", "stopping"], [], "running"),
        (["no network"], [], "running"),
        (["fenced", "finished", "left", "killed"], [], "running"),
        # none is alive, the last one finished
        (["finished"], [], "finished"),
        (["finished"], ["STOP"], "finished"),
        (["finished"], ["PAUSE"], "finished"),
        (["killed", "left", "finished"], [], "finished"),
        (["finished", "finished"], [], "finished"),
        # none is alive, the last one said another goodbye
        (["left"], [], "stopped"),
        (["left"], ["STOP"], "stopped"),
        (["finished", "left"], [], "stopped"),
        # none is alive, the last one was killed
        (["killed"], [], "stopped"),
        (["killed", "killed"], ["PAUSE"], "stopped"),
        (["finished", "killed"], [], "stopped"),
        (["hello"], [], "stopped"),
    ],
)
def test_state(machines: list[str], signs: list[str], expected: str) -> None:
    """The state follows from machines and signs; later machines of the list wrote later."""
    made = tuple(machine(what, 10.0 + number) for number, what in enumerate(machines))
    state = state_of(Snapshot(100.0, "c1", made, tuple(signs), 1, ""))
    assert state == expected
    assert state.meaning


def test_who_writes_last_at_one_time() -> None:
    """Of machines that wrote at the same time one that finished decides, in any order."""
    made = [machine(what, 10.0) for what in ("finished", "left")]
    for machines in (made, made[::-1]):
        assert state_of(Snapshot(100.0, "c1", tuple(machines), (), 1, "")) is CrawlState.FINISHED


def test_states_of_logs(tmp_path: Path) -> None:
    """The same from logs: a crawl that ran, ended, had a STOP laid into its root, and ran again until it was killed."""
    logs = Logs(tmp_path / "tree")
    logs.write("retry", [{"bye": True, "finished": False, "sent": 90, "consumed": 0}])
    assert state_of(logs.observer().look(logs.at(0))) == "new"
    logs.write("a", [logs.beat(1)])
    assert state_of(logs.observer().look(logs.at(2))) == "running"
    logs.write("a", [logs.bye(3, pages=1, finished=True)])
    logs.tree.controls.put_sign("STOP")
    assert state_of(logs.observer().look(logs.at(4))) == "finished"
    logs.write("b", [logs.beat(5)])
    assert state_of(logs.observer().look(logs.at(6))) == "stopping"
    assert state_of(logs.observer(gone=lambda hello: hello.machine == "b").look(logs.at(7))) == "stopped"


@pytest.mark.parametrize(("case", "expected"), [("finished", "finished"), ("killed", "stopped"), ("none", "new")])
def test_all_who_tell_it_agree(tmp_path: Path, case: str, expected: str) -> None:
    """With STOP in the root of a finished crawl, and where all machines were killed, all say the same word."""
    logs = Logs(tmp_path / "tree")
    if case != "none":
        logs.write("a", [logs.beat(1), *([logs.bye(2, pages=1, finished=True)] if case == "finished" else [])])
    logs.tree.controls.put_sign("STOP")
    snapshot = logs.observer().look()
    machines = doctor.Machines(logs.tree, Settings())
    list(machines.watch(0.001, lambda text: None))
    (said,) = machines.state()
    word = f"{expected}: {CrawlState(expected).meaning}"
    assert status.as_json(snapshot)["state"] == expected
    assert summary(snapshot, "10min")["state"] == expected
    assert said.what == f"the crawl is {word}"
    assert gather(logs.tree)["state"]["state"] == expected
