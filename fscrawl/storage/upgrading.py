"""The record of a tree of format 1 is replaced by one of format 2, by any number of machines at once.

All of them must name the same machinery. So the one that is first claims `tree2.json` with the new record, makes the
rooms that format 1 has not, and renames a copy to `tree.json`. The others wait for that. If it does not come, the first
one may have been killed, and each of them does the same with the record that was claimed.

Promise: from then on, a version of fscrawl that knows only format 1 refuses the tree. `tree2.json` stays, for a machine
that has read the old `tree.json` a moment ago.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fscrawl.errors import NotATreeError, RecordError
from fscrawl.storage.creation import TEXT_OF_README
from fscrawl.storage.files import TreeFiles
from fscrawl.storage.layout import MACHINERY_ROOMS, NEXT_TREE_RECORD, README, TREE_RECORD
from fscrawl.storage.records import FORMAT, TreeRecord, new_machinery
from fscrawl.storage.retrying import Retrying

_FIRST_TAKES_S = 2.0
_GLANCE_S = 0.05
_RETRYING = Retrying(10.0)  # as when a tree is made


def upgrade_record(
    root: Path, machine: str, record: TreeRecord, sleep: Callable[[float], None] = time.sleep
) -> TreeRecord:
    """Bring the tree's record to format 2, and return it. `record`: of format 1, as `machine` has read it."""
    files = TreeFiles(root, machine, fsync=True, retrying=_RETRYING)
    mine = replace(record, format=FORMAT, machinery=new_machinery()).to_json()
    if not files.claim(NEXT_TREE_RECORD, mine):
        mine = files.get(NEXT_TREE_RECORD)
        _wait_for_first(files, sleep)
    agreed = _parse(files, NEXT_TREE_RECORD, mine)
    found = _parse(files, TREE_RECORD, files.get(TREE_RECORD))
    if found.format >= FORMAT:  # done by another machine, or `.fscrawl` was made anew
        return found
    for room in MACHINERY_ROOMS:
        files.make_directory(room)
    files.publish(README, TEXT_OF_README.encode())
    files.publish(TREE_RECORD, mine)
    return agreed


def _wait_for_first(files: TreeFiles, sleep: Callable[[float], None]) -> None:
    """Wait for a while until the first machine has replaced the record."""
    for _ in range(round(_FIRST_TAKES_S / _GLANCE_S)):
        if _parse(files, TREE_RECORD, files.get(TREE_RECORD)).format >= FORMAT:
            return
        sleep(_GLANCE_S)


def _parse(files: TreeFiles, path: str, data: bytes) -> TreeRecord:
    try:
        return TreeRecord.from_json(data)
    except RecordError as error:
        raise NotATreeError(f"{files.absolute(path)}: {error}; it must be what the first machine wrote") from error
