"""Numbers, sizes and times as people read them, in few characters; and ages and times as they write them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

DAY_S = 86400


def count(number: float) -> str:
    """Write a number in few characters.

    >>> count(12345), count(1234567), count(2.5e9)
    ('12,345', '1.23M', '2.5G')
    """
    for scale, unit in ((1e9, "G"), (1e6, "M")):
        if number >= scale:
            return f"{number / scale:.3g}{unit}"
    return f"{number:,.0f}"


def number_of(number: float, noun: str, nouns: str = "") -> str:
    """Write a number of things. `nouns`: more than one of them, if it is not the noun with an "s".

    >>> number_of(1, "host"), number_of(1234, "host"), number_of(0, "process", "processes")
    ('1 host', '1,234 hosts', '0 processes')
    """
    return f"{number:,.0f} {noun if number == 1 else nouns or f'{noun}s'}"


def size(number: float) -> str:
    """Write a number of bytes.

    >>> size(0), size(1234), size(120_000_000), size(1.5e13)
    ('0 B', '1.2 kB', '120 MB', '15 TB')
    """
    for scale, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= scale:
            value = number / scale
            return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
    return f"{number:.0f} B"


def lasting(seconds: float) -> str:
    """Write how long something took.

    >>> lasting(0.04), lasting(4), lasting(59.6), lasting(200), lasting(7500), lasting(4e5)
    ('0.0 s', '4.0 s', '1 min 0 s', '3 min 20 s', '2 h 5 min', '4.6 days')
    """
    if round(seconds) < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds >= 3600:
        return span(seconds)
    return f"{round(seconds) // 60} min {round(seconds) % 60} s"


def span(seconds: float) -> str:
    """Write a time span.

    >>> span(30), span(200), span(7500), span(4e5)
    ('1 min', '3 min', '2 h 5 min', '4.6 days')
    """
    if seconds >= DAY_S:
        return f"{seconds / DAY_S:,.1f} days"
    hours, minutes = divmod(max(1, round(seconds / 60)), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


_AGE = re.compile(r"(\d{1,7})([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse_age(text: str) -> int | None:
    """Read an age; return it in seconds, or None if the text is not an age.

    >>> parse_age("7d"), parse_age("7")
    (604800, None)
    """
    found = _AGE.fullmatch(text)
    return int(found[1]) * _SECONDS[found[2]] if found else None


def moment_of(text: str, now: datetime) -> float:
    """Read an age before `now`, a date, or a time of RFC 3339 or ISO 8601 (UTC if it names no zone), as UNIX time.

    ValueError, OverflowError or OSError if it is none.

    >>> moment_of("1d", datetime(1970, 1, 2, tzinfo=UTC)), moment_of("1970-01-01T00:01+00:00", datetime.now(UTC))
    (0.0, 60.0)
    """
    age = parse_age(text)
    if age is not None:
        return now.timestamp() - age
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
