"""Is `.fscrawl` still the one that this machine joined?

Somebody may delete it, put a backup in its place, or make it anew, while machines run. What a machine writes into its
own logs is then not what the others read. So a beat extends the permit only if `Anchor.check` says so: `tree.json`
names the machinery that this machine joined, and the heartbeat log that has this machine's name is the one that it
writes.

Whoever makes a `.fscrawl` where pages are stored already knows nothing of the leases of the one before. Machines that
worked with it fetch on until their permits end. So a machine of the new one waits that long before its first claim
(`must_wait_s`), unless another one has done so (`note_waited`).

A file that is missed is looked for in two ways, by its name and in a listing: sshfs misses a name for an instant while
it is being replaced, and any of the two answers may be old.

Promise: MemoryGone is raised only if the own memory of the fleet is certainly another one. What may be an old view, or
a fault that passes, only means that the last beat does not count.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Literal, Protocol

from fscrawl.errors import FscrawlError, MemoryGone, NotATreeError, RecordError, TreeError
from fscrawl.storage.layout import LINKS, MACHINERY, TREE_RECORD, WAITED, heartbeat_path
from fscrawl.storage.records import TreeRecord
from fscrawl.storage.retrying import Retrying
from fscrawl.store import Tree, TreeFiles

_RETRYING = Retrying(1.0)  # there is soon another beat
_INSTANT_S = 0.02


def cause_of(tree: Tree, error: FscrawlError) -> FscrawlError:
    """Give the reason of an error: a file may be missing because all of `.fscrawl` was deleted or replaced."""
    if isinstance(error, TreeError) and not error.retry:
        try:
            Anchor(tree).check()
        except FscrawlError as cause:
            return cause
    return error


def unless_gone(tree: Tree, warn: Callable[[str], None]) -> Callable[[str], None]:
    """Give a `warn` about single files that says nothing if the whole tree is missing: the end of the run says that."""

    def warn_of_file(text: str) -> None:
        with contextlib.suppress(FscrawlError):
            if tree.files.exists(TREE_RECORD):
                warn(text)

    return warn_of_file


class OwnLog(Protocol):
    """The part of a log that its writer is asked for (`storage.append_log.Log` has it)."""

    def sameness(self, retrying: Retrying | None = None) -> Literal["same", "other", "missing"]: ...


def must_wait_s(tree: Tree, dead_after_s: float, caches_s: float) -> float:
    """Give for how many seconds this machine must not claim a shard, counted from now by its own clock.

    `caches_s`: how long a machine of the `.fscrawl` before may have seen an old tree.json. A permit that it got at the
    end of that time holds for half of `dead_after` more.
    """
    record = tree.record
    if not record.over_pages or tree.files.read_or_torn(WAITED) == _name_of(record):
        return 0.0
    return max(dead_after_s, caches_s + dead_after_s / 2)


def note_waited(tree: Tree) -> None:
    """Tell the machines that join later that the time of `must_wait_s` has passed for all."""
    tree.files.publish(WAITED, _name_of(tree.record))


def _name_of(record: TreeRecord) -> bytes:
    return f"{record.machinery}\n".encode()


class Anchor:
    """What this machine found when it joined. Called from the thread that beats."""

    def __init__(self, tree: Tree, log: OwnLog | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        """`log`: the heartbeat log that this machine writes; None if it has none yet."""
        self._files = TreeFiles(tree.root, tree.machine, retrying=_RETRYING)
        self._machinery = tree.record.machinery
        self._log = log
        self._log_path = heartbeat_path(tree.machine)
        self._sleep = sleep

    def check(self) -> bool:
        """Tell whether all is as this machine has left it; False if that cannot be told now, and must be asked again.

        MemoryGone if it is not; NotATreeError if the whole tree is missing, as after an unmount, or if tree.json is
        damaged; another TreeError if the file system fails.
        """
        return self._is_machinery_ours() and (self._log is None or self._is_log_ours(self._log))

    def _is_machinery_ours(self) -> bool:
        try:
            record = self._read_record()
        except RecordError:  # sshfs may return a part of a file
            self._sleep(_INSTANT_S)
            try:
                record = self._read_record()
            except RecordError as error:
                path = self._files.absolute(TREE_RECORD)
                raise NotATreeError(f"{path}: {error}; it must be what the first machine wrote") from error
        if record is None:
            return self._believe_missing(TREE_RECORD)
        if record.machinery != self._machinery:
            raise self._gone(MACHINERY, "it was made anew")
        return True

    def _read_record(self) -> TreeRecord | None:
        data = self._files.read(TREE_RECORD)
        return None if data is None else TreeRecord.from_json(data)

    def _is_log_ours(self, log: OwnLog) -> bool:
        match log.sameness(_RETRYING):
            case "same":
                return True
            case "missing":
                return self._believe_missing(self._log_path)
            case "other":
                raise self._gone(self._log_path, "it is not what this machine has written")

    def _believe_missing(self, path: str) -> bool:
        """Raise what it means that a file is missing; False if a second look finds it, by its name or in a listing."""
        self._sleep(_INSTANT_S)
        directory, _, name = path.rpartition("/")
        if self._files.exists(path) or name in self._files.names(directory):
            return False
        if not self._files.exists(LINKS):
            raise NotATreeError(f"{self._files.root}: the crawl is gone (no {path}); is the share mounted?")
        raise self._gone(path, "it was deleted")

    def _gone(self, path: str, what: str) -> MemoryGone:
        return MemoryGone(f"{self._files.absolute(path)}: {what} while this machine was running")
