"""When the main loop hands out tasks, and when it asks for those back that no worker has begun."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from fscrawl.engine.machine import Machine


class Desk:
    """A machine of which all parts are played, and what it has done."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.membership = SimpleNamespace(
            beat_s=5.0,
            known=SimpleNamespace(ready=0),
            trouble=lambda patience_s: None,
            tick=lambda starved: False,
            fenced=False,
            busy=False,
        )
        self.edits = SimpleNamespace(
            paused=False,
            stopped=False,
            paused_hosts=frozenset(),
            must_leave=None,
            settings=SimpleNamespace(crawl=SimpleNamespace(max_pages=None), render=None),
        )
        pool = SimpleNamespace(
            drain=lambda: self.done.append("drain"),
            return_suspects=lambda: self.done.append("return_suspects"),
            wait=lambda timeout_s, tree_stalled: (),
            has_room=False,
        )
        frontier = SimpleNamespace(pending=1, idle=False, next_at=lambda: None, scheduler=SimpleNamespace())
        played: dict[str, Any] = {
            "_watchdog": SimpleNamespace(alive=lambda: None),
            "_error": None,
            "_retrying": SimpleNamespace(limit_s=1.0),
            "_interrupts": 0,
            "_look_due": 0.0,
            "_drained": False,
            "_options": SimpleNamespace(wait=False),
            "_membership": self.membership,
            "_edits": self.edits,
            "_pool": pool,
            "_frontier": frontier,
            "_browsers": SimpleNamespace(keep=lambda settings: None),
            "_bookkeeper": SimpleNamespace(
                status_file=SimpleNamespace(write_if_due=lambda now, beat_s, ready: None),
                is_behind=False,
                go_on=lambda: None,
                put_off_telling=lambda: None,
            ),
            "_dispatch": lambda: self.done.append("dispatch"),
            "_show": lambda: None,
            "_say_why_idle": lambda: None,
        }
        self.machine = Machine.__new__(Machine)
        vars(self.machine).update(played)

    def turn(self) -> list[str]:
        self.done.clear()
        self.machine._turn()
        return self.done[:]


@pytest.mark.parametrize("which", ["fenced", "paused"])
def test_tasks_are_asked_back_once(which: str) -> None:
    """While it is fenced or paused it hands out nothing, and no worker may begin later what it was handed before."""
    desk = Desk()
    holder: Any = desk.membership if which == "fenced" else desk.edits
    assert desk.turn() == ["dispatch"]
    setattr(holder, which, True)
    assert [desk.turn() for _ in range(3)] == [["drain"], ["return_suspects"], ["return_suspects"]]
    setattr(holder, which, False)
    assert desk.turn() == ["return_suspects", "dispatch"], "a worker may have died at the last moment"
    assert desk.turn() == ["dispatch"]
    setattr(holder, which, True)
    assert desk.turn() == ["drain"]


def test_a_signal_that_comes_twice_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal to the process and to its group, as `timeout` sends it, is one; a later one leaves at once."""
    said: list[str] = []
    left: list[int] = []
    machine = Machine.__new__(Machine)
    played: dict[str, Any] = {
        "_interrupts": 0,
        "_interrupted_at": 0.0,
        "_progress": SimpleNamespace(warn=said.append),
        "_frontier": SimpleNamespace(in_flight=2),
    }
    vars(machine).update(played)
    clock = SimpleNamespace(now=50.0)
    monkeypatch.setattr("fscrawl.engine.machine.time.monotonic", lambda: clock.now)
    monkeypatch.setattr("fscrawl.engine.machine.interrupts.leave", lambda number, informed: left.append(number))
    for now in (50.0, 50.05):
        clock.now = now
        machine._interrupt(15)
    assert ([text.partition(":")[0] for text in said], left) == (["stopping"], [])
    clock.now = 50.2
    machine._interrupt(1)  # of a shell whose terminal is gone
    assert len(said) == 1
    machine._interrupt(2)
    assert (said[-1], left) == ("leaving at once: 2 pages in flight will be fetched again", [2])


def test_a_signal_while_nobody_reads_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that was stopped holds the line up, and not the thread that receives the next signal."""
    left: list[int] = []
    machine = Machine.__new__(Machine)
    stopped = threading.Event()
    played: dict[str, Any] = {
        "_interrupts": 1,
        "_interrupted_at": 0.0,
        "_progress": SimpleNamespace(warn=lambda _: stopped.wait(20)),
        "_frontier": SimpleNamespace(in_flight=0),
    }
    vars(machine).update(played)
    monkeypatch.setattr("fscrawl.engine.machine.interrupts.leave", lambda number, informed: left.append(number))
    machine._interrupt(15)
    assert left == [15]
    assert not stopped.is_set()
    stopped.set()
