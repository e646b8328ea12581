"""Makes a room that trees of older versions have not (`layout.LATER_ROOMS`), when it is first needed.

A missing room otherwise means that the share is gone. A root that is not mounted has no `tree.json` either, so that is
looked for first.

Promise: nothing is made where there is no tree. The look and the making go through one open directory, which stays the
same one, whatever is mounted over the root, or taken away, meanwhile. One machine makes the room, and the others wait:
replicated GlusterFS leaves a directory broken if several clients make it at once.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from typing import TypeVar

from fscrawl.storage.atomic import sync_directory
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.layout import TREE_RECORD, making_path
from fscrawl.storage.permissions import access_of, share_directory
from fscrawl.storage.safe_open import Place, create, no_directory, open_directory

_INSTANT_S = 0.02
_OTHERS_TAKE_S = 2.0

T = TypeVar("T")


def make_room(files: TreeFiles, room: str) -> None:
    """Make a room if it is missing; TreeError if the tree is gone."""
    making = making_path(room)
    is_ours = _in_tree(files, lambda here: _take(f"{here}/{making}"))
    until = time.monotonic() + (0.0 if is_ours else _OTHERS_TAKE_S)
    while time.monotonic() < until and files.exists(making):
        time.sleep(_INSTANT_S)
    _in_tree(files, lambda here: _make(here, room, fsync=files.fsync))
    files.remove(making)


def _in_tree(files: TreeFiles, do: Callable[[str], T]) -> T:
    """Do something in the open root, if it is that of a tree."""
    root = Place(str(files.root), "")

    def do_once() -> T:
        with open_directory(root) as here:
            os.stat(f"{here}/{TREE_RECORD}", follow_symlinks=False)
            return do(here)

    return files.retrying(root, do_once)


def _take(path: str) -> bool:
    """Make an empty file; tell whether the name was free. sshfs says EPERM if another machine has it."""
    above, _, name = path.rpartition("/")
    try:
        os.close(create(above, name))
    except (FileExistsError, PermissionError):
        return False
    return True


def _make(here: str, room: str, *, fsync: bool) -> None:
    path = f"{here}/{room}"
    try:
        os.mkdir(path)
    except (FileExistsError, PermissionError) as error:  # the same
        if not _is_directory(path, error):
            raise no_directory(os.readlink(here), room) from error
    else:
        share_directory(path, access_of(here))
        if fsync:
            sync_directory(here)


def _is_directory(path: str, error: OSError) -> bool:
    """Tell whether what could not be made, with this error, is a directory. Raises OSError if it is not there."""
    try:
        return stat.S_ISDIR(os.stat(path, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        if error.errno == errno.EEXIST:  # another machine is making it
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY)) from error
        raise error from None
