"""How the pages of a tree are divided among readers. Pure.

A page is always in the same part, whatever else is stored, and the parts are about equal, whatever its hosts are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from fscrawl.errors import UsageError

Shard = tuple[int, int]  # number, from 0, and how many there are
Shards = Shard | Sequence[Shard]


def parts(given: Any) -> list[Shard]:
    """Read what somebody gave: (number, how many), or a list of these. UsageError if it is something else.

    >>> parts((0, 2)), parts([(0, 4), (2, 4)])
    ([(0, 2)], [(0, 4), (2, 4)])
    """
    found = [given] if isinstance(given, tuple) and len(given) == 2 and not isinstance(given[0], tuple) else given
    try:
        pairs = [(number, of) for number, of in found]
    except (TypeError, ValueError):
        pairs = []
    if not pairs or not all(type(n) is int and type(of) is int and 0 <= n < of for n, of in pairs):
        raise UsageError(f"shard={given!r}: must be (number, how many), like (0, 4), or a list of these")
    return pairs


def among_workers(shards: list[Shard]) -> list[Shard]:
    """Give the part of this process, if it is a worker of a torch DataLoader, else all."""
    data = sys.modules.get("torch.utils.data")  # a worker has loaded it
    info = data.get_worker_info() if data is not None else None
    if info is None:
        return shards
    return [(number + of * info.id, of * info.num_workers) for number, of in shards]


def chooser(shards: list[Shard]) -> Callable[[str], bool] | None:
    """Give the function that tells whether a key is in one of the parts; None if all keys are.

    >>> keys = [f"{number:024x}" for number in range(0, 2**96, 2**90)]
    >>> whole, [*quarters] = chooser([(1, 2)]), (chooser([(1, 4)]), chooser([(3, 4)]))
    >>> [whole(key) for key in keys] == [any(quarter(key) for quarter in quarters) for key in keys]
    True
    """
    if any(of == 1 for _, of in shards):
        return None

    def has(key: str) -> bool:
        number = int(key[:15], 16)
        return any(number % of == part for part, of in shards)

    return has
