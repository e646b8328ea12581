"""When the main loop hands out tasks, and when it asks for those back that no worker has begun."""

from types import SimpleNamespace
from typing import Any

import pytest

from fscrawl.engine.machine import Machine


class Desk:
    """A machine of which all parts are played, and what it has done."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.membership = SimpleNamespace(
            trouble=lambda patience_s: None, tick=lambda starved: False, fenced=False, busy=False
        )
        self.edits = SimpleNamespace(
            paused=False,
            stopped=False,
            paused_hosts=frozenset(),
            settings=SimpleNamespace(crawl=SimpleNamespace(max_pages=None)),
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
            "_tree_error": None,
            "_retrying": SimpleNamespace(limit_s=1.0),
            "_interrupts": 0,
            "_look_due": 0.0,
            "_drained": False,
            "_options": SimpleNamespace(follow=False),
            "_membership": self.membership,
            "_edits": self.edits,
            "_pool": pool,
            "_frontier": frontier,
            "_dispatch": lambda: self.done.append("dispatch"),
            "_show": lambda: None,
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
