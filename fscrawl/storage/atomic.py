"""Files that appear whole or not at all.

Vocabulary:
  publish     make a file appear whole: write it under a temporary name, check it, (fsync), rename it
  claim       the same with link() in place of rename(): the first machine wins, and the name stays taken
  temporary   `.<name>.<machine>.<pid>-<n>.tmp`, in the directory of the file. It names the machine that was writing it,
              so that those of dead machines can be removed. A long name is cut; the rest is always whole

Promise: a file that has its final name is whole, even if a process is killed at any moment. An OSError is raised as a
TreeError with the path and the advice (see `errors.tree_error`), unless a function says otherwise.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from fscrawl.errors import TreeError, tree_error
from fscrawl.storage.layout import LONGEST_NAME_BYTES
from fscrawl.storage.permissions import Access, share_file
from fscrawl.storage.retrying import BRIEF, Retrying

_END_BYTES = 64  # by which a large file is known again: it ends with a digest
_counter = itertools.count()


class translated:  # noqa: N801 - reads as what it is, a `with` word
    """Inside `with translated(path):` an OSError becomes the TreeError for that path."""

    __slots__ = ("_path",)  # a class, which is faster than a generator

    def __init__(self, path: str | Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise tree_error(error, self._path) from error


def publish(path: str | Path, data: bytes, machine: str, *, fsync: bool = False, retrying: Retrying = BRIEF) -> None:
    """Make `path` appear with `data`, whole; an existing file is replaced. The directory must exist.

    `fsync`: file and name are on the disk when this returns.
    """
    path = os.fspath(path)
    temporary = _temporary(path, machine)

    def rename_once() -> None:
        try:
            os.rename(temporary, path)
        except FileNotFoundError:
            if not _holds(path, data):  # a rename that was sent twice does not find its file
                raise

    try:
        retrying(path, lambda: _write(temporary, data, fsync=fsync))
        retrying(path, rename_once)
        if fsync:
            retrying(path, lambda: sync_directory(os.path.dirname(path)))
    except TreeError:
        _discard(temporary)
        raise


def publish_chunks(
    path: str | Path,
    make: Callable[[], Iterable[bytes]],
    machine: str,
    *,
    fsync: bool = False,
    retrying: Retrying = BRIEF,
) -> int:
    """Do what `publish` does with data that is too large for memory; return how many bytes it has.

    `make`: gives the data, in chunks. It is called again, and must give the same, if writing has to begin anew.
    """
    path = os.fspath(path)
    temporary = _temporary(path, machine)
    size, end = 0, b""

    def write_once() -> tuple[int, bytes]:
        return _write_chunks(temporary, make(), fsync=fsync)

    def rename_once() -> None:
        try:
            os.rename(temporary, path)
        except FileNotFoundError:
            if not _ends_with(path, size, end):  # a rename that was sent twice does not find its file
                raise

    try:
        size, end = retrying(path, write_once)
        retrying(path, rename_once)
        if fsync:
            retrying(path, lambda: sync_directory(os.path.dirname(path)))
    except BaseException:  # `make` may raise anything
        _discard(temporary)
        raise
    return size


def claim(
    path: str | Path,
    data: bytes,
    machine: str,
    *,
    fsync: bool = False,
    retrying: Retrying = BRIEF,
    root: Access | None = None,
) -> bool:
    """Make `path` appear with `data` if no other machine was first; tell whether it now holds `data`.

    `root`: whose group the file gets; None if its directory sees to that.

    A link() that was sent twice can report EEXIST for its own success. On sshfs EPERM says that another machine was
    first. So the file is read back, and machines that must not both win need different `data`.
    """
    path = os.fspath(path)
    temporary = _temporary(path, machine)

    def link_once() -> bool:
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.EPERM):
                raise
            try:
                return read_file(path) == data
            except FileNotFoundError:
                if error.errno == errno.EEXIST:  # a cache still remembers that it was missing
                    raise OSError(errno.EBUSY, "another machine is making it") from error
                raise error from None
        return True

    try:
        # Each step is tried again by itself: after the link, others read the file that the temporary is.
        retrying(path, lambda: _write(temporary, data, fsync=fsync, root=root))
        won = retrying(path, link_once)
        if fsync:
            retrying(path, lambda: sync_directory(os.path.dirname(path)))
    except TreeError:
        _discard(temporary)
        raise
    remove(temporary, retrying)
    return won


def make_directory(path: str) -> bool:
    """Make a directory if it is not there; tell whether this call did. Raises OSError.

    sshfs says EPERM if another machine has made it. On GlusterFS it may be there already and not be found yet; that is
    an error that may pass.
    """
    try:
        os.mkdir(path)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.EPERM):
            raise
        is_directory = _is_directory(path)
        if is_directory is None and error.errno == errno.EEXIST:
            raise OSError(errno.EBUSY, "another machine is making it") from error
        if not is_directory:
            raise
        return False
    return True


def _is_directory(path: str) -> bool | None:
    """Do what os.path.isdir does, but raise faults that may pass. None: there is nothing."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except FileNotFoundError:
        return None


