"""What `fscrawl status` says of a look, to people and to programs."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from fscrawl import cli
from fscrawl.commands import status as command
from fscrawl.errors import TreeBusyError
from fscrawl.fleet.heartbeat import hello
from fscrawl.monitor import status
from fscrawl.monitor.snapshot import Observer, Snapshot
from fscrawl.monitor.state import state_of
from fscrawl.storage.records import timestamp
from fscrawl.util.humanize import count, size
from tests.support.beats import Logs, busy, facts_of

HOSTILE = "[red]a\x1b[31m\u202eexample[/red]"


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path / "tree")


def printed(view: Snapshot, width: int = 80, root: str = "/shared") -> str:
    """Give the table as a pipe gets it."""
    stream = io.StringIO()
    Console(file=stream, width=width, markup=False, highlight=False, emoji=False).print(status.as_table(view, root))
    return stream.getvalue()


def lines(view: Snapshot, width: int = 80) -> list[str]:
    return [line.rstrip() for line in printed(view, width).split("\n")]


# -- the situation


@pytest.mark.parametrize(
    ("machines", "signs", "word"),
    [
        ({}, [], "new"),
        ({"a": ("beat", ""), "b": ("beat", "paused")}, [], "running"),
        ({"a": ("beat", "paused"), "b": ("beat", "paused")}, [], "paused"),
        ({"a": ("beat", "")}, ["PAUSE"], "paused"),
        ({"a": ("beat", "")}, ["PAUSE.a.example"], "running"),
        ({"a": ("beat", "")}, ["PAUSE", "STOP"], "stopping"),
        ({"a": ("beat", "stopping")}, [], "stopping"),
        ({"a": ("bye", ""), "b": ("beat", "no network")}, [], "running"),
        ({"a": ("end", "")}, [], "finished"),
        ({"a": ("bye", "")}, [], "stopped"),
        ({"a": ("dead", "")}, [], "stopped"),
        ({"a": ("bye", ""), "b": ("end", "")}, [], "finished"),
        ({"a": ("end", ""), "b": ("dead", "")}, [], "finished"),
    ],
)
def test_situations(logs: Logs, machines: dict, signs: list, word: str) -> None:
    """One word says what goes on: by what the living do and the signs; where nobody lives, by who was last."""
    for turn, (name, (kind, doing)) in enumerate(machines.items()):
        line = {
            "beat": logs.beat(98, state=doing, pages=1),
            "bye": logs.bye(90 + turn, pages=1, finished=False),
            "end": logs.bye(90 + turn, pages=1, finished=True),
            "dead": logs.beat(1, pages=1),
        }[kind]
        logs.write(name, [line])
    for sign in signs:
        logs.tree.controls.put_sign(sign)
    view = logs.observer().look(logs.at(100))
    assert state_of(view) == status.as_json(view)["state"] == word
    assert printed(view).startswith(f"{word}: {state_of(view).meaning}")


# -- for people


def fleet(logs: Logs) -> Snapshot:
    """Twenty machines at work, one dead and one that has left."""
    for number in range(20):
        name = f"a-machine-of-a-long-name-{number:02}-31337-abcdef"
        logs.write(name, [{"beat": n, **busy(n)} for n in (990, 1000)])
    logs.write("dead", [logs.beat(10, pages=5)])
    logs.write("left", [logs.bye(10, pages=5)])
    return logs.observer().look(logs.at(10_001))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_table_fits(logs: Logs, width: int) -> None:
    """At 80 columns and more no line is wider than that, and every machine's name is there whole, if on two lines."""
    text = printed(fleet(logs), width)
    assert max(map(len, text.split("\n"))) <= width
    if width > 80:
        assert "a-machine-of-a-long-name-19-31337-abcdef" in text
    assert "a-machine-of-a-long-na" in text
    assert "\x1b" not in text


