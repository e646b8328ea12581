"""Are the hosts down, or this machine's own network: a dead resolver, an unplugged cable? Pure.

Vocabulary:
  silence   many hosts fail to answer, and no host answers: for a second, or with a proven host among the silent ones
  proven    a host that answered before. If it answers again, the network works
  outage    the time after a silence has begun: the machine fetches nothing but a probe now and then
  probe     a request for the robots.txt of a host, to see whether the network works again

A failure counts only if no host answered during the second half of the time that it took. Otherwise hosts that are down
would count: many of them reach their timeouts at the same moment, while a hundred others answer. It is not the whole of
the time, because requests that were sent just before the network failed still had answers of other hosts beside them,
and they are the first to fail.

Promise: failures during an outage are not held against any host; the requests are repeated as if they had not been
sent. An outage ends with the first answer. If no proven host can be asked for six probes, which takes a minute, it ends
too, because then the hosts may really be down. An outage is a false alarm if it ends before a proven host was silent,
however slow the answers to its probes are, or if it began soon after the last one, and few hosts had answered between:
the next one needs twice as many failures. So hosts that are down are given up in the end, and a host that is not gets
its turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeVar

_HOSTS = 5  # so many hosts must be silent
_FAILURES = 10  # so many failures in a row
_SILENCE_S = 1.0  # so long without an answer, unless a proven host is silent
_PROVEN = 8  # so many proven hosts are remembered
_FIRST_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 60.0
_IN_VAIN = 6  # an outage ends with so many probes for which no proven host could be asked; after 62 s
_SOON_S = 600.0  # an outage that begins so soon after the last one counts as a false alarm, if few hosts answered

Request = TypeVar("Request")


class Proven(NamedTuple):
    """A host that answered before. `url`: of its answer."""

    host: str
    url: str


class Outage:
    """What one machine knows of its network."""

    def __init__(self) -> None:
        self._proven: deque[Proven] = deque(maxlen=_PROVEN)  # the latest last
        self._silent: set[str] = set()
        self._failures = 0
        self._caution = 1  # multiplies the limits; grows with false alarms
        self._since: float | None = None
        self._next_probe = 0.0
        self._ended_at = float("-inf")  # the last one
        self._is_confirmed = False  # a proven host is silent in this outage
        self._answering: set[str] = set()  # hosts that have answered since the last one; `_HOSTS` at most
        self._in_vain = 0  # probes in a row for which no proven host could be asked
        self._is_turn_of_any = False  # the next probe asks any host, rather than a proven one
        self._pause_s = _FIRST_PAUSE_S
        self._answered_at: float | None = None
        self._first_asked_at: float | None = None  # of who did not answer

    @property
    def is_on(self) -> bool:
        """There is an outage: fetch nothing but probes."""
        return self._since is not None

    @property
    def silent_hosts(self) -> list[str]:
        """The hosts that failed since the last answer."""
        return list(self._silent)

    def answered(self, host: str, url: str, at: float) -> bool:
        """Note an answer; return whether it ends an outage. `at`: monotonic time."""
        self._answered_at = at if self._answered_at is None else max(at, self._answered_at)
        if not self._proven or self._proven[-1].host != host:
            self._proven.append(Proven(host, url))
        since = self._since
        if since is not None:
            is_soon = since - self._ended_at < _SOON_S and len(self._answering) < _HOSTS
            if not self._is_confirmed or is_soon:
                self._caution *= 2
            self._ended_at = max(at, since)
            self._answering.clear()
        elif self._failures >= _FAILURES * self._caution:
            self._caution += 1
        if len(self._answering) < _HOSTS:
            self._answering.add(host)
        self._reset()
        return since is not None

    def unanswered(self, host: str, since: float, now: float) -> bool:
        """Note a failure without an answer; return whether it begins an outage. `since`: when the host was asked."""
        if self._answered_at is not None and (since + now) / 2 <= self._answered_at:
            return False
        if self._first_asked_at is None:
            self._first_asked_at = since
        self._failures += 1
        self._silent.add(host)
        if self.is_on and any(host == each.host for each in self._proven):
            self._is_confirmed = True
        if self.is_on or self._failures < _FAILURES * self._caution or len(self._silent) < _HOSTS * self._caution:
            return False
        silent_since = self._first_asked_at if self._answered_at is None else self._answered_at
        if now - silent_since < _SILENCE_S and not self._is_proven_silent():
            return False
        self._since = self._next_probe = now
        return True

    def _is_proven_silent(self) -> bool:
        return not self._silent.isdisjoint(each.host for each in self._proven)

    def ends_unproven(self) -> bool:
        """Return whether the outage ends now because no proven host could be asked: all may really be down."""
        if self._in_vain < _IN_VAIN:
            return False
        self._caution += 10
        self._reset()
        return True

    def probe(self, now: float, ask: Callable[[Proven | None], Request | None]) -> Request | None:
        """Return the next probe, if it is time for one and somebody can be asked.

        The proven hosts have every other probe, if they can be asked: they may be down, as any other.

        `ask`: gives the request for a host, or for whichever has waited longest (None); None if it may not be asked
        now.
        """
        if self._since is None or now < self._next_probe:
            return None
        proven = list(reversed(self._proven))
        is_turn_of_any = self._is_turn_of_any
        for each in (None, *proven) if is_turn_of_any else (*proven, None):
            if (request := ask(each)) is not None:
                if each is not None:
                    self._proven.remove(each)
                    self._proven.appendleft(each)
                    self._in_vain = 0
                elif not is_turn_of_any:
                    self._in_vain += 1
                self._is_turn_of_any = each is not None
                self._next_probe = now + self._pause_s
                self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
                return request
        return None

    def _reset(self) -> None:
        self._silent = set()
        self._failures = 0
        self._since = None
        self._is_confirmed = self._is_turn_of_any = False
        self._in_vain = 0
        self._pause_s = _FIRST_PAUSE_S
