"""The real machines keep their promises in some random schedules. (`test_many_schedules.py` has more.)"""

from __future__ import annotations

import itertools
import time

from tests.component.schedules.schedule import run

_FOR_S = 1.0  # of processor time


def test_no_schedule_violates_an_invariant() -> None:
    """Crashes, pauses, cuts, edits, joins, lost replies, deletions, and views that are a minute old."""
    began = time.process_time()
    for seed in itertools.count():
        run(seed)
        if time.process_time() - began > _FOR_S:
            break
