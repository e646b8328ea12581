"""How long a file system may show an old state of a file or of a directory.

A client of NFS, sshfs or another share keeps what it has read for a while. On a local disk nothing is old. Whoever must
be sure of what is there waits for as long as this module says.
"""

from __future__ import annotations

from pathlib import Path

from fscrawl.storage.mounts import IN_MEMORY, LOCAL, mount_at

CACHES_LIVE_S = 60.0  # the longest that NFS keeps an attribute


def caches_live_s(root: Path) -> float:
    """Give for how many seconds what is read below `root` may be old: 0 on a local disk."""
    mount = mount_at(root)
    return 0.0 if mount is not None and mount.kind in LOCAL | IN_MEMORY else CACHES_LIVE_S
