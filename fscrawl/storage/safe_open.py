"""How files and directories of a tree are opened: whatever stands there may have been planted.

Others may write into the tree. Where a file of the crawl should be, they may put a symbolic link to a private file, a
FIFO that nobody writes to, a device, a directory, or a file of 50 GB. None may be followed, waited for, or read.

Vocabulary:
  place      a path in a tree: the root, and a path below it. The root may be, or lie behind, a symbolic link: the user
             has named it. Nothing below it may
  planted    what is there, and is no file or directory that fscrawl makes. It is an `UnfitFileError`
  here       a path to the open parent directory of a place, by its descriptor. Links that appear later do not matter

Promise: each file is opened without following a link, without waiting, and is a regular file of at most its kind's size
(`kinds`). Each directory of its path is opened by its name in the one above it. This costs no further request on a
network file system: to open a directory with O_PATH is the look-up that the path of a file in it takes, and what fstat
tells came with the answer to open. On a local disk a file takes 10 µs, and 6 µs without these steps.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import msgspec

from fscrawl.errors import UnfitDirectoryError, UnfitFileError
from fscrawl.storage.kinds import most_bytes
from fscrawl.storage.layout import DIRECTORIES

_OPEN = "/proc/self/fd/"
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_DIRECTORY = "a part of the path is a file or a link, not a directory; remove it"
_NOT_A_TOP_DIRECTORY = (
    "it is a file or a symbolic link, and must be a directory; to keep what is in it on another disk, mount that there"
    " (mount --bind)"
)
_SECOND_NAME = "the file has a second name (a hard link), so it may be somebody's private one; put a copy in its place"
_OF_PEOPLE = (".toml", ".txt")
_WHAT = {
    errno.ELOOP: "it is a symbolic link, and none is followed inside a crawl; put a file in its place, or remove it",
    errno.ENXIO: "it is a FIFO, a socket or a device, not a file; remove it",
    errno.ENODEV: "it is a device, not a file; remove it",
    errno.EISDIR: "it is a directory, not a file; remove it",
    errno.EACCES: "permission denied; fscrawl must be able to read there, and to write if it changes something",
}


class Place(msgspec.Struct, frozen=True):
    """A file or directory below a root. `path`: names with slashes between, relative to the root."""

    root: str
    path: str

    def __fspath__(self) -> str:
        return f"{self.root}/{self.path}" if self.path else self.root

    def __str__(self) -> str:
        return self.__fspath__()


AnyPath = str | Path | Place
"""A place in a tree; or the path of a file elsewhere, whose directories may be links."""


def name_of(path: AnyPath) -> str:
    """Give a path's last name; UnfitFileError for one that no file has."""
    above, _, name = os.fspath(path).rpartition("/")
    if name == ".." or "\0" in name:
        raise UnfitFileError(errno.EINVAL, "no name of a file in a crawl", f"{above}/{name!a}")
    return name


class open_directory:  # noqa: N801 - reads as what it is, a `with` word
    """`with open_directory(path) as here:` opens a directory of the tree, and gives a path to it. Raises OSError.

    An UnfitFileError if a link or a file stands where a directory should be, an UnfitDirectoryError for the tree's own.
    """

    __slots__ = ("_descriptor", "_path")  # a class, which is faster than a generator

    def __init__(self, path: AnyPath) -> None:
        self._path = path
        self._descriptor = -1

    def __enter__(self) -> str:
        if not isinstance(self._path, Place):
            return os.fspath(self._path)
        self._descriptor = _walk(self._path)
        return f"{_OPEN}{self._descriptor}"

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            _close(self._descriptor)


def open_parent(path: AnyPath) -> open_directory:
    """Do what `open_directory` does for the directory that a file or directory is in; that of the root is the root."""
    if isinstance(path, Place):
        return open_directory(Place(path.root, path.path.rpartition("/")[0]))
    return open_directory(os.path.dirname(os.fspath(path)) or ".")


def _walk(place: Place, most_names: int | None = None) -> int:
    """Open a directory below a root, one name after the other. `most_names`: of its path, from the first on."""
    names = place.path.split("/") if place.path else []
    if ".." in names or "\0" in place.path:
        raise UnfitFileError(errno.EINVAL, "no name of a file in a crawl", f"{place.root}/{place.path!a}")
    descriptor = os.open(place.root, _DIRECTORY)
    for depth, name in enumerate(names[:most_names], 1):
        try:
            below = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                raise no_directory(place.root, "/".join(names[:depth])) from error
            raise
        finally:
            _close(descriptor)
        descriptor = below
    return descriptor


