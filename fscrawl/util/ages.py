"""Ages as people write them: 90s, 30m, 12h, 7d, 2w. Pure."""

from __future__ import annotations

import re

_AGE = re.compile(r"(\d{1,7})([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse_age(text: str) -> int | None:
    """Read an age; return it in seconds, or None if the text is not an age.

    >>> parse_age("7d"), parse_age("7")
    (604800, None)
    """
    found = _AGE.fullmatch(text)
    return int(found[1]) * _SECONDS[found[2]] if found else None
