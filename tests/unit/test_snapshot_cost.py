"""What it costs to ask heartbeat logs: as much for long ones as for short ones."""

from __future__ import annotations

import builtins
import io
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fscrawl.fleet.machinery import Machinery
from fscrawl.monitor.snapshot import Observer
from fscrawl.storage.records import timestamp
from tests.support.beats import BEGAN_S, Logs, busy
from tests.support.effort import FULL
from tests.support.slow import Slow
from tests.support.snapshots import encoded, names


def cost(logs: Logs, monkeypatch: pytest.MonkeyPatch, observer: Observer, now: float) -> tuple[int, int]:
    """Give how many calls a look makes on the tree, and how many bytes it reads.

    The calls are replaced and not watched by an audit hook: a hook cannot be removed, and with one that is written in
    Python, threads of later tests that start at the same instant can fail under coverage.
    """
    asked, read = [], []
    pread = os.pread

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda path, *args, **more: asked.append(str(path)) or call(path, *args, **more)

    with monkeypatch.context() as patch:
        for module, name in ((os, "open"), (os, "stat"), (os, "listdir"), (os, "scandir"), (io, "open")):
            patch.setattr(module, name, counted(getattr(module, name)))
        patch.setattr(builtins, "open", io.open)
        patch.setattr(os, "pread", lambda *args: read.append(pread(*args)) or read[-1])
        observer.look(now)
    return len([path for path in asked if path.startswith(str(logs.root))]), sum(map(len, read))


@cache
def _busy_lines() -> list[bytes]:
    """Give the beats of a day and more, from a template: to encode each would cost more than to read them."""
    facts = {"beat": "NUMBER", **busy(5_000), "pages": "PAGES", "stored": "PAGES", "at": "TIME"}
    template = json.dumps(facts).replace('"NUMBER"', "%d").replace('"PAGES"', "%d").replace("TIME", "%s") + "\n"
    times = (timestamp(BEGAN_S + 10 * number) for number in range(10_000))
    return [(template % (number, 100 * number, 100 * number, at)).encode() for number, at in enumerate(times)]


def grown(root: Path, machines: int, beats: int, pages: int) -> Logs:
    logs = Logs(root)
    lines = b"".join(_busy_lines()[:beats])
    for machine in range(min(machines, 2)):
        logs.path(f"m{machine}").write_bytes(encoded(logs.hello(f"m{machine}")) + lines)
    for machine in range(2, machines):  # no test writes to them, and to write 100 MB takes its time
        os.link(logs.path("m1"), logs.path(f"m{machine}"))
    directory = root / "links" / "a.example"
    directory.mkdir()
    for number in range(pages):
        (directory / f"{number:024x}.json").touch()
    return logs


def test_a_look_costs_the_same_however_long_the_logs_and_however_many_the_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs of 10,000 beats beside 2,000 pages take as many calls as logs of 1,000 beats without pages; a MiB each."""
    machines = 20 if FULL else 3
    short, long = grown(tmp_path / "s", machines, 1_000, 0), grown(tmp_path / "l", machines, 10_000, 2_000)
    few, _ = cost(short, monkeypatch, short.observer(), short.at(10_000))
    observer = long.observer()
    many, read_bytes = cost(long, monkeypatch, observer, long.at(100_000))
    assert (few, many) == (few, few)
    assert many <= machines * 7 + 12
    assert read_bytes <= machines * (1 << 20)
    again, read_bytes = cost(long, monkeypatch, observer, long.at(100_000))
    assert again <= machines + 12
    assert read_bytes == 0


def test_past_runs(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each past run has left a short log. It is opened once; and on a slow share several at the same time."""
    for number in range(40):
        logs.write(f"m{number}", [logs.beat(1), logs.bye(2, pages=number)])
    opened, _ = cost(logs, monkeypatch, logs.observer(), logs.at(100))
    assert opened <= 40 + 12
    slow = Slow(monkeypatch, Machinery, "read_newest_heartbeats")
    view = logs.observer().look(logs.at(100))
    assert slow.most_at_once > 1
    assert view.total("pages") == sum(range(40))
    assert names(view.machines) == sorted(f"m{number}" for number in range(40))


@pytest.mark.parametrize(("ago_s", "beats"), [(4000.0, 1), (3000.0, 10)])
def test_a_past_run_of_some_beats(logs: Logs, ago_s: float, beats: int) -> None:
    """If it was over an hour ago, its last line will do: there are thousands. Of others, curves show the last hour."""
    logs.write("m", [*(logs.beat(n, pages=n) for n in range(9)), logs.bye(9, pages=9)])
    (machine,) = logs.observer().look(logs.at(ago_s)).machines
    assert len(machine.history) == beats
    assert (machine.state, machine.last.pages) == ("left", 9)
    assert machine.hello is not None


