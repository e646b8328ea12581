"""The newest look at a tree, for many who ask at a time.

Promise: the tree is looked at at most once a second, and not at all while nobody asks. If it does not answer, one
thread waits for it, and the others are told so after some seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fscrawl.config import settings
from fscrawl.errors import TreeError
from fscrawl.fleet.heartbeat import new_machine_id
from fscrawl.monitor.snapshot import Survey, View
from fscrawl.store import Tree

_FRESH_S = 0.9
_PATIENCE_S = 3.0

T = TypeVar("T")


class Lookout:
    """Looks at the tree at `root`; NotATreeError if there is none to begin with."""

    def __init__(
        self, root: Path, clock: Callable[[], float] = time.monotonic, patience_s: float = _PATIENCE_S
    ) -> None:
        self.tree = Tree(root, new_machine_id())
        self._clock = clock
        self._patience_s = patience_s
        self._survey = Survey(self.tree, self._settings)
        self._lock = threading.Lock()
        self._view: View | None = None
        self._looked_at = 0.0
        self._began = clock()

    def ask(self, question: Callable[[View], T]) -> T:
        """Answer a question about the newest view; TreeError if there is none now. The view is the question's alone."""
        if not self._lock.acquire(timeout=self._patience_s):
            waited_s = self._clock() - self._began
            raise TreeError(f"{self.tree.root}: no answer for {waited_s:.0f} s; does the share hang?")
        try:
            if self._view is None or self._clock() - self._looked_at >= _FRESH_S:
                self._look()
            assert self._view is not None
            return question(self._view)
        finally:
            self._lock.release()

    def check(self) -> None:
        """Raise a TreeError if the tree is gone: an empty mount point has no machines and no pages, and no error."""
        Tree(self.tree.root, self.tree.machine)

    def _look(self) -> None:
        self._view = None
        self._began = self._clock()
        self.check()
        self._view = self._survey.look()
        self._looked_at = self._clock()

    def _settings(self) -> settings.Settings:
        return settings.parse(self.tree.settings_text(), f"{self.tree.root}/{settings.FILE}")
