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
from typing import Self

from fscrawl.storage.layout import LONGEST_NAME_BYTES, PLANTED
from fscrawl.storage.permissions import Access, share_file
from fscrawl.storage.safe_open import AnyPath, create_beside, name_of


class Temporary:
    """The temporary of one file. Each try to write it takes a new name, so that O_EXCL can never find an own one.

    Use it in a `with`: what is left of it, and of earlier tries, is removed when that ends. Only the first step, which
    makes it, sees to it that no link is followed. Its name cannot be guessed: behind a link it is not there.
    """

    def __init__(self, path: AnyPath, machine: str) -> None:
        self.path = path
        self._machine = machine
        self._names: list[str] = []
        self._above = os.path.dirname(os.fspath(path)) or "."

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None or len(self._names) > 1:  # earlier tries may have left theirs
            self.discard()

    @property
    def _newest(self) -> str:
        return f"{self._above}/{self._names[-1]}"

    def write(self, fill: Callable[[int], int], root: Access | None = None) -> int:
        """Make it; `fill` writes to its descriptor and gives the size, which is checked. Raises OSError.

        `root`: whose group it gets.
        """
        descriptor = self._create()
        try:
            if root is not None:
                share_file(descriptor, root)
            size = fill(descriptor)
        finally:
            os.close(descriptor)  # a full disk may show only here
        if os.stat(self._newest, follow_symlinks=False).st_size != size:
            raise OSError(errno.EREMOTEIO, "the file is shorter than what was written")
        return size

    def _create(self) -> int:
        """Make a file of a new name. A call that was sent twice says EEXIST for its own success: then try again."""
        self.discard()
        self._names.append(_name_for(name_of(self.path), self._machine))
        try:
            return create_beside(self.path, self._names[-1])
        except FileExistsError as error:
            raise OSError(errno.EREMOTEIO, "the file is there already") from error

    def rename(self) -> None:
        """Give it the name of its file. A directory that has that name is set aside."""
        target = os.fspath(self.path)
        try:
            os.rename(self._newest, target)
        except OSError:
            if not set_directory_aside(self._above, name_of(self.path)):
                raise
            os.rename(self._newest, target)

    def link(self) -> None:
        os.link(self._newest, os.fspath(self.path))

    def remove(self) -> None:
        """Remove it; it may be missing. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._newest)

    def discard(self) -> None:
        """Remove what tries have left, as far as that is possible."""
        names, self._names = self._names, []
        for name in names:
            try:
                os.unlink(f"{self._above}/{name}")
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
