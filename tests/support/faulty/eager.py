"""crawl.py with small thresholds: snapshots are made, and old ones and old generations removed, within a second or two.

So the calls for them are among those of a small crawl, and can be made to fail.
"""

from __future__ import annotations

import sys

from fscrawl.cli import main
from fscrawl.fleet import housekeeping, ledger
from tests.support.faulty.coherent import trust_listings


def be_eager() -> None:
    """Lower the thresholds of this process."""
    vars(housekeeping).update(_FEWEST_LINES=1, _PART=0.0, _QUIET_BYTES=1000, _PAUSE_S=0.05, _REMOVAL_PAUSE_S=0.2)
    vars(ledger).update(_BUSY_FLUSH_S=0.1, _HUNGRY_FLUSH_S=0.1)
    trust_listings()


if __name__ == "__main__":
    be_eager()
    sys.exit(main(["crawl", *sys.argv[1:]]))
