"""What is wrong with a record that can be read. Pure.

Somebody's edit, or a bit that has flipped, can leave a record that is whole, and that says what it cannot say.

Vocabulary:
  flaw   what is wrong, for people; "" if nothing is

Promise: all of these functions give a flaw, and never raise. A record without a flaw fits into every table, and a log
can hold what it says of itself. Its links are not looked at: `frontier.scope` refuses those that are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from fscrawl import urls
from fscrawl.request import is_normal, is_spelling, shown
from fscrawl.storage.records import ErrorRecord, PageRecord

BITS = 31  # of a number in a table
_BITS_OF_BYTES = 63
_MOST_SHOWN = 60  # characters of a value
_WORD = re.compile(r"(?!-\Z)[!-~]+")  # a dash stands for no word


def flaw(record: PageRecord | ErrorRecord, host: str, key: str) -> str:
    """Say what is wrong with the record in a file. `host`, `key`: as its path has them."""
    return misplaced(record, host, key) or wrong_value(record) or unsayable(record) or not_normal(record)


def misplaced(record: PageRecord | ErrorRecord, host: str, key: str) -> str:
    """Say why a record belongs to another file, or to none."""
    if not is_spelling(record.url):
        return f"its URL is {shown(record.url)}, which spells no request"
    if (urls.host(record.url), urls.key(record.url)) != (host, key):
        return f"its URL is {shown(record.url)}, which has another file"
    if record.key != key:
        return f"its key is {_cut(record.key)}, which has another file"
    return ""


def wrong_value(record: PageRecord | ErrorRecord) -> str:
    """Name a value that no record has: a time that is none, or a number that is out of bounds."""
    for name, text in _times(record):
        if not is_time(text):
            return f"{name} is {_cut(text)}, which is no time"
    for name, number, bits in _numbers(record):
        if not 0 <= number < 1 << bits:  # infinity is not, either
            return f"{name} is {_cut(number)}; it must be from 0 to {(1 << bits) - 1}"
    return ""


def unsayable(record: PageRecord | ErrorRecord) -> str:
    """Name a value that is more than one word, or no depth, so that no line of a log can hold it."""
    if record.referrer and not is_word(record.referrer):
        return f"referrer is {_cut(record.referrer)}; it must be a key, or empty"
    if isinstance(record, ErrorRecord) and not is_word(record.failed_at):
        return f"failed_at is {_cut(record.failed_at)}, which is no time"
    return "" if 0 <= record.depth < 1 << BITS else f"depth is {_cut(record.depth)}, which is none"


def is_word(text: str) -> bool:
    """Tell whether a line of a log can hold a text as one word.

    >>> is_word("2026-11-21T10:00:00.000Z"), is_word("two words"), is_word("-"), is_word("")
    (True, False, False, False)
    """
    return _WORD.fullmatch(text) is not None


def not_normal(record: PageRecord | ErrorRecord) -> str:
    """Say that a URL is not in its normal form: no crawl asks for it."""
    return "" if is_normal(record.url) else f"its URL is {shown(record.url)}, which is not in its normal form"


def _times(record: PageRecord | ErrorRecord) -> Iterator[tuple[str, str]]:
    if isinstance(record, ErrorRecord):
        yield "failed_at", record.failed_at
        return
    yield "fetched_at", record.fetched_at
    if record.checked_at is not None:
        yield "checked_at", record.checked_at


def _numbers(record: PageRecord | ErrorRecord) -> Iterator[tuple[str, float, int]]:
    """Give the numbers of a record that stand in a table, and the bits that each may have there."""
    yield "depth", record.depth, BITS
    yield "status", record.status or 0, BITS
    if isinstance(record, ErrorRecord):
        yield "attempts", record.attempts, BITS
        return
    yield "checked_status", record.checked_status or 0, BITS
    yield "bytes", record.bytes, _BITS_OF_BYTES
    yield "elapsed", record.elapsed, BITS


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
