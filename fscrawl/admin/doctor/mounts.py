"""What a directory is mounted from, and what is known of such file systems. Pure.

Vocabulary:
  kind       the type in /proc/self/mountinfo: "nfs4", "fuse.sshfs", "ext4", …
  options    those of the mount and those of the file system (its super block), as mountinfo has them
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fscrawl.admin.doctor.said import OK, PROBLEM, WARNING, Said

_LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "overlay"})
_SHARED = {
    "nfs": "a new name may be missed for up to a minute by another machine; the crawl allows for that",
    "nfs4": "a new name may be missed for up to a minute by another machine; the crawl allows for that",
    "fuse.sshfs": "a listing may be 20 s old; the crawl allows for that",
    "fuse.glusterfs": "measured with replicated volumes",
}
_NO_LINKS = frozenset({"vfat", "exfat", "msdos", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.goofys"})


class Mount(NamedTuple):
    """Where a path is mounted. `point`: the mount point; `source`: what is mounted there."""

    point: str
    kind: str
    source: str
    options: frozenset[str]


def mount_of(table: str, path: str) -> Mount | None:
    """Find the mount of a path (absolute, without symbolic links) in a /proc/self/mountinfo (proc(5)); None: in none.

    The longest mount point counts, and of those mounted over one another the last.

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


def remarks(mount: Mount) -> Iterator[Said]:
    """Say what is known of a mount of this kind, with these options."""
    told = f"{mount.point} is {mount.kind} of {mount.source}"
    if "ro" in mount.options:
        yield Said(PROBLEM, f"{told}, mounted read-only", "mount it read-write")
    elif mount.kind in _SHARED:
        yield Said(OK, f"{told}: {_SHARED[mount.kind]}")
    elif mount.kind in _LOCAL:
        yield Said(OK, f"{told}: a local disk, which other machines see only if this one exports it")
    elif mount.kind in ("tmpfs", "ramfs"):
        yield Said(WARNING, f"{told}: it is in memory", "what is stored there is gone after a restart")
    elif mount.kind in _NO_LINKS:
        yield Said(PROBLEM, f"{told}, which has no hard links", "use a local disk, NFS, sshfs or GlusterFS")
    else:
        yield Said(
            WARNING, f"{told}: this kind has not been measured", "try with a second machine before you rely on it"
        )
    if mount.kind in ("nfs", "nfs4") and "soft" in mount.options:
        yield Said(WARNING, "it is mounted soft: a slow server makes writes fail", "mount it with the option hard")
