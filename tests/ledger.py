"""What the runs that prove something have found, a JSON line each, for the table in docs/reliability.md.

    FSCRAWL_LEDGER=ledger.jsonl make test-mounts test-faults soak
    python -m tools.reliability ledger.jsonl

Without the variable nothing is written: a test run for its own sake leaves no trace.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger: what was done to crawls on a file system, and what came of it.

    runs        crawls, each from its beginning to its end, however many machines and restarts that took
    faults      injected, all kinds; `kills`: those of them that were SIGKILLs
    pages       stored when all was over
    lost        pages or links of the site that are not in the tree when all is over
    torn        files that have their final name and are not whole
    duplicates  fetches of a page beyond its first
    violations  requests that came sooner than a host's delay allows, or from a machine that had no right to the host
    recovery_s  from the fault's end to the next page stored, the longest of all; None where nothing stood still
    """

    file_system: str
    fault: str
    runs: int = 1
    faults: int = 0
    kills: int = 0
    pages: int = 0
    lost: int = 0
    torn: int = 0
    duplicates: int = 0
    violations: int = 0
    recovery_s: float | None = None


def note(entry: Entry) -> None:
    """Add a line to the ledger, if one is kept; in one write, since tests may run side by side."""
    path = os.environ.get("FSCRAWL_LEDGER")
    if path:
        with Path(path).open("a", encoding="utf-8") as ledger:
            ledger.write(json.dumps(asdict(entry)) + "\n")
