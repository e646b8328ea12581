"""crawl.py with small thresholds: segments are full, snapshots made and segments removed within a second or two.

So the calls for them are among those of a small crawl, and can be made to fail.
"""

from __future__ import annotations

import sys

from fscrawl.cli import main
from fscrawl.fleet import housekeeping, ledger, log_writer, snapshots
from tests.support.faulty.coherent import trust_listings

SEGMENT_BYTES = 300


def be_eager() -> None:
    """Lower the thresholds of this process."""
    vars(housekeeping).update(_FEWEST_LINES=1, _PART=0.0, _QUIET_BYTES=1000, _PAUSE_S=0.05)
    # Caches live for half a second here. The run is too short to wait for that twice, for snapshots and for a note.
    vars(housekeeping).update(_FIRST_REMOVAL_S=-0.8, _REMOVAL_PAUSE_S=0.2)
    vars(snapshots).update(SEGMENT_BYTES=SEGMENT_BYTES)
    vars(ledger).update(_BUSY_FLUSH_S=0.1, _HUNGRY_FLUSH_S=0.1)
    trust_listings()
    defaults = log_writer.LogWriter.__init__.__kwdefaults__
    assert defaults is not None
    defaults["segment_bytes"] = SEGMENT_BYTES


if __name__ == "__main__":
    be_eager()
    sys.exit(main(["crawl", *sys.argv[1:]]))
