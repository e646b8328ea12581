"""Files that appear whole or not at all.

Vocabulary:
  publish     make a file appear whole: write it under a temporary name, check it, (fsync), rename it
  claim       the same with link() in place of rename(): the first machine wins, and the name stays taken
  temporary   the file that is written and then gets its name (see `temporary`)

Promise: a file that has its final name is whole, even if a process is killed at any moment. An OSError is raised as a
TreeError with the path and the advice (see `errors.tree_error`), unless a function says otherwise.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator

from fscrawl.errors import UnfitFileError
from fscrawl.storage.permissions import Access
from fscrawl.storage.retrying import BRIEF, Retrying
from fscrawl.storage.safe_open import (
    AnyPath,
    Place,
    limit_of,
    look_at,
    name_of,
    no_directory,
    open_parent,
    open_to_read,
    too_large,
)
from fscrawl.storage.temporary import Temporary, set_directory_aside

_MORE_BYTES = 1 << 20  # of a file that grows while it is read
_END_BYTES = 64  # by which a large file is known again: it ends with a digest


def publish(path: AnyPath, data: bytes, machine: str, *, fsync: bool = False, retrying: Retrying = BRIEF) -> None:
    """Make `path` appear with `data`, whole; an existing file is replaced. The directory must exist.

    `fsync`: file and name are on the disk when this returns.
    """
    _publish(
        path,
        lambda descriptor: _write(descriptor, data, fsync=fsync),
        lambda: _holds(path, data),
        machine,
        fsync=fsync,
        retrying=retrying,
    )


def publish_chunks(
    path: AnyPath,
    make: Callable[[], Iterable[bytes]],
    machine: str,
    *,
    fsync: bool = False,
    retrying: Retrying = BRIEF,
) -> int:
    """Do what `publish` does with data that is too large for memory; return how many bytes it has.

    `make`: gives the data, in chunks. It is called again, and must give the same, if writing has to begin anew.
    """
    size, end = 0, b""

    def fill(descriptor: int) -> int:
        nonlocal size, end
        size, end = _write_chunks(descriptor, make(), fsync=fsync)
        return size

    _publish(path, fill, lambda: _ends_with(path, size, end), machine, fsync=fsync, retrying=retrying)
    return size


def _publish(
    path: AnyPath,
    fill: Callable[[int], int],
    is_there: Callable[[], bool],
    machine: str,
    *,
    fsync: bool,
    retrying: Retrying,
) -> None:
    """`fill`: writes to an open file, and gives its size. `is_there`: tells whether `path` has what it wrote."""
    with Temporary(path, machine) as temporary:

        def rename_once() -> None:
            try:
                temporary.rename()
            except FileNotFoundError:
                if not is_there():  # a rename that was sent twice does not find its file
                    raise

        retrying(path, lambda: temporary.write(fill))
        retrying(path, rename_once)
        if fsync:
            retrying(path, lambda: sync_directory_of(path))


def claim(
    path: AnyPath,
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
    with Temporary(path, machine) as temporary:
        # Each step is tried again by itself: after the link, others read the file that the temporary is.
        retrying(path, lambda: temporary.write(lambda descriptor: _write(descriptor, data, fsync=fsync), root))
        won = retrying(path, lambda: _link(temporary, path, data))
        if fsync:
            retrying(path, lambda: sync_directory_of(path))
        retrying(path, temporary.remove)
    return won


def _link(temporary: Temporary, path: AnyPath, data: bytes) -> bool:
    """Give the temporary the name of its file; tell whether that now holds `data`. Raises OSError."""
    try:
        temporary.link()
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.EPERM):
            raise
        try:
            return read_file(path, len(data)) == data
        except UnfitFileError:
            return False  # somebody has put something else there, or it is longer
        except FileNotFoundError:
            if error.errno == errno.EEXIST:  # a cache still remembers that it was missing
                raise OSError(errno.EBUSY, "another machine is making it") from error
            raise error from None
    return True


def make_directory(path: AnyPath) -> bool:
    """Make a directory if it is not there; tell whether this call did. Raises OSError.

    sshfs says EPERM if another machine has made it. On GlusterFS it may be there already and not be found yet; that is
    an error that may pass. A path that is no place in a tree may be a link to a directory.
    """
    try:
        _mkdir(path)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.EPERM):
            raise
        is_there = _is_directory(path)
        if is_there is None and error.errno == errno.EEXIST:
            raise OSError(errno.EBUSY, "another machine is making it") from error
        if is_there is False and isinstance(path, Place):
            raise no_directory(path.root, path.path) from error
        if not is_there:
            raise
        return False
    return True


def _mkdir(path: AnyPath) -> None:
    if not isinstance(path, Place):
        os.mkdir(path)
        return
    with open_parent(path) as here:
        os.mkdir(f"{here}/{name_of(path)}")


def _is_directory(path: AnyPath) -> bool | None:
    """Do what os.path.isdir does, but follow no link in a tree, and raise faults that may pass. None: it is missing."""
    try:
        found = look_at(path) if isinstance(path, Place) else os.stat(path)
        return stat.S_ISDIR(found.st_mode)
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


def flush(descriptor: int) -> None:
    """Make what was written to an open file visible to others. Raises OSError.

    On a file server, to close one of two descriptors of a file sends all that was written to it. A local disk is not
    waited for.
    """
    os.close(os.dup(descriptor))


def sync_directory_of(path: AnyPath) -> None:
    """Make the name of a file, and all others in its directory, outlive a power loss. Raises OSError."""
    with open_parent(path) as here:
        sync_directory(here)


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


def _write(descriptor: int, data: bytes, *, fsync: bool) -> int:
    """Write to an open file; return its size."""
    write_all(descriptor, data)
    if fsync:
        sync(descriptor)
    return len(data)


def _write_chunks(descriptor: int, chunks: Iterable[bytes], *, fsync: bool) -> tuple[int, bytes]:
    """Write to an open file; return its size, and its last bytes."""
    size, end = 0, b""
    for chunk in chunks:
        write_all(descriptor, chunk)
        size += len(chunk)
        end = (end + chunk[-_END_BYTES:])[-_END_BYTES:]
    if fsync:
        sync(descriptor)
    return size, end


def _ends_with(path: AnyPath, size: int, end: bytes) -> bool:
    """Tell whether a file has this size and these last bytes."""
    try:
        found = look_at(path).st_size
        return found == size and read_range(path, size - len(end), len(end)) == end
    except FileNotFoundError:
        return False


def _holds(path: AnyPath, data: bytes) -> bool:
    try:
        return read_file(path, len(data)) == data
    except (FileNotFoundError, UnfitFileError):
        return False


def write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):  # a short write is no error
        written += os.write(descriptor, data[written:])


def read_file(path: AnyPath, most: int | None = None) -> bytes:
    """Read a whole file, of at most `most` bytes. Raises OSError."""
    descriptor, size = open_to_read(path, most)  # half the calls of open().read()
    try:
        data = os.read(descriptor, size + 1)
        if len(data) != size:  # it has grown, or the size was an old one
            most = limit_of(path, most)
            while more := os.read(descriptor, _MORE_BYTES):
                data += more
                if most is not None and len(data) > most:
                    raise too_large(path, len(data), most)
        return data
    finally:
        close_read(descriptor)


def read_range(path: AnyPath, offset: int, length: int) -> bytes:
    """Read a part of a file; less than `length` bytes if it ends before. Raises OSError."""
    with opened(path) as (descriptor, _):
        return read_at(descriptor, offset, length)


def read_at(descriptor: int, offset: int, length: int) -> bytes:
    """Read a part of an open file; less than `length` bytes if it ends before. Raises OSError."""
    data = os.pread(descriptor, length, offset) if length > 0 else b""
    while 0 < len(data) < length and (more := os.pread(descriptor, length - len(data), offset + len(data))):
        data += more
    return data


def stamp_of(path: AnyPath) -> tuple[int, float]:
    """Give a file's size, and when it was changed last. Raises OSError.

    As whoever opens it sees them: sshfs shows older ones by name.
    """
    with opened(path) as (descriptor, size):
        return size, os.fstat(descriptor).st_mtime


@contextlib.contextmanager
def opened(path: AnyPath) -> Iterator[tuple[int, int]]:
    """Open a file for reading; give its descriptor and its size. Raises OSError."""
    descriptor, size = open_to_read(path)
    try:
        yield descriptor, size
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

    >>> temporary_owner(".599370d5687c3fd078c314ad.html.host-7-ab12.5a0c66e2b9f1d374.tmp")
    'host-7-ab12'
    >>> temporary_owner("599370d5687c3fd078c314ad.html") is None
    True
    """
    if not (name.startswith(".") and name.endswith(".tmp")):
        return None
    return name[:-4].rpartition(".")[0].rpartition(".")[2] or None


def remove(path: AnyPath, retrying: Retrying = BRIEF) -> None:
    """Remove a file, which may be missing. A link is removed itself; a directory in its place is set aside."""

    def remove_once() -> None:
        with open_parent(path) as here:
            try:
                os.unlink(f"{here}/{name_of(path)}")
            except OSError:
                if not set_directory_aside(here, name_of(path)):
                    raise

    retrying.find(path, remove_once, None)
