"""Which merge writes a dataset? Where no lock reaches other machines, as on sshfs: the one that began last.

    .merge/writer-<n>   an empty file; each merge that begins renames it, to the next number

A rename of one file has one winner on every file system, however many machines try it. Each merge knows the number that
it has given. It looks for the file of this name before it puts anything in place: if it is gone, another merge has
begun. Nothing is to be cleared away after a merge that was killed.

Promise: of merges that write one dataset at the same time, all but the last one end before they change what it works
with, but for what they put in place in the moment when it begins.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_NAME = re.compile(r"writer-(\d+)")
_AHEAD = 100  # so many merges may have begun since a listing that is old


def begin(state: Path) -> int:
    """Become the writer, and return the number. Raises OSError. `state`: the dataset's `.merge`."""
    found = sorted(int(name[1]) for each in state.iterdir() if (name := _NAME.fullmatch(each.name)))
    for old in found[:-1]:  # of two that began here at the same time, long ago
        _path(state, old).unlink(missing_ok=True)
    last = found[-1] if found else 0
    if not last:
        try:
            _path(state, 1).open("xb").close()
        except OSError:  # sshfs says EPERM if another machine has made it
            if not _path(state, 1).exists():
                raise
            last = 1
        else:
            return 1
    for number in range(last, last + _AHEAD):
        try:
            _path(state, number).rename(_path(state, number + 1))
        except FileNotFoundError:  # another merge was faster
            continue
        return number + 1
    raise BlockingIOError(f"{state}: merges begin here all the time")


def is_over(state: Path, number: int) -> bool:
    """Tell whether another merge has begun since. Raises OSError."""
    try:
        os.close(os.open(_path(state, number), os.O_RDONLY | os.O_CLOEXEC))  # caches may answer a stat
    except FileNotFoundError:
        return True
    return False


def is_writer(name: str) -> bool:
    """Tell whether a name is that of the file.

    >>> is_writer("writer-7"), is_writer("lock")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def _path(state: Path, number: int) -> Path:
    return state / f"writer-{number}"
