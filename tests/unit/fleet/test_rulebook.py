"""A machine goes by a generation when it can read why it was made."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fscrawl.config.settings import Settings
from fscrawl.config.watcher import EditWatcher
from fscrawl.fleet.generations import Generations
from fscrawl.fleet.log_writer import Place
from fscrawl.fleet.rulebook import Rulebook
from fscrawl.storage.layout import again_path
from fscrawl.storage.records import TreeRecord

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c", created_at="t", shards=4, partition="host")
CUT = {"reason": "cut", "log": "m-1-ab", "expected": [0, 93]}


class Files:
    """`.fscrawl/again`, of which some files are listed and cannot be found by name."""

    machine = "m"

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.missed: set[str] = set()

    def names(self, path: str) -> list[str]:
        return [name.removeprefix(f"{path}/") for name in self.data]

    def exists(self, path: str) -> bool:
        return path in self.data and path not in self.missed

    def read_or_torn(self, path: str) -> bytes | None:
        return self.data.get(path) if self.exists(path) else None

    def claim(self, path: str, data: bytes, *, fsync: bool = False) -> bool:
        return self.data.setdefault(path, data) == data


@pytest.fixture
def files() -> Files:
    return Files()


@pytest.fixture
def forgiven() -> list[Any]:
    return []


@pytest.fixture
def rulebook(files: Files, forgiven: list[Any]) -> Rulebook:
    watch = SimpleNamespace(settings=Settings(), seeds=frozenset(), settings_edited=lambda now: False, new_seeds=list)
    generations = Generations(files)
    return Rulebook(cast("EditWatcher", watch), RECORD, generations, lambda *cut: forgiven.append(cut), caches_s=60.0)


def test_a_generation_that_cannot_be_read_yet_is_waited_for(
    files: Files, rulebook: Rulebook, forgiven: list[Any]
) -> None:
    """NFS may remember that a name was missing. A cut that nobody heard of would never be forgiven."""
    files.data[again_path(1)] = json.dumps(CUT).encode()
    files.missed.add(again_path(1))
    rulebook.begin(1000.0, reseed=False, others=True)
    assert (rulebook.rules.generation, rulebook.waits, forgiven) == (0, True, [])

    files.missed.clear()
    change = rulebook.look(1001.0)
    assert change is not None
    assert change.retake
    assert (rulebook.rules.generation, rulebook.waits, forgiven) == (1, False, [("m-1-ab", Place(0, 93))])


def test_a_damaged_generation_is_not_waited_for_for_ever(files: Files, rulebook: Rulebook) -> None:
    """It says what each generation says: all is told again."""
    files.data[again_path(1)] = b"\0\0"
    rulebook.begin(1000.0, reseed=False, others=True)
    assert rulebook.look(1060.0) is None
    assert rulebook.look(1060.5) is not None
    assert (rulebook.rules.generation, rulebook.waits) == (1, False)


def test_many_damaged_generations_are_waited_for_together(files: Files, rulebook: Rulebook) -> None:
    """Somebody who puts a hundred empty files there does not make every machine wait for a hundred minutes."""
    files.data |= {again_path(number): b"" for number in range(1, 101)}
    rulebook.begin(1000.0, reseed=False, others=True)
    assert (rulebook.rules.generation, rulebook.waits) == (0, True)
    assert rulebook.look(1060.5) is not None
    assert (rulebook.rules.generation, rulebook.waits) == (100, False)


def test_a_generation_of_a_deleted_fscrawl_is_forgotten(files: Files, rulebook: Rulebook) -> None:
    """An old listing still shows it. Those who go by it would never agree with those who have never seen it."""
    files.data |= {again_path(number): json.dumps(CUT).encode() for number in (1, 2)}
    files.missed |= files.data.keys()
    rulebook.begin(1000.0, reseed=False, others=True)
    del files.data[again_path(1)]
    assert rulebook.look(1060.0) is None
    assert (rulebook.rules.generation, rulebook.waits) == (0, True)
    del files.data[again_path(2)]
    assert rulebook.look(1060.5) is None
    assert (rulebook.rules.generation, rulebook.waits) == (0, False)

    files.data[again_path(1)] = b"{}"
    assert rulebook.look(1100.0) is None
    files.data[again_path(1)] = json.dumps(CUT).encode()
    files.missed.clear()
    assert rulebook.look(1130.0) is not None
    assert (rulebook.rules.generation, rulebook.waits) == (1, False)
