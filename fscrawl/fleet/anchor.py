"""Is `.fscrawl` still the one that this machine joined?

Somebody may delete it, put a backup in its place, or make it anew, while machines run. What a machine writes into its
own logs is then not what the others read. So a beat extends the permit only if `Anchor.check` says so: `tree.json`
names the machinery that this machine joined, and the heartbeat log that has this machine's name is the one that it
writes. If not, the run ends, and the same command goes on from what is stored.

A file that is missed is looked for in two ways, by its name and in a listing: sshfs misses a name for an instant while
it is being replaced, and any of the two answers may be old.

Promise: MemoryGone is raised only if the own memory of the fleet is certainly another one. What may be an old view, or
a fault that passes, only means that the last beat does not count.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Literal

from fscrawl.errors import FscrawlError, MemoryGone, NotATreeError, RecordError
from fscrawl.storage.append_log import Log
from fscrawl.storage.layout import LINKS, MACHINERY, TREE_RECORD, heartbeat_path
from fscrawl.storage.records import TreeRecord
from fscrawl.storage.retrying import Retrying
from fscrawl.store import Tree, TreeFiles

_RETRYING = Retrying(1.0)  # there is soon another beat
_INSTANT_S = 0.02


def unless_gone(tree: Tree, warn: Callable[[str], None]) -> Callable[[str], None]:
    """Give a `warn` about single files that says nothing if the whole tree is missing: the end of the run says that."""

    def warn_of_file(text: str) -> None:
        with contextlib.suppress(FscrawlError):
            if tree.files.exists(TREE_RECORD):
                warn(text)

    return warn_of_file


class Anchor:
    """What this machine found when it joined. Called from the thread that beats."""

    def __init__(self, tree: Tree, log: Log | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        """`log`: the heartbeat log that this machine writes; None if it has none yet."""
        self._files = TreeFiles(tree.root, tree.machine, retrying=_RETRYING)
        self._machinery, self._changes = tree.record.machinery, tree.record.changes
        self._log = log
        self._log_path = heartbeat_path(tree.machine)
        self._sleep = sleep

    def check(self) -> bool:
        """Tell whether all is as this machine has left it; False if that cannot be told now, and must be asked again.

        MemoryGone if it is not; NotATreeError if the whole tree is missing, as after an unmount, or if tree.json is
        damaged; another TreeError if the file system fails.
        """
        try:
            data = self._files.read(TREE_RECORD)
            if data is None:
                return self._believe_missing(TREE_RECORD)
            found = TreeRecord.from_json(data)
            if found.machinery != self._machinery:
                raise MemoryGone.at(self._files.absolute(MACHINERY), "it was made anew")
            if found.changes != self._changes:
                raise MemoryGone.at(self._files.absolute(TREE_RECORD), "the layout of the pages has changed")
        except RecordError:
            return self._believe_damaged()
        match self._log.sameness(_RETRYING) if self._log else "same":
            case "missing":
                return self._believe_missing(self._log_path)
            case "other":
                raise MemoryGone.at(self._files.absolute(self._log_path), "it is not what this machine has written")
        return True

    def _believe_damaged(self) -> Literal[False]:
        """Raise what is wrong with tree.json, unless a second look reads it: sshfs may return a part of a file."""
        self._sleep(_INSTANT_S)
        data = self._files.read(TREE_RECORD) or b""
        try:
            TreeRecord.from_json(data)
        except RecordError as error:
            path = self._files.absolute(TREE_RECORD)
            raise NotATreeError(f"{path}: {error}; it must be what the first machine wrote") from error
        return False

    def _believe_missing(self, path: str) -> Literal[False]:
        """Raise what it means that a file is missing, unless a second look finds it, by its name or in a listing."""
        self._sleep(_INSTANT_S)
        directory, _, name = path.rpartition("/")
        if self._files.exists(path) or name in self._files.names(directory):
            return False
        if not self._files.exists(LINKS):
            raise NotATreeError(f"{self._files.root}: the crawl is gone (no {path}); is the share mounted?")
        raise MemoryGone.at(self._files.absolute(path), "it was deleted")
