"""What is wrong with a record that can be read. Pure.

Somebody's edit, or a bit that has flipped, can leave a record that is whole, and that says what it cannot say.

Vocabulary:
  flaw   what is wrong, for people; "" if nothing is

Promise: all of these functions give a flaw, and never raise. A record without a flaw fits into every table. Its links
are not looked at: `frontier.scope` refuses those that are none. Which numbers and words it may have, the types of its
fields say.
"""

from __future__ import annotations

from datetime import UTC, datetime

from fscrawl import urls
from fscrawl.request import is_normal, is_spelling, shown
from fscrawl.storage.records import ErrorRecord, PageRecord

_MOST_SHOWN = 60  # characters of a value


def flaw(record: PageRecord | ErrorRecord, host: str, key: str) -> str:
    """Say what is wrong with the record in a file. `host`, `key`: as its path has them."""
    return misplaced(record, host, key) or wrong_time(record) or not_normal(record)


def misplaced(record: PageRecord | ErrorRecord, host: str, key: str) -> str:
    """Say why a record belongs to another file, or to none."""
    if not is_spelling(record.url):
        return f"its URL is {shown(record.url)}, which spells no request"
    if (urls.host(record.url), urls.key(record.url)) != (host, key):
        return f"its URL is {shown(record.url)}, which has another file"
    if record.key != key:
        return f"its key is {_cut(record.key)}, which has another file"
    return ""


def wrong_time(record: PageRecord | ErrorRecord) -> str:
    """Name a time that is none."""
    names = ("failed_at",) if isinstance(record, ErrorRecord) else ("fetched_at", "checked_at")
    for name in names:
        text = getattr(record, name)
        if text is not None and not is_time(text):
            return f"{name} is {_cut(text)}, which is no time"
    return ""


def not_normal(record: PageRecord | ErrorRecord) -> str:
    """Say that a URL is not in its normal form: no crawl asks for it."""
    return "" if is_normal(record.url) else f"its URL is {shown(record.url)}, which is not in its normal form"


def _cut(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"


def is_time(text: str) -> bool:
    """Tell whether a text is a time, in any zone, in the years 1 to 9999 also when it is converted to UTC.

    >>> is_time("2026-11-21T10:00:00.000Z"), is_time("0001-01-01T00:00:00+14:00"), is_time("today")
    (True, False, False)
    """
    try:
        datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True
