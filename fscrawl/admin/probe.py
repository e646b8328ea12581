"""Tries the mount before a crawl: does this file system keep the promises that the tree is built on?

Vocabulary:
  unsafe   the file system costs time or work here, but loses no data: a warning
  refused  the file system would lose data: a TreeError that says what to do

The probe uses a directory of its own in `.fscrawl`, and removes it afterwards.

A file system is refused if it has no hard links (machines take leases by link(), even a single machine), if link()
accepts a name that is taken, if rename() does not replace a file, if a reader does not see an append, or if the
operating system refuses a call (read-only, full, no permission).

Promise: if all is well, it takes some thirty system calls and no fsync, so that it can run at every start. One machine
alone cannot find out what two machines see of each other; docs/design.md has the measurements.
"""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Callable
from functools import partial

from fscrawl import interrupts
from fscrawl.errors import TreeError
from fscrawl.storage.mounts import mount_at
from fscrawl.storage.probe_directory import ProbeDirectory
from fscrawl.store import Tree

LONGEST_WAIT_S = 1.0  # for an append or a new name to be seen
_LATE_S = 0.25  # later than this is worth a warning
_STEP_S = 0.01
_NAMES = ("page", "second", "log")
_OLD, _NEW = b"old\n", b"new\n"  # of the same length: sshfs may cut a replaced file at its old size
_UNABLE = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EEXIST, errno.EMLINK})
_Wait = Callable[[Callable[[], bool]], float | None]
_ELSEWHERE = "put the tree on another file system (a local disk, NFS, sshfs of an OpenSSH server, GlusterFS)"


def probe(
    tree: Tree,
    warn: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> float:
    """Try the file system of `tree`; warn of what is unsafe. TreeError if a crawl there would lose data.

    Give how many seconds it took until what was appended could be read.
    """
    directory = ProbeDirectory(tree.files, tree.machine)
    mount = mount_at(tree.root)
    where = f"{tree.root}: this file system" + (f" ({mount.kind})" if mount else "")
    with interrupts.later():
        directory.make()
        try:
            append_seen_s, unsafe = _try_out(directory, where, partial(_until, clock=clock, sleep=sleep))
        except TreeError:
            tree.check_there()  # if the share is gone, say that
            raise
        finally:
            with contextlib.suppress(TreeError):  # an audit removes what is left
                directory.clear(_NAMES)
    if unsafe:
        tree.check_there()
    for text in unsafe:
        warn(f"{where}: {text}")
    return append_seen_s


def _until(holds: Callable[[], bool], clock: Callable[[], float], sleep: Callable[[float], None]) -> float | None:
    """Ask until it holds; return the seconds that took, None if it took too long."""
    began = clock()
    while not holds():
        if clock() - began >= LONGEST_WAIT_S:
            return None
        sleep(_STEP_S)
    return clock() - began


def _try_out(directory: ProbeDirectory, where: str, until: _Wait) -> tuple[float, list[str]]:
    """Give how late an append was seen, and the texts of warnings."""
    unsafe = []
    directory.create("page", _OLD)
    if directory.create("page", _NEW):
        unsafe.append("two programs can create the same file (O_EXCL does not work): run only one machine at a time")
    directory.append("log", _NEW)
    append_seen_s = until(lambda: directory.read("log").endswith(_NEW))
    if append_seen_s is None:
        raise TreeError(f"{where} does not show what was appended to a file: {_ELSEWHERE}")
    if append_seen_s > _LATE_S:
        unsafe.append(f"appended data is visible {append_seen_s:.2f} s late: machines learn late about each other")
    _link(directory, where)
    _replace(directory, where, until)
    listing_seen_s = until(lambda: {"page", "second"} <= set(directory.names()))
    if listing_seen_s is None:
        unsafe.append(f"a listing does not show a new name within {LONGEST_WAIT_S:g} s: pages may be fetched twice")
    elif listing_seen_s > _LATE_S:
        unsafe.append(f"a listing shows a new name {listing_seen_s:.2f} s late: pages may be fetched twice")
    return append_seen_s, unsafe


def _link(directory: ProbeDirectory, where: str) -> None:
    try:
        directory.link("page", "second")
        exclusive = not directory.link("log", "second")
    except TreeError as error:
        if not _is_unable(error):
            raise
        raise TreeError(f"{where} has no hard links, and machines need them to share the work: {_ELSEWHERE}") from error
    if not exclusive:
        raise TreeError(f"{where} lets link() create a name twice, so a shard could have two owners: {_ELSEWHERE}")


def _replace(directory: ProbeDirectory, where: str, until: _Wait) -> None:
    refused = TreeError(f"{where} does not replace a file by rename(): {_ELSEWHERE}")
    try:
        directory.rename("log", "page")
    except TreeError as error:
        if not _is_unable(error):
            raise
        raise refused from error
    if until(lambda: directory.read("page").endswith(_NEW)) is None:
        raise refused


def _is_unable(error: TreeError) -> bool:
    """Tell whether the file system never supports this; otherwise it only failed this time."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in _UNABLE
