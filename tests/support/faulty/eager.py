"""crawl.py with small thresholds: segments are full, snapshots made and segments removed within a second or two.

So the calls for them are among those of a small crawl, and can be made to fail.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fscrawl.cli import main
from fscrawl.fleet import housekeeping, ledger, log_writer, membership

CACHES_S = 0.4  # as old as a fault may make an answer, so that what waits for caches does not wait for a minute
SEGMENT_BYTES = 300


def be_eager() -> None:
    """Lower the thresholds of this process."""
    vars(housekeeping).update(_FEWEST_LINES=1, _PART=0.0, _QUIET_BYTES=1000, _PAUSE_S=0.05, _REMOVAL_PAUSE_S=0.2)
    vars(housekeeping).update(SEGMENT_BYTES=SEGMENT_BYTES)
    vars(ledger).update(_BUSY_FLUSH_S=0.1, _HUNGRY_FLUSH_S=0.1)
    vars(membership).update(caches_live_s=_caches_live_s)
    defaults = log_writer.LogWriter.__init__.__kwdefaults__
    assert defaults is not None
    defaults["segment_bytes"] = SEGMENT_BYTES


def _caches_live_s(_root: Path) -> float:
    return CACHES_S


if __name__ == "__main__":
    be_eager()
    sys.exit(main(["crawl", *sys.argv[1:]]))
