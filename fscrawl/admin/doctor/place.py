"""The directory that holds a tree, or will: what it is mounted from, whether it does what a tree needs, and room."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fscrawl import store
from fscrawl.admin.doctor.mounts import mount_of, remarks
from fscrawl.admin.doctor.said import OK, PROBLEM, WARNING, Said, gib
from fscrawl.admin.probe import probe
from fscrawl.errors import TreeError, tree_error
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.storage.records import FORMAT, TreeRecord
from fscrawl.store import Tree

_MOUNTS = Path("/proc/self/mountinfo")
_LITTLE_BYTES = 1 << 30
_FEW_FILES = 100_000  # 50,000 pages


def holder_of(root: Path) -> Path:
    """Give the directory to look at: the root, or, where it does not exist, the one in which it will be made."""
    return root if root.exists() else root.absolute().parent


def mount(directory: Path, table: Path = _MOUNTS) -> Iterator[Said]:
    try:
        found = mount_of(table.read_text(encoding="utf-8", errors="surrogateescape"), os.path.realpath(directory))
    except OSError:
        found = None
    if found is None:
        yield Said(WARNING, f"{directory}: what it is mounted from cannot be seen here")
    else:
        yield from remarks(found)


def try_out(tree: Tree | None, directory: Path) -> Iterator[Said]:
    """Do what a crawl does at its start; without a tree in one that is made for it, and removed."""
    told: list[str] = []
    try:
        if tree is not None:
            found = probe(tree, told.append)
        else:
            with _Scratch(directory) as scratch:
                found = probe(scratch, told.append)
    except TreeError as error:
        yield Said(PROBLEM, str(error))
        return
    for text in told:
        yield Said(WARNING, text)
    if not told:
        yield Said(
            OK, f"files are linked, replaced and seen as they should be, within {found.append_seen_s * 1e3:.0f} ms"
        )


class _Scratch:
    """A tree of its own inside a directory, for as long as the `with` lasts."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> Tree:
        machine = new_machine_id()
        try:
            self._made = Path(tempfile.mkdtemp(prefix=".fscrawl-doctor-", dir=self._directory))
        except OSError as error:
            raise tree_error(error, self._directory) from error
        try:
            record = TreeRecord(format=FORMAT, crawl="doctor", created_at="", shards=1, fanout=0, partition="host")
            store.create(self._made / "tree", record, "", "", machine)
        except BaseException:
            self.__exit__()
            raise
        return Tree(self._made / "tree", machine)

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._made, ignore_errors=True)


def room(directory: Path) -> Iterator[Said]:
    """Say how much room there is, in bytes and in files; some file systems do not tell the latter."""
    try:
        there = os.statvfs(directory)
    except OSError as error:
        yield Said(PROBLEM, str(tree_error(error, directory)))
        return
    free = there.f_bavail * there.f_frsize
    yield _judged(free, _LITTLE_BYTES, f"{gib(free)} free on {directory}", "free some space")
    if there.f_files:
        advice = "a page is two files; free some, or take a file system with more inodes"
        yield _judged(there.f_favail, _FEW_FILES, f"room for {there.f_favail} more files", advice)


def _judged(number: int, little: int, told: str, advice: str) -> Said:
    return Said(OK, told) if number >= little else Said(WARNING if number else PROBLEM, told, advice)
