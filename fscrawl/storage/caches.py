"""How long a file system may show an old state of a file or of a directory.

A client of NFS, sshfs or another share keeps what it has read for a while. On a local disk nothing is old. Whoever must
be sure of what is there waits for as long as this module says.
"""

from __future__ import annotations

import os
from pathlib import Path

CACHES_LIVE_S = 60.0  # the longest that NFS keeps an attribute
_MOUNTS = "/proc/self/mountinfo"
_LOCAL = frozenset({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"})


def caches_live_s(root: Path) -> float:
    """Give for how many seconds what is read below `root` may be old: 0 on a local disk."""
    return 0.0 if _type_of(root) in _LOCAL else CACHES_LIVE_S


def _type_of(root: Path) -> str:
    """Give the type of the file system at `root`, "" if that cannot be told."""
    path = os.path.realpath(root)
    try:
        lines = Path(_MOUNTS).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    found, type_ = "", ""
    for line in lines:  # of two mounts at one place the later one is on top
        fields, _, rest = line.partition(" - ")
        place = _unescaped(fields.split(" ")[4])
        if len(place) >= len(found) and (path == place or path.startswith(place.rstrip("/") + "/")):
            found, type_ = place, rest.split(" ")[0]
    return type_


def _unescaped(text: str) -> str:
    r"""Give a path of mountinfo, in which blanks and backslashes are octal.

    >>> _unescaped("/mnt/my\\040share")
    '/mnt/my share'
    """
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
