"""What a quota still allows, and what is said of it. Pure.

Vocabulary:
  hard limit   nothing can be made beyond it; 0: there is none
  soft limit   more can be made beyond it, but for the grace time only; 0: there is none
  the need     what the pages take that `crawl.max_pages` still allows (`room`)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult
from fscrawl.admin.doctor.room import ADVICE, FEW_FILES, LITTLE_BYTES, Need
from fscrawl.util.humanize import number_of, size

_DELETE = "delete some files, or get a larger quota"
_LOWER = "more can be made for the grace time only; lower max_pages, or get a larger quota"
_FAR = 1 << 34  # s since the epoch: no time that a server means


class Limits(NamedTuple):
    """Of files, or of bytes. `until`: when the grace time is over, in s since the epoch; 0: it does not run."""

    used: int
    soft: int = 0
    hard: int = 0
    until: int = 0

    @property
    def met(self) -> int:
        """The limit that is met next, or was met; 0: there is none."""
        if 0 < self.hard <= self.used:
            return self.hard
        return min((limit for limit in (self.soft, self.hard) if limit), default=0)

    @property
    def is_soft(self) -> bool:
        """Whether the limit that is met next is the soft one."""
        return self.met == self.soft != self.hard

    @property
    def is_over(self) -> bool:
        """Whether the soft limit is exceeded."""
        return 0 < self.soft < self.used

    @property
    def left(self) -> int:
        """How much can be made until the next limit is met."""
        return max(0, self.met - self.used)

    def is_used_up(self, now: float) -> bool:
        """Whether nothing more can be made. `now`: in s since the epoch."""
        return 0 < self.hard <= self.used or (self.is_over and 0 < self.until <= now)


class Quota(NamedTuple):
    """`name`: "the quota of user 1000"."""

    name: str
    files: Limits
    bytes: Limits


def judged(quota: Quota, need: Need | None, now: float) -> Iterator[CheckResult]:
    """Compare a quota with the need; without one, say what is left. A limit that is not set gives nothing."""
    told, files, room = ("", None, None) if need is None else need
    if quota.files.met:
        yield _judged(quota.name, quota.files, told, files, now, _Unit(_files, FEW_FILES, ""))
    if quota.bytes.met:
        yield _judged(quota.name, quota.bytes, told, room, now, _Unit(size, LITTLE_BYTES, "about "))


class _Unit(NamedTuple):
    shown: Callable[[int], str]
    little: int
    about: str  # before a need that is an estimate


def _files(number: int) -> str:
    return number_of(number, "file")


def _judged(name: str, limits: Limits, told: str, needed: int | None, now: float, unit: _Unit) -> CheckResult:
    shown, used = unit.shown, unit.shown(limits.used)
    if limits.is_used_up(now):
        what = f"{name} is used up: {used}, and the limit is {shown(limits.met)}"
        return CheckResult(PROBLEM, what + (" now that the grace time is over" if limits.is_soft else ""), _DELETE)
    if limits.is_over:
        what = f"{name} is over its soft limit: {used}, and the limit is {shown(limits.soft)}"
        return CheckResult(WARNING, f"{what}; nothing can be made {_when(limits.until)}", _DELETE)
    leaves = f"{name} leaves {shown(limits.left)}" + (" up to its soft limit" if limits.is_soft else "")
    if needed is None:
        little = limits.left < unit.little
        return CheckResult(WARNING if little else OK, leaves, _DELETE if little else "")
    their = f"{unit.about}{shown(needed)}"
    if limits.left >= needed:
        return CheckResult(OK, f"{told}; {name} has room for their {their}")
    passes = limits.is_soft and (not limits.hard or limits.hard - limits.used >= needed)
    return CheckResult(WARNING, f"{told}, which need {their}; {leaves}", _LOWER if passes else ADVICE)


def _when(until: int) -> str:
    if not 0 < until < _FAR:
        return "when the grace time is over"
    return time.strftime("after %Y-%m-%d %H:%M UTC", time.gmtime(until))
