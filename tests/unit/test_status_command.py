"""The command `fscrawl status`: a single look and a watch."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fscrawl import cli
from fscrawl.commands import status as command
from fscrawl.errors import TreeBusyError
from fscrawl.fleet.heartbeat import hello
from fscrawl.monitor.snapshot import Observer, Snapshot
from tests.support.beats import Logs, facts_of


def run(logs: Logs, *flags: str) -> int:
    return cli.main(["status", "--root", str(logs.root), *flags])


def test_a_look_by_the_command(logs: Logs, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints a table or one object, and its exit code is 0 though nobody is there."""
    assert run(logs) == 0
    assert capsys.readouterr().out.startswith("new: no machine has been here yet")
    assert run(logs, "--json") == 0
    assert json.loads(capsys.readouterr().out)["state"] == "new"


def test_no_tree_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is no tree the command says so in one line, with exit code 75."""
    assert cli.main(["status", "--root", str(tmp_path)]) == 75
    assert capsys.readouterr().err.count("\n") == 1


def test_lines_are_not_broken_in_a_pipe(logs: Logs, capsys: pytest.CaptureFixture[str]) -> None:
    """Away from a terminal no line is broken: commands can be copied, and programs find words."""
    trouble = "unheard_of_" * 20
    (logs.root / "crawl.toml").write_text(f"[crawl]\n{trouble} = 1\n")
    (logs.root / "PAUSE.a.example").touch()
    assert run(logs) == 0
    out = capsys.readouterr().out
    [wrong] = [line for line in out.splitlines() if trouble in line]
    assert wrong.rstrip().endswith("; machines keep the last valid settings")
    assert f"resume --root {logs.root} --host a.example" in out
    assert max(map(len, out.splitlines())) < 2 * len(wrong)


class Passing:
    """Time that passes when the command sleeps; what happens then is the test's."""

    def __init__(self, *steps) -> None:
        self.steps = list(steps)
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.steps.pop(0)()


@pytest.fixture
def watched(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Passing]:
    """Give what lets time pass: a machine is at work, and leaves at the last step."""
    path = logs.path("m")
    path.write_text(json.dumps({**facts_of(hello("m")), "at": "2999-01-01T00:00:00Z"}) + "\n")

    def use(*steps) -> Passing:
        time = Passing(*steps, lambda: logs.write("m", [logs.bye(1, pages=5, finished=True)]))
        monkeypatch.setattr(command.time, "sleep", time.sleep)
        return time

    return use


def test_a_watch_ends_when_all_have_left(logs: Logs, watched, capsys: pytest.CaptureFixture[str]) -> None:
    """With --watch --json there is a line every two seconds, the last one of when no machine is at work."""
    time = watched(lambda: logs.write("m", [logs.beat(1, pages=3)]))
    assert run(logs, "--watch", "--json") == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["state"], each["pages"]) for each in told] == [("running", 0), ("running", 3), ("finished", 5)]
    assert time.waits == [2.0, 2.0]


def test_a_watch_into_a_pipe_is_table_after_table(logs: Logs, watched, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is no terminal the tables follow each other, an empty line between."""
    watched()
    assert run(logs, "--watch") == 0
    running, finished = capsys.readouterr().out.split("\n\nfinished")
    assert running.startswith("running")
    assert "5 stored" in finished


def test_a_watch_on_a_terminal_stays_in_place(
    logs: Logs, watched, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal the table is drawn over the one before."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    watched()
    assert run(logs, "--watch") == 0
    out = capsys.readouterr().out
    assert out.index("running") < out.index("\x1b[1A") < out.index("finished")


def test_a_passing_fault_does_not_end_a_watch(
    logs: Logs, watched, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look that meets a stale handle is left out, and the watch goes on."""
    look = Observer.look
    faults = iter([None, TreeBusyError("stale"), None])

    def faulty(self: Observer) -> Snapshot:
        fault = next(faults)
        if fault:
            raise fault
        return look(self)

    monkeypatch.setattr(Observer, "look", faulty)
    watched(lambda: None)
    assert run(logs, "--watch", "--json") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize("flags", [["--watch"], ["--watch", "--json"]], ids=len)
def test_an_unmounted_share_ends_a_watch(
    logs: Logs, watched, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    """When the share is unmounted, its empty directory is not shown as a crawl."""

    def unmount() -> None:
        logs.root.rename(logs.root.with_name("away"))
        logs.root.mkdir()

    watched(unmount, *[lambda: None] * 9)  # reading the settings waits a little, too
    assert run(logs, *flags) == 75
    printed = capsys.readouterr()
    assert printed.out.count("running") == 1
    assert "is the share mounted?" in printed.err
    assert printed.err.count("\n") == 1


def test_a_reader_that_goes_away_ends_it_quietly(logs: Logs, watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe whose reader is gone, as `head`, ends the command without a word."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run(logs, "--watch", "--json") == 141


def test_a_crawl_loads_nothing_of_it() -> None:
    """The parser of all commands does without rich, so that a crawl begins at once."""
    code = "import sys; from fscrawl.commands.program import Program; Program(); sys.exit('rich' in sys.modules)"
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
