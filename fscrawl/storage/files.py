"""The files of one tree, by their paths. Knows nothing of pages.

Vocabulary:
  path        relative to the tree's root, as `layout` makes it, or put together of names that were listed
  missing     a file or directory that is not there; it may have been removed a moment ago

  planted     what is no file or directory that fscrawl makes (see `safe_open`)

Promise: a call that fails for a reason that may pass is made again, within the limits of `retrying`. Every error that
is raised here is a TreeError with the path and the advice. Nothing is read or written through a link, and nothing that
is no regular file is opened: that is a PlantedError. What is planted in place of a directory lists as empty, and in
place of a log as a log without lines.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from fscrawl.errors import PlantedError, tree_error
from fscrawl.storage.append_log import Log, newest, tail
from fscrawl.storage.atomic import (
    claim,
    make_directory,
    publish,
    publish_chunks,
    read_file,
    read_range,
    remove,
    stamp_of,
    sync,
    sync_directory_of,
    temporary_owner,
    write_all,
)
from fscrawl.storage.block_log import LogEnd, LogView
from fscrawl.storage.layout import TORN, making_path
from fscrawl.storage.permissions import Access, access_of
from fscrawl.storage.retrying import BRIEF, Retrying
from fscrawl.storage.safe_open import (
    Place,
    create,
    look_at,
    name_of,
    open_directory,
    open_parent,
    open_to_append,
    open_to_read,
    open_to_write,
)

_INSTANT_S = 0.02
_REFUSALS = 3  # of a name that is not there: nobody takes it and gives it back so often at the same moment
_OTHERS_CREATE_S = 2.0  # to make a directory

T = TypeVar("T")


class TreeFiles:
    """One process's access to the files below a root; cheap to make, safe to share between threads.

    machine     whose name the temporaries have
    fsync       whether what is published must be on the disk, too
    retrying    how long a call is made again
    umask       what `adopt_umask` has set; None: the process has its own
    """

    def __init__(self, root: Path, machine: str, *, fsync: bool = False, retrying: Retrying = BRIEF) -> None:
        self.root = root
        self.machine = machine
        self.fsync = fsync
        self.retrying = retrying
        self.umask: int | None = None
        self._root = str(root)

    def absolute(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _at(self, path: str) -> Place:
        return Place(self._root, path)

    def adopt_umask(self, umask: int | None = None) -> None:
        """Make all that this process makes as open as the root, whatever the umask of its user is.

        It is the umask of the whole process. `umask`: for a process that knows it already.
        """
        root = str(self.root)
        self.umask = self.retrying(root, lambda: access_of(root)).umask if umask is None else umask
        os.umask(self.umask)

    # -- reading

    def access(self, path: str = "") -> Access | None:
        """Tell who may do what with a file or directory; None if it is missing."""
        path = self.absolute(path)
        return self.retrying.find(path, lambda: access_of(path), None)

    def may_write(self, path: str) -> bool:
        """Tell whether this user may make files in a directory."""
        return os.access(self.absolute(path), os.W_OK | os.X_OK)

    def exists(self, path: str) -> bool:
        """Ask by name whether something is there, whatever it is."""
        return self._look_at(path) is not None

    def is_file(self, path: str) -> bool:
        """Ask by name whether a file is there. What is planted is none."""
        found = self._look_at(path)
        return found is not None and stat.S_ISREG(found.st_mode)

    def _look_at(self, path: str) -> os.stat_result | None:
        place = self._at(path)
        try:
            return self.retrying.find(place, lambda: look_at(place), None)
        except PlantedError:  # in place of a directory above it
            return None

    def read(self, path: str, most: int | None = None) -> bytes | None:
        """Read a file; None if it is missing, PlantedError if it is none. `most`: bytes, if it is known to have less.

        Otherwise a file may be as large as its kind can be.
        """
        place = self._at(path)
        return self.retrying.find(place, lambda: read_file(place, most), None)

    def read_or_torn(self, path: str) -> bytes | None:
        """Do what `read` does, for files that are parsed anyway: what is planted reads as an empty file."""
        try:
            return self.read(path)
        except PlantedError:
            return b""

    def get(self, path: str, most: int | None = None) -> bytes:
        """Read a file that should be there. sshfs misses a name for an instant while it is being replaced."""
        data = self.read(path, most)
        if data is not None:
            return data
        time.sleep(_INSTANT_S)
        place = self._at(path)
        return self.retrying(place, lambda: read_file(place, most))

    def read_range(self, path: str, offset: int, length: int) -> bytes | None:
        """Read a part of a file; less than `length` bytes if it ends before, None if it is missing."""
        place = self._at(path)
        return self.retrying.find(place, lambda: read_range(place, offset, length), None)

    def tail(self, path: str, offset: int, most: int | None = None) -> bytes:
        """Read a log's whole lines from `offset`, at most `most` bytes; b"" if there are none, or it is missing."""
        return tail(self._at(path), offset, most, self.retrying)

    def newest(self, path: str, offset: int, most: int) -> tuple[bytes, int]:
        """Read a log's newest whole lines from `offset`, about `most` bytes; return them and the offset behind."""
        return newest(self._at(path), offset, most, self.retrying)

    def size(self, path: str) -> int:
        """Give the size of a file; 0 if it is missing."""
        return self.size_if_there(path) or 0

    def size_if_there(self, path: str) -> int | None:
        """Give the size of a file; None if it is missing, or is no file."""
        found = self._look_at(path)
        return None if found is None or not stat.S_ISREG(found.st_mode) else found.st_size

    def modified_at(self, path: str) -> float | None:
        """Give when something was last changed, by the clock of the file system (UNIX time); None if it is missing."""
        found = self._look_at(path)
        return None if found is None else found.st_mtime

    def stamp(self, path: str) -> tuple[int, float] | None:
        """Give size and time of a file, to see whether it may have changed; None if it is missing."""
        place = self._at(path)
        return self.retrying.find(place, lambda: stamp_of(place), None)

    def planted(self, path: str) -> str:
        """Say what is there in place of a file that can be read; "" if it is one, or nothing is there."""
        place = self._at(path)

        def check_once() -> None:
            os.close(open_to_read(place)[0])

        try:
            self.retrying.find(place, check_once, None)
        except PlantedError as error:
            return error.what
        return ""

    def names(self, path: str = "") -> list[str]:
        """List the names in a directory; none if it is missing, or is no directory."""
        return self._list(path, lambda here: os.listdir(here))  # noqa: PLW0108 - tests replace it

    def entries(self, path: str) -> list[tuple[str, str]]:
        """List a directory with kinds: (name, "file" | "directory" | "link" | "other"); none if it is missing."""
        return self._list(path, _scan)

    def _list(self, path: str, read: Callable[[str], list[T]]) -> list[T]:
        place = self._at(path)

        def list_once() -> list[T]:
            with open_directory(place) as here:
                return read(here)

        try:
            return self.retrying.find(place, list_once, [])
        except PlantedError:
            return []

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
        publish(self._at(path), data, self.machine, fsync=self.fsync, retrying=self.retrying)

    def publish_chunks(self, path: str, make: Callable[[], Iterable[bytes]], *, fsync: bool = True) -> int:
        """Make a large file appear whole; return its size. `make` gives its data in chunks, again if need be."""
        fsync = fsync or self.fsync
        return publish_chunks(self._at(path), make, self.machine, fsync=fsync, retrying=self.retrying)

    def claim(self, path: str, data: bytes, *, fsync: bool = False) -> bool:
        """Make a file appear if no other machine was first; tell whether it now holds `data`."""
        fsync = fsync or self.fsync
        return claim(self._at(path), data, self.machine, fsync=fsync, retrying=self.retrying)

    def log(self, path: str) -> Log:
        """Open a log for appending; it is made if it is missing."""
        return Log(self._at(path), self.retrying)

    def log_view(self, path: str) -> LogView | None:
        """Open a log of blocks for reading; None if it is missing."""
        return LogView.open(self._at(path), self.retrying)

    def log_end(self, path: str) -> LogEnd:
        """Open a log of blocks for writing; it is made if it is missing. Raises OSError."""
        return LogEnd(self._at(path))

    def reserve_name(self, path: str) -> bool:
        """Make an empty file; tell whether the name was free. After a lost reply it is not free, though nobody has it.

        Such a file has one owner only if O_EXCL works. Where it does not, every name is free.
        """
        place = self._at(path)
        return self.retrying(place, lambda: _reserve_name(place))

    def append_line(self, path: str, data: bytes) -> None:
        """Append to a file that people edit, too, in one write. That is not tried again: no line must come twice.

        On a file server, a file that a client has open may be given to others a moment later (EAGAIN).
        """
        place = self._at(path)
        descriptor, _ = self.retrying(place, lambda: open_to_append(place, os.O_CREAT))
        try:
            try:
                write_all(descriptor, data)
                sync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise tree_error(error, place) from error

    def overwrite(self, path: str, offset: int, data: bytes) -> None:
        """Write over a part of a file that people write: it stays the same file, and as secret as it was."""
        place = self._at(path)

        def write_once() -> None:
            descriptor, _ = open_to_write(place)
            try:
                os.pwrite(descriptor, data, offset)
                sync(descriptor)
            finally:
                os.close(descriptor)

        self.retrying(place, write_once)

    def make_directory(self, path: str, *, fsync: bool = False) -> None:
        """Make a directory if it is missing. The one above it must exist. `fsync`: its name outlives a power loss."""
        place = self._at(path)

        def make_once() -> None:
            make_directory(place)
            if fsync or self.fsync:
                sync_directory_of(place)

        self.retrying(place, make_once)

    def make_directory_alone(self, path: str, *, fsync: bool = False) -> None:
        """Make a directory that other machines may be making at this moment: one makes it, the others wait for it.

        Replicated GlusterFS leaves a directory broken if several clients make it at once. A machine that is killed
        meanwhile leaves its file; then the others wait for a while, and make the directory.
        """
        making = making_path(path)
        until = time.monotonic() + (0.0 if self.reserve_name(making) else _OTHERS_CREATE_S)
        while time.monotonic() < until:
            if not self.exists(making):  # the directory itself may be there on one replica only
                return
            time.sleep(_INSTANT_S)
        self.make_directory(path, fsync=fsync)
        self.remove(making)

    def remove(self, path: str) -> None:
        """Remove a file; it may be missing. Of a link, the link; a directory in its place is set aside."""
        remove(self._at(path), self.retrying)

    def remove_empty_directory(self, path: str) -> None:
        """Remove a directory; it may be missing. It stays if anything is in it, and so does what is in its place."""
        place = self._at(path)

        def remove_once() -> None:
            with open_parent(place) as here:
                try:
                    os.rmdir(f"{here}/{name_of(place)}")
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                        raise

        self.retrying.find(place, remove_once, None)

    def set_aside(self, path: str) -> None:
        """Rename a page's file to `<name>.torn`, so that it counts as no page any more; it may be missing."""
        place = self._at(path)

        def rename_once() -> None:
            with open_parent(place) as here:
                os.rename(f"{here}/{name_of(place)}", f"{here}/{name_of(place)}{TORN}")

        self.retrying.find(place, rename_once, None)


def _reserve_name(place: Place) -> bool:
    """Make an empty file; tell whether the name was free.

    sshfs says EPERM if another machine has the name; by now that machine may have given it back.
    """
    refusals = 0
    while True:
        try:
            with open_parent(place) as here:
                os.close(create(here, name_of(place)))
        except FileExistsError:
            return False
        except PermissionError as error:
            if error.errno == errno.EPERM and _is_there(place):
                return False
            refusals += 1
            if error.errno != errno.EPERM or refusals == _REFUSALS:
                raise
        else:
            return True


def _is_there(place: Place) -> bool:
    try:
        look_at(place)
    except OSError:
        return False
    return True


def _scan(path: str) -> list[tuple[str, str]]:
    with os.scandir(path) as found:
        return [(entry.name, _kind(entry)) for entry in found]


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_file(follow_symlinks=False):
        return "file"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "link" if entry.is_symlink() else "other"
