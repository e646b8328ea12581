"""Is `.fscrawl` still the one that this machine joined?

Somebody may delete it, put a backup in its place, or make it anew, while machines run. What a machine writes into its
own logs is then not what the others read. So a beat extends the permit only if `Anchor.check` says so: `tree.json`
names the machinery that this machine joined, and the heartbeat log that has this machine's name is the one that it
writes. If not, the run ends, and the same command goes on from what is stored.

What seems wrong is looked at twice: sshfs misses a name for an instant while it is being replaced, and may give a part
of a file. The second time, a file that is missed is also looked for in a listing, since a look by name may be old.

Promise: MemoryGone is raised only if the own memory of the fleet is certainly another one. What may be an old view, or
a fault that passes, only means that the last beat does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from fscrawl.errors import FscrawlError, MemoryGone, NotATreeError, RecordError
from fscrawl.storage.append_log import Log
from fscrawl.storage.layout import LINKS, MACHINERY, TREE_RECORD, heartbeat_path
from fscrawl.storage.records import TreeRecord
from fscrawl.storage.retrying import Retrying
from fscrawl.store import Tree, TreeFiles

_RETRYING = Retrying(1.0)  # there is soon another beat
_INSTANT_S = 0.02


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
        if self._fault() is None:
            return True
        self._sleep(_INSTANT_S)
        if (fault := self._fault(by_listing=True)) is not None:
            raise fault
        return False

    def _fault(self, *, by_listing: bool = False) -> FscrawlError | None:
        """Give what is wrong. `by_listing`: a file is missing only if a listing does not show it either."""
        data = self._files.read(TREE_RECORD)
        if data is None:
            return self._missing(TREE_RECORD, by_listing=by_listing)
        try:
            found = TreeRecord.from_json(data)
        except RecordError as error:  # sshfs may return a part of a file
            path = self._files.absolute(TREE_RECORD)
            return NotATreeError(f"{path}: {error}; it must be what the first machine wrote")
        if found.machinery != self._machinery:
            return MemoryGone.at(self._files.absolute(MACHINERY), "it was made anew")
        if found.changes != self._changes:
            return MemoryGone.at(self._files.absolute(TREE_RECORD), "the layout of the pages has changed")
        match self._log.sameness(_RETRYING) if self._log else "same":
            case "missing":
                return self._missing(self._log_path, by_listing=by_listing)
            case "other":
                return MemoryGone.at(self._files.absolute(self._log_path), "it is not what this machine has written")
        return None

    def _missing(self, path: str, *, by_listing: bool) -> FscrawlError | None:
        directory, _, name = path.rpartition("/")
        if by_listing and name in self._files.names(directory):
            return None
        if not self._files.exists(LINKS):
            return NotATreeError(f"{self._files.root}: the crawl is gone (no {path}); is the share mounted?")
        return MemoryGone.at(self._files.absolute(path), "it was deleted")
