"""What is known of the file systems that people put a tree on: by our tests, or by what their makers write. Pure.

docs/how-to/file-systems.md has the same as a table, with the sources.

Vocabulary:
  kind    the type in /proc/self/mountinfo: "nfs4", "ceph"; of FUSE with what follows the dot: "fuse.sshfs"
  tried   our tests run on it; of all others we know only what is written about them
"""

from __future__ import annotations

from typing import NamedTuple

from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING
from fscrawl.storage.mounts import IN_MEMORY, LOCAL

NFS = frozenset({"nfs", "nfs4"})
_ELSEWHERE = "use a local disk, NFS, sshfs or GlusterFS"
_SECOND = "test it with a second machine before you rely on it"


class Known(NamedTuple):
    """`level`: "ok" if tried, "warning" if only read, "problem" if a tree cannot be there. `advice`: what to do."""

    level: str
    what: str
    advice: str = ""


_LATE = "another machine may not see a new file for up to a minute; the crawl allows for that"
_BUCKET = "a bucket and no file system: it has no hard links, which machines need to share the work"
_READ = "by its documentation it does what a tree needs, but fscrawl has not been tested with it"

_KINDS = {
    **dict.fromkeys(NFS, Known(OK, _LATE)),
    "fuse.sshfs": Known(OK, "a directory listing may be 20 s old; the crawl allows for that"),
    "fuse.glusterfs": Known(OK, "tested with replicated volumes"),
    **dict.fromkeys(("ceph", "fuse.ceph", "fuse.ceph-fuse"), Known(WARNING, _READ, _SECOND)),
    "lustre": Known(WARNING, _READ, f"{_SECOND}; look at your quota with `lfs quota`"),
    "beegfs": Known(
        WARNING, _READ, f"{_SECOND}; it must be of version 7.4 or newer, for hard links between directories"
    ),
    "fuse.juicefs": Known(WARNING, _READ, f"{_SECOND}; do not mount it with --writeback"),
    **dict.fromkeys(
        ("cifs", "smb3", "smbfs"),
        Known(
            WARNING,
            "whether it has hard links depends on the server, and fscrawl has not been tested with it",
            "mount the same directory by NFS if you can",
        ),
    ),
    **dict.fromkeys(IN_MEMORY, Known(WARNING, "it is in memory", "its files are lost at a restart")),
    **dict.fromkeys(("vfat", "exfat", "msdos"), Known(PROBLEM, "it has no hard links", _ELSEWHERE)),
    **dict.fromkeys(
        ("fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.goofys", "fuse.blobfuse", "fuse.blobfuse2"),
        Known(PROBLEM, _BUCKET, _ELSEWHERE),
    ),
}
_SOURCES = {  # FUSE without a subtype, by what is mounted
    "mountpoint-s3": _KINDS["fuse.s3fs"],
    "gcsfuse": _KINDS["fuse.gcsfuse"],
    "s3fs": _KINDS["fuse.s3fs"],
    "blobfuse2": _KINDS["fuse.blobfuse2"],
}
_SERVERS = {  # of NFS, by the end of the host's name
    ".amazonaws.com": Known(OK, f"Amazon EFS or FSx; {_LATE}"),
    ".file.core.windows.net": Known(OK, f"Azure Files; {_LATE}"),
}
_LOCAL_DISK = Known(OK, "a local disk; other machines see it only if this machine exports it")
_UNKNOWN = Known(WARNING, "fscrawl has not been tested with it", _SECOND)


def known(kind: str, source: str) -> Known:
    """Say what is known of a file system. `source`: what is mounted, such as "host:/path".

    >>> known("fuse.gcsfuse", "my-bucket").level, known("fuse", "mountpoint-s3").level
    ('problem', 'problem')
    >>> known("nfs4", "fs-1.efs.eu-west-1.amazonaws.com:/").what.partition(";")[0]
    'Amazon EFS or FSx'
    >>> known("ext4", "/dev/sda1").level, known("9p", "host").level
    ('ok', 'warning')
    """
    if kind in LOCAL:
        return _LOCAL_DISK
    if kind in NFS:
        host = source.partition(":/")[0].lower()
        return next((each for end, each in _SERVERS.items() if host.endswith(end)), _KINDS[kind])
    if kind == "fuse":
        return _SOURCES.get(source, _UNKNOWN)
    return _KINDS.get(kind, _UNKNOWN)
