"""A memory of limited weight that forgets what was not used for longest. Threads may share it.

Vocabulary:
  weight    what an item counts towards the limit: 1, or its size in bytes
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    """Items whose weights together stay within a limit; one that is heavier than the limit is kept alone.

    >>> lru = Lru[str, int](limit=2)
    >>> lru.put("a", 1), lru.put("b", 2), lru.get("a"), lru.put("c", 3)
    (None, None, 1, None)
    >>> lru.get("a"), lru.get("b"), len(lru)
    (1, None, 2)
    """

    def __init__(self, limit: int) -> None:
        self.weight = 0
        self._limit = limit
        self._items: OrderedDict[K, tuple[V, int]] = OrderedDict()  # what was not used for longest comes first
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: K) -> V | None:
        """Give an item, None if it is not there. It now counts as used."""
        with self._lock:
            return self._find(key)

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """Give an item. If it is not there, make and add it, once for all threads that ask; they wait meanwhile."""
        with self._lock:
            found = self._find(key)
            if found is None:
                found = make()
                self._add(key, found, 1)
            return found

    def put(self, key: K, value: V, weight: int = 1) -> None:
        """Add or replace an item, and forget others as long as all together are too heavy."""
        with self._lock:
            self._add(key, value, weight)

    def pop(self, key: K) -> V | None:
        """Forget an item and give it, None if it is not there."""
        with self._lock:
            found, weight = self._items.pop(key, (None, 0))
            self.weight -= weight
            return found

    def _find(self, key: K) -> V | None:
        found = self._items.get(key)
        if found is None:
            return None
        self._items.move_to_end(key)
        return found[0]

    def _add(self, key: K, value: V, weight: int) -> None:
        self.weight += weight - self._items.pop(key, (None, 0))[1]
        self._items[key] = value, weight
        while self.weight > self._limit and len(self._items) > 1:
            self.weight -= self._items.popitem(last=False)[1][1]
