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
from functools import partial
from typing import Protocol

from fscrawl.engine.progress import Counts, Progress
from fscrawl.engine.run import Result
from fscrawl.errors import FscrawlError, MemoryGone

_MOST = 5
_WITHIN_S = 3600.0


class Run(Protocol):
    """The part of a machine that is needed here (`Machine` has it)."""

    @property
    def counts(self) -> Counts: ...
    def run(self) -> Result: ...


def run_until_over(
    begin: Callable[[], Run],
    rejoin: Callable[[], Run],
    progress: Progress,
    clock: Callable[[], float] = time.monotonic,
) -> Result:
    """Run, and run again as long as the memory of the fleet is lost under a run. Return the result of all runs.

    `begin` gives the first run; `rejoin` opens the tree anew, and gives the next one. MemoryGone if this happens too
    often; other errors are not caught.
    """
    began = clock()
    lost_at: deque[float] = deque(maxlen=_MOST)
    make = begin
    while True:
        counts = Counts()
        try:
            run = make()
            counts = run.counts
            result = run.run()
        except MemoryGone as error:
            now = clock()
            if len(lost_at) == _MOST and now - lost_at[0] <= _WITHIN_S:
                progress.close(counts)
                raise _too_often(error) from error
            lost_at.append(now)
            progress.carry(counts)
            progress.warn(f"{error}; joining anew, what is stored stays")
            make = partial(_rejoin, rejoin, progress)
        else:
            return replace(result, counts=progress.whole(result.counts), elapsed_s=clock() - began)


def _rejoin(rejoin: Callable[[], Run], progress: Progress) -> Run:
    """Give the next run. If there is none, the progress line ends, since no run will end it."""
    try:
        return rejoin()
    except MemoryGone:
        raise
    except FscrawlError:
        progress.close(Counts())
        raise


def _too_often(error: MemoryGone) -> MemoryGone:
    often = f"this has happened {_MOST + 1} times within an hour"
    return MemoryGone(f"{error}; {often}: find out what deletes or restores it, then run the same command again")
