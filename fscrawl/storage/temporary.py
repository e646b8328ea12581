"""Temporaries: files that are written first, and then get the name of another one.

Vocabulary:
  temporary   `.<name>.<machine>.<16 hex digits>.tmp`, in the directory of the file. It names the machine that was
              writing it, so that those of dead machines can be removed. A long name is cut; the rest is always whole

Promise: the digits are random and the file is made with O_EXCL. So nobody can put a link there before.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable

from fscrawl.storage.layout import LONGEST_NAME_BYTES, PLANTED
from fscrawl.storage.permissions import Access, share_file
from fscrawl.storage.safe_open import AnyPath, create, name_of, open_parent

_NAMES = 8  # that are tried; a server whose every reply is lost is out of order


class Temporary:
    """The temporary of one file. Each try to write it takes a new name, so that O_EXCL can never find an own one."""

    def __init__(self, path: AnyPath, machine: str) -> None:
        self.path = path
        self._machine = machine
        self._names: list[str] = []

    def write(self, fill: Callable[[int], int], root: Access | None = None) -> int:
        """Make it; `fill` writes to its descriptor and gives the size, which is checked. Raises OSError.

        `root`: whose group it gets.
        """
        with open_parent(self.path) as here:
            descriptor = self._create(here)
            try:
                if root is not None:
                    share_file(descriptor, root)
                size = fill(descriptor)
            finally:
                os.close(descriptor)  # a full disk may show only here
            if os.stat(f"{here}/{self._names[-1]}", follow_symlinks=False).st_size != size:
                raise OSError(errno.EREMOTEIO, "the file is shorter than what was written")
        return size

    def _create(self, here: str) -> int:
        """Make a file of a new name. A call that was sent twice says EEXIST for its own success: then take another."""
        for tries_left in reversed(range(_NAMES)):
            self.discard()
            self._names.append(_name_for(name_of(self.path), self._machine))
            try:
                return create(here, self._names[-1])
            except FileExistsError:
                if not tries_left:
                    raise
        raise AssertionError("not reached")  # pragma: no cover

    def rename(self) -> None:
        """Give it the name of its file. A directory that has that name is set aside."""
        with open_parent(self.path) as here:
            temporary, target = f"{here}/{self._names[-1]}", f"{here}/{name_of(self.path)}"
            try:
                os.rename(temporary, target)
            except OSError:
                if not set_directory_aside(here, name_of(self.path)):
                    raise
                os.rename(temporary, target)

    def link(self) -> None:
        with open_parent(self.path) as here:
            os.link(f"{here}/{self._names[-1]}", f"{here}/{name_of(self.path)}")

    def remove(self) -> None:
        """Remove it; it may be missing. Raises OSError."""
        with open_parent(self.path) as here, contextlib.suppress(FileNotFoundError):
            os.unlink(f"{here}/{self._names[-1]}")

    def discard(self) -> None:
        """Remove what tries have left, as far as that is possible."""
        names, self._names = self._names, []
        for name in names:
            try:
                with open_parent(self.path) as here:
                    os.unlink(f"{here}/{name}")
            except FileNotFoundError:
                pass
            except OSError:
                self._names.append(name)


def _name_for(name: str, machine: str) -> str:
    end = f".{machine}.{os.urandom(8).hex()}.tmp"
    return f".{_cut(name, LONGEST_NAME_BYTES - 1 - len(end))}{end}"


def _cut(name: str, most: int) -> str:
    """Cut a name to `most` bytes. Of a letter of several bytes, all go or none."""
    data = os.fsencode(name)
    return name if len(data) <= most else data[:most].decode(errors="ignore")


def set_directory_aside(here: str, name: str) -> bool:
    """Rename a directory that has the name of a file to `.<name>.<16 hex digits>.planted`; tell whether there was one.

    No machine makes a directory of such a name, so it cannot be one that is needed. Nothing in it is changed.
    """
    try:
        if not stat.S_ISDIR(os.stat(f"{here}/{name}", follow_symlinks=False).st_mode):
            return False
    except OSError:
        return False
    end = f".{os.urandom(8).hex()}{PLANTED}"
    os.rename(f"{here}/{name}", f"{here}/.{_cut(name, LONGEST_NAME_BYTES - 1 - len(end))}{end}")
    return True