def sync(descriptor: int) -> None:
    """Make what was written to an open file visible to others, and outlive a power loss. Raises OSError.

    If sshfs connects anew just before the call, the server does not know the handle and says ENOENT. That is a stale
    handle, not a missing file, which no open file can be.
    """
    try:
        os.fsync(descriptor)
    except FileNotFoundError as error:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE)) from error


def sync_directory(path: str) -> None:
    """Make the names in a directory outlive a power loss. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):  # some file systems need no such call
            raise
    finally:
        os.close(descriptor)


def _temporary(path: str, machine: str) -> str:
    directory, name = os.path.split(path)
    end = f".{machine}.{os.getpid()}-{next(_counter)}.tmp"
    return f"{directory}/.{_cut(name, LONGEST_NAME_BYTES - 1 - len(end))}{end}"


def _cut(name: str, most: int) -> str:
    """Cut a name to `most` bytes. Of a letter of several bytes, all go or none."""
    data = os.fsencode(name)
    return name if len(data) <= most else data[:most].decode(errors="ignore")


def _write(temporary: str, data: bytes, *, fsync: bool, root: Access | None = None) -> None:
    """Write a temporary. No other process has its name, so there is no O_EXCL: an earlier try may have made it."""
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        if root is not None:
            share_file(descriptor, root)
        write_all(descriptor, data)
        if fsync:
            sync(descriptor)
    finally:
        os.close(descriptor)  # a full disk may show only here
    if os.stat(temporary).st_size != len(data):
        raise OSError(errno.EREMOTEIO, "the file is shorter than what was written")


def _write_chunks(temporary: str, chunks: Iterable[bytes], *, fsync: bool) -> tuple[int, bytes]:
    """Write a temporary; return its size, and its last bytes."""
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    size, end = 0, b""
    try:
        for chunk in chunks:
            write_all(descriptor, chunk)
            size += len(chunk)
            end = (end + chunk[-_END_BYTES:])[-_END_BYTES:]
        if fsync:
            sync(descriptor)
    finally:
        os.close(descriptor)
    if os.stat(temporary).st_size != size:
        raise OSError(errno.EREMOTEIO, "the file is shorter than what was written")
    return size, end


def _ends_with(path: str, size: int, end: bytes) -> bool:
    """Tell whether a file has this size and these last bytes."""
    try:
        found = os.stat(path).st_size
        return found == size and read_range(path, size - len(end), len(end)) == end
    except FileNotFoundError:
        return False


def _holds(path: str, data: bytes) -> bool:
    try:
        return read_file(path) == data
    except FileNotFoundError:
        return False


def write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):  # a short write is no error
        written += os.write(descriptor, data[written:])


def _discard(temporary: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(temporary)


def read_file(path: str) -> bytes:
    """Read a whole file. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # half the calls of open().read()
    try:
        size = os.fstat(descriptor).st_size
        data = os.read(descriptor, size + 1)
        if len(data) != size:  # it has grown, or the size was an old one
            while more := os.read(descriptor, 1 << 20):
                data += more
        return data
    finally:
        close_read(descriptor)


def read_range(path: str, offset: int, length: int) -> bytes:
    """Read a part of a file; less than `length` bytes if it ends before. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.pread(descriptor, length, offset)
        while len(data) < length and (more := os.pread(descriptor, length - len(data), offset + len(data))):
            data += more
        return data
    finally:
        close_read(descriptor)


def close_read(descriptor: int) -> None:
    """Close a file that was only read. An error is ignored, since the data is complete.

    GlusterFS says ESTALE here if the file was replaced meanwhile.
    """
    with contextlib.suppress(OSError):
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


def remove(path: str, retrying: Retrying = BRIEF) -> None:
    """Remove a file, which may be missing."""
    retrying.find(path, lambda: os.unlink(path), None)
