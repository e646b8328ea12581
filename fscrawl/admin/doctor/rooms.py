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


def missing(tree: Tree) -> Iterator[CheckResult]:
    """Name the directories that are missing."""
    rooms = tree.missing_rooms()
    if not rooms:
        yield CheckResult(OK, f"all directories of the tree are in {tree.root}")
    for room in rooms:
        if not _is_machinery(room):
            repair = f"{command('audit', tree.root)} --repair"
            made = f"mkdir {path_word(tree.files.absolute(room))} && {repair}"
            yield CheckResult(
                PROBLEM, _said(tree, [room]), f"is the share mounted? If somebody has removed it:  {made}"
            )
    yield from of_machinery(tree, rooms)


def of_machinery(tree: Tree, rooms: list[str]) -> Iterator[CheckResult]:
    """Name what is missing in `.fscrawl`. `rooms`: all that are missing.

    The share is there, since `tree.json` was read. An empty directory is not what the other files tell of, so it is
    safer to make all anew, which costs a look at all records.
    """
    parts = [room for room in rooms if _is_machinery(room)]
    if parts:
        removed = f"rm -r {path_word(tree.files.absolute(MACHINERY))} && {command('crawl', tree.root)}"
        again = "the crawl makes it again from what is stored, and fetches nothing twice"
        yield CheckResult(PROBLEM, _said(tree, parts), f"when no machine runs on this tree:  {removed}    ({again})")


def _is_machinery(room: str) -> bool:
    return room.startswith(MACHINERY)


def _said(tree: Tree, rooms: list[str]) -> str:
    are = "is" if len(rooms) == 1 else "are"
    return f"{', '.join(map(tree.files.absolute, rooms))} {are} missing"
