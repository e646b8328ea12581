"""The runs of one command, one after the other.

If `.fscrawl` is deleted, replaced or restored while a machine runs, that machine ends: what it believes of the fleet is
worth nothing any more. The command goes on with another machine, which has an id, a frontier and workers of its own,
and joins what is there then. What is stored is found in the tree, so nothing is fetched twice.

Promise: the command does not go on like this for ever. If it happens again and again, something is wrong with the share
or with a program that restores files, and a person must look.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from fscrawl.engine.machine import Result
from fscrawl.engine.progress import Counts, Progress
from fscrawl.errors import FscrawlError, MemoryGone

_MOST = 5
_WITHIN_S = 3600.0


class Run(Protocol):
    """The part of a machine that is needed here (`Machine` has it)."""

    @property
    def counts(self) -> Counts: ...
    def run(self) -> Result: ...


def run_until_over(
    run: Run, rejoin: Callable[[], Run], progress: Progress, clock: Callable[[], float] = time.monotonic
) -> Result:
    """Run, and run again as long as the memory of the fleet is lost under a run. Return the result of all runs.

    `rejoin`: opens the tree anew, and gives the next run. MemoryGone if this happens too often; other errors of a run
    or of `rejoin` are not caught.
    """
    began = clock()
    lost_at: deque[float] = deque(maxlen=_MOST)
    while True:
        try:
            result = run.run()
        except MemoryGone as error:
            now = clock()
            if len(lost_at) == _MOST and now - lost_at[0] <= _WITHIN_S:
                progress.close(run.counts)
                raise _too_often(error) from error
            lost_at.append(now)
            progress.carry(run.counts)
            progress.warn(f"{error}; joining anew, what is stored stays")
            run = _next_run(rejoin, progress)
        else:
            return replace(result, counts=progress.whole(result.counts), elapsed_s=clock() - began)


def _too_often(error: MemoryGone) -> MemoryGone:
    often = f"this has happened {_MOST + 1} times within an hour"
    return MemoryGone(f"{error}; {often}: find out what deletes or restores it, then run the same command again")


def _next_run(rejoin: Callable[[], Run], progress: Progress) -> Run:
    try:
        return rejoin()
    except FscrawlError:
        progress.close(Counts())
        raise
