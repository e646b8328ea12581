"""Which file system a directory is on, by the system's table of mounts; and how long it may show an old state.

A client of NFS, sshfs or another share keeps what it has read for a while. On a local disk nothing is old. Whoever must
be sure of what is there waits for as long as `caches_live_s` says.

Vocabulary:
  kind       the type in the table: "nfs4", "fuse.sshfs", "ext4", …
  options    of the mount and of the file system (its super block), as the table has them
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

TABLE = Path("/proc/self/mountinfo")
LOCAL = frozenset({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "xfs", "zfs"})  # kinds: on a disk
IN_MEMORY = frozenset({"ramfs", "tmpfs"})
CACHES_LIVE_S = 60.0  # the longest that NFS keeps an attribute


class Mount(NamedTuple):
    """Where a path is mounted. `point`: the mount point; `source`: what is mounted there."""

    point: str
    kind: str
    source: str
    options: frozenset[str]


def caches_live_s(root: Path) -> float:
    """Give for how many seconds what is read below `root` may be old: 0 on a local disk."""
    mount = mount_at(root)
    return 0.0 if mount is not None and mount.kind in LOCAL | IN_MEMORY else CACHES_LIVE_S


def mount_at(directory: Path) -> Mount | None:
    """Give the mount that a directory is on, through symbolic links; None if that cannot be found out."""
    try:
        table = TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return mount_of(table, os.path.realpath(directory))


def mount_of(table: str, path: str) -> Mount | None:
    """Find the mount of a path in the text of /proc/self/mountinfo (proc(5)); None if there is none.

    The path is absolute and has no symbolic links. The longest mount point counts; of several mounts at one point the
    last one.

    >>> table = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\\n2 1 0:9 / /mnt/a\\\\040b rw,nosuid - nfs4 host:/x rw,soft\\n"
    >>> found = mount_of(table, "/mnt/a b/tree")
    >>> found.kind, found.source, sorted(found.options)
    ('nfs4', 'host:/x', ['nosuid', 'rw', 'soft'])
    >>> mount_of("", "/") is None
    True
    """
    best = None
    for line in table.splitlines():
        before, _, after = line.partition(" - ")
        fields, system = before.split(" "), after.split(" ")
        if len(fields) < 6 or len(system) < 3:
            continue
        point = _unescaped(fields[4])
        inside = point in ("/", path) or path.startswith(f"{point}/")
        if inside and (best is None or len(point) >= len(best.point)):
            options = frozenset(fields[5].split(",")) | frozenset(system[2].split(","))
            best = Mount(point, system[0], _unescaped(system[1]), options)
    return best


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), text)
