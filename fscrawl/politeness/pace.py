"""How fast a host may be asked, by the settings, its robots.txt and its answers. Pure: times are arguments.

Vocabulary:
  delay     seconds between two requests to the host
  latency   seconds that the host takes to answer, smoothed
  trouble   how many doublings of the delay are in force: each failure adds one, each answer takes a quarter back
  pause     a circuit breaker: after `_BREAK_AFTER` failures in a row the host rests. After each pause it gets one
            request; if this fails, the next pause is twice as long

Promise: the delay is never below what the settings and robots.txt ask for, and does not grow beyond `max_delay`. A
delay of 0, for a site of one's own, stays 0.
"""

from __future__ import annotations

import random
import struct

from fscrawl.config.settings import PolitenessSettings

_BREAK_AFTER = 10
_FAILING = 3  # failures in a row
_QUICK_S = 1.0  # a slower host is not worth a thread that others could use
_FIRST_PAUSE_S = 10.0
_FIRST_BACKOFF_S = 1.0
_SMOOTHING = 0.2  # weight of the latest answer
_MAX_TROUBLE = 6.0  # doublings: 64 times the delay
_RELIEF = 0.25  # four answers make up for one failure
_MAX_DOUBLINGS = 30  # keeps the pause a finite number, however often the host fails
_PACKED = struct.Struct("=dddHBB?")  # delay, latency and time as they are; trouble in quarters
_MOST_FAILURES, _MOST_PAUSES = 2**16 - 1, 2**8 - 1  # what is beyond changes nothing
SIZE_BYTES = _PACKED.size


class Pace:
    """The pace of one host. `failures`: in a row. `robots_delay_s`: the delay that robots.txt asks for."""

    __slots__ = ("_failing_since", "_hangs", "_pauses", "_trouble", "failures", "latency_s", "robots_delay_s")

    def __init__(self) -> None:
        self.robots_delay_s = 0.0
        self.latency_s = 0.0
        self._trouble = 0.0
        self.failures = 0
        self._failing_since: float | None = None
        self._pauses = 0
        self._hangs = False  # the last request timed out

    def delay_s(self, settings: PolitenessSettings) -> float:
        least = max(settings.delay, min(self.robots_delay_s, settings.max_delay))
        if not settings.adaptive or not least:
            return least
        grown: float = max(least, self.latency_s) * 2.0**self._trouble
        return max(least, min(grown, settings.max_delay))

    def set_by(self, settings: PolitenessSettings) -> str:
        """Say what sets the delay: "settings", "robots" (its robots.txt), "answers" (they are slow), or "failures".

        >>> Pace().set_by(PolitenessSettings())
        'settings'
        """
        least = max(settings.delay, min(self.robots_delay_s, settings.max_delay))
        if self.delay_s(settings) > least:
            return "failures" if self._trouble else "answers"
        return "robots" if least > settings.delay else "settings"

    def answered(self, latency_s: float) -> None:
        """Note that the host answered, with any status."""
        weight = _SMOOTHING if self.latency_s else 1.0
        self.latency_s += weight * (latency_s - self.latency_s)
        self._trouble = max(0.0, self._trouble - _RELIEF)
        self.forget_failures()

    def forget_failures(self) -> None:
        """Forget the failures in a row, for example because the network was down."""
        self.failures = self._pauses = 0
        self._failing_since = None
        self._hangs = False

    def failed(
        self, now: float, settings: PolitenessSettings, *, at_once: bool = False, timed_out: bool = False
    ) -> float:
        """Note that the host did not answer, or answered that it cannot serve the request.

        Return how many seconds it rests; 0 means that its delay is enough. `at_once`: let it rest after this first
        failure, because its robots.txt could not be fetched and so nothing else can be asked. `timed_out`: it kept a
        thread waiting for as long as it may.
        """
        self._hangs = timed_out
        self.failures += 1
        self._trouble = min(_MAX_TROUBLE, self._trouble + 1.0)
        if self._failing_since is None:
            self._failing_since = now
        if self.failures < _BREAK_AFTER and not self._pauses and not at_once:
            return 0.0
        self._pauses += 1
        pause: float = min(_FIRST_PAUSE_S * 2.0 ** min(self._pauses - 1, _MAX_DOUBLINGS), settings.max_rest)
        return min(pause, max(0.0, self._failing_since + settings.give_up_after - now))

    def should_give_up(self, now: float, settings: PolitenessSettings, *, asks_for_rest: bool = False) -> bool:
        """Return whether the host has failed after a pause, and has been failing for `give_up_after` seconds.

        `asks_for_rest`: so its last failure did. After `max_rest` it need not have made a pause: a host that says
        "later" for ever would be asked ten times, with the longest rest between each two.
        """
        if self._failing_since is None:
            return False
        failing_s = now - self._failing_since
        had_its_rest = asks_for_rest and failing_s >= settings.max_rest
        return failing_s >= settings.give_up_after and (had_its_rest or self._pauses > 0)

    def to_bytes(self) -> bytes:
        """Give all that is known, in `SIZE_BYTES` bytes.

        >>> Pace.from_bytes(Pace().to_bytes()).failures
        0
        """
        since = -1.0 if self._failing_since is None else self._failing_since
        quarters = round(self._trouble / _RELIEF)
        counts = min(self.failures, _MOST_FAILURES), quarters, min(self._pauses, _MOST_PAUSES), self._hangs
        return _PACKED.pack(self.robots_delay_s, self.latency_s, since, *counts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Pace:
        """Read what `to_bytes` gave."""
        pace = cls()
        *waits, pace.failures, quarters, pace._pauses, pace._hangs = _PACKED.unpack(data)
        pace.robots_delay_s, pace.latency_s, since = waits
        pace._failing_since = None if since < 0 else since
        pace._trouble = quarters * _RELIEF
        return pace

    @property
    def is_quick(self) -> bool:
        """Whether the host answers soon enough not to keep a thread waiting, and has not just failed to do so."""
        return 0.0 < self.latency_s <= _QUICK_S and not self._hangs and self.failures < _FAILING


def backoff_s(attempt: int, settings: PolitenessSettings, rng: random.Random) -> float:
    """Give the seconds from a failed attempt of a page to the next: 1, 2, 4 …, up to half of them less at random.

    A rest of its host counts besides.
    """
    longest_s = min(_FIRST_BACKOFF_S * 2.0 ** min(attempt - 1, _MAX_DOUBLINGS), settings.max_delay)
    return longest_s * rng.uniform(0.5, 1.0)
