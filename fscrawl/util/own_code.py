"""The code that a command runs: its program, and a site file. Neither may be one that others can replace.

A tree belongs to all who may write into it, and nothing in it is run. So a program and a site file lie outside the
tree, where only their owner can write.

Vocabulary:
  others    all users but the owner, root, and those of a group that the owner has alone
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
import sys
from pathlib import Path

import fscrawl
from fscrawl.errors import UsageError

_MOST_LINKS = 40  # that the kernel follows


def check_program(root: Path | None) -> None:
    """Raise UsageError if this program lies in the tree at `root`, or if others may change it."""
    for path in (Path(sys.argv[0]), Path(fscrawl.__file__)):
        problem = _fault_of(path, root)
        if problem:
            raise UsageError(
                f"{path}: {problem}; install fscrawl where only you or root can write, such as /opt/fscrawl"
            )


def check_site_file(path: Path, root: Path | None) -> None:
    """Raise UsageError if a site file lies in the tree at `root`, or if others may change it."""
    problem = _fault_of(path, root)
    if problem:
        raise UsageError(f"--site {path}: {problem}; its code is run, so put it where only you or root can write")


def _fault_of(path: Path, root: Path | None) -> str:
    """Say what is wrong with a file of code; "" if nothing is, or if there is no such file."""
    names = _names_of(path)
    if root is not None and any(_is_below(name, root) for name in names):
        return "it lies in the crawl, where others may replace it"
    places = dict.fromkeys([names[-1], *(name.parent for name in names)])
    return next((f"others may write to {place}" for place in places if _others_may_write(place)), "")


def _names_of(path: Path) -> list[Path]:
    """Give the names of a file: its path, what that leads to if it is a link, and so on; last the one without links."""
    names = [path.absolute()]
    with contextlib.suppress(OSError):
        while len(names) < _MOST_LINKS and names[-1].is_symlink():
            names.append(names[-1].parent / names[-1].readlink())
    return [*names, Path(os.path.realpath(path))]  # which takes a loop of links, too


def _is_below(path: Path, root: Path) -> bool:
    """Tell whether a path leads through the root. It may have another name, by a link or a mount."""
    with contextlib.suppress(OSError):
        there = root.stat()
        for above in path.parents:
            with contextlib.suppress(OSError):
                if os.path.samestat(above.stat(), there):
                    return True
    return False


def _others_may_write(path: Path) -> bool:
    """Tell whether others may write to a file, or replace one in a directory."""
    try:
        found = path.stat()
    except OSError:
        return False
    is_directory = stat.S_ISDIR(found.st_mode)
    if not is_directory and not stat.S_ISREG(found.st_mode):  # a pipe, as of <(…)
        return False
    if is_directory and found.st_mode & stat.S_ISVTX:  # as in /tmp: nobody can rename what is not theirs
        return False
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and (_has_more_users(path) or not _is_private(found))


def _has_more_users(path: Path) -> bool:
    """Tell whether a file has a list of further users and groups (POSIX ACL): the bits of its group are their limit."""
    try:
        return bool(os.getxattr(path, "system.posix_acl_access"))
    except OSError:
        return False


def _is_private(found: os.stat_result) -> bool:
    """Tell whether only its owner is in the group of a file, as pam_umask(8) does: by their numbers or names.

    Debian and Fedora give each user such a group, and the umask 002. Group 0 is root's.
    """
    if found.st_gid in (0, found.st_uid):
        return True
    try:
        return grp.getgrgid(found.st_gid).gr_name == pwd.getpwuid(found.st_uid).pw_name
    except KeyError:
        return False
