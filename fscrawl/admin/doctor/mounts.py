"""Which file system a directory is on, and what is known about such file systems. Pure.

Vocabulary:
  kind       the type in /proc/self/mountinfo: "nfs4", "fuse.sshfs", "ext4", …
  options    of the mount and of the file system (its super block), as mountinfo has them
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult

_LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "overlay"})
_SHARED = {
    "nfs": "another machine may not see a new file for up to a minute; the crawl allows for that",
    "nfs4": "another machine may not see a new file for up to a minute; the crawl allows for that",
    "fuse.sshfs": "a directory listing may be 20 s old; the crawl allows for that",
    "fuse.glusterfs": "tested with replicated volumes",
}
_NO_LINKS = frozenset({"vfat", "exfat", "msdos", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.goofys"})


class Mount(NamedTuple):
    """Where a path is mounted. `point`: the mount point; `source`: what is mounted there."""

    point: str
    kind: str
    source: str
    options: frozenset[str]


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


def remarks(mount: Mount) -> Iterator[CheckResult]:
    """Say what is known about a mount of this kind with these options."""
    told = f"{mount.point} is {mount.kind} of {mount.source}"
    if "ro" in mount.options:
        yield CheckResult(PROBLEM, f"{told}, mounted read-only", "mount it read-write")
    elif mount.kind in _SHARED:
        yield CheckResult(OK, f"{told}: {_SHARED[mount.kind]}")
    elif mount.kind in _LOCAL:
        yield CheckResult(OK, f"{told}: a local disk; other machines see it only if this machine exports it")
    elif mount.kind in ("tmpfs", "ramfs"):
        yield CheckResult(WARNING, f"{told}: it is in memory", "its files are lost at a restart")
    elif mount.kind in _NO_LINKS:
        yield CheckResult(PROBLEM, f"{told}, which has no hard links", "use a local disk, NFS, sshfs or GlusterFS")
    else:
        yield CheckResult(
            WARNING,
            f"{told}: fscrawl has not been tested with it",
            "test it with a second machine before you rely on it",
        )
    if mount.kind in ("nfs", "nfs4") and "soft" in mount.options:
        what = "it is mounted with the option soft, so writes fail when the server is slow"
        yield CheckResult(WARNING, what, "mount it with the option hard")
