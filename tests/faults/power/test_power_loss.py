"""Power loss at any point of a crawl: with `store.fsync` what was told is there, and without it all can be mended.

FSCRAWL_POWER_POINTS says at how many points the crawl is started again (40 if nothing is said). What must hold before
anybody mends anything is looked at at thousands. Points are drawn by a seed that is printed, and
FSCRAWL_POWER_SEED sets it; but recordings differ, so what a failed point had left is kept beside its tree.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from fscrawl.admin.audit.report import PAGES
from tests.support.ledger import Entry, note
from tests.support.passthrough import missing
from tests.support.power.aftermath import Aftermath, check, make, recover
from tests.support.power.disk import FLAVOURS, Disk, Flavour, Survivors
from tests.support.power.history import History
from tests.support.power.operations import Operation
from tests.support.power.packed import shown
from tests.support.power.recording import KINDS, ROOT, Kind, Recording, recorded
from tests.support.power.verdict import forgotten, half_made, torn, uncounted, unlogged

pytestmark = pytest.mark.timeout(1200)

POINTS = int(os.environ.get("FSCRAWL_POWER_POINTS", "40"))
LOOKS = 2_000  # points of a recording at which only a look is taken
SEED = os.environ.get("FSCRAWL_POWER_SEED") or os.urandom(4).hex()
LANES = 3  # crawls at once: two work while one waits to see whether a machine is dead
REBOOT_EVERY = 4  # a reboot makes whoever comes next wait: not at every point
CASES = [(kind, fsync, layout) for layout in ("files", "packs") for kind in KINDS for fsync in (True, False)]


class Loss(NamedTuple):
    """The power went at `point`, and this is what was left."""

    flavour: Flavour
    point: int
    left: Survivors


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{'fsync' if case[1] else 'lazy'}-{case[2]}")
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    if lacking := missing():
        pytest.skip(f"a crawl cannot be recorded without {', '.join(lacking)}")
    kind: Kind = request.param[0]
    _, fsync, layout = request.param
    with recorded(kind, tmp_path_factory.mktemp("power"), fsync=fsync, layout=layout) as found:
        yield found


@pytest.fixture(scope="module")
def history(recording: Recording) -> History:
    return History(recording.operations, recording.there)


def losses(
    recording: Recording, flavour: Flavour, count: int, operations: Sequence[Operation] | None = None
) -> Iterator[Loss]:
    """Lose power at `count` points of a recording, all of them equally often; the rest is drawn, and one is its end."""
    operations = recording.operations if operations is None else operations
    rng = random.Random(f"{SEED} {recording.name} {flavour}")
    end = len(operations)
    sweeps, rest = divmod(count - 1, end)
    points = sorted([*range(end)] * sweeps + rng.sample(range(end), rest) + [end])
    disk = Disk(flavour, recording.there)
    for before, point in pairwise([0, *points]):
        for operation in operations[before:point]:
            disk.do(operation)
        yield Loss(flavour, point, disk.after_power_loss(rng))


def faults(recording: Recording, history: History, loss: Loss) -> list[str]:
    """Find what must not be: with fsync, and with or without it."""
    left = shown(loss.left)
    found = [*half_made(history, left, loss.point, ROOT), *unlogged(history, left, loss.point)]
    if recording.fsync:
        found += [*torn(history, left), *forgotten(history, left, loss.point)]
        found += uncounted(history, left, loss.point)
    return found


def _kinds(lines: Iterable[str]) -> Iterator[str]:
    return (line.partition(":")[0] for line in lines)


def test_the_recording_is_complete(recording: Recording) -> None:
    """Without a power loss the model has, byte by byte, what the crawl has left on the real disk."""
    disk = Disk("strict", recording.there)
    for operation in recording.operations:
        disk.do(operation)
    assert disk.seen() == recording.left


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_was_told_is_there(recording: Recording, history: History, flavour: Flavour) -> None:
    """With fsync nothing under a final name is torn, a record has its body, and what was told is there; and in any case
    a tree that is there is there wholly, and stays once a machine has begun in it.
    """
    found = Counter[str]()
    for loss in losses(recording, flavour, LOOKS):
        wrong = faults(recording, history, loss)
        if wrong:
            print(_where(recording, history, loss), *wrong[:5], sep="\n  ")
        found.update(_kinds(wrong))
    pages = len(history.stored(history.end))
    lost, broken = (
        sum(found[name] for name in ("forgotten", "no body", "uncounted", "unlogged")),
        found["torn"] + found["not its body"],
    )
    if recording.fsync:  # without it files may be torn until they are repaired, and nobody has looked for them here
        _note(flavour, recording, Entry("", "", faults=LOOKS, pages=pages, lost=lost, torn=broken))
    assert found == Counter()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_recovery(recording: Recording, history: History, flavour: Flavour, tmp_path: Path) -> None:
    """After a repair the crawl goes on to what it would have been: all pages, each with its body, and nothing else.

    That takes one of each, with fsync and without.
    """
    print(f"seed {SEED}")
    count = max(2, POINTS // (len(CASES) * len(FLAVOURS)))
    chosen = list(enumerate(losses(recording, flavour, count)))
    with ThreadPoolExecutor(LANES) as lanes:
        found = list(lanes.map(lambda each: _recover(recording, history, each[1], tmp_path / str(each[0])), chosen))
    again = 0 if recording.flags else sum(each.again for each in found)  # a refresh asks for all of them again
    entry = Entry("", "", runs=count, faults=count, pages=sum(each.pages for each in found), duplicates=again)
    wrong = sum((each.wrong for each in found), Counter[str]())
    broken = sum(wrong[kind] for kind in (*PAGES, "damaged_errors"))
    lost = sum(each.lost for each in found)
    _note(flavour, recording, entry, lost=lost, torn=broken)
    print(recording.name, flavour, "again", again)
    print("  mended:", dict(sum((each.found for each in found), Counter[str]())))
    assert (lost, wrong) == (0, Counter())


def _recover(recording: Recording, history: History, loss: Loss, directory: Path) -> Aftermath:
    make(loss.left, directory, rebooted=loss.point % REBOOT_EVERY == 0)
    try:
        found = recover(recording, directory, history.stored(loss.point))
        check(recording, directory)
    except BaseException as error:
        kept = directory.with_name(f"{directory.name}-left")
        make(loss.left, kept)
        error.add_note(f"{_where(recording, history, loss)}: {kept}")
        raise
    shutil.rmtree(directory)
    return found


def _where(recording: Recording, history: History, loss: Loss) -> str:
    return f"seed {SEED}, {recording.name}, {loss.flavour}, point {loss.point} of {history.end}"


def _note(flavour: Flavour, recording: Recording, entry: Entry, **more: int) -> None:
    names = {
        "file_system": f"power loss, {flavour} model",
        "fault": f"power loss, fsync = {str(recording.fsync).lower()}",
    }
    note(Entry(**{**asdict(entry), **names, **more}))


@pytest.mark.parametrize(
    "recording", [("one", True, "files"), ("one", True, "packs")], ids=["files", "packs"], indirect=True
)
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("call", ["fsync", "fsyncdir"])
def test_each_fsync_is_needed(recording: Recording, flavour: Flavour, call: str) -> None:
    """The same crawl without its fsyncs of files, or of directories, breaks what was told: the model would notice.

    In a journal the fsync of a directory matters only until the next fsync of any file, which the next page, or the
    log, soon brings: what breaks there is rare, and which promise it is depends on the moment.
    """
    careless = [operation for operation in recording.operations if operation.name != call]
    history = History(careless, recording.there)
    found = Counter[str]()
    for loss in losses(recording, flavour, 2 * LOOKS, careless):
        found.update(_kinds(faults(recording, history, loss)))
    print(call, flavour, dict(found))
    assert found.total() > 0
    if (call, flavour) != ("fsyncdir", "journal"):
        assert found["forgotten"] > 0
    if call == "fsync":
        assert found["torn"] > 0
