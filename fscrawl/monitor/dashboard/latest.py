"""The newest snapshot of a tree, for many requests at a time.

Promise: the tree is looked at at most once a second, and not at all while nobody asks. If it does not answer, one
thread waits for it, and the others are told so after some seconds.
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
_PATIENCE_S = 3.0

T = TypeVar("T")


class Latest:
    """Looks at the tree at `root`; NotATreeError if there is none to begin with."""

    def __init__(
        self, root: Path, clock: Callable[[], float] = time.monotonic, patience_s: float = _PATIENCE_S
    ) -> None:
        self.tree = Tree(root, new_machine_id())
        self._clock = clock
        self._patience_s = patience_s
        self._observer = Observer(self.tree)
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._looked_at = 0.0
        self._began = clock()

    def ask(self, question: Callable[[Snapshot], T]) -> T:
        """Answer a question about the newest snapshot; TreeError if there is none now.

        One question is answered at a time.
        """
        if not self._lock.acquire(timeout=self._patience_s):
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
        """Raise a TreeError if the tree is gone: an empty mount point has no machines and no pages, and no error."""
        Tree(self.tree.root, self.tree.machine)

    def _look(self) -> None:
        self._snapshot = None
        self._began = self._clock()
        self.check()
        self._snapshot = self._observer.look()
        self._looked_at = self._clock()
