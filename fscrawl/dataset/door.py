"""The one door to the files of a dataset: others may write into its directory, as into a tree (`storage.safe_open`).

Where a file or a directory should be, they may put a symbolic link to something else, a FIFO that nobody writes to, a
device, or 30 GB of nothing. None is followed, waited for, or read.

Promise: what is opened is a regular file below the dataset's directory; what is removed or renamed has its name there.
Paths that are given here lead to what is open, by its descriptor: links that appear later do not matter.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

from fscrawl.storage.atomic import make_directory, read_file
from fscrawl.storage.safe_open import Place, look_at, open_directory, open_to_append, open_to_read

MOST_TEXT_BYTES = 64 << 20  # of a file that is read whole: a manifest of 250,000 parts
_MOST_DEPTH = 3  # a merge makes directories in directories, and no deeper ones
Kind = Literal["directory", "file", "other"]


def _place(root: Path, name: str) -> Place:
    return Place(str(root), name)


@contextlib.contextmanager
def beside(root: Path, name: str) -> Iterator[Path]:
    """Give a path of a file in its directory, which is open meanwhile. An OSError has the file's own path."""
    above, _, leaf = name.rpartition("/")
    try:
        with open_directory(_place(root, above)) as here:
            yield Path(here, leaf)
    except OSError as error:
        if error.filename is None or os.fspath(error.filename).startswith("/proc/"):
            error.filename = f"{root}/{name}"
        raise


@contextlib.contextmanager
def reading(root: Path, name: str, most: int | None = None) -> Iterator[Path]:
    """Open a file, and give a path for whatever library reads it. Raises OSError. `most`: bytes that it may have."""
    with beside(root, name) as path:
        descriptor, _ = open_to_read(path, most)
    try:
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def read(root: Path, name: str, most: int = MOST_TEXT_BYTES) -> bytes:
    """Read a small file. Raises OSError."""
    with beside(root, name) as path:
        return read_file(path, most)


def size(root: Path, name: str) -> int | None:
    """Give a file's size; None if there is no such file. Raises OSError."""
    try:
        found = look_at(_place(root, name))
    except FileNotFoundError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def open_lock(root: Path, name: str) -> int:
    """Open a file that is there to be locked, and make it if it is missing. Raises OSError."""
    descriptor, _ = open_to_append(_place(root, name), os.O_CREAT)
    return descriptor


def make_folder(root: Path, name: str) -> None:
    """Make a directory, and those above it but the dataset's own. Raises OSError."""
    names = name.split("/") if name else []
    for depth in range(1, len(names) + 1):
        make_directory(_place(root, "/".join(names[:depth])))


def listed(root: Path, folder: str) -> dict[str, Kind]:
    """List a directory, sorted by name; nothing if it is not there. "": the dataset's own."""
    try:
        with beside(root, f"{folder}/") as here, os.scandir(here) as entries:
            return {entry.name: _kind(entry) for entry in sorted(entries, key=lambda entry: entry.name)}
    except FileNotFoundError:
        return {}


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def files(root: Path, folder: str) -> Iterator[str]:
    """Yield what is below a directory and is none itself; nothing if it is not there."""
    for leaf, kind in listed(root, folder).items():
        name = f"{folder}/{leaf}"
        if kind == "directory":
            yield from files(root, name)
        else:
            yield name


def planted(root: Path, names: Collection[str]) -> Iterator[str]:
    """Yield what no merge makes, among what has these names in the dataset's directory, and below that.

    Links, FIFOs, sockets, devices, and directories that lie deep.
    """
    waiting = [(leaf, kind) for leaf, kind in listed(root, "").items() if leaf in names]
    while waiting:
        name, kind = waiting.pop()
        if kind == "directory" and name.count("/") < _MOST_DEPTH:
            waiting += [(f"{name}/{leaf}", kind) for leaf, kind in listed(root, name).items()]
        elif kind != "file":
            yield name
