"""How a machine's hosts do, for heartbeats: which are slow, which fail, how many were given up. It decides nothing.

The main loop writes it; another thread may call `figures`.
"""

from __future__ import annotations

import heapq
from collections.abc import Container
from typing import Any, NamedTuple, TypeVar

_SLOW_S = 1.0
_KEPT = 1000  # slow hosts, and failing hosts: those of the last exchanges, since a crawl of weeks meets many
_SHOWN = 5  # of each

V = TypeVar("V")


class Fails(NamedTuple):
    """How a host fails: how many times in a row, how it did last, and for how many seconds it asked to be left alone.

    `asked_rest_s`: what remains of its Retry-After, 0 without one.
    """

    times: int
    class_: str
    asked_rest_s: float = 0.0


class HostStats:
    """How the last exchanges with each host went."""

    def __init__(self) -> None:
        self._slow: dict[str, float] = {}  # host → its latency
        self._failing: dict[str, tuple[int, str]] = {}  # host → failures in a row, and the class of the last one
        self._given_up = 0

    def answered(self, host: str, latency_s: float) -> None:
        self._failing.pop(host, None)
        if latency_s < _SLOW_S:
            self._slow.pop(host, None)
        else:
            _keep(self._slow, host, latency_s)

    def failed(self, host: str, failures: int, class_: str) -> None:
        """`failures`: how many times in a row the host has failed, the last time by `class_`."""
        _keep(self._failing, host, (failures, class_))

    def fails(self, host: str) -> tuple[int, str] | None:
        """Give how often a host has failed in a row, and how it did last; None if it has not, or is not kept."""
        return self._failing.get(host)

    def forgiven(self, host: str) -> None:
        """The failures were not the host's: the network was gone."""
        self._failing.pop(host, None)

    def given_up(self) -> None:
        """One more host was given up."""
        self._given_up += 1

    def no_longer_given_up(self, count: int = 1) -> None:
        """Hosts that were given up are to be asked again, or other machines have them now."""
        self._given_up -= count

    def keep(self, hosts: Container[str]) -> None:
        """Forget all hosts but these: other machines may have the others now."""
        self._slow = {host: latency_s for host, latency_s in self._slow.items() if host in hosts}
        self._failing = {host: failures for host, failures in self._failing.items() if host in hosts}

    def figures(self) -> dict[str, Any]:
        """Give the slowest, those that fail most, and the number of those given up."""
        slow, failing = self._slow.copy(), self._failing.copy()
        return {
            "gave_up": self._given_up,
            "slow": {host: round(slow[host], 2) for host in heapq.nlargest(_SHOWN, slow, key=slow.__getitem__)},
            "failing": {host: failing[host][0] for host in heapq.nlargest(_SHOWN, failing, key=failing.__getitem__)},
        }


def _keep(values: dict[str, V], host: str, value: V) -> None:
    """Note a value as the newest; forget the oldest if there are too many."""
    values.pop(host, None)
    values[host] = value
    if len(values) > _KEPT:
        del values[next(iter(values))]
