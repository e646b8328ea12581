"""How a file gets onto the tree: whole or not at all.

Vocabulary:
  publish     make a file appear whole: temporary name in its own directory, write, check, (fsync), rename
  claim       the same with link() in place of rename(): the first one wins, and a name once taken stays taken
  temporary   `.<name>.<machine>.<pid>-<n>.tmp`; it tells whose it is, so that the dead's can be reaped

Promise: a file that has its final name is whole, whatever is killed when. An OSError is a TreeError with the path and
the advice (see `errors.tree_error`).
"""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path

from fscrawl.errors import tree_error

_counter = itertools.count()


class translated:  # noqa: N801 - reads as what it is, a `with` word
    """Inside `with translated(path):` an OSError becomes the TreeError for that path."""

    __slots__ = ("_path",)  # a class and not a generator: it stands on the way of every page

    def __init__(self, path: str | Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise tree_error(error, self._path) from error


def publish(path: str | Path, data: bytes, machine: str, *, fsync: bool = False) -> None:
    """Make `path` appear with `data`, whole; an existing file is replaced. The directory must exist."""
    path = os.fspath(path)
    with translated(path):
        temporary = _write_temporary(path, data, machine, fsync=fsync)
        try:
            os.rename(temporary, path)
        except OSError:
            _discard(temporary)
            raise


def claim(path: str | Path, data: bytes, machine: str, *, fsync: bool = False) -> bool:
    """Make `path` appear with `data` if nobody was first; tell whether it now holds `data`.

    A retransmitted link() can report EEXIST for its own success, so what is there is read back.
    """
    path = os.fspath(path)
    with translated(path):
        temporary = _write_temporary(path, data, machine, fsync=fsync)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return read_file(path) == data
        finally:
            _discard(temporary)
        return True


def _write_temporary(path: str, data: bytes, machine: str, *, fsync: bool) -> str:
    directory, name = os.path.split(path)
    temporary = f"{directory}/.{name}.{machine}.{os.getpid()}-{next(_counter)}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            write_all(descriptor, data)
            if fsync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)  # a full disk may show only here
        if os.stat(temporary).st_size != len(data):
            raise OSError(0, "a file came out shorter than what was written")
    except OSError:
        _discard(temporary)
        raise
    return temporary


def write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):  # a short write is no error, only an invitation to go on
        written += os.write(descriptor, data[written:])


def _discard(temporary: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(temporary)


def read_file(path: str) -> bytes:
    """Read a whole file; OSError as it is."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # half the calls of open().read()
    try:
        size = os.fstat(descriptor).st_size
        data = os.read(descriptor, size + 1)
        if len(data) != size:  # it grew, or the size was an old one
            while more := os.read(descriptor, 1 << 20):
                data += more
        return data
    finally:
        os.close(descriptor)


def temporary_owner(name: str) -> str | None:
    """Give the machine that was writing the temporary `name`, or None if it is not a temporary.

    >>> temporary_owner(".599370d5687c3fd078c314ad.html.host-7-ab12.31-0.tmp")
    'host-7-ab12'
    >>> temporary_owner("599370d5687c3fd078c314ad.html") is None
    True
    """
    if not (name.startswith(".") and name.endswith(".tmp")):
        return None
    return name[:-4].rpartition(".")[0].rpartition(".")[2] or None


def remove(path: str) -> None:
    """Remove a file that may be gone already: an error healed, a dead machine's temporary."""
    with translated(path), contextlib.suppress(FileNotFoundError):
        os.unlink(path)
