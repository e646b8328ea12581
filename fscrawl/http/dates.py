"""Dates and pauses in HTTP headers. Pure: no disk, no socket.

Vocabulary:
  date      seconds since 1970 in UTC. HTTP has three forms of it (RFC 9110 5.6.7), cookies a dozen
  pause     how long a Retry-After asks to wait, in seconds from `now`

Promise: any text gives a number or None; nothing is raised.
"""

from __future__ import annotations

import calendar
import math
import re
import time
from collections.abc import Mapping

from fscrawl.parse.headers import lines

MAX_PAUSE_S = 1e9  # some thirty years: practically never, but still small enough for a clock

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# RFC 6265 5.1.1: neither the characters between the parts nor their order matter.
_TOKENS = re.compile(r"[^\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?![0-9])")
_DAY = re.compile(r"([0-9]{1,2})(?![0-9])")
_YEAR = re.compile(r"([0-9]{2,4})(?![0-9])")
_SECONDS = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?:,|\Z)")


def parse_date(text: str) -> float | None:
    """Read a date; None if the text has none (https://www.rfc-editor.org/rfc/rfc6265#section-5.1.1).

    >>> parse_date("Sun, 06 Nov 1994 08:49:37 GMT"), parse_date("Sunday, 06-Nov-94 08:49:37 GMT")
    (784111777.0, 784111777.0)
    >>> parse_date("Sun Nov  6 08:49:37 1994"), parse_date("tomorrow")
    (784111777.0, None)
    """
    clock = day = month = year = None
    for token in _TOKENS.findall(text[:200]):
        if clock is None and (found := _TIME.match(token)):
            clock = tuple(map(int, found.groups()))
        elif day is None and (found := _DAY.match(token)):
            day = int(found[1])
        elif month is None and token[:3].lower() in _MONTHS:
            month = _MONTHS.index(token[:3].lower()) + 1
        elif year is None and (found := _YEAR.match(token)):
            year = _full_year(int(found[1]))
    if clock is None or day is None or month is None or year is None:
        return None
    return _seconds(year, month, day, clock)


def _full_year(year: int) -> int:
    """Return the year that two digits mean.

    >>> _full_year(94), _full_year(26), _full_year(1994)
    (1994, 2026, 1994)
    """
    return year + 1900 if 70 <= year <= 99 else year + 2000 if year <= 69 else year


def _seconds(year: int, month: int, day: int, clock: tuple[int, ...]) -> float | None:
    hour, minute, second = clock
    if year < 1601 or not 1 <= day <= calendar.monthrange(year, month)[1] or hour > 23 or minute > 59 or second > 60:
        return None  # second 60 is a leap second
    return float(calendar.timegm((year, month, day, hour, minute, second)))


def retry_after_s(value: str, now: float) -> float:
    """Return how many seconds a Retry-After asks to wait, from 0 to 1e9; 0 if it cannot be read.

    It has whole seconds (RFC 9110 10.2.3); servers that compute them send fractions, and mean no less.
    `now`: seconds since 1970, by the wall clock.

    >>> retry_after_s("120", 0.0), retry_after_s("Thu, 01 Jan 1970 00:02:00 GMT", 20.0), retry_after_s("soon", 0.0)
    (120.0, 100.0, 0.0)
    >>> retry_after_s("2.7", 0.0)
    3.0
    """
    text = value.strip()
    if found := _SECONDS.match(text):
        return float(math.ceil(min(float(found[1]), MAX_PAUSE_S)))
    date = parse_date(text)
    pause_s = 0.0 if date is None else date - now
    return min(pause_s, MAX_PAUSE_S) if pause_s > 0 else 0.0


def rest_s(headers: Mapping[str, str] | None) -> float:
    """Give the seconds that Retry-After asks for, 0 without it. If it asks several times, the longest pause counts.

    A date in it is one of the server's clock, which its Date tells (RFC 9110 10.2.3): the clock here may be wrong.
    """
    if not headers or "retry-after" not in headers:
        return 0.0
    now = parse_date(headers.get("date", ""))
    here = time.time() if now is None else now
    return max((retry_after_s(line, here) for line in lines(headers, "retry-after")), default=0.0)
