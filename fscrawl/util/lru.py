"""Memories of limited weight. Threads may share them.

`Lru` forgets what was not used for longest. `Recent` costs less: who reads takes no lock and moves nothing. For that,
it may forget what is in use.

Vocabulary:
  weight    what an item counts towards the limit: 1, or its size in bytes
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, TypeVar

G = TypeVar("G", bound=Hashable)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Two generations of items. When the young one has reached `limit`, it replaces the old one.

    >>> recent = Recent[str, int](limit=2)
    >>> for n, name in enumerate("abcde"):
    ...     recent.put(name, n)
    >>> [recent.get(name) for name in "abcde"]
    [None, None, 2, 3, 4]
    """

    def __init__(self, limit: int) -> None:
        """`limit`: the weight of one generation. It is reached by the item that ends the generation."""
        self.young: dict[K, V] = {}  # to be read only; a loop that cannot afford a call may look here before `get`
        self._old: dict[K, V] = {}
        self._limit = limit
        self._weight = 0  # of the young items
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Give an item, None if it is not there."""
        found = self.young.get(key)
        return self._old.get(key) if found is None else found

    def put(self, key: K, value: V, weight: int = 1) -> None:
        """Add or replace an item."""
        with self._lock:
            if key not in self.young:
                self._weight += weight
            self.young[key] = value
            if self._weight >= self._limit:
                self._old, self.young, self._weight = self.young, {}, 0


class RecentDepths(Recent[K, int]):
    """What was seen lately, each item with its least depth."""

    def add(self, item: K, depth: int, weight: int = 1) -> bool:
        """Add an item; tell whether it was new, or had only been added with greater depths."""
        before = self.get(item)
        if before is not None and before <= depth:
            return False
        self.put(item, depth, weight)
        return True


class RecentGroups(Generic[G, K, V]):
    """The same for items in groups: who needs many items of one group looks that up only once.

    >>> recent = RecentGroups[str, str, int](limit=9)
    >>> recent.put("a", "x", 1)
    >>> recent.put("a", "y", 2)
    >>> recent.group("a"), recent.group("b")
    ({'x': 1, 'y': 2}, {})
    """

    def __init__(self, limit: int) -> None:
        """`limit`: as for `Recent`."""
        self._young: dict[G, dict[K, V]] = {}
        self._old: dict[G, dict[K, V]] = {}
        self._limit = limit
        self._weight = 0  # of the young groups
        self._lock = threading.Lock()

    def group(self, group: G) -> Mapping[K, V]:
        """Give those items of a group that can be found at once. Others of the group may come to them meanwhile."""
        return self._young.get(group) or {}

    def get(self, group: G, key: K) -> V | None:
        """Give an item, None if it is not there."""
        for generation in (self._young, self._old):
            items = generation.get(group)
            if items is not None and (found := items.get(key)) is not None:
                return found
        return None

    def put(self, group: G, key: K, value: V, weight: int = 1, group_weight: int = 0) -> None:
        """Add or replace an item. `group_weight`: of the group without its items, if it is new."""
        self.put_all(group, {key: value}, weight, group_weight)

    def put_all(self, group: G, new: Mapping[K, V], weight: int, group_weight: int = 0) -> None:
        """Add or replace items of one group. `weight`: of all of them; it counts if one of them was not there."""
        with self._lock:
            items = self._young.get(group)
            if items is None:
                items = self._young[group] = {}
                self._weight += group_weight
            before = len(items)
            items.update(new)
            if len(items) > before:
                self._weight += weight
            if self._weight >= self._limit:
                self._old, self._young, self._weight = self._young, {}, 0


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
