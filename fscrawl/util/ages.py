"""Ages as people write them, 90s, 30m, 12h, 7d, 2w, and times. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

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
