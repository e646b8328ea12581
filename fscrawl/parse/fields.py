"""Values that the rules of a site find in its pages, for typed columns of the dataset. Pure: no disk, no socket.

    heading = "css:h1"
    price   = { css = ".price", type = "float", regex = "([0-9.]+)" }
    tags    = { json = "$.tags[*]", type = "string[]" }

Vocabulary:
  column    a name and a type of the dataset
  field     where the value of a column is found on a page
  text      a string that a selector found, with its white space folded; an empty text does not count
  items     rows of which a page has several. `each` finds the parts of the page that they are, and their fields look
            inside of each part only, so they are of the kind of `each`: css, xpath or json

Promise: `read_fields` and `read_items` refuse every mistake that can be seen without a page. Whatever the page, finding
raises nothing. Each value has the type of its column, and texts that cannot be converted are listed as bad.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from fscrawl.parse import selectors
from fscrawl.parse.selectors import KINDS, Css, Document, Found, JsonPath, XPath, fold
from fscrawl.util.expressions import compiled

# The columns that every dataset has, so that no field may be called so. `dataset.schema` has them with their types, but
# needs a library that a crawl does not.
OF_PAGES = frozenset(
    """
    url url_surtkey url_host_name url_host_registered_domain key page_version method request_body depth referrer
    fetch_time fetch_status fetch_redirect skipped content_mime_type content_charset encoding_source content_languages
    content_digest sha256 bytes elapsed machine check_time check_status rendered rendered_html label title canonical
    robots noindex outlinks duplicate_of near_duplicate_of headers text html file body ip
    """.split()  # noqa: SIM905 - a list would fill the screen
)
OF_ITEMS = frozenset({"url", "key", "page_version", "position"})
MOST = 100_000  # items of one page
_SHOWN_CHARS = 80  # of a bad text, in a report
_FAULT_CHARS = 200  # of a mistake, with the name of the site file


class Mistake(ValueError):  # noqa: N818 - of the user
    """What is wrong with the rules of a site."""


class Column(msgspec.Struct, frozen=True):
    """A column of the dataset. `type` is one of `TYPES`; with `many` the values are lists of this type."""

    name: str
    type: str = "string"
    many: bool = False

    @property
    def kind(self) -> str:
        """The word for its type, as users write it."""
        return f"{self.type}[]" if self.many else self.type


class Extracted(msgspec.Struct, frozen=True):
    """The values of one page, or of one item.

    values    column → str, int (64 bits), float (finite), bool, datetime (UTC), or a list of them that is not empty
    bad       column → the first text that is not of its type, at most 80 characters of it; or an error. Such a column
              may have a value as well: other texts of its list
    missing   the columns without a value: nothing was found, or only bad texts. So `values` and `missing` together are
              all columns that the rules ask of the page
    """

    values: dict[str, Any]
    bad: dict[str, str]
    missing: tuple[str, ...]


class Items(msgspec.Struct, frozen=True):
    """The items of one page. `more`: there were more than MOST. `fault`: why the rest could not be read; at most 200
    characters.
    """

    items: tuple[Extracted, ...] = ()
    more: bool = False
    fault: str = ""


def extract(fields: Sequence[Field], page: Document) -> Extracted:
    """Find the values of a page.

    >>> fields = read_fields({"n": {"css": "b", "type": "integer"}, "t": "css:title"})
    >>> extract(fields, Document(b"<b>7</b>"))
    Extracted(values={'n': 7}, bad={}, missing=('t',))
    """
    values: dict[str, Any] = {}
    bad: dict[str, str] = {}
    for each in fields:
        each.fill(page, values, bad)
    return Extracted(values, bad, tuple(name for each in fields if (name := each.column.name) not in values))


class ItemRules(msgspec.Struct, frozen=True):
    """What the items of a page are, and their fields."""

    each: Css | XPath | JsonPath
    fields: tuple[Field, ...]

    def of_page(self, page: Document) -> Iterator[Extracted]:
        """Find the items of a page.

        >>> rules = read_items({"each": "css:li", "fields": {"name": "css:b"}})
        >>> [item.values for item in rules.of_page(Document(b"<li><b>x</b><li><b>y</b>"))]
        [{'name': 'x'}, {'name': 'y'}]
        """
        budget = page.budget().times(len(self.fields) + 1)
        return (extract(self.fields, part) for part in self.each.parts(page, budget))


def gathered(found: Iterator[Extracted]) -> Items:
    """Read items until there are too many, or the rest cannot be read."""
    items: list[Extracted] = []
    try:
        items += islice(found, MOST)
        return Items(tuple(items), more=next(found, None) is not None)
    except Exception as error:  # noqa: BLE001 - one page must not stop an export of millions
        return Items(tuple(items), fault=fold(str(error) or type(error).__name__)[:_FAULT_CHARS])


# Texts to values

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_TIME = re.compile(
    r"""([0-9]{4}-[0-9]{2}-[0-9]{2})
    (?:[Tt ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?)[ ]?([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?""",
    re.VERBOSE,
)
_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def _integer(text: str) -> int | None:
    value = int(text) if _INTEGER.fullmatch(text) else None
    return value if value is not None and -(2**63) <= value < 2**63 else None


def _float(text: str) -> float | None:
    """Read a finite number. "1,299" is not one: the meaning of the comma depends on the country."""
    value = float(text) if _FLOAT.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def _timestamp(text: str) -> datetime | None:
    """Read a time of RFC 3339 or a similar form of ISO 8601. Without an offset it is UTC; a date means its midnight.

    >>> _timestamp("2024-05-01T10:30+02:00").isoformat(), _timestamp("2024-05-01").isoformat()
    ('2024-05-01T08:30:00+00:00', '2024-05-01T00:00:00+00:00')
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    day, time, offset = found[1], found[2] or "00:00", (found[3] or "Z").upper()
    try:
        return datetime.fromisoformat(f"{day}T{time}{offset}").astimezone(UTC)
    except (ValueError, OverflowError):  # February 30; or the first day of the year 1, east of Greenwich
        return None


_CONVERT: dict[str, Callable[[str], Any]] = {
    "string": str,
    "integer": _integer,
    "float": _float,
    "boolean": lambda text: _BOOLEANS.get(text.lower()),
    "timestamp": _timestamp,
}
TYPES = tuple(_CONVERT)


def convert(type_: str, text: str) -> Any:
    """Give the value of a text in one of TYPES; None if it is not of that type.

    >>> convert("integer", "7"), convert("integer", "seven")
    (7, None)
    """
    return _CONVERT[type_](text)


class Field(msgspec.Struct, frozen=True):
    """How to fill a column from a page."""

    column: Column
    selector: Found
    regex: str | None = None

    def fill(self, page: Document, values: dict[str, Any], bad: dict[str, str]) -> None:
        """Add the value, and the first bad text. Raises nothing."""
        found, wrong = self.read(page)
        if found:
            values[self.column.name] = found if self.column.many else found[0]
        if wrong is not None:
            bad[self.column.name] = wrong

    def read(self, page: Document) -> tuple[list[Any], str | None]:
        """Return the values (without `many` at most one) and the first bad text. Raises nothing."""
        values, bad = [], None
        try:
            for text in self._texts(page):
                value = _CONVERT[self.column.type](text)
                if value is not None:
                    values.append(value)
                elif bad is None:
                    bad = text[:_SHOWN_CHARS]
                if not self.column.many:
                    break
        except Exception as error:  # noqa: BLE001 - one page must not stop an export of millions
            return [], fold(f"{type(error).__name__}: {error}")[:_SHOWN_CHARS]
        return values, bad

    def _texts(self, page: Document) -> Iterator[str]:
        for raw in self.selector.texts(page):
            text = fold(raw)
            if self.regex is not None:
                regex = compiled(self.regex)
                found = regex.search(text)
                text = (found[min(1, regex.groups)] or "").strip() if found else ""
            if text:
                yield text


# What users write

_KEYS = (*KINDS, "type", "regex")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NO_TYPE = ", ".join(f'"{each}"' for each in TYPES) + ', or a list of one, such as "string[]"'
_NO_FIELDS = 'must be a table of columns, for example {heading = "css:h1"}'


def read_column(name: object, kind: object, reserved: frozenset[str] = frozenset()) -> Column:
    """Read a column's name and type; Mistake if one is wrong. `reserved`: names that the dataset has.

    >>> read_column("tags", "string[]")
    Column(name='tags', type='string', many=True)
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Mistake("a column's name must consist of the letters a to z, digits and _, and begin with a letter")
    if name in reserved:
        raise Mistake(f"the dataset already has a column {name}; choose another name")
    if not isinstance(kind, str) or (type_ := kind.removesuffix("[]")) not in TYPES:
        raise Mistake(f"type: must be {_NO_TYPE}")
    return Column(name, type_, kind != type_)


def read_fields(table: Any, reserved: frozenset[str] = frozenset()) -> tuple[Field, ...]:
    """Read fields, by the names of their columns; Mistake if one is wrong."""
    if not isinstance(table, Mapping):
        raise Mistake(_NO_FIELDS)
    return tuple(_read_field(name, keys, reserved) for name, keys in table.items())


def _read_field(name: Any, given: Any, reserved: frozenset[str], of_kind: str = "") -> Field:
    """`of_kind`: which selector it must have; "": any."""
    try:
        kind, keys = _keys(given)
        column = read_column(name, keys.get("type", "string"), reserved)
        if of_kind and kind != of_kind:
            raise Mistake(f"must be found by {of_kind}, as the items are")
        selector = _selector(kind, keys)
        if of_kind and isinstance(selector, XPath) and selector.expression.startswith("/"):
            raise Mistake("a path that begins with / looks at the whole page; begin it with a dot, as in .//b")
        if "regex" in keys:
            _selector("regex", keys)
        return Field(column, selector, keys.get("regex"))
    except Mistake as error:
        shown = name if isinstance(name, str) and name.isprintable() else json.dumps(str(name))
        raise Mistake(f"{shown}: {error}") from None


def _keys(given: Any) -> tuple[str, Mapping[str, Any]]:
    """Give the kind of a field's selector, and the field's keys: "css:h1" is short for {css = "h1"}."""
    if isinstance(given, str):
        kind, _, text = given.partition(":")
        if kind not in KINDS:
            raise Mistake(f"must begin with {', '.join(f'{each}:' for each in KINDS)}, for example css:h1")
        given = {kind: text}
    if not isinstance(given, Mapping):
        raise Mistake('must be a selector, for example "css:h1", or a table, for example {css = "h1", type = "float"}')
    for key in given:
        if key not in _KEYS:
            raise Mistake(f"unknown key {json.dumps(str(key))}; the keys are {', '.join(_KEYS)}")
    kinds = [key for key in given if key in KINDS]
    if len(kinds) != 1:
        raise Mistake(f"must have one of {', '.join(KINDS)}, and one only")
    return kinds[0], given


def _selector(key: str, keys: Mapping[str, Any]) -> Found:
    text = keys[key]
    if not isinstance(text, str):
        raise Mistake(f"{key}: must be a text")
    try:
        return selectors.of_kind("re" if key == "regex" else key, text)
    except ValueError as error:
        raise Mistake(f"{key} = {_quoted(text)}: {error}") from None


def read_items(table: Any) -> ItemRules:
    """Read what the items of pages are; Mistake if it is wrong."""
    if not isinstance(table, Mapping):
        raise Mistake('must be a table, for example {each = "css:tr", fields = {title = "css:td"}}')
    for key in table:
        if key not in ("each", "fields"):
            raise Mistake(f"unknown key {json.dumps(str(key))}; the keys are each, fields")
    text = table.get("each")
    if not isinstance(text, str):
        raise Mistake('each: must be a selector, for example "css:tr"')
    try:
        each = selectors.read(text)
    except ValueError as error:
        raise Mistake(f"each: {_quoted(text)}: {error}") from None
    if not isinstance(each, Css | XPath | JsonPath):
        raise Mistake("each: must be css:, xpath: or json:")
    if isinstance(each, Css) and (each.attribute is not None or each.own_text):
        raise Mistake(f"each: {_quoted(text)}: must find elements: leave ::text and ::attr(name) to the fields")
    rules = table.get("fields")
    if not isinstance(rules, Mapping) or not rules:
        raise Mistake(f"fields: {_NO_FIELDS}")
    kind = text.partition(":")[0].strip()
    try:
        return ItemRules(each, tuple(_read_field(name, keys, OF_ITEMS, kind) for name, keys in rules.items()))
    except Mistake as error:
        raise Mistake(f"fields: {error}") from None


def _quoted(text: str) -> str:
    """Return a string as TOML writes it, in one line."""
    return json.dumps(text, ensure_ascii=not text.isprintable())
