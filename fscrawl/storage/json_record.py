"""A file of the tree as a frozen dataclass: a JSON object whose fields have types. Pure: no disk, no socket.

Promise: as for `records`, which are made of this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Any, Self, get_type_hints

from fscrawl.errors import RecordError
from fscrawl.storage.render_record import RenderRecord

_TEXT = {str}
_MAX_NUMBER = 1e300  # "1e999" is valid JSON, but Python reads it as infinity, which JSON cannot write
_SMALL_BYTES = 1 << 20  # beside its strings, a record has little more than a comma for each of 100,000 links
_MANY = 4  # strings: it is not worth looking at fewer of them
_ESCAPED = bytes(range(0x20)) + b'"\\'  # what JSON cannot have in a string
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_MAY_BE_HALF = (b"\\ud", b"\\uD", b"\xed", b"\0")  # escaped, encoded as if it were whole, or in UTF-16


@dataclass(frozen=True, slots=True)
class JsonRecord:
    """A JSON object of named fields; an optional field that is None is left out of the file."""

    def to_json(self) -> bytes:
        """Give the file's bytes: one JSON object in UTF-8, ended by a newline."""
        values: dict[str, Any] = {}
        plain: dict[str, bytes] = {}
        for field in _fields(type(self)).all:
            value = getattr(self, field.name)
            if isinstance(value, tuple) and (strings := _plain_strings(value)) is not None:
                plain[field.json], value = strings, ()
            if value is not None:
                values[field.json] = value.values() if isinstance(value, RenderRecord) else value
        data = (compact_json(values) + "\n").encode("utf-8", "replace")
        for name, strings in plain.items():
            empty = b'"%b":[]' % name.encode()  # in a string, the quotes would have backslashes before them
            data = data.replace(empty, empty[:-1] + strings + b"]", 1)
        return data

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Read what `to_json` wrote; RecordError if it is torn, is not JSON, or lacks or mistypes a field.

        Half of a surrogate pair, which nobody could write again, is read as a question mark.
        """
        _check_values(data)
        try:
            values = _decode(data.decode(json.detect_encoding(data), "surrogatepass"))  # as json.loads does
            if any(each in data for each in _MAY_BE_HALF):
                values = json.loads(json.dumps(values, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise RecordError(f"not JSON: {error}") from error
        if not isinstance(values, dict):
            raise RecordError("not a JSON object")
        known = _fields(cls)
        if not known.required <= values.keys():
            raise RecordError(f"field {min(known.required - values.keys())!r} is missing")
        record = cls(**{field.name: field.take(values) for field in known.all if field.json in values})
        record.check()
        return record

    def check(self) -> None:
        """Raise RecordError if fields of the right types do not go together."""


class _WrongTypeError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Field:
    name: str  # the attribute
    json: str  # the name in the file
    convert: Callable[[Any], Any]  # JSON value → attribute, or _WrongTypeError if the type is wrong

    def take(self, values: dict[str, Any]) -> Any:
        try:
            return self.convert(values[self.json])
        except _WrongTypeError:
            raise RecordError(f"field {self.json!r} has the wrong type") from None


@dataclass(frozen=True, slots=True)
class _Fields:
    all: tuple[_Field, ...]
    required: frozenset[str]  # by their names in the file


def _check_values(data: bytes) -> None:
    """Raise RecordError if a large file has more values than a record can have.

    Somebody's file of small lists and numbers would take twenty times its size in memory. Strings take their own.
    """
    if len(data) > _SMALL_BYTES and len(_STRING.sub(b"", data)) > _SMALL_BYTES:
        raise RecordError("it has more values than a record can have")


def _plain_strings(values: tuple[str, ...]) -> bytes | None:
    """Give the inside of the JSON array of strings that need no escape, such as links; None if there are others.

    They are looked at together, which takes a third of the time of encoding each.

    >>> _plain_strings(("a", "b", "c", "d")), _plain_strings(("a", "b", "c", '"'))
    (b'"a","b","c","d"', None)
    """
    if len(values) < _MANY:
        return None
    try:
        joined = '","'.join(values).encode("ascii")
    except UnicodeError:
        return None
    quotes = 2 * (len(values) - 1)
    return b'"%b"' % joined if len(joined.translate(None, _ESCAPED)) == len(joined) - quotes else None


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number")


# json.dumps and json.loads would make an encoder and a decoder for each record.
compact_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_decode = json.JSONDecoder(parse_constant=_no_number).decode


_known_fields: dict[type[JsonRecord], _Fields] = {}


def _fields(record: type[JsonRecord]) -> _Fields:
    if record not in _known_fields:
        hints = get_type_hints(record)
        found = tuple(_Field(f.name, f.name.rstrip("_"), _CONVERT[hints[f.name]]) for f in fields(record))
        required = frozenset(each.json for each, f in zip(found, fields(record), strict=True) if f.default is MISSING)
        _known_fields[record] = _Fields(found, required)
    return _known_fields[record]


def _exactly(*types: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if type(value) not in types:
            raise _WrongTypeError
        return value

    return convert


def _number(value: Any) -> float:
    if type(value) not in (float, int) or not -_MAX_NUMBER < value < _MAX_NUMBER:
        raise _WrongTypeError
    return value  # type: ignore[no-any-return]


def _strings(value: Any) -> tuple[str, ...]:
    if type(value) is not list or not set(map(type, value)) <= _TEXT:
        raise _WrongTypeError
    return tuple(value)


def _rendering(value: Any) -> RenderRecord:
    found = RenderRecord.read(value)
    if found is None:
        raise _WrongTypeError
    return found


def _string_map(value: Any) -> dict[str, str]:
    if type(value) is not dict or not set(map(type, value.values())) <= _TEXT:
        raise _WrongTypeError
    return value


_CONVERT: dict[Any, Callable[[Any], Any]] = {
    str: _exactly(str),
    str | None: _exactly(str),
    int: _exactly(int),
    int | None: _exactly(int),
    bool | None: _exactly(bool),
    float: _number,
    tuple[str, ...]: _strings,
    tuple[str, ...] | None: _strings,
    dict[str, str]: _string_map,
    dict[str, str] | None: _string_map,
    RenderRecord | None: _rendering,
}
