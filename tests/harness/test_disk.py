"""The model of a disk that loses power: what must be there is always there, and what may be there comes about."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.support.power.disk import FLAVOURS, Disk, Flavour, Survivors
from tests.support.power.operations import Operation

TRIES = 1_500


def op(name: str, path: str, path2: str = "", data: bytes = b"", offset: int = 0) -> Operation:
    return Operation(name, path, path2, offset, data)


def outcomes(flavour: Flavour, *operations: Operation, there: Survivors | None = None) -> list[Survivors]:
    """Give the different disks that there may be after these operations."""
    disk = Disk(flavour, there)
    for operation in operations:
        disk.do(operation)
    found: list[Survivors] = []
    for seed in range(TRIES):
        left = disk.after_power_loss(random.Random(seed))
        if left not in found:
            found.append(left)
    return found


def names(found: Sequence[Survivors]) -> set[frozenset[str]]:
    return {frozenset(each) for each in found}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_is_synced_is_there(flavour: Flavour) -> None:
    """A file that was synced, in a directory that was synced, is there as it was; and nothing else can be."""
    synced = (op("create", "a"), op("write", "a", data=b"whole"), op("fsync", "a"), op("fsyncdir", ""))
    assert outcomes(flavour, *synced) == [{"a": b"whole"}]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_pending_data(flavour: Flavour) -> None:
    """Data after the last fsync is there, or in part, or as zeros, or not; data before it is."""
    found = outcomes(flavour, op("write", "a", data=b"new", offset=3), there={"a": b"old"})
    tails = {(each["a"] or b"").removeprefix(b"old") for each in found}
    assert all((each["a"] or b"").startswith(b"old") for each in found)
    assert tails == {tail for n in range(4) for kept in range(n + 1) for tail in [b"new"[:kept] + b"\0" * (n - kept)]}


def test_pending_writes_come_in_any_combination() -> None:
    """A later write may be there whole, and an earlier one as zeros."""
    found = outcomes("strict", op("write", "a", data=b"11"), op("write", "a", data=b"22", offset=2), there={"a": b""})
    assert {"a": b"\0\x0022"} in found
    assert {"a": b"1122"} in found
    assert {"a": b""} in found


def test_a_truncation_may_not_have_come_about() -> None:
    """A file that was cut is cut, or is what it was."""
    assert {each["a"] for each in outcomes("strict", op("truncate", "a"), there={"a": b"old"})} == {b"old", b""}


def test_a_file_keeps_its_data_and_not_its_name() -> None:
    """By POSIX an fsync of a file says nothing of its name; in a journal it takes the name along."""
    synced = (op("create", "a"), op("write", "a", data=b"whole"), op("fsync", "a"))
    assert names(outcomes("strict", *synced)) == {frozenset(), frozenset({"a"})}
    assert outcomes("journal", *synced) == [{"a": b"whole"}]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_rename_is_there_or_not(flavour: Flavour) -> None:
    """What is renamed over a file is there under its old name or the new one; until then the file is there."""
    found = outcomes(flavour, op("rename", "new", "old"), there={"old": b"1", "new": b"2"})
    assert sorted(found, key=len) == [{"old": b"2"}, {"old": b"1", "new": b"2"}]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_entries_of_one_directory_come_in_order(flavour: Flavour) -> None:
    """Of two names the second is never there without the first."""
    found = names(outcomes(flavour, op("create", "a"), op("create", "b")))
    assert found == {frozenset(), frozenset({"a"}), frozenset({"a", "b"})}


def test_entries_of_two_directories() -> None:
    """Directories know nothing of each other by POSIX; a journal keeps their order."""
    made = (op("create", "x/a"), op("create", "y/b"))
    there: Survivors = {"x": None, "y": None}
    second_alone = frozenset({"x", "y", "y/b"})
    assert second_alone in names(outcomes("strict", *made, there=there))
    assert second_alone not in names(outcomes("journal", *made, there=there))


def test_a_directory_takes_along_what_is_in_it() -> None:
    """A directory whose own name was not synced may be gone, however much was synced in it."""
    made = (op("mkdir", "x"), op("create", "x/a"), op("fsync", "x/a"), op("fsyncdir", "x"))
    assert names(outcomes("strict", *made)) == {frozenset(), frozenset({"x", "x/a"})}
    assert names(outcomes("strict", *made, op("fsyncdir", ""))) == {frozenset({"x", "x/a"})}


def test_two_names_are_one_file() -> None:
    """A link leads to the same data, which may be missing under both names."""
    linked = (
        op("create", "a"),
        op("write", "a", data=b"1"),
        op("link", "a", "b"),
        op("unlink", "a"),
        op("fsyncdir", ""),
    )
    assert {each["b"] for each in outcomes("strict", *linked)} == {b"", b"\0", b"1"}
    assert outcomes("strict", *linked, op("fsync", "b")) == [{"b": b"1"}]


def test_between_directories_nothing_is_renamed() -> None:
    """The model has no rename from one directory to another, and says so."""
    with pytest.raises(AssertionError, match="between directories"):
        outcomes("strict", op("rename", "x/a", "b"), there={"x": None, "x/a": b""})