def test_what_the_table_says(logs: Logs) -> None:
    """The table says of a machine what it does, how fast, and what it has; and sums it up above."""
    digest = logs.observer().look(logs.at(0)).settings_digest
    now = {"settings": digest, "settings_at": timestamp(logs.at(60))}
    one = {"pages": 1234, "bytes": 5e6, "pending": 40, "in_flight": 3, "memory": 9e7, "shards": 12, "hosts": 7}
    worse = {
        "resting": 2,
        "gave_up": 1,
        "errors": {"robots": 2},
        "slow": {"s.example": 3.25},
        "failing": {"f.example": 4},
    }
    logs.write("m-1-aa", [logs.beat(40, pages=1214, **now), logs.beat(50, **one, **worse, **now)])
    logs.write("m-2-bb", [logs.beat(50, state="no network", settings_at="never")])
    logs.tree.controls.put_sign("PAUSE.x.example")
    view = logs.observer().look(logs.at(51))
    facts = status.facts(view)
    assert facts.pop("disk").endswith(" free")
    assert facts == {
        "pages": "1,234 stored, 5.0 MB",
        "pages/s": "1 min: 2.0   5 min: 2.0   60 min: 2.0",
        "errors": "2: 2 robots",
        "pending": "40 URLs, 3 in flight; done in about 1 min, if nothing new is found",
        "hosts": "7 known, 2 resting, 1 given up",
        "slow": "s.example 3.25 s",
        "failing": "f.example 4 in a row",
        "signs": "PAUSE.x.example",
    }
    since = status.clock(timestamp(logs.at(60)), logs.at(60))
    rows = [line.split() for line in lines(view) if line.startswith("m-")]
    assert rows == [
        ["m-1-aa", "fetching", "2.0", "3", "40", "90", "MB", "12", since],
        ["m-2-bb", "no", "network", "0.0", "0", "0", "0", "B", "0"],
    ]
    assert status.remarks(view, "/shared") == ["to go on:  fscrawl resume --root /shared"]


def test_nobody_at_work_has_nothing_pending(logs: Logs) -> None:
    """Where no machine is alive there is no word of what is pending or resting, but of how to crawl on."""
    logs.write("m", [logs.bye(1, pages=1, pending=9)])
    view = logs.observer().look(logs.at(2))
    assert set(status.facts(view)) == {"pages", "pages/s", "errors", "disk"}
    assert status.remarks(view, "/shared") == ["to continue:  fscrawl crawl --root /shared"]


def test_machines_that_are_gone_are_few(logs: Logs) -> None:
    """Of those that died or left the last ten are shown, and how many more there were."""
    for number in range(13):
        logs.write(f"m{number:02}", [logs.bye(number, pages=1)])
    told = lines(logs.observer().look(logs.at(100)))
    assert [line.split()[0] for line in told if line.endswith("left")] == [f"m{n:02}" for n in range(12, 2, -1)]
    assert "and 3 more gone" in [" ".join(line.split()) for line in told]


def test_remarks_on_settings_and_the_dead(logs: Logs) -> None:
    """An edit that is not taken up, settings that are wrong, and the dead among the living are remarked on."""
    logs.write("m", [logs.beat(99, settings="0" * 8)])
    logs.write("dead", [logs.beat(1)])
    logs.tree.controls.put_sign("STOP")
    dead = "1 dead: the other machines take over their work, and nothing is lost"
    resume = "to go on:  fscrawl resume --root R"
    observer = logs.observer()
    view = observer.look(logs.at(100))
    behind = "crawl.toml was edited; not in use yet on 1 of 1 (marked !)"
    assert status.remarks(view, "R") == [behind, dead, resume]
    assert any(line.startswith("m ") and line.endswith("!") for line in lines(view))
    (logs.root / "crawl.toml").write_text("no = toml = at all")
    trouble, *others = status.remarks(observer.look(logs.at(101)), "R")
    assert trouble.endswith("; machines keep the last valid settings")
    assert others == [dead, resume]


def test_what_the_web_says_is_no_markup(logs: Logs) -> None:
    """Hosts, machine names and signs with terminal escapes or markup are printed as the text that they are."""
    logs.write("[b]m", [logs.beat(9, slow={HOSTILE: 2.0}, errors={HOSTILE: 1}, state=HOSTILE, settings_at=HOSTILE)])
    (logs.root / "PAUSE.\x1b[31m").touch()
    view = logs.observer().look(logs.at(10))
    text = printed(view, 200)
    assert {c for c in text if not c.isprintable()} == {"\n"}
    assert "[red]a?[31m?example[/red]" in text
    assert "[b]m" in text
    told = json.dumps(status.as_json(view), ensure_ascii=False)
    assert "\x1b" not in told
    assert "\\u001b" not in told
    assert "\u202e" not in told


