"""How a machine's hosts do, for people: which fail, and how many were given up. It decides nothing.

The main loop writes it; another thread may read `gave_up`.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

_KEPT = 1000  # failing hosts: those of the last exchanges, since a crawl of weeks meets many


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
        self._failing: dict[str, tuple[int, str]] = {}  # host → failures in a row, and the class of the last one
        self.gave_up = 0

    def answered(self, host: str) -> None:
        self._failing.pop(host, None)

    def failed(self, host: str, failures: int, class_: str) -> None:
        """`failures`: how many times in a row the host has failed, the last time by `class_`."""
        self._failing.pop(host, None)
        self._failing[host] = failures, class_
        if len(self._failing) > _KEPT:
            del self._failing[next(iter(self._failing))]  # the oldest

    def fails(self, host: str) -> tuple[int, str] | None:
        """Give how often a host has failed in a row, and how it did last; None if it has not, or is not kept."""
        return self._failing.get(host)

    def forgiven(self, host: str) -> None:
        """The failures were not the host's: the network was gone."""
        self._failing.pop(host, None)

    def given_up(self) -> None:
        """One more host was given up."""
        self.gave_up += 1

    def no_longer_given_up(self, count: int = 1) -> None:
        """Hosts that were given up are to be asked again, or other machines have them now."""
        self.gave_up -= count

    def keep(self, hosts: Container[str]) -> None:
        """Forget all hosts but these: other machines may have the others now."""
        self._failing = {host: failures for host, failures in self._failing.items() if host in hosts}