def test_the_long_dead_cost_nothing(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs of machines that were killed long ago are not opened at each look; who comes back is seen before long."""
    for number in range(50):
        logs.write(f"m{number}", [logs.beat(1)])
    observer = logs.observer()
    observer.look(logs.at(2))
    logs.clock.now = 1000.0
    with_the_dead, _ = cost(logs, monkeypatch, observer, logs.at(1002))
    logs.clock.now = 1005.0
    without, _ = cost(logs, monkeypatch, observer, logs.at(1007))
    assert without <= with_the_dead - 50
    logs.write("m7", [logs.beat(1005)])
    logs.clock.now = 1112.0
    assert names(observer.look(logs.at(1114)).alive()) == ["m7"]


def test_an_hour_of_a_long_log_is_read(tmp_path: Path) -> None:
    """Of a log of a day the last hour is there, and not much more."""
    logs = grown(tmp_path / "t", 1, 8_640, 0)
    machine = logs.observer().look(logs.at(86_395)).machines[0]
    assert machine.hello
    assert 3600 <= machine.last.at - machine.history[0].at <= 3 * 3600
    assert machine.rate(3600) == 10.0


def test_of_a_machine_that_is_over_the_end_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long log that ends with a goodbye, or ended hours ago, nothing but the end is read."""
    logs = grown(tmp_path / "t", 2, 2_000, 0)
    logs.write("m0", [logs.bye(20_000, pages=7)])
    observer = logs.observer()
    _, read_bytes = cost(logs, monkeypatch, observer, logs.at(40_000))
    assert read_bytes < 2 * (1 << 17)
    left, dead = observer.look(logs.at(40_000)).machines
    assert [(m.state, m.last.pages) for m in (left, dead)] == [("left", 7), ("dead", 199_900)]
    assert (left.hello.machine, len(left.history)) == ("m0", 1), "the beats between are not parsed"


def test_beats_that_come_fast_fill_an_hour_no_further_than_a_mebibyte(tmp_path: Path) -> None:
    """A log of ten beats a second is read for a MiB, which is less than an hour, and gives rates all the same."""
    logs = Logs(tmp_path / "t")
    logs.write("m", [{"beat": number, **busy(number, 0.1)} for number in range(4_000)])
    machine = logs.observer().look(logs.at(400)).machines[0]
    assert len(machine.history) < 3_500
    assert round(machine.rate(3600)) == 1_000


def test_a_log_without_one_whole_line_at_its_end(tmp_path: Path) -> None:
    """A log whose end is one unfinished line of a crashed server says what its hello said."""
    logs = Logs(tmp_path / "t")
    logs.write("m", [])
    with logs.path("m").open("ab") as file:
        file.write(b"\0" * (1 << 17))
    assert [(m.name, m.state) for m in logs.observer().look(logs.at(1)).machines] == [("m", "alive")]


def test_a_log_with_a_mebibyte_that_is_no_line(tmp_path: Path) -> None:
    """It says what its beginning says, at each look."""
    logs = Logs(tmp_path / "t")
    logs.write("m", [logs.beat(1, pages=5)])
    with logs.path("m").open("ab") as file:
        file.write(b"\0" * (9 << 17))
    observer = logs.observer()
    for _ in range(2):
        assert observer.look(logs.at(1)).total("pages") == 5


def test_an_observer_that_is_behind_reads_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a log has grown by megabytes since the last look, the next look reads one, and knows the newest counters."""
    logs = grown(tmp_path / "t", 1, 10, 0)
    observer = logs.observer()
    observer.look(logs.at(100))
    with logs.path("m0").open("ab") as file:
        file.writelines(_busy_lines()[10:])
    logs.clock.now += 10_000
    _, read_bytes = cost(logs, monkeypatch, observer, logs.at(100_000))
    assert read_bytes <= 1 << 20
    assert observer.look(logs.at(100_000)).total("pages") == 999_900


@pytest.mark.gate
def test_beats_are_kept_for_an_hour(logs: Logs) -> None:
    """Who looks on for weeks remembers some more than an hour of each machine, and of those that are over the end."""
    observer = logs.observer()
    observer.look(logs.at(0))
    for minute in range(180):
        logs.clock.now = minute * 60.0
        logs.write("works", [logs.beat(minute * 60.0, pages=minute)])
        if minute <= 60:
            logs.write("leaves", [logs.beat(minute * 60.0) if minute < 60 else logs.bye(3600.0, pages=7)])
        view = observer.look(logs.at(minute * 60.0))
    kept = {machine.name: len(machine.history) for machine in view.machines}
    assert 60 <= kept["works"] <= 70
    assert kept["leaves"] == 1
    assert view.total("pages") == 179 + 7
    assert view.rate(3600.0, "pages") == pytest.approx(1 / 60)
