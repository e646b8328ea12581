"""What the kernel says of the quotas of a local file system: quotactl_fd(2), and quotactl(2) before Linux 5.14.

A user may ask for its own quota and for those of its groups. For that of a project it needs CAP_SYS_ADMIN; but statvfs
knows that one (`room`). Whatever cannot be asked for is None: quotas that are off, a kernel without them, a container
that does not allow it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from pathlib import Path

from fscrawl.admin.doctor.limits import Limits

USER, GROUP, PROJECT = range(3)
_GET = 0x800007 << 8  # Q_GETQUOTA; the lowest byte is the kind
_BLOCK_BYTES = 1024  # in which limits are told
_QUOTACTL_FD = (
    443  # on every processor that Linux 5.14 and Python run on, but for MIPS and Alpha, which have no call 443
)
_VALID_LIMITS, _VALID_USED = 1 | 4, 2 | 8  # of bytes and of files
_PROCESS = Path("/proc/self")
_CAP_SYS_RESOURCE = 1 << 24
_ALL_USERS = ["0", "0", str(2**32 - 1)]  # each user is itself: no namespace of users

_GET_ATTRIBUTES = 0x801C581F  # FS_IOC_FSGETXATTR; elsewhere another number, and then no project is found
_ATTRIBUTES = struct.Struct("=4I12x")  # struct fsxattr: flags, two others, the project
_INHERITS = 0x200  # FS_XFLAG_PROJINHERIT


class _Dqblk(ctypes.Structure):
    """`struct if_dqblk` of <linux/quota.h>."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("hard", "soft", "space", "files_hard", "files_soft", "files")),
        *((name, ctypes.c_uint64) for name in ("until", "files_until")),
        ("valid", ctypes.c_uint32),
    )


def ask(directory: Path, source: str, kind: int, number: int) -> tuple[Limits, Limits] | None:
    """Give the limits of files and of bytes of a user, group or project. `source`: what is mounted, "/dev/sda1"."""
    try:  # as a path: a directory that may be written to need not be readable
        there = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    found = _Dqblk()
    try:
        error = _call(there, source, _GET | kind, number, found)
    finally:
        os.close(there)
    return None if error else limits_of(found)


def limits_of(found: _Dqblk) -> tuple[Limits, Limits] | None:
    """Read what the kernel has filled in; None if it has not."""
    if found.valid & _VALID_LIMITS != _VALID_LIMITS or found.valid & _VALID_USED != _VALID_USED:
        return None
    files = Limits(found.files, found.files_soft, found.files_hard, found.files_until)
    room = Limits(found.space, found.soft * _BLOCK_BYTES, found.hard * _BLOCK_BYTES, found.until)
    return files, room


def _call(there: int, source: str, command: int, number: int, found: _Dqblk) -> int:
    """Give the error number; 0: `found` is filled in."""
    libc = ctypes.CDLL(None, use_errno=True)
    words = ctypes.c_long(_QUOTACTL_FD), ctypes.c_long(there), ctypes.c_long(command), ctypes.c_long(number)
    if not libc.syscall(*words, ctypes.byref(found)):
        return 0
    error = ctypes.get_errno()
    if error != errno.ENOSYS or not source.startswith("/dev/"):
        return error
    device = ctypes.c_char_p(os.fsencode(source))
    if not libc.quotactl(ctypes.c_int(command), device, ctypes.c_int(number), ctypes.byref(found)):
        return 0
    return ctypes.get_errno()


def project_of(directory: Path) -> int | None:
    """Give the project that files made in a directory belong to; None: to none that has a quota."""
    try:
        there = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        told = fcntl.ioctl(there, _GET_ATTRIBUTES, bytes(_ATTRIBUTES.size))
    except OSError:
        return None
    finally:
        os.close(there)
    flags, _, _, project = _ATTRIBUTES.unpack(told)
    return project if flags & _INHERITS and project else None


def is_exempt(kind: str, process: Path = _PROCESS) -> bool:
    """Whether no quota binds this process on a file system of this kind: CAP_SYS_RESOURCE, which root has.

    XFS does not ask for it, and it does not count in a user namespace, as in a container that was not started by root.
    """
    try:
        lines = (process / "status").read_text(encoding="utf-8").splitlines()
        effective = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
        users = (process / "uid_map").read_text(encoding="ascii").split()
    except (OSError, StopIteration, ValueError):
        return False
    return kind != "xfs" and users == _ALL_USERS and bool(effective & _CAP_SYS_RESOURCE)
