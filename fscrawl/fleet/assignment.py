"""Which machine should hold which shard: rendezvous hashing with bounded loads. Pure.

Each machine has a random number for each shard. A shard goes to the machine with the highest number that has room for
it, and a machine that is full prefers the shards for which its numbers are highest. There is one such assignment
(a stable matching: no shard and no machine would both rather have each other), whatever order it is computed in.

Promise: every machine that knows the same live machines computes the same assignment. No machine gets more than a
quarter above its equal part, rounded up. When a machine joins or leaves, few other shards move than those it gets or
had.
"""

from __future__ import annotations

import hashlib
import heapq
import sys
from array import array
from collections.abc import Collection, Sequence

_SURPLUS_PERCENT = 25
_NOBODY = ""


def most_shards(shards: int, machines: int) -> int:
    """Give how many shards one machine gets at most.

    >>> most_shards(512, 100)
    7
    """
    return -(-shards * (100 + _SURPLUS_PERCENT) // (100 * machines))


def assign(shards: int, machines: Collection[str]) -> list[str]:
    """Give the machine that should hold each shard, by number of the shard; "" for all if there is no machine.

    It costs milliseconds for 512 shards and 100 machines, so callers keep the result for as long as the same machines
    are live.

    >>> assign(3, ["a"]), assign(2, [])
    (['a', 'a', 'a'], ['', ''])
    """
    names = sorted(set(machines))
    if not names:
        return [_NOBODY] * shards
    weights = list(zip(*(_weights(name, shards) for name in names), strict=True))
    return [names[index] for index in _match(weights, most_shards(shards, len(names)))]


def _weights(machine: str, shards: int) -> array[int]:
    """Give a machine's random numbers, one for each shard: they are the same for any number of shards.

    One call for all shards: a hash for each pair would take seconds for a thousand machines.
    """
    numbers = array("Q", hashlib.shake_128(machine.encode()).digest(8 * shards))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _match(weights: Sequence[Sequence[int]], most: int) -> list[int]:
    """Give the index of each shard's machine. `weights[shard][machine]`; `most`: shards that a machine has room for."""
    chosen = [0] * len(weights)
    held: list[list[tuple[int, int]]] = [[] for _ in weights[0]] if weights else []  # heaps of (weight, shard)
    orders: dict[int, list[int]] = {}  # of shards that were turned away: the machines left, the best one last
    homeless = list(range(len(weights)))
    while homeless:
        shard = homeless.pop()
        row = weights[shard]
        if shard not in orders:
            weight = max(row)
            machine = row.index(weight)
        else:
            machine = orders[shard].pop()
            weight = row[machine]
        chosen[shard] = machine
        if len(held[machine]) < most:
            heapq.heappush(held[machine], (weight, shard))
            continue
        _, away = heapq.heappushpop(held[machine], (weight, shard))
        if away not in orders:
            order = sorted(range(len(row)), key=weights[away].__getitem__)
            orders[away] = order[:-1]
        homeless.append(away)
    return chosen
