"""The files of one tree, by their paths. Knows nothing of pages.

Vocabulary:
  path        relative to the tree's root, as `layout` makes it, or put together of names that were listed
  missing     a file or directory that is not there; it may have been removed a moment ago

Promise: a call that fails for a reason that may pass is made again, within the limits of `retrying`. Every error that
is raised here is a TreeError with the path and the advice.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from fscrawl.storage.append_log import Log, newest, tail
from fscrawl.storage.atomic import (
    claim,
    make_directory,
    publish,
    publish_chunks,
    read_file,
    read_range,
    remove,
    sync,
    sync_directory,
    temporary_owner,
    translated,
    write_all,
)
from fscrawl.storage.layout import TORN, making_path
from fscrawl.storage.permissions import Access, access_of
from fscrawl.storage.retrying import BRIEF, Retrying
from fscrawl.storage.segments import SegmentEnd, SegmentView

_INSTANT_S = 0.02
_REFUSALS = 3  # of a name that is not there: nobody takes it and gives it back so often at the same moment
_OTHERS_TAKE_S = 2.0  # to make a directory


class TreeFiles:
    """One process's access to the files below a root; cheap to make, safe to share between threads.

    machine     whose name the temporaries have
    fsync       whether what is published must be on the disk, too
    retrying    how long a call is made again
    umask       what `take_umask` has set; None: the process has its own
    """

    def __init__(self, root: Path, machine: str, *, fsync: bool = False, retrying: Retrying = BRIEF) -> None:
        self.root = root
        self.machine = machine
        self.fsync = fsync
        self.retrying = retrying
        self.umask: int | None = None
        self._prefix = f"{root}/"

    def absolute(self, path: str) -> str:
        return f"{self._prefix}{path}"

    def take_umask(self, umask: int | None = None) -> None:
        """Make all that this process makes as open as the root, whatever the umask of its user is.

        It is the umask of the whole process. `umask`: for a process that knows it already.
        """
        root = str(self.root)
        self.umask = self.retrying(root, lambda: access_of(root)).umask if umask is None else umask
        os.umask(self.umask)

    # -- reading

    def access(self, path: str = "") -> Access | None:
        """Tell who may do what with a file or directory; None if it is missing."""
        path = f"{self._prefix}{path}"
        return self.retrying.find(path, lambda: access_of(path), None)

    def may_write(self, path: str) -> bool:
        """Tell whether this user may make files in a directory."""
        return os.access(f"{self._prefix}{path}", os.W_OK | os.X_OK)

    def exists(self, path: str) -> bool:
        """Ask by name whether a file is there."""
        path = f"{self._prefix}{path}"
        return self.retrying.find(path, lambda: os.stat(path), None) is not None

    def read(self, path: str) -> bytes | None:
        """Read a file; None if it is missing."""
        path = f"{self._prefix}{path}"
        return self.retrying.find(path, lambda: read_file(path), None)

    def get(self, path: str) -> bytes:
        """Read a file that should be there. sshfs misses a name for an instant while it is being replaced."""
        data = self.read(path)
        if data is not None:
            return data
        time.sleep(_INSTANT_S)
        path = f"{self._prefix}{path}"
        return self.retrying(path, lambda: read_file(path))

    def read_range(self, path: str, offset: int, length: int) -> bytes | None:
        """Read a part of a file; less than `length` bytes if it ends before, None if it is missing."""
        path = f"{self._prefix}{path}"
        return self.retrying.find(path, lambda: read_range(path, offset, length), None)

    def tail(self, path: str, offset: int, most: int | None = None) -> bytes:
        """Read a log's whole lines from `offset`, at most `most` bytes; b"" if there are none, or it is missing."""
        return tail(f"{self._prefix}{path}", offset, most, self.retrying)

    def newest(self, path: str, offset: int, most: int) -> tuple[bytes, int]:
        """Read a log's newest whole lines from `offset`, about `most` bytes; return them and the offset behind."""
        return newest(f"{self._prefix}{path}", offset, most, self.retrying)

    def size(self, path: str) -> int:
        """Give the size of a file; 0 if it is missing."""
        path = f"{self._prefix}{path}"
        return self.retrying.find(path, lambda: os.stat(path).st_size, 0)

    def size_if_there(self, path: str) -> int | None:
        """Give the size of a file; None if it is missing."""
        path = f"{self._prefix}{path}"
        return self.retrying.find(path, lambda: os.stat(path).st_size, None)

    def names(self, path: str = "") -> list[str]:
        """List the names in a directory; none if it is missing."""
        path = f"{self._prefix}{path}" if path else str(self.root)
        return self.retrying.find(path, lambda: os.listdir(path), [])

    def entries(self, path: str) -> list[tuple[str, str]]:
        """List a directory with kinds: (name, "file" | "directory" | "other"); none if it is missing."""
        path = f"{self._prefix}{path}"
        return self.retrying.find(path, lambda: _scan(path), [])

    def temporaries(self, directories: Iterable[str]) -> list[tuple[str, str]]:
        """List the temporaries in some directories: (path, machine that was writing it)."""
        named = [
            (f"{directory}/{name}" if directory else name, temporary_owner(name))
            for directory in directories
            for name in self.names(directory)
        ]
        return [(path, owner) for path, owner in named if owner is not None]

    def free_bytes(self) -> int:
        """Tell what is free on the file system for users other than root."""
        found = self.retrying(self.root, lambda: os.statvfs(self.root))
        return found.f_bavail * found.f_frsize

    # -- writing

    def publish(self, path: str, data: bytes) -> None:
        """Make a file appear whole; an existing one is replaced. Its directory must exist."""
        publish(f"{self._prefix}{path}", data, self.machine, fsync=self.fsync, retrying=self.retrying)

    def publish_chunks(self, path: str, make: Callable[[], Iterable[bytes]], *, fsync: bool = True) -> int:
        """Make a large file appear whole; return its size. `make` gives its data in chunks, again if need be."""
        fsync = fsync or self.fsync
        return publish_chunks(f"{self._prefix}{path}", make, self.machine, fsync=fsync, retrying=self.retrying)

    def claim(self, path: str, data: bytes, *, fsync: bool = False) -> bool:
        """Make a file appear if no other machine was first; tell whether it now holds `data`."""
        fsync = fsync or self.fsync
        return claim(f"{self._prefix}{path}", data, self.machine, fsync=fsync, retrying=self.retrying)

    def log(self, path: str) -> Log:
        """Open a log for appending; it is made if it is missing."""
        return Log(f"{self._prefix}{path}", self.retrying)

    def segment_view(self, path: str) -> SegmentView | None:
        """Open a segment of a log for reading; None if it is missing."""
        return SegmentView.open(f"{self._prefix}{path}", self.retrying)

    def segment_end(self, path: str) -> SegmentEnd:
        """Open a segment of a log for appending; it and its directory are made if they are missing.

        Raises OSError: an append that failed must not be made again.
        """
        return SegmentEnd(f"{self._prefix}{path}")

    def take_name(self, path: str) -> bool:
        """Make an empty file; tell whether the name was free. After a lost reply it is not free, though nobody has it.

        Such a file has one owner only if O_EXCL works. Where it does not, every name is free.
        """
        path = f"{self._prefix}{path}"
        return self.retrying(path, lambda: _take_name(path))

    def append_line(self, path: str, data: bytes) -> None:
        """Append to a file that people edit, too, in one write. Not tried again: the lines must not come twice."""
        path = f"{self._prefix}{path}"
        with translated(path):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                write_all(descriptor, data)
                sync(descriptor)
            finally:
                os.close(descriptor)

    def make_directory(self, path: str) -> None:
        """Make a directory if it is missing. The one above it must exist."""
        path = f"{self._prefix}{path}"

        def make_once() -> None:
            make_directory(path)
            if self.fsync:
                sync_directory(os.path.dirname(path))

        self.retrying(path, make_once)

    def make_directory_alone(self, path: str) -> None:
        """Make a directory that other machines may be making at this moment: one makes it, the others wait for it.

        Replicated GlusterFS leaves a directory broken if several clients make it at once. A machine that is killed
        meanwhile leaves the file that it has taken; then the others wait for a while, and make the directory.
        """
        making = making_path(path)
        until = time.monotonic() + (0.0 if self.take_name(making) else _OTHERS_TAKE_S)
        while time.monotonic() < until:
            if not self.exists(making):  # the directory itself may be there on one replica only
                return
            time.sleep(_INSTANT_S)
        self.make_directory(path)
        self.remove(making)

    def remove(self, path: str) -> None:
        """Remove a file; it may be missing."""
        remove(f"{self._prefix}{path}", self.retrying)

    def set_aside(self, path: str) -> None:
        """Rename a page's file to `<name>.torn`, so that it counts as no page any more; it may be missing."""
        path = f"{self._prefix}{path}"
        self.retrying.find(path, lambda: os.rename(path, path + TORN), None)


def _take_name(path: str) -> bool:
    """Make an empty file; tell whether the name was free.

    sshfs says EPERM if another machine has the name; by now that machine may have given it back.
    """
    refusals = 0
    while True:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        except FileExistsError:
            return False
        except PermissionError as error:
            if error.errno == errno.EPERM and os.path.exists(path):
                return False
            refusals += 1
            if error.errno != errno.EPERM or refusals == _REFUSALS:
                raise
        else:
            return True


def _scan(path: str) -> list[tuple[str, str]]:
    with os.scandir(path) as found:
        return [(entry.name, _kind(entry)) for entry in found]


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_file():
        return "file"
    return "directory" if entry.is_dir() else "other"
