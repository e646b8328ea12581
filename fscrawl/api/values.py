"""The values in a record, as they are asked for. Pure.

Most readers look at two or three values of a page. To check all of a record, as `PageRecord` does, takes twice as long
as to read it. So a value is checked when it is asked for.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from fscrawl.errors import RecordError
from fscrawl.storage.flaws import flaw
from fscrawl.storage.layout import is_extension
from fscrawl.storage.records import WITHHELD, PageRecord

_LARGE_BYTES = 1 << 20


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number")


# `decode` would look for white space before and behind it, which takes a fifth of the time
_scan = json.JSONDecoder(parse_constant=_no_number).scan_once  # type: ignore[attr-defined]


def values_of(data: bytes, key: str) -> dict[str, Any]:
    """Read a record; RecordError if it is torn, or is not that of the page with this key."""
    try:
        if b"\\u" in data or b"\xed" in data or b"\0" in data or len(data) > _LARGE_BYTES:  # surrogates, UTF-16
            data = PageRecord.from_json(data).to_json()
        text = data.decode()
        values, end = _scan(text, 0)
        if end != len(text) and text[end:].strip():
            raise ValueError("there is something behind it")
    except StopIteration:
        raise RecordError("its record cannot be read: not JSON") from None
    except (ValueError, RecursionError) as error:
        raise RecordError(f"its record cannot be read: not JSON: {error}") from error
    except RecordError as error:
        raise RecordError(f"its record cannot be read: {error}") from error
    if type(values) is not dict or values.get("key") != key or type(values.get("url")) is not str:
        raise RecordError("its record is wrong or belongs to another URL")
    return values


def take(values: dict[str, Any], name: str, kind: type, *, required: bool = False) -> Any:
    """Give a value, None if it is absent; RecordError if it has another type, or is `required` and absent."""
    value = values.get(name)
    if type(value) is kind or (value is None and not required):
        return value
    raise RecordError(f"{values.get('url')}: its record is wrong: field {name!r} has the wrong type")


def whole(values: dict[str, Any], name: str, bits: int = 31) -> int:
    """Give a whole number that a column of a table can hold; RecordError if it is none."""
    value = values.get(name)
    if type(value) is int and 0 <= value < 1 << bits:
        return value
    found = take(values, name, int, required=True)
    raise RecordError(f"{values.get('url')}: its record is wrong: {name} = {found}")


def seconds(values: dict[str, Any], name: str) -> float:
    """Give a duration; RecordError if it is none, or one that a merge would not take."""
    value: Any = values.get(name)
    if type(value) not in (int, float) or not 0 <= value < 1 << 31:
        raise RecordError(f"{values.get('url')}: its record is wrong: field {name!r} must be a number of seconds")
    return float(value)


def texts(values: dict[str, Any], name: str) -> tuple[str, ...]:
    """Give a list of texts; () if it is absent. RecordError if it is none."""
    found = take(values, name, list) or ()
    if not all(type(each) is str for each in found):
        raise RecordError(f"{values.get('url')}: its record is wrong: field {name!r} has the wrong type")
    return tuple(found)


def headers(values: dict[str, Any]) -> dict[str, str]:
    """Give the headers; those that may hold a session are "", also in older trees."""
    found = take(values, "headers", dict) or {}
    if not all(type(each) is str for each in found.values()):
        raise RecordError(f"{values.get('url')}: its record is wrong: field 'headers' has the wrong type")
    return {name: "" if name in WITHHELD else value for name, value in found.items()}


def moment(values: dict[str, Any], name: str, *, required: bool = False) -> datetime | None:
    """Give a time, in UTC; None if it is absent. RecordError if it is none."""
    text = take(values, name, str, required=required)
    try:
        return None if text is None else datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise RecordError(f"{values.get('url')}: its record is wrong: {name} = {text!r} is no time") from None


def body_of(values: dict[str, Any]) -> tuple[int, str, str | None]:
    """Give what a record says of the body: bytes, SHA-256 ("": there is none), and the extension of its file."""
    file = take(values, "file", str)
    if file is not None and not is_extension(file):
        raise RecordError(f"{values.get('url')}: its record is wrong: file = {file!r}")
    return whole(values, "bytes", 63), take(values, "sha256", str, required=True), file


def check(values: dict[str, Any], host: str) -> None:
    """Check a whole record as a merge does; RecordError if it is wrong. `host`: the directory it was read from."""
    record = PageRecord.from_json(json.dumps(values).encode())
    if wrong := flaw(record, host, record.key):
        raise RecordError(f"{record.url}: its record is wrong: {wrong}")
