"""Paths that the user gives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fscrawl.errors import UsageError


def path_of(name: str, value: Any, what: str) -> str:
    """Read the argument `name`, the path of a `what`: a file or a directory. UsageError if it is none, or empty.

    An empty path would be taken for the working directory, and ~ for a directory of that name.

    >>> path_of("root", "/mnt/shared", "directory")
    '/mnt/shared'
    """
    try:
        found = os.fsdecode(value)
    except TypeError:
        raise UsageError(f"{name}={value!r}: must be the path of a {what}") from None
    if not found:
        raise UsageError(f"{name} is empty; name a {what}")
    if found == "~" or found.startswith("~/"):  # a directory with this name would be made
        raise UsageError(f"{name}={found!r}: Python does not replace ~; write os.path.expanduser({found!r})")
    if "\0" in found:
        raise UsageError(f"{name}={value!r}: a path has no zero bytes")
    return found


def lasting(path: str) -> str:
    """Give a path that means the same when the working directory has changed, also in another process.

    >>> lasting("/mnt/shared")
    '/mnt/shared'
    """
    try:
        return str(Path(path).absolute())
    except FileNotFoundError:  # the working directory is gone: what opens the path says that nothing is there
        return path
