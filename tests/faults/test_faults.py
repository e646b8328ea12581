"""A fault at every call in turn, on a file system of our own: passing ones are waited out, lasting ones said clearly.

FSCRAWL_FAULTS=all tries every call number of a small crawl, FSCRAWL_FAULTS=20 so many; without it each fault is tried a
few times. The numbers change from day to day (FSCRAWL_SEED chooses them; the seed is printed).
"""

from __future__ import annotations

import errno
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.faults import NAMING, Fault
from tests.support.faulty.trials import SETTINGS, Trials
from tests.support.fixtures import in_both
from tests.support.passthrough import Passthrough, missing

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=f"not here: {', '.join(missing())}"),
    pytest.mark.timeout(4 * 3600 if "FSCRAWL_FAULTS" in os.environ else 300),
]

_ASKED = os.environ.get("FSCRAWL_FAULTS", "3")
ALL = _ASKED == "all"
RUNS = sys.maxsize if ALL else int(_ASKED)  # of each fault
SEED = int(os.environ.get("FSCRAWL_SEED") or time.time() // 86400)

ANY_EVERY = 40  # a page takes some 25 calls, so each of them is hit, and its next try is not
SOME_EVERY = 17  # of faults that only a few operations can have: a group of packs takes up to twelve of them
CLOSING = ("flush", "fsync")
PASSING = {
    "EIO": Fault("error", errno.EIO, every=ANY_EVERY),
    "ESTALE": Fault("error", errno.ESTALE, every=ANY_EVERY),
    "EBADFD": Fault("error", errno.EBADFD, ops=("read", "write", *CLOSING), every=SOME_EVERY),
    "ETIMEDOUT": Fault("error", errno.ETIMEDOUT, every=ANY_EVERY),
    "ENOTCONN": Fault("error", errno.ENOTCONN, every=ANY_EVERY),
    "lost reply, EIO": Fault("lost", errno.EIO, every=ANY_EVERY),
    "lost reply, ETIMEDOUT": Fault("lost", errno.ETIMEDOUT, every=ANY_EVERY),
    "lost reply of a change": Fault("lost", errno.EIO, ops=(*NAMING, "write"), every=SOME_EVERY),
    "retransmission": Fault("twice", every=SOME_EVERY),
    "short write": Fault("short", ops=("write",), every=3),
    "short read": Fault("short", ops=("read",), every=3),
    "EIO at close or fsync": Fault("error", errno.EIO, ops=CLOSING, every=SOME_EVERY),
    "write lost, EIO at close or fsync": Fault("deferred", errno.EIO, every=SOME_EVERY),
    "slow call": Fault("slow", seconds=0.2, every=2 * ANY_EVERY),
    "stale listings": Fault("stale-listing", seconds=20, every=1),
}
CHANGES = ("create", "write", "mkdir", "link", "rename")
LASTING = {
    "ENOSPC": (Fault("error", errno.ENOSPC, ops=(*CHANGES, *CLOSING), every=1), "disk is full"),
    "EDQUOT": (Fault("error", errno.EDQUOT, ops=(*CHANGES, *CLOSING), every=1), "quota is used up"),
    "ENOSPC at close or fsync": (Fault("deferred", errno.ENOSPC, every=1), "disk is full"),
    "EROFS": (Fault("error", errno.EROFS, ops=(*NAMING, "write"), every=1), "mounted read-only"),
    "EACCES": (Fault("error", errno.EACCES, ops=(*NAMING, "open", "opendir"), every=1), "permission denied"),
    "unmount": (Fault("unmount", ops=(*NAMING, "open", "opendir", "write", *CLOSING)), "mounted"),
}


@pytest.fixture(scope="module")
def backing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("backing")


@pytest.fixture(scope="module")
def mount(backing: Path) -> Iterator[Passthrough]:
    with Passthrough(backing, seed=SEED) as mounted:
        yield mounted


@pytest.fixture(scope="module")
def calls(mount: Passthrough, backing: Path) -> Counter[str]:
    """The calls of a crawl without a fault, by operation."""
    before = mount.calls()
    trials = Trials(mount, backing, "none")
    trials.passing(Fault("slow"))  # for no time at all
    assert trials.tally.problems == []
    return mount.calls() - before


def numbers(last: int) -> list[int]:
    """Choose among the numbers 1 … last: all of them, or one out of each of so many equal parts."""
    if last <= RUNS:
        return list(range(1, last + 1))
    rng = random.Random(f"{SEED} {last}")
    print(f"FSCRAWL_SEED={SEED}")
    return [1 + int((part + rng.random()) * last / RUNS) for part in range(RUNS)]


@in_both
@pytest.mark.parametrize("name", PASSING)
def test_passing(mount: Passthrough, backing: Path, name: str, layout: dict[str, object]) -> None:
    """A fault that passes, at each call in turn, stops no crawl, loses no page, tears no file, fetches none twice."""
    fault = PASSING[name]
    trials = Trials(mount, backing, name, settings={**SETTINGS, **layout})
    for first in numbers(fault.every):
        for fsync in (False, True) if ALL else (first % 2 == 0,):
            trials.passing(replace(fault, first=first), fsync=fsync)
    assert trials.tally.faults > 0
    trials.tally.conclude()


@in_both
@pytest.mark.parametrize("name", LASTING)
def test_lasting(mount: Passthrough, backing: Path, calls: Counter[str], name: str, layout: dict[str, object]) -> None:
    """A fault that stays, from each call in turn: exit code 75, one line that says what to do; then a run completes."""
    fault, advice = LASTING[name]
    trials = Trials(mount, backing, name, settings={**SETTINGS, **layout})
    ops = ("write",) if fault.kind == "deferred" else fault.ops
    for first in numbers(sum(calls[op] for op in ops)):
        trials.lasting(replace(fault, first=first), advice)
    trials.tally.conclude()
