"""The part of the tree that shows a machine who is there, and who holds what; and what a look at it finds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from fscrawl.fleet.heartbeat import HeartbeatLogs
from fscrawl.fleet.leases import Lease


class Shared(HeartbeatLogs, Protocol):
    """What `ownership.Fleet` needs (`leases.Machinery` has it)."""

    def machines(self) -> list[str]: ...
    def is_packed(self, machine: str) -> bool: ...
    def ask_for_packs(self) -> None: ...
    def leases(self) -> list[tuple[int, int]]: ...
    def lease(self, shard: int, epoch: int) -> Lease: ...
    def has_lease(self, shard: int, epoch: int) -> bool: ...
    def claim_lease(self, shard: int, epoch: int, holder: str) -> bool: ...
    def put_back(self, leases: Iterable[tuple[int, int]], holder: str) -> None: ...
    def drop_lease(self, shard: int, epoch: int) -> None: ...


@dataclass
class Changes:
    """The changes that a look at the leases has found.

    adopted   shards that another machine handed over to this one
    lost      shards that this machine held and another machine holds now, or has held since then. A shard may have
              been away and come back: then it is adopted, too, and must be taken anew
    """

    adopted: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
