"""The latest snapshot of a tree, shared by all requests.

Promise: a snapshot is made at most once a second, and only when a request asks. If the file system hangs, one thread
waits for it, and the others get an error after some seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fscrawl.errors import TreeError
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.monitor.snapshot import Observer, Snapshot
from fscrawl.store import Tree

_FRESH_S = 0.9
_LIMIT_S = 3.0

T = TypeVar("T")


class Latest:
    """Takes snapshots of the tree at `root`; NotATreeError if there is none at the start."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic, limit_s: float = _LIMIT_S) -> None:
        self.tree = Tree(root, new_machine_id())
        self._clock = clock
        self._limit_s = limit_s
        self._observer = Observer(self.tree)
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._looked_at = 0.0
        self._began = clock()

    def ask(self, question: Callable[[Snapshot], T]) -> T:
        """Give what `question` makes of the latest snapshot; TreeError if the tree cannot be read now.

        Only one question runs at a time.
        """
        if not self._lock.acquire(timeout=self._limit_s):
            waited_s = self._clock() - self._began
            raise TreeError(f"{self.tree.root}: no answer for {waited_s:.0f} s; does the share hang?")
        try:
            if self._snapshot is None or self._clock() - self._looked_at >= _FRESH_S:
                self._look()
            assert self._snapshot is not None
            return question(self._snapshot)
        finally:
            self._lock.release()

    def check(self) -> None:
        """Raise a TreeError if the tree is gone: an empty mount point looks like a tree without machines and pages."""
        Tree(self.tree.root, self.tree.machine)

    def _look(self) -> None:
        self._snapshot = None
        self._began = self._clock()
        self.check()
        self._snapshot = self._observer.look()
        self._looked_at = self._clock()
