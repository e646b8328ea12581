"""How fast a host may be asked, by what it says and how it does. Pure: times come in as arguments.

Vocabulary:
  delay     seconds between two requests to the host
  latency   seconds that it takes to answer, smoothed
  trouble   how often it failed lately: each time the delay doubles, and each answer takes a part of that back
  pause     after `_BREAK_AFTER` failures in a row it rests, each time twice as long, with one request between (a
            circuit breaker)

Promise: the delay is never below what settings and robots.txt ask for, and grows no further than `max_delay`; with a
delay of 0 (a site of one's own) it stays 0.
"""

from __future__ import annotations

from fscrawl.config.settings import PolitenessSettings

_BREAK_AFTER = 10
_FIRST_PAUSE_S = 10.0
_SMOOTHING = 0.2  # weight of the latest answer
_MOST_TROUBLE = 6.0  # 64 times the delay
_RELIEF = 0.25  # four answers for one failure
_MOST_DOUBLINGS = 30  # a float has an end, and a host may be waited for for ever


class Pace:
    """The pace of one host."""

    __slots__ = ("_failing_since", "_failures", "_latency_s", "_pauses", "_trouble", "robots_delay_s")

    def __init__(self) -> None:
        self.robots_delay_s = 0.0  # what robots.txt asks for
        self._latency_s = 0.0
        self._trouble = 0.0
        self._failures = 0
        self._failing_since: float | None = None
        self._pauses = 0

    def delay_s(self, settings: PolitenessSettings) -> float:
        least = max(settings.delay, min(self.robots_delay_s, settings.max_delay))
        if not settings.adaptive or not least:
            return least
        wanted: float = max(least, self._latency_s) * 2.0**self._trouble
        return max(least, min(wanted, settings.max_delay))

    def answered(self, latency_s: float) -> None:
        """The host answered, whatever it said."""
        weight = _SMOOTHING if self._latency_s else 1.0
        self._latency_s += weight * (latency_s - self._latency_s)
        self._trouble = max(0.0, self._trouble - _RELIEF)
        self.forget_failures()

    def forget_failures(self) -> None:
        """They were not the host's."""
        self._failures = self._pauses = 0
        self._failing_since = None

    def failed(self, now: float, settings: PolitenessSettings, *, at_once: bool = False) -> float:
        """The host did not answer, or said that it cannot; give for how many seconds it rests, 0: for its delay.

        `at_once`: do not wait for more failures (its robots.txt cannot be had, so there is nothing else to ask).
        """
        self._failures += 1
        self._trouble = min(_MOST_TROUBLE, self._trouble + 1.0)
        if self._failing_since is None:
            self._failing_since = now
        if self._failures < _BREAK_AFTER and not self._pauses and not at_once:
            return 0.0
        self._pauses += 1
        pause: float = min(_FIRST_PAUSE_S * 2.0 ** min(self._pauses - 1, _MOST_DOUBLINGS), settings.max_rest)
        return min(pause, max(0.0, self._failing_since + settings.give_up_after - now))

    def should_give_up(self, now: float, settings: PolitenessSettings) -> bool:
        """Tell whether it has paused, and failed again, for longer than `give_up_after`."""
        if not self._pauses or self._failing_since is None:
            return False
        return now - self._failing_since >= settings.give_up_after

    @property
    def failures(self) -> int:
        """Failures in a row."""
        return self._failures
