"""What was seen lately: a memory of the latest items, bounded. Pure."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class RecentDepths(Generic[T]):
    """A bounded memory of what was seen lately, each item with its least depth. Threads may share it.

    It has two generations of at most `size` items. When the young one is full, it replaces the old one.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: dict[T, int] = {}
        self._old: dict[T, int] = {}
        self._lock = threading.Lock()

    def add(self, item: T, depth: int) -> bool:
        """Add `item`; tell whether it was new, or had only been added with greater depths."""
        before = self._young.get(item, self._old.get(item))
        if before is not None and before <= depth:
            return False
        with self._lock:
            self._young[item] = depth
            if len(self._young) >= self._size:
                self._old, self._young = self._young, {}
        return True