def _open(path: AnyPath, flags: int, but: int = 0) -> int:
    """Open a file of any path. Raises OSError: an UnfitFileError for what is no file. `but`: not for this error."""
    above = _walk(path, -1) if isinstance(path, Place) else None
    name = path.path.rpartition("/")[2] or "." if isinstance(path, Place) else path
    try:
        return os.open(name, flags, 0o666, dir_fd=above)
    except OSError as error:
        what = _WHAT.get(error.errno or 0) if error.errno != but else None
        if what is None:
            raise
        raise UnfitFileError(error.errno, what, os.fspath(path)) from error
    finally:
        if above is not None:
            _close(above)


def _close(descriptor: int) -> None:
    try:  # noqa: SIM105 - suppress() takes longer than the call, and each file needs this
        os.close(descriptor)
    except OSError:
        pass  # nothing was read or written


def no_directory(root: str, path: str) -> OSError:
    """Give the error for what is no directory. Without one of the tree's own, nothing of it can be used."""
    if path in DIRECTORIES:
        return UnfitDirectoryError(errno.ENOTDIR, _NOT_A_TOP_DIRECTORY, f"{root}/{path}")
    return UnfitFileError(errno.ENOTDIR, _NO_DIRECTORY, f"{root}/{path}")


def open_to_read(path: AnyPath, most: int | None = None) -> tuple[int, int]:
    """Open a file; give its descriptor and its size.

    `most`: bytes that it may have; a file of a tree never has more than its kind can have (`kinds.most_bytes`). Raises
    OSError; an UnfitFileError if it is no regular file, is larger, or may not be read. What people write, in the root,
    must not be the second name of a file that others may not read, if others may write there.
    """
    descriptor = _open(path, os.O_RDONLY | _SAFE)
    others = ""
    if isinstance(path, Place) and "/" not in path.path and path.path.endswith(_OF_PEOPLE):
        others = path.root
    return descriptor, _check(descriptor, path, limit_of(path, most), others=others)


def limit_of(path: AnyPath, most: int | None) -> int | None:
    """Give how many bytes a file may have: as its kind, and not more than `most`."""
    if not isinstance(path, Place):
        return most
    of_kind = most_bytes(path.path)
    return of_kind if most is None else min(most, of_kind)


def open_to_append(path: AnyPath, flags: int = 0) -> tuple[int, int]:
    """Open a file for appending; give its descriptor and its size. `flags`: O_CREAT, if it may be missing.

    A file that has a second name may be somebody's, who did not put it there: that is an UnfitFileError, too.
    """
    descriptor = _open(path, os.O_WRONLY | os.O_APPEND | _SAFE | flags, but=errno.EACCES)
    return descriptor, _check(descriptor, path, None, names=1)


def open_to_write(path: AnyPath, flags: int = 0) -> tuple[int, int]:
    """Do the same for writing at any place."""
    descriptor = _open(path, os.O_WRONLY | _SAFE | flags, but=errno.EACCES)
    return descriptor, _check(descriptor, path, None, names=1)


def create(here: str, name: str) -> int:
    """Create a file for writing in a directory; FileExistsError if its name is taken, by a link too."""
    return os.open(f"{here}/{name}", _NEW, 0o666)


def create_beside(path: AnyPath, name: str) -> int:
    """Create a file for writing, of a name that nobody can guess, in the directory of another one.

    FileExistsError if the name is taken.
    """
    if not isinstance(path, Place):
        return create(os.path.dirname(os.fspath(path)) or ".", name)
    above = _walk(path, -1)
    try:
        return os.open(name, _NEW, 0o666, dir_fd=above)
    finally:
        _close(above)


def look_at(path: AnyPath) -> os.stat_result:
    """Tell what has a name, without following it. Raises OSError."""
    if not isinstance(path, Place):
        return os.stat(path, follow_symlinks=False)
    above = _walk(path, -1)
    try:
        return os.stat(path.path.rpartition("/")[2] or ".", dir_fd=above, follow_symlinks=False)
    finally:
        _close(above)


def _check(descriptor: int, path: AnyPath, most: int | None, names: int | None = None, others: str = "") -> int:
    """Give the size of an open file; close it and raise UnfitFileError if it is not fit.

    `names`: so many it may have. `others`: it may have one, if others can write in this directory.
    """
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            code = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.ENXIO
            raise UnfitFileError(code, _WHAT[code], os.fspath(path))
        if most is not None and found.st_size > most:
            raise too_large(path, found.st_size, most)
        if others and found.st_nlink > 1:
            names = 1 if os.stat(others).st_mode & (stat.S_IWGRP | stat.S_IWOTH) else None
        if names is not None and found.st_nlink > names:
            raise UnfitFileError(errno.EMLINK, _SECOND_NAME, os.fspath(path))
    except OSError:
        os.close(descriptor)
        raise
    return found.st_size


def too_large(path: AnyPath, size: int, most: int) -> UnfitFileError:
    """Give the error for a file that is larger than it can be."""
    how = f"it has {size} bytes, and no file of its kind has more than {most}"
    return UnfitFileError(errno.EFBIG, how, os.fspath(path))
