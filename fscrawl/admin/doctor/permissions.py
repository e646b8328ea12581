"""Checks whether the directories of a tree are as open as its root, so that users of one group can crawl together."""

from __future__ import annotations

import itertools
import stat
from collections.abc import Iterator

from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult
from fscrawl.storage.layout import DIRECTORIES, PAGE_DIRECTORIES
from fscrawl.store import Access, Tree
from fscrawl.util.installed import path_word

_MOST_HOSTS = 200  # directories of hosts that are looked at


def compare(tree: Tree) -> Iterator[CheckResult]:
    """Compare the directories of the tree, and those of some hosts, with the root."""
    root = tree.files.access()
    if root is None:
        return
    paths = [path for path in _paths(tree) if _misfits(tree.files.access(path), root)]
    if not paths:
        yield CheckResult(OK, f"what is in {tree.root} is as open as it is: {_words(root)}")
        return
    closed = [path for path in paths if not tree.files.may_write(path)]
    path = (closed or paths)[0]
    found = tree.files.access(path)
    others = f" and {len(paths) - 1} more directories" if len(paths) > 1 else ""
    unable = "; this user cannot write there" if closed else ""
    yield CheckResult(
        PROBLEM if closed else WARNING,
        f"{path}{others} are less open than the root: {_words(found)}, the root {_words(root)}{unable}",
        f"their owner, or root, can mend it:  {_command(tree, root)}",
    )


def _paths(tree: Tree) -> Iterator[str]:
    yield from DIRECTORIES
    yield from itertools.islice(
        (f"{directory}/{host}" for directory in PAGE_DIRECTORIES for host in tree.hosts(directory)), _MOST_HOSTS
    )


def _misfits(found: Access | None, root: Access) -> bool:
    if found is None:
        return False
    return bool(found.lacks(root)) or (root.group_counts and found.group != root.group)


def _words(access: Access | None) -> str:
    return "gone" if access is None else f"{stat.filemode(access.mode)[1:]} of group {access.group}"


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
