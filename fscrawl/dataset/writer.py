"""Which merge writes a dataset? Where no lock reaches other machines, as on sshfs: the one that began last.

    .merge/writer-<n>   an empty file; each merge that begins makes the next one, and removes the ones before

Making a file that must not be there has one winner on every file system, however many machines try it. Each merge knows
its number. It looks for its own file before it puts anything in place: if it is gone, another merge has begun, or the
share was unmounted. Nothing is to be cleared away after a merge that was killed.

Promise: of merges that write one dataset at the same time, all but the last one end before they change what it works
with, but for what they put in place in the moment when it begins.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

LOCK = "lock"  # the file that each merge locks, where that reaches
_NAME = re.compile(r"writer-(\d+)")
_TRIES = 100


def begin(state: Path) -> int:
    """Become the writer, and return the number. Raises OSError. `state`: the dataset's `.merge`."""
    number, why = 0, OSError("merges begin here all the time")
    for _ in range(_TRIES):
        number = max(number, *_listed(state), 0) + 1
        try:
            _path(state, number).open("xb").close()
        except OSError as error:  # another merge was first, of which the listing does not know yet
            why = error
            continue
        found = _listed(state)
        if max(found, default=number) <= number:  # else others have begun and removed some since the first listing
            for old in found - {number}:
                _path(state, old).unlink(missing_ok=True)
            return number
    raise why


def _listed(state: Path) -> set[int]:
    return {int(name[1]) for each in state.iterdir() if (name := _NAME.fullmatch(each.name))}


def is_over(state: Path, number: int) -> bool:
    """Tell whether another merge has begun since. Raises OSError, as where the share was unmounted."""
    try:
        _open(_path(state, number))
    except FileNotFoundError:
        _open(state / LOCK)  # which each merge makes: where it is gone, too, no merge has begun
        return True
    return False


def _open(path: Path) -> None:
    os.close(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))  # caches may answer a stat


def is_writer(name: str) -> bool:
    """Tell whether a name is that of the file.

    >>> is_writer("writer-7"), is_writer("lock")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def _path(state: Path, number: int) -> Path:
    return state / f"writer-{number}"
