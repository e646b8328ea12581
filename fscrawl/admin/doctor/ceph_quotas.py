"""The quotas of a directory of CephFS and of those above it, as its clients show them: by extended attributes.

`df` shows only that of bytes, and only of the directory that is mounted. The attributes are described in
https://docs.ceph.com/en/latest/cephfs/quota/. A quota above the mounted directory cannot be seen.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from fscrawl.admin.doctor.limits import Limits, Quota


def of(directory: Path, point: str) -> Iterator[Quota]:
    """Give the quotas that bind a directory without symbolic links, the innermost first. `point`: the mount point."""
    inside = itertools.takewhile(lambda each: each != Path(point), directory.parents)
    here = directory == Path(point)
    for each in (directory, *inside, *(() if here else (Path(point),))):
        files, room = _number(each, "quota.max_files"), _number(each, "quota.max_bytes")
        if files or room:
            used = _number(each, "dir.rentries"), _number(each, "dir.rbytes")  # directories count as files
            yield Quota(f"the quota of {each}", Limits(used[0], hard=files), Limits(used[1], hard=room))


def _number(path: Path, name: str) -> int:
    """Give the number of an attribute; 0 if it is not set."""
    try:
        return int(os.getxattr(path, f"ceph.{name}"))
    except (OSError, ValueError):
        return 0
