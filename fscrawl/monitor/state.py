"""How the crawl is, in one word. `status`, the dashboard, `report` and `doctor` all ask `state_of`. Pure.

Promise: the word depends on the snapshot alone, so two readers of one snapshot never disagree.
"""

from __future__ import annotations

from enum import StrEnum

from fscrawl.monitor.snapshot import Snapshot
from fscrawl.store import PAUSE, STOP


class CrawlState(StrEnum):
    """The words. Their values are part of `status --json`."""

    NEW = "new"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"
    FINISHED = "finished"
    STOPPED = "stopped"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    CrawlState.NEW: "no machine has been here yet",
    CrawlState.RUNNING: "machines are working",
    CrawlState.PAUSING: "machines finish what is in flight",
    CrawlState.PAUSED: "machines are there, but fetch nothing",
    CrawlState.STOPPING: "machines are leaving",
    CrawlState.FINISHED: "the crawl is over, and all machines have left",
    CrawlState.STOPPED: "no machine is running, and the crawl is not over",
}


def state_of(snapshot: Snapshot) -> CrawlState:
    """Say how the crawl is.

    | machines                                        | signs | state    |
    |-------------------------------------------------|-------|----------|
    | none was ever there                             | any   | new      |
    | some are alive                                  | STOP  | stopping |
    | all that are alive say that they are leaving    | any   | stopping |
    | all that are alive and stay say they are paused | any   | paused   |
    | some are alive                                  | PAUSE | pausing  |
    | some are alive, in any other case               | any   | running  |
    | none is alive, the last one said "finished"     | any   | finished |
    | none is alive, the last one said another goodbye| any   | stopped  |
    | none is alive, the last one was killed          | any   | stopped  |

    The rows are read from the top. STOP beats PAUSE. A paused host (PAUSE.<host>) does not pause the crawl. A sign says
    what machines shall do, so it does not matter when none is alive: a STOP that stays in the root of a finished crawl
    does not change that it is finished. The last machine is the one that wrote last, by the machines' clocks: a new run
    after the end has newer logs, and a machine that was killed before others finished has an older one.
    """
    alive = snapshot.alive()
    if alive:
        staying = [machine for machine in alive if machine.doing != "stopping"]
        if STOP in snapshot.signs or not staying:
            return CrawlState.STOPPING
        if all(machine.doing == "paused" for machine in staying):
            return CrawlState.PAUSED
        return CrawlState.PAUSING if PAUSE in snapshot.signs else CrawlState.RUNNING
    last = snapshot.last()
    if last is None:
        return CrawlState.NEW
    return CrawlState.FINISHED if last.finished else CrawlState.STOPPED
