"""Power loss at any point of a merge: what the manifest names is there, and the next merge completes the dataset.

FSCRAWL_POWER_POINTS says after how many points the merge is run again (20), and FSCRAWL_POWER_SEED draws them.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.passthrough import Passthrough, missing
from tests.support.power.disk import FLAVOURS, Disk, Flavour, Survivors
from tests.support.power.operations import Operation, read_operations
from tests.support.trees import Grown, Made, check

pytestmark = pytest.mark.timeout(600)

POINTS = int(os.environ.get("FSCRAWL_POWER_POINTS", "20"))
LOOKS = 3  # possible disks after each point
SEED = os.environ.get("FSCRAWL_POWER_SEED", "1")
OUT = "dataset"
STYLES = ("parquet", "warc", "jsonl")


class Recording(NamedTuple):
    """Two merges, the second of a tree that has grown; call by call."""

    tree: Grown
    operations: list[Operation]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    if lacking := missing():
        pytest.skip(f"a merge cannot be recorded without {', '.join(lacking)}")
    place = tmp_path_factory.mktemp("power")
    tree = Grown(place / "tree")
    tree.many(2, 20)
    tree.fail("http://h0.example/gone")
    backing, log = place / "backing", place / "operations.jsonl"
    backing.mkdir()
    with Passthrough(backing, record=log) as mount:
        tree.merge(mount.path / OUT, formats=STYLES)
        tree.many(3, 20)
        tree.heal("http://h0.example/gone")
        tree.merge(mount.path / OUT)
    return Recording(tree, read_operations(log.read_text().splitlines()))


def torn(left: Survivors) -> list[str]:
    """Name the files that the manifest names and that are not as it says."""
    text = left.get(f"{OUT}/manifest.json")
    if text is None:
        return []
    files = json.loads(text)["files"]
    return [each["path"] for each in files if _digest(left.get(f"{OUT}/{each['path']}")) != each["sha256"]]


def _digest(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_the_manifest_names_is_there(recording: Recording, flavour: Flavour) -> None:
    """At each point, on each possible disk, the manifest is whole, and so is each file that it names."""
    rng = random.Random(f"{SEED} {flavour}")
    disk = Disk(flavour)
    found = []
    for number, operation in enumerate(recording.operations):
        disk.do(operation)
        for _ in range(LOOKS):
            found += [(number, name) for name in torn(disk.after_power_loss(rng)) if not name.startswith("errors/")]
    assert found == [], SEED


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_next_merge_completes_it(recording: Recording, flavour: Flavour, tmp_path: Path) -> None:
    """After a power loss, the same command completes its run, and the next one the dataset, with each page once."""
    rng = random.Random(f"{SEED} {flavour} next")
    points = set(rng.sample(range(len(recording.operations)), min(POINTS, len(recording.operations))))
    disk = Disk(flavour)
    for number, operation in enumerate(recording.operations):
        disk.do(operation)
        if number in points:
            made = _again(recording.tree, disk.after_power_loss(rng), tmp_path / str(number))
            assert made.keys() == recording.tree.keys(), (SEED, number)


def _again(tree: Grown, left: Survivors, place: Path) -> Made:
    for name, data in left.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if data is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(data)
    tree.merge(place / OUT, formats=STYLES)  # a run that was under way, of the pages that there were then
    made = tree.merge(place / OUT)
    check(made)
    return made
