"""What `fscrawl status` says where packs of past runs cannot be read."""

from __future__ import annotations

import json

from fscrawl.fleet.pack import Run, pack
from fscrawl.monitor import status
from tests.support.beats import Logs


def _packed(logs: Logs) -> bytes:
    line = json.dumps(logs.bye(1, pages=1, finished=True)).encode() + b"\n"
    return pack({"m-2-bb": Run(line, len(line), None)})


def test_packs_that_cannot_be_read(logs: Logs) -> None:
    """Nobody knows what the runs in them have stored: the sums are no longer called exact."""
    logs.write("m-1-aa", [logs.bye(1, pages=6, packs=2, finished=True)])
    machines = logs.root / ".fscrawl" / "machines"
    (machines / "past.1").write_bytes(_packed(logs))
    for damage in (b"", None):
        if damage is None:
            (machines / "past.2").unlink()
        else:
            (machines / "past.2").write_bytes(damage)
        view = logs.observer().look(logs.at(2))
        assert (view.total("pages"), view.is_exact) == (7, False)
        (line,) = status.remarks(view, "R")
        assert line.startswith("1 pack of past runs cannot be read: what they have stored is not counted; to count")


def test_a_pack_that_is_made_during_a_look(logs: Logs) -> None:
    """A heartbeat may speak of a pack that was not there when the look began: nothing is wrong with it."""
    logs.write("m-1-aa", [logs.bye(1, pages=6, packs=1, finished=True)])
    observer = logs.observer()
    list_machines = observer._machinery.machines

    def listed_before() -> list[str]:
        names = list_machines()
        (logs.root / ".fscrawl" / "machines" / "past.1").write_bytes(_packed(logs))
        return names

    observer._machinery.machines = listed_before  # type: ignore[method-assign]
    assert observer.look(logs.at(2)).is_exact
    assert observer.look(logs.at(3)).total("pages") == 7
