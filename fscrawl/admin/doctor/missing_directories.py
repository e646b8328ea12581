"""Checks whether all directories of a tree are there.

No program makes one that is missing, except for a new tree: mostly the share is gone, and what is made then is on the
disk below.
"""

from __future__ import annotations

from collections.abc import Iterator

from fscrawl.admin.doctor.check_result import OK, PROBLEM, CheckResult
from fscrawl.storage.layout import MACHINERY
from fscrawl.store import Tree
from fscrawl.util.installed import command, path_word


def of_tree(tree: Tree) -> Iterator[CheckResult]:
    """Name the directories that are missing."""
    missing = tree.missing_directories()
    if not missing:
        yield CheckResult(OK, f"all directories of the tree are in {tree.root}")
    for directory in missing:
        if not _is_machinery(directory):
            repair = f"{command('audit', tree.root)} --repair"
            made = f"mkdir {path_word(tree.files.absolute(directory))} && {repair}"
            yield CheckResult(
                PROBLEM, _message(tree, [directory]), f"is the share mounted? If somebody has removed it:  {made}"
            )
    yield from of_machinery(tree, missing)


def of_machinery(tree: Tree, missing: list[str]) -> Iterator[CheckResult]:
    """Name what is missing in `.fscrawl`. `missing`: all directories that are.

    The share is there, since `tree.json` was read. An empty directory does not fit the other files, so it is
    safer to make all anew, which costs a look at all records.
    """
    parts = [directory for directory in missing if _is_machinery(directory)]
    if parts:
        removed = f"rm -r {path_word(tree.files.absolute(MACHINERY))} && {command('crawl', tree.root)}"
        again = "the crawl makes it again from what is stored, and fetches nothing twice"
        yield CheckResult(PROBLEM, _message(tree, parts), f"when no machine runs on this tree:  {removed}    ({again})")


def _is_machinery(directory: str) -> bool:
    return directory.startswith(MACHINERY)


def _message(tree: Tree, missing: list[str]) -> str:
    are = "is" if len(missing) == 1 else "are"
    return f"{', '.join(map(tree.files.absolute, missing))} {are} missing"
