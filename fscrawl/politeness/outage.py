"""Is it the hosts that answer nothing, or is it this machine: a dead resolver, an unplugged cable? Pure.

Vocabulary:
  silence   failures without an answer, of many hosts, and no answer from any: for a second, or with a proven host among
            them
  proven    a host that answered before; if it does so again, the network is there
  outage    a silence in which a proven host is silent, too: the machine fetches nothing but a probe now and then

A failure tells of the network only if nobody answered for the latter half of the time that it took: hosts that are dead
run into their timeouts all at once, beside a hundred that answer. (Not for all of it: what was asked just before the
network went had answers of others beside it, and its failures are the first to tell.)

Promise: failures during an outage are nobody's: what failed is tried again as if it had not been. An outage ends with
the first answer; where no host ever answered it ends after a minute, for then the hosts may well be dead. One that
ends before a proven host was silent was a false alarm, however slow the answer to its probes, and the next takes twice
as many failures: so dead hosts are given up at last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

_HOSTS = 5  # silent ones, at least
_FAILURES = 10  # at least, in a row
_SILENCE_S = 1.0  # without an answer, at least, if all that are silent may have been dead before
_PROVEN = 8  # hosts remembered
_FIRST_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 60.0
_UNPROVEN_S = 60.0


class Outage:
    """What one machine knows of its network."""

    def __init__(self) -> None:
        self._proven: deque[tuple[str, str]] = deque(maxlen=_PROVEN)  # host, a URL of it
        self._silent: dict[str, str] = {}
        self._failures = 0
        self._doubts = 1  # grows with false alarms
        self._since: float | None = None
        self._next_probe = 0.0
        self._is_confirmed = False  # a proven host is silent, too
        self._pause_s = _FIRST_PAUSE_S
        self._answered_at: float | None = None

    @property
    def is_on(self) -> bool:
        """Nothing but probes should be fetched."""
        return self._since is not None

    @property
    def silent_hosts(self) -> list[str]:
        """The hosts that failed since the last answer."""
        return list(self._silent)

    def answered(self, host: str, url: str, at: float) -> bool:
        """A host answered; tell whether that ends an outage. `at`: when (monotonic time)."""
        self._answered_at = at if self._answered_at is None else max(at, self._answered_at)
        if not self._proven or self._proven[-1][0] != host:
            self._proven.append((host, url))
        was_on = self.is_on
        if was_on and not self._is_confirmed:  # the network was there all the time
            self._doubts *= 2
        elif self._failures >= _FAILURES * self._doubts and not was_on:
            self._doubts += 1
        self._over()
        return was_on

    def unanswered(self, host: str, url: str, since: float, now: float) -> bool:
        """A host did not answer; tell whether that begins an outage. `since`: when it was asked (monotonic time)."""
        if self._answered_at is not None and (since + now) / 2 <= self._answered_at:
            return False
        self._failures += 1
        self._silent[host] = url
        if self.is_on and any(host == name for name, _ in self._proven):
            self._is_confirmed = True
        if self.is_on or self._failures < _FAILURES * self._doubts or len(self._silent) < _HOSTS * self._doubts:
            return False
        if self._answered_at is not None and now - self._answered_at < _SILENCE_S and not self._is_proven_silent():
            return False
        self._since = self._next_probe = now
        return True

    def _is_proven_silent(self) -> bool:
        return any(host in self._silent for host, _ in self._proven)

    def probe(self, now: float, may_ask: Callable[[str], bool] = lambda host: True) -> tuple[str, str] | None:  # noqa: ARG005
        """Give a host, and a URL of it, to ask for its robots.txt, if it is time to.

        `may_ask`: whether a host that answers may be asked now; where none may for a while, it is a silent one.
        """
        if self._since is None or now < self._next_probe:
            return None
        if self._answered_at is None and now - self._since > _UNPROVEN_S:
            self._doubts += 10
            self._over()
            return None
        target = next((each for each in reversed(self._proven) if may_ask(each[0])), None)
        if target is None:
            if self._proven and now < self._next_probe + _FIRST_PAUSE_S:
                return None
            target = next(iter(self._silent.items()))
        else:
            self._proven.remove(target)
            self._proven.appendleft(target)
        self._next_probe = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        return target

    def _over(self) -> None:
        self._silent = {}
        self._failures = 0
        self._since = None
        self._is_confirmed = False
        self._pause_s = _FIRST_PAUSE_S
