"""A fault at every call on logs, leases, rules of generations and snapshots in turn, and damage to them under machines.

The machines are eager (`tests.support.faulty.eager`): in a crawl of seconds they make snapshots, and remove old ones.
FSCRAWL_FAULTS as in `test_faults`.
"""

from __future__ import annotations

import errno
import os
import random
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.crawling import check_tree, crawl, pages
from tests.support.faults import NAMING, Fault
from tests.support.faulty import coherent, eager
from tests.support.faulty.trials import HOSTS, SETTINGS, THREADS, WORKERS, Trials, serve, whole_site
from tests.support.passthrough import Passthrough, missing
from tests.support.web import Web

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=f"not here: {', '.join(missing())}"),
    pytest.mark.timeout(12 * 3600 if "FSCRAWL_FAULTS" in os.environ else 400),
]

_ASKED = os.environ.get("FSCRAWL_FAULTS", "1")
ALL = _ASKED == "all"
RUNS = sys.maxsize if ALL else int(_ASKED)
SEED = int(os.environ.get("FSCRAWL_SEED") or time.time() // 86400)

EVERY = 31  # more than the calls of one try: the kernel looks each directory of a path up
MOST_CALLS = 60  # of a directory, that can fail for good
DIRECTORIES = {  # each with its own count of calls
    "logs": r"/\.fscrawl/generations/\d+/log(/|$)",
    "heartbeats": r"/\.fscrawl/machines(/|$)",
    "leases": r"/\.fscrawl/leases(/|$)",
    "snapshots": r"/\.fscrawl/generations/\d+/snap(/|$)",
    "generations": r"/\.fscrawl/generations(/\d+(/rules\.json)?)?$",
    "the rest": r"/\.fscrawl(/[^/]*)?$",
}
_DEADLINE_S = 150.0
CLOSING = ("flush", "fsync")
PASSING = {
    "EIO": Fault("error", errno.EIO, every=EVERY),
    "ESTALE": Fault("error", errno.ESTALE, every=EVERY),
    "lost reply": Fault("lost", errno.EIO, every=EVERY),
    "lost reply of an append": Fault("lost", errno.EIO, ops=("write", *CLOSING), every=7),
    "torn append": Fault("torn", errno.EIO, every=3),
    "append lost, EIO at close or fsync": Fault("deferred", errno.EIO, every=3),
    "retransmission": Fault("twice", ops=NAMING, every=3),
    "short write": Fault("short", ops=("write",), every=3),
    "short read": Fault("short", ops=("read",), every=3),
}
STALE = {  # no older than the machines think that an answer may be
    "listings": Fault("stale-listing", path=r"/\.fscrawl", seconds=0.8 * coherent.CACHES_S, every=1),
    "missing names": Fault("stale-missing", path=r"/\.fscrawl", seconds=0.8 * coherent.CACHES_S, every=1),
    "sizes": Fault("stale-size", path=r"/\.fscrawl", seconds=0.8 * coherent.CACHES_S, every=1),
}
CHANGES = ("create", "write", "mkdir", "link", "rename", *CLOSING)
LASTING = {
    "ENOSPC": (Fault("error", errno.ENOSPC, ops=CHANGES, every=1), "disk is full"),
    "EDQUOT": (Fault("error", errno.EDQUOT, ops=CHANGES, every=1), "quota is used up"),
    "ENOSPC in an append": (Fault("torn", errno.ENOSPC, every=1), "disk is full"),
    "unmount": (Fault("unmount", ops=(*NAMING, "open", "opendir", "write", *CLOSING)), "mounted"),
}
QUICK = {**SETTINGS, "politeness.delay": 0.4, "fleet.dead_after": 20}  # a busy computer is no fault that is meant here
PATIENT = {**QUICK, "store.patience": 30}


@pytest.fixture(scope="module")
def backing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("backing")


@pytest.fixture(scope="module")
def mount(backing: Path) -> Iterator[Passthrough]:
    with Passthrough(backing, seed=SEED) as mounted:
        yield mounted


def trials(mount: Passthrough, backing: Path, name: str, settings: Mapping[str, object] = PATIENT) -> Trials:
    return Trials(
        mount,
        backing,
        f"{name}, eager machines",
        settings=settings,
        program=Path(eager.__file__),
        deadline_s=_DEADLINE_S,
    )


def numbers(last: int, name: str) -> list[int]:
    """Choose among the numbers 1 … last: all of them, or some by chance."""
    rng = random.Random(f"{SEED} {name}")
    print(f"FSCRAWL_SEED={SEED}")
    return list(range(1, last + 1)) if last <= RUNS else rng.sample(range(1, last + 1), RUNS)


def test_eager_machines(tmp_path: Path) -> None:
    """What these tests want to make fail is done: snapshots are made, and old ones removed."""
    root = tmp_path / "tree"
    with Web(serve, HOSTS) as web:
        seeds = [web.url(HOSTS[0], "/")]
        done = crawl(root, seeds=seeds, settings=QUICK, workers=WORKERS, threads=THREADS, program=Path(eager.__file__))
        assert done.code == 0, done
        assert set(pages(root)) == whole_site(web)
    check_tree(root)
    numbers = [int(path.name.split(".")[2]) for path in (root / ".fscrawl/generations/1/snap").iterdir()]
    assert max(numbers) > 2
    assert min(numbers) > 1, "older ones are removed"


@pytest.mark.parametrize("name", PASSING)
def test_passing(mount: Passthrough, backing: Path, name: str) -> None:
    """A fault that passes, at each call on each of these files in turn, stops no crawl, and nothing is lost or torn."""
    tried = trials(mount, backing, name)
    for first in numbers(PASSING[name].every, name):
        directories = [replace(PASSING[name], path=path, first=first) for path in DIRECTORIES.values()]
        for faults in [[directory] for directory in directories] if ALL else [directories]:
            tried.passing(*faults, fsync=first % 2 == 0)
    assert tried.tally.faults > 0
    tried.tally.conclude()


@pytest.mark.parametrize("name", STALE)
def test_stale(mount: Passthrough, backing: Path, name: str) -> None:
    """A machine that sees states of these files as old as it must expect loses nothing, and fetches none twice."""
    tried = trials(mount, backing, f"stale {name}")
    tried.passing(STALE[name])
    tried.tally.conclude()


@pytest.mark.parametrize("directory", DIRECTORIES)
@pytest.mark.parametrize("name", LASTING)
def test_lasting(mount: Passthrough, backing: Path, name: str, directory: str) -> None:
    """A fault that stays, from each call on these files in turn: exit code 75, and one line; then a run completes."""
    fault, advice = LASTING[name]
    tried = trials(mount, backing, f"{name}: {directory}", QUICK)
    for first in numbers(MOST_CALLS, f"{name} {directory}"):
        tried.lasting(replace(fault, path=DIRECTORIES[directory], first=first), advice)
    tried.tally.conclude()