def test_a_time_of_another_day_is_a_date() -> None:
    """A time of the last day is shown by its hour, an older one by its day, and nonsense not at all."""
    at = timestamp(1_790_000_000)
    assert len(status.clock(at, 1_790_000_100)) == len("12:00:00")
    assert status.clock(at, 1_790_900_000)[:3].isalpha()
    assert status.clock("x", 0) == ""


def test_numbers_keep_short() -> None:
    """Numbers and sizes stay within eight characters up to an exabyte."""
    assert max(len(told(10.0**n)) for n in range(12) for told in (count, size)) <= 8


# -- for programs


def test_the_object(logs: Logs) -> None:
    """The object has every number of the look, in seconds and bytes."""
    now = {"settings": "0" * 8, "settings_at": timestamp(logs.at(0))}
    facts = {"pages": 30, "bytes": 7, "pending": 6, "in_flight": 2, "memory": 11, "shards": 5, "hosts": 4}
    logs.write("m", [logs.beat(0), logs.beat(10, **facts, **now, errors={"dns": 2}, slow={"s": 1.5}, failing={"f": 3})])
    logs.write("z", [logs.bye(5, pages=1, finished=True)])
    told = status.as_json(logs.observer().look(logs.at(11)))
    assert told.pop("free_bytes") > 0
    assert len(told.pop("settings")) == 8
    assert json.loads(json.dumps(told)) == {
        "at": timestamp(logs.at(11)),
        "crawl": "c1",
        "state": "running",
        "alive": 1,
        "dead": 0,
        "left": 1,
        "pages": 31,
        "bytes": 7,
        "errors": {"dns": 2},
        "pending": 6,
        "in_flight": 2,
        "hosts": 4,
        "pages_per_s": {"1 min": 3.0, "5 min": 3.0, "60 min": 3.0},
        "resting": 0,
        "gave_up": 0,
        "signs": [],
        "slow": {"s": 1.5},
        "failing": {"f": 3},
        "ends_in_s": 2.0,
        "settings_trouble": "",
        "machines": [
            {
                "name": "m",
                "state": "alive",
                "doing": "",
                "finished": False,
                "last_beat": timestamp(logs.at(10)),
                "pages_per_s": 3.0,
                **facts,
                "errors": 2,
                **now,
                "settings_differ": True,
            },
            {
                "name": "z",
                "state": "left",
                "doing": "",
                "finished": True,
                "last_beat": timestamp(logs.at(5)),
                "pages_per_s": 0.0,
                **dict.fromkeys(facts, 0),
                "pages": 1,
                "errors": 0,
                "settings": "",
                "settings_at": "",
                "settings_differ": False,
            },
        ],
    }


# -- the command


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


def test_ctrl_c_is_how_a_watch_ends(logs: Logs, watched) -> None:
    """Ctrl-C ends a watch with exit code 0, as it does `top` and `watch`."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    watched(interrupt)
    assert run(logs, "--watch") == 0


def test_ctrl_c_in_a_single_look_is_an_interrupt(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single look that is interrupted, on a share that hangs, ends with exit code 130."""

    def hang(*_: object) -> Snapshot:
        raise KeyboardInterrupt

    monkeypatch.setattr(Observer, "look", hang)
    assert run(logs) == 130


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


def test_a_reader_that_goes_away_ends_it_quietly(logs: Logs, watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe whose reader is gone, as `head`, ends the command without a word."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run(logs, "--watch", "--json") == 0


def test_a_crawl_loads_nothing_of_it() -> None:
    """The parser of all commands does without rich, so that a crawl begins at once."""
    assert isinstance(cli.parser(), argparse.ArgumentParser)
    code = "import sys, fscrawl.cli; fscrawl.cli.parser(); sys.exit('rich' in sys.modules)"
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
