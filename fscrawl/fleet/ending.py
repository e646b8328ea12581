"""When the crawl is over: no machine has work left, and none can get any.

A machine leaves when all of these hold (the numbers are those of `docs/design/fleet.md`):
  1  it is idle: nothing pending, in flight, unsaid, unflushed, arriving, being read or surveyed, and it is not fenced
  2  settings, generation and leases are as it believes, looked at anew (the caller does that last)
  3  each shard that has URLs is held by this machine, which has put it together, or by a live one
  4  the last two beats of every live machine are idle, and agree with this machine: they have read the same logs as far
     as this one, judge by the same rules, have no line in their log that this one has not read, and hold what the
     leases say
  5  or, in place of 3 and 4, a machine said that the crawl is over while this one was there, having read the same

Sums of bytes are not enough for 4: two different readings can have one sum. So each beat has a hash of all places.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fscrawl.fleet.beat import Beat
from fscrawl.fleet.log_writer import Place


class Told(NamedTuple):
    """One machine as this one sees it: its last beats, how far its log was read here, and a hash of its leases."""

    beats: list[Beat]
    read_to: Place
    held: str


def held_hash(leases: Iterable[tuple[int, int]]) -> str:
    """Give a hash of (shard, epoch) pairs.

    >>> held_hash([(1, 2), (3, 4)]) == held_hash([(3, 4), (1, 2)])
    True
    """
    text = " ".join(f"{shard}.{epoch}" for shard, epoch in sorted(leases))
    return hashlib.sha224(text.encode()).hexdigest()[:16]


def all_agree(own: Beat, machines: Iterable[Told]) -> bool:
    """Tell whether condition 4 holds. `own`: the state of this machine now; `machines`: all live ones, this one too."""
    return all(len(told.beats) == 2 and all(_agrees(beat, own, told) for beat in told.beats) for told in machines)


def _agrees(beat: Beat, own: Beat, told: Told) -> bool:
    same = (beat.read, beat.term) == (own.read, own.term)
    return beat.idle and same and beat.log == told.read_to and beat.held == told.held


def said_over(own: Beat, goodbyes: Mapping[str, Beat]) -> bool:
    """Tell whether condition 5 holds. `goodbyes`: the last words of those that left because the crawl was over."""
    return any((bye.read, bye.term) == (own.read, own.term) for bye in goodbyes.values())
