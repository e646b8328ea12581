"""Leases: files that say which machine holds which shard.

Vocabulary:
  shard     a part of all URLs, by number
  epoch     counts the holders of a shard; the highest one holds
  lease     the file `<shard>.<epoch>`; it names its holder, and is never changed

Promise: of any number of machines that claim one epoch of a shard, exactly one is told that it has it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from fscrawl.fleet.logs import Logs
from fscrawl.storage.layout import LEASES, is_host, is_machine, lease_of, lease_path
from fscrawl.store import Tree


class Lease(NamedTuple):
    """Machine `holder` holds `shard`. "": the claim cannot be read, so the holder is not known.

    rests   hosts of a shard that was handed over, and for how many seconds from then they must be left alone
    """

    shard: int
    epoch: int
    holder: str
    rests: tuple[tuple[str, float], ...] = ()


class Leases:
    """One process's view of the leases of a tree."""

    def __init__(self, tree: Tree) -> None:
        self._files = tree.files

    def leases(self) -> list[tuple[int, int]]:
        """List the (shard, epoch) of every lease."""
        return [lease for name in self._files.names(LEASES) if (lease := lease_of(name)) is not None]

    def lease(self, shard: int, epoch: int) -> Lease:
        """Read who holds an epoch; the holder is "" if the lease is torn, or cannot be found though it is listed."""
        data = self._files.read_or_torn(lease_path(shard, epoch)) or b""
        try:
            claim = json.loads(data)
            holder = str(claim["holder"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return Lease(shard, epoch, "")
        return Lease(shard, epoch, holder, _rests_in(claim)) if is_machine(holder) else Lease(shard, epoch, "")

    def has_lease(self, shard: int, epoch: int) -> bool:
        """Ask by name whether an epoch has been claimed."""
        return self._files.exists(lease_path(shard, epoch))

    def claim_lease(self, shard: int, epoch: int, holder: str, rests: Mapping[str, float] | None = None) -> bool:
        """Claim an epoch in the name of `holder`; tell whether this call won it. `rests`: as in `Lease`."""
        claim: dict[str, Any] = {"holder": holder, "by": self._files.machine, "nonce": os.urandom(8).hex()}
        if rests:
            claim["rests"] = dict(rests)
        return self._files.claim(lease_path(shard, epoch), json.dumps(claim).encode() + b"\n")

    def drop_lease(self, shard: int, epoch: int) -> None:
        """Remove an epoch that another one has followed long ago."""
        self._files.remove(lease_path(shard, epoch))


def _rests_in(claim: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """Give the rests that a claim tells. What is none is left out."""
    rests = claim.get("rests")
    if not isinstance(rests, dict):
        return ()
    return tuple((host, s) for host, s in rests.items() if is_host(host) and type(s) in (int, float) and s > 0)


class Machinery(Logs, Leases):
    """Logs and leases together: what a machine needs to take part in a crawl."""

    def __init__(self, tree: Tree) -> None:
        Leases.__init__(self, tree)
        Logs.__init__(self, tree)
