"""What was seen lately: a memory of the latest items, bounded. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from fscrawl.util.lru import Recent

T = TypeVar("T", bound=Hashable)


class RecentDepths(Generic[T]):
    """A bounded memory of what was seen lately, each item with its least depth. Threads may share it."""

    def __init__(self, size: int) -> None:
        """`size`: the weight of what is remembered at least; it may be twice as much."""
        self._recent: Recent[T, int] = Recent(size)

    @property
    def young(self) -> Mapping[T, int]:
        """What was added last, with its least depths: for who asks for many items at once."""
        return self._recent.young

    def add(self, item: T, depth: int, weight: int = 1) -> bool:
        """Add `item`; tell whether it was new, or had only been added with greater depths."""
        before = self._recent.get(item)
        if before is not None and before <= depth:
            return False
        self._recent.put(item, depth, weight)
        return True
