"""Checks of the directory for the tree, and of the directories in it.

Which mount is it, does its file system do what a tree needs, how much space is there? Are all directories of the tree
there, and as open as the root, so that users of one group can crawl together?

docs/how-to/file-systems.md has what is known of file systems as a table, with the sources.

statvfs shows what is free. Servers of NFS and the clients of CephFS fill it with a quota of the exported directory, and
ext4 and XFS with that of a project. A quota of a user or group is not in it.

Vocabulary:
  kind    the type in /proc/self/mountinfo: "nfs4", "ceph"; of FUSE with what follows the dot: "fuse.sshfs"
  tried   our tests run on it; of all others we know only what is written about them
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fscrawl import interrupts, store
from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult
from fscrawl.admin.probe import probe
from fscrawl.config.settings import Settings
from fscrawl.errors import TreeError, tree_error
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.storage.layout import DIRECTORIES, MACHINERY, PAGE_DIRECTORIES
from fscrawl.storage.mounts import IN_MEMORY, LOCAL, TABLE, Mount
from fscrawl.storage.records import FORMAT, TreeRecord, new_machinery
from fscrawl.store import Access, Tree
from fscrawl.util.humanize import number_of, size
from fscrawl.util.installed import command, path_word


def missing_directories(tree: Tree) -> Iterator[CheckResult]:
    """Name the directories that are missing."""
    missing = tree.missing_directories()
    if not missing:
        yield CheckResult(OK, f"all directories of the tree are in {tree.root}")
    try:
        tree.check_directories()
    except TreeError as error:
        yield CheckResult(PROBLEM, str(error))
    yield from of_machinery(tree, missing)


def of_machinery(tree: Tree, missing: list[str]) -> Iterator[CheckResult]:
    """Name what is missing in `.fscrawl`. `missing`: all directories that are.

    The share is there, since `tree.json` was read. An empty directory does not fit the other files, so it is
    safer to make all anew, which costs a look at all records.
    """
    parts = [tree.files.absolute(directory) for directory in missing if directory.startswith(MACHINERY)]
    if parts:
        removed = f"rm -r {path_word(tree.files.absolute(MACHINERY))} && {command('crawl', tree.root)}"
        again = "the crawl makes it again from what is stored, and fetches nothing twice"
        what = f"{', '.join(parts)} {'is' if len(parts) == 1 else 'are'} missing"
        yield CheckResult(PROBLEM, what, f"when no machine runs on this tree:  {removed}    ({again})")


_MOST_HOSTS = 200  # directories of hosts that are looked at


def openness(tree: Tree) -> Iterator[CheckResult]:
    """Compare the directories of the tree, and those of some hosts, with the root."""
    root = tree.files.access()
    if root is None:
        return
    found = {path: access for path in _paths(tree) if (access := tree.files.access(path)) and _misfits(access, root)}
    if not found:
        yield CheckResult(OK, f"what is in {tree.root} is as open as it is: {_words(root)}")
        return
    closed = [path for path in found if not tree.files.may_write(path)]
    path = (closed or [*found])[0]
    others = f" and {len(found) - 1} more directories" if len(found) > 1 else ""
    unable = "; this user cannot write there" if closed else ""
    yield CheckResult(
        PROBLEM if closed else WARNING,
        f"{path}{others} are less open than the root: {_words(found[path])}, the root {_words(root)}{unable}",
        f"their owner, or root, can mend it:  {_command(tree, root)}",
    )


def _paths(tree: Tree) -> Iterator[str]:
    yield from DIRECTORIES
    yield from itertools.islice(
        (f"{directory}/{host}" for directory in PAGE_DIRECTORIES for host in tree.hosts(directory)), _MOST_HOSTS
    )


def _misfits(found: Access, root: Access) -> bool:
    return bool(found.lacks(root)) or (root.group_counts and found.group != root.group)


def _words(access: Access) -> str:
    return f"{stat.filemode(access.mode)[1:]} of group {access.group}"


def _command(tree: Tree, root: Access) -> str:
    where = path_word(tree.root)
    open_to = ((who, _rights(~root.umask >> shift)) for who, shift in (("u", 6), ("g", 3), ("o", 0)))
    mend = f"chmod -R {','.join(f'{who}+{rights}' for who, rights in open_to if rights)} {where}"
    if not root.group_counts:
        return mend
    return f"chgrp -R {root.group} {where} && {mend} && find {where} -type d -exec chmod g+s {{}} +"


def _rights(bits: int) -> str:
    """Give rights as chmod has them.

    >>> _rights(0o7), _rights(0o5), _rights(0o75)
    ('rwX', 'rX', 'rX')
    """
    return "".join(right for right, bit in (("r", 4), ("w", 2), ("X", 1)) if bits & bit)


NFS = frozenset({"nfs", "nfs4"})
_ELSEWHERE = "use a local disk, NFS, sshfs or GlusterFS"
_SECOND = "test it with a second machine before you rely on it"


_LATE = "another machine may not see a new file for up to a minute; the crawl allows for that"
_BUCKET = "a bucket and no file system: it has no hard links, which machines need to share the work"
_READ = "by its documentation it does what a tree needs, but fscrawl has not been tested with it"

_KINDS = {
    **dict.fromkeys(LOCAL, CheckResult(OK, "a local disk; other machines see it only if this machine exports it")),
    **dict.fromkeys(NFS, CheckResult(OK, _LATE)),
    "fuse.sshfs": CheckResult(OK, "a directory listing may be 20 s old; the crawl allows for that"),
    "fuse.glusterfs": CheckResult(OK, "tested with replicated volumes"),
    **dict.fromkeys(("ceph", "fuse.ceph", "fuse.ceph-fuse"), CheckResult(WARNING, _READ, _SECOND)),
    "lustre": CheckResult(WARNING, _READ, f"{_SECOND}; look at your quota with `lfs quota`"),
    "beegfs": CheckResult(
        WARNING, _READ, f"{_SECOND}; it must be of version 7.4 or newer, for hard links between directories"
    ),
    "fuse.juicefs": CheckResult(WARNING, _READ, f"{_SECOND}; do not mount it with --writeback"),
    **dict.fromkeys(
        ("cifs", "smb3", "smbfs"),
        CheckResult(
            WARNING,
            "whether it has hard links depends on the server, and fscrawl has not been tested with it",
            "mount the same directory by NFS if you can",
        ),
    ),
    **dict.fromkeys(IN_MEMORY, CheckResult(WARNING, "it is in memory", "its files are lost at a restart")),
    **dict.fromkeys(("vfat", "exfat", "msdos"), CheckResult(PROBLEM, "it has no hard links", _ELSEWHERE)),
    **dict.fromkeys(
        [f"fuse.{each}" for each in ("s3fs", "gcsfuse", "rclone", "goofys", "blobfuse", "blobfuse2", "mountpoint-s3")],
        CheckResult(PROBLEM, _BUCKET, _ELSEWHERE),
    ),
}
_UNKNOWN = CheckResult(WARNING, "fscrawl has not been tested with it", _SECOND)


def known(kind: str, source: str) -> CheckResult:
    """Say what is known of a file system: "ok" if tried, "warning" if only read, "problem" if no tree can be there.

    `source`: what is mounted, such as "host:/path"; of FUSE without a subtype, it is the program.

    >>> known("fuse.gcsfuse", "my-bucket").level, known("fuse", "mountpoint-s3").level
    ('problem', 'problem')
    >>> known("ext4", "/dev/sda1").level, known("9p", "host").level
    ('ok', 'warning')
    """
    return _KINDS.get(f"fuse.{source}" if kind == "fuse" else kind, _UNKNOWN)


LITTLE_BYTES = 1 << 30  # less is worth a warning, whatever the crawl needs
FEW_FILES = 100_000  # 50,000 pages
_ADVICE = "lower it, get a larger quota, or use another file system: a full one ends the crawl, and nothing is lost"
_FILES = 2
_FILES_RENDERED = 4
_BLOCK_BYTES = 4096  # of which a file leaves a part empty
_TYPICAL = 100  # so many pages show how large the others are


def holder_of(root: Path) -> Path:
    """Give the directory to check: the root, or its parent if the root does not exist yet."""
    try:
        return root if root.exists() else root.absolute().parent
    except OSError as error:  # a directory above may not be entered, or a name is too long
        raise tree_error(error, root) from None


def mount(directory: Path, found: Mount | None) -> Iterator[CheckResult]:
    """Say what is known about a mount of this kind with these options."""
    if found is None:
        yield CheckResult(WARNING, f"{directory}: the mount cannot be found in {TABLE}")
        return
    mounted = f"{found.point} is {found.kind} of {found.source}"
    if "ro" in found.options:
        yield CheckResult(PROBLEM, f"{mounted}, mounted read-only", "mount it read-write")
    else:
        of_kind = known(found.kind, found.source)
        yield of_kind._replace(what=f"{mounted}: {of_kind.what}")
    if found.kind in NFS and "soft" in found.options:
        what = "it is mounted with the option soft, so writes fail when the server is slow"
        yield CheckResult(WARNING, what, "mount it with the option hard")


def try_out(tree: Tree | None, directory: Path) -> Iterator[CheckResult]:
    """Try the operations that a crawl needs. Without a tree, a temporary one is made and removed."""
    problems: list[str] = []
    try:
        if tree is not None:
            late_s = probe(tree, problems.append)
        else:
            with interrupts.later(), _scratch(directory) as scratch:
                late_s = probe(scratch, problems.append)
    except TreeError as error:
        yield CheckResult(PROBLEM, str(error))
        return
    for text in problems:
        yield CheckResult(WARNING, text)
    if not problems:
        yield CheckResult(
            OK, f"the file system does what a tree needs; new data is visible within {late_s * 1e3:.0f} ms"
        )


@contextlib.contextmanager
def _scratch(directory: Path) -> Iterator[Tree]:
    """Give a temporary tree inside a directory, which is removed afterwards."""
    try:
        made = Path(tempfile.mkdtemp(prefix=".fscrawl-doctor-", dir=directory))
    except OSError as error:
        raise tree_error(error, directory) from error
    try:
        machine = new_machine_id()
        store.create(made / "tree", TreeRecord(FORMAT, "doctor", "", 1, "host", new_machinery()), "", "", machine)
        yield Tree(made / "tree", machine)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def free_space(directory: Path, chosen: Settings, pages: int, stored_bytes: int) -> Iterator[CheckResult]:
    """Check the free space, in bytes and in files, and whether the pages fit there that `crawl.max_pages` still allows.

    `pages`, `stored_bytes`: what the tree has already. Some file systems do not say how many files fit.
    """
    try:
        there = os.statvfs(directory)
    except OSError as error:
        yield CheckResult(PROBLEM, str(tree_error(error, directory)))
        return
    free = there.f_bavail * there.f_frsize
    yield _judged(free, LITTLE_BYTES, f"{size(free)} free on {directory}", "free some space")
    if there.f_files:
        advice = "a page takes two files; delete some files, or use a file system with more inodes"
        yield _judged(there.f_favail, FEW_FILES, f"space for {number_of(there.f_favail, 'more file')}", advice)
    missing = max(0, (chosen.crawl.max_pages or 0) - pages)
    if not missing:
        return
    what = f"crawl.max_pages = {chosen.crawl.max_pages:,} allows {number_of(missing, 'more page')}"
    per_page = _FILES_RENDERED if chosen.render.is_on else _FILES
    if there.f_files:
        files = missing * per_page
        yield _fits(what, number_of(files, "file"), there.f_favail >= files, f"{there.f_favail:,}")
    if pages >= _TYPICAL:
        needed = missing * (stored_bytes // pages + per_page * _BLOCK_BYTES)
        yield _fits(what, f"about {size(needed)}", free >= needed, size(free))


def _judged(number: int, little: int, what: str, advice: str) -> CheckResult:
    return CheckResult(OK, what) if number >= little else CheckResult(WARNING if number else PROBLEM, what, advice)


def _fits(pages: str, needed: str, fits: bool, free: str) -> CheckResult:
    if fits:
        return CheckResult(OK, f"{pages}; there is room for their {needed}")
    return CheckResult(WARNING, f"{pages}, which need {needed}; {free} are free", _ADVICE)
