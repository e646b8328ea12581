"""How a crawl is, as `fscrawl status` says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fscrawl.store import Tree


@dataclass(frozen=True, slots=True)
class Status:
    """A crawl at one moment, as its machines say it in their heartbeats; no page is read for it.

    state         "new", "running", "pausing", "paused", "stopping", "finished" or "stopped"
    exact         False: the tree has more, since machines were killed, or somebody deleted their heartbeat logs
    pages, bytes  stored, and the size of their bodies
    errors        failures, by class
    other_types   answers of types that are not accepted, by type; nothing else of them is stored
    left_out      links that belong to no page of the crawl, by the setting against them: how many different URLs. A
                  number above 2,000 is right to about 2 %
    pending       URLs that are neither done nor a failure; None while machines take hosts over, and nobody knows all
    pages_per_s   stored in the last minute
    machines      how many are at work
    free_bytes    on the file system
    """

    state: Literal["new", "running", "pausing", "paused", "stopping", "finished", "stopped"]
    exact: bool
    pages: int
    bytes: int
    errors: dict[str, int]
    other_types: dict[str, int]
    left_out: dict[str, int]
    pending: int | None
    pages_per_s: float
    machines: int
    free_bytes: int


def status(tree: Tree) -> Status:
    """Look at all machines; TreeError if the tree cannot be read."""
    from fscrawl.monitor.not_stored import as_json  # noqa: PLC0415
    from fscrawl.monitor.snapshot import WINDOWS_S, Observer  # noqa: PLC0415 - readers of pages need none of it
    from fscrawl.monitor.state import state_of  # noqa: PLC0415

    seen = Observer(tree).look()
    found = as_json(seen.not_stored)
    return Status(
        state=state_of(seen).value,
        exact=seen.is_exact,
        pages=int(seen.total("pages")),
        bytes=int(seen.total("bytes")),
        errors=dict(seen.errors().most_common()),
        other_types=found["other_types"],
        left_out=found["left_out"],
        pending=seen.pending() if seen.is_pending_known else None,
        pages_per_s=seen.rate(WINDOWS_S["1 min"]),
        machines=len(seen.alive()),
        free_bytes=seen.free_bytes,
    )
