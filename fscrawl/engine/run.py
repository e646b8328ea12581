"""How a run of a machine is begun, and how it ended."""

from __future__ import annotations

from typing import Literal

import msgspec

from fscrawl.engine.progress import Counts


class Options(msgspec.Struct, frozen=True):
    """How one machine takes part.

    workers          how many processes; 0: one worker, in the machine's own process
    reseed           read all records again, and do not trust the logs
    wait             stay when all is done, and wait for new seeds
    refresh_before   ask again for pages that were last fetched or checked before that time (RFC 3339)
    allow_env        environment variables that settings may name, besides FSCRAWL_…
    added_seeds      those that its command has added to the tree: other machines may not have seen them yet
    """

    workers: int
    threads: int
    reseed: bool = False
    wait: bool = False
    refresh_before: str = ""
    allow_env: tuple[str, ...] = ()
    added_seeds: tuple[str, ...] = ()


Ending = Literal["finished", "interrupted", "stopped", "max_pages"]


class Result(msgspec.Struct, frozen=True):
    """How a run ended: what it did, its exit code, and why it ended.

    "finished": nothing is left. "stopped": by STOP. "max_pages": `crawl.max_pages` is reached. `fault`: the mistake in
    the site file because of which seeds are missing; "" without one. `late_seeds`: how many were added while the
    machine was leaving.
    """

    counts: Counts
    exit_code: int
    elapsed_s: float
    ending: Ending = "finished"
    fault: str = ""
    late_seeds: int = 0
