"""What the runs that prove something have found, a JSON line each, for the table in docs/reliability.md.

    FSCRAWL_LEDGER=ledger.jsonl make test-all ONLY=mounts test-faults soak
    python -m tools.reliability ledger.jsonl

Without the variable nothing is written: a test run for its own sake leaves no trace.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.reliability import Row


@dataclass
class Entry(Row):
    """One line of the ledger: what was done to crawls on a file system, and what came of it."""

    runs: int = 1


def note(entry: Row) -> None:
    """Add a line to the ledger, if one is kept; in one write, since tests may run side by side."""
    path = os.environ.get("FSCRAWL_LEDGER")
    if path:
        with Path(path).open("a", encoding="utf-8") as ledger:
            ledger.write(json.dumps(asdict(entry)) + "\n")
