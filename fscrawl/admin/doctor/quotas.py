"""Whether the quotas of the user who runs this leave room for the pages that are still to come.

Which quotas count: those of files that are made in the directory. They belong to the user, to its group or to that of
the directory, and on ext4 and XFS perhaps to a project. Names are not looked up, because that may hang: people and
groups are shown by their numbers.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from fscrawl.admin.doctor import ceph_quotas, quota_program, quotactl
from fscrawl.admin.doctor.check_result import OK, CheckResult
from fscrawl.admin.doctor.file_systems import CEPH, NFS
from fscrawl.admin.doctor.limits import Quota, judged
from fscrawl.admin.doctor.mounts import Mount
from fscrawl.admin.doctor.room import Need

_BY_DIRECTORY = frozenset({"grpid", "bsdgroups"})  # mount options: the group of the directory counts


def compare(directory: Path, mount: Mount | None, need: Need | None, now: float) -> Iterator[CheckResult]:
    """Compare each quota with what is still to come. `now`: in s since the epoch. No quota, no result."""
    if mount is None:
        return
    try:
        for quota in _found(directory, mount):
            yield from judged(quota, need, now)
    except quota_program.NoAnswerError as error:
        yield CheckResult(OK, f"whether the server has a quota for this user is not known: {error}")


def _found(directory: Path, mount: Mount) -> Iterable[Quota]:
    if mount.kind in CEPH:
        return ceph_quotas.of(Path(os.path.realpath(directory)), mount.point)
    if mount.kind in NFS:
        user = os.geteuid()  # the server decides who root is there
        return quota_program.of(mount.point, user, _group(directory, mount)) if user else ()
    if mount.kind.startswith("fuse") or quotactl.is_exempt(mount.kind):
        return ()
    return _local(directory, mount)


def _local(directory: Path, mount: Mount) -> Iterator[Quota]:
    project = quotactl.project_of(directory)
    for kind, name, number in (
        (quotactl.USER, "user", os.geteuid()),
        (quotactl.GROUP, "group", _group(directory, mount)),
        (quotactl.PROJECT, "project", project),
    ):
        found = None if number is None else quotactl.ask(directory, mount.source, kind, number)
        if found is not None:
            yield Quota(f"the quota of {name} {number}", *found)


def _group(directory: Path, mount: Mount) -> int:
    """Give the group of files that are made in a directory."""
    try:
        there = directory.stat()
    except OSError:
        return os.getegid()
    inherits = there.st_mode & stat.S_ISGID or mount.options & _BY_DIRECTORY
    return there.st_gid if inherits else os.getegid()
