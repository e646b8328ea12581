"""Checks of the directory for the tree: its mount, whether its file system does what a tree needs, its free space."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fscrawl import interrupts, store
from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult
from fscrawl.admin.doctor.file_systems import NFS, known
from fscrawl.admin.doctor.space import FEW_FILES, LITTLE_BYTES
from fscrawl.admin.probe import probe
from fscrawl.errors import TreeError, tree_error
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.storage.mounts import TABLE, Mount
from fscrawl.storage.records import FORMAT, TreeRecord, new_machinery
from fscrawl.store import Tree
from fscrawl.util.humanize import number_of, size


def holder_of(root: Path) -> Path:
    """Give the directory to check: the root, or its parent if the root does not exist yet."""
    try:
        return root if root.exists() else root.absolute().parent
    except OSError as error:  # a directory above may not be entered, or a name is too long
        raise tree_error(error, root) from None


def mount(directory: Path, found: Mount | None) -> Iterator[CheckResult]:
    """Say what is known of the mount."""
    if found is None:
        yield CheckResult(WARNING, f"{directory}: the mount cannot be found in {TABLE}")
    else:
        yield from remarks(found)


def remarks(mount: Mount) -> Iterator[CheckResult]:
    """Say what is known about a mount of this kind with these options."""
    mounted = f"{mount.point} is {mount.kind} of {mount.source}"
    if "ro" in mount.options:
        yield CheckResult(PROBLEM, f"{mounted}, mounted read-only", "mount it read-write")
    else:
        found = known(mount.kind, mount.source)
        yield CheckResult(found.level, f"{mounted}: {found.what}", found.advice)
    if mount.kind in NFS and "soft" in mount.options:
        what = "it is mounted with the option soft, so writes fail when the server is slow"
        yield CheckResult(WARNING, what, "mount it with the option hard")


def try_out(tree: Tree | None, directory: Path) -> Iterator[CheckResult]:
    """Try the operations that a crawl needs. Without a tree, a temporary one is made and removed."""
    problems: list[str] = []
    try:
        if tree is not None:
            found = probe(tree, problems.append)
        else:
            with interrupts.later(), _Scratch(directory) as scratch:
                found = probe(scratch, problems.append)
    except TreeError as error:
        yield CheckResult(PROBLEM, str(error))
        return
    for text in problems:
        yield CheckResult(WARNING, text)
    if not problems:
        yield CheckResult(
            OK, f"the file system does what a tree needs; new data is visible within {found.append_seen_s * 1e3:.0f} ms"
        )


class _Scratch:
    """A temporary tree inside a directory, removed at the end of the `with`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> Tree:
        machine = new_machine_id()
        try:
            self._made = Path(tempfile.mkdtemp(prefix=".fscrawl-doctor-", dir=self._directory))
        except OSError as error:
            raise tree_error(error, self._directory) from error
        try:
            record = TreeRecord(FORMAT, "doctor", "", 1, "host", new_machinery())
            store.create(self._made / "tree", record, "", "", machine)
        except BaseException:
            self.__exit__()
            raise
        return Tree(self._made / "tree", machine)

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._made, ignore_errors=True)


def free_space(directory: Path) -> Iterator[CheckResult]:
    """Check the free space, in bytes and in files. Some file systems do not say how many files fit."""
    try:
        there = os.statvfs(directory)
    except OSError as error:
        yield CheckResult(PROBLEM, str(tree_error(error, directory)))
        return
    free = there.f_bavail * there.f_frsize
    yield _judged(free, LITTLE_BYTES, f"{size(free)} free on {directory}", "free some space")
    if there.f_files:
        advice = "a page takes two files; delete some files, or use a file system with more inodes"
        yield _judged(there.f_favail, FEW_FILES, f"space for {number_of(there.f_favail, 'more file')}", advice)


def _judged(number: int, little: int, what: str, advice: str) -> CheckResult:
    return CheckResult(OK, what) if number >= little else CheckResult(WARNING if number else PROBLEM, what, advice)
