"""Permission bits and group of what is made in a tree: those of its root, whoever makes it.

Users of one group may crawl together, each with a umask of its own. Where one of them makes a directory that the others
cannot write, their machines stop. So a process that writes a tree takes the umask that fits the root. Then mkdir() and
open() give the right bits by themselves, and no page costs a further call.

Vocabulary:
  access         who may do what with a file or directory: permission bits, owner, group
  group counts   the root's group may do more than all others may
  sticky         in such a directory (mode 1777, like /tmp) nobody may touch what others have made

The kernel gives new files the group of a directory that has the set-group-ID bit. So if the group counts, the tree's
directories get that bit when it is made. Where the owner may not do that, it is left out.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple


class Access(NamedTuple):
    """Who may do what. `mode`: the permission bits with set-ID and sticky bits; `owner`, `group`: numbers."""

    mode: int
    owner: int
    group: int

    @property
    def umask(self) -> int:
        """The umask that fits a root: the owner may do everything, and others never what a sticky bit forbids."""
        others = stat.S_IWOTH if self.mode & stat.S_ISVTX else 0
        return ~self.mode & 0o077 | others

    @property
    def group_counts(self) -> bool:
        return bool(self.mode >> 3 & ~self.mode & 0o7)

    def lacks(self, root: Access) -> int:
        """Give the permission bits that a directory with this access lacks, to be as open as its root."""
        return ~self.mode & 0o777 & ~root.umask


def access_of(path: str) -> Access:
    """Look who may do what with a file or directory. Raises OSError."""
    there = os.stat(path)
    return Access(stat.S_IMODE(there.st_mode), there.st_uid, there.st_gid)


@contextlib.contextmanager
def fitting_umask(access: Access) -> Iterator[None]:
    """Make what is made in the `with` as open as a root with this access. For processes with one thread that writes."""
    before = os.umask(access.umask)
    try:
        yield
    finally:
        os.umask(before)


def share_directory(path: str, root: Access) -> None:
    """Give a new directory the group of the root, and have it passed on, if the group counts and that is possible."""
    if root.group_counts:
        with contextlib.suppress(OSError):
            os.chown(path, -1, root.group)
            os.chmod(path, 0o777 & ~root.umask | stat.S_ISGID)


def share_file(descriptor: int, root: Access) -> None:
    """Give a new file the group of the root, if the group counts and that is possible."""
    if root.group_counts:
        with contextlib.suppress(OSError):
            os.fchown(descriptor, -1, root.group)
