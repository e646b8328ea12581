"""Values that a user's rules find in stored pages, for typed columns of the dataset. Pure: no disk, no socket.

Vocabulary:
  rules     the file `fields.toml`: sections [hosts."<pattern>"], in each `<column> = { css = …, … }`
  field     one such line: where on a page of these hosts a column's value stands, and of what type it is
  column    a name and a type; fields of several sections may fill the same one, in the order of the file
  text      one thing that a selector finds, as a string with its white space folded; a blank one does not count

Promise: `parse` refuses in one line what can be known to be wrong without a page. `Rules.extract` raises nothing,
whatever the page: each value has its column's type, and what could not be read is named among the bad ones.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from fscrawl.errors import SettingsError
from fscrawl.parse import selectors
from fscrawl.parse.selectors import Css, Page, XPath, fold
from fscrawl.urls import hostname, normalise

FILE = "fields.toml"

_SHOWN_CHARS = 80  # of a bad text, in a report


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the dataset; `type` is one of `TYPES`, and with `many` the values are lists of it."""

    name: str
    type: str = "string"
    many: bool = False


@dataclass(frozen=True, slots=True)
class Extracted:
    """What one page gave.

    values    column → str, int (of 64 bits), float (finite), bool, datetime (UTC), or a list of them, never empty
    bad       column → the first text found for it that is not of its type, or the error met; at most 80 characters.
              A column can have a value, too: by another field, or others of the list were right.
    missing   the columns that have a field for the page's host and no value here, be it that there was nothing or only
              bad texts. So `values` and `missing` together are what the rules asked of the page.
    """

    values: dict[str, Any]
    bad: dict[str, str]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """The fields of a file, in its order, and their columns, each once. They can be pickled."""

    columns: tuple[Column, ...]
    fields: tuple[_Field, ...]

    def extract(self, url: str, html: bytes) -> Extracted:
        """Read a page. `url`: its normal form; `html`: as `links.readable` gives it.

        >>> rules = parse('[hosts."*"]\\nn = { css = "b", type = "integer" }\\nt = { css = "title" }', "fields.toml")
        >>> rules.extract("http://a.example/", b"<b>7</b>")
        Extracted(values={'n': 7}, bad={}, missing=('t',))
        """
        page, host = Page(html), hostname(url)
        covered: dict[str, None] = {}
        values: dict[str, Any] = {}
        bad: dict[str, str] = {}
        for each in self.fields:
            name = each.column.name
            if name in values or not each.covers(host):
                continue
            covered[name] = None
            found, wrong = each.read(page)
            if found:
                values[name] = found if each.column.many else found[0]
            if wrong is not None:
                bad.setdefault(name, wrong)
        return Extracted(values, bad, tuple(name for name in covered if name not in values))


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
    """Give a finite number; "1,299" is none: whether it is more than a thousand depends on the country."""
    value = float(text) if _FLOAT.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def _timestamp(text: str) -> datetime | None:
    """Read a time by RFC 3339 or the like in ISO 8601; without an offset it is UTC, a date alone is its midnight.

    >>> _timestamp("2024-05-01T10:30+02:00").isoformat(), _timestamp("2024-05-01").isoformat()
    ('2024-05-01T08:30:00+00:00', '2024-05-01T00:00:00+00:00')
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    day, time, offset = found[1], found[2] or "00:00", (found[3] or "Z").upper()
    try:
        return datetime.fromisoformat(f"{day}T{time}{offset}").astimezone(UTC)
    except (ValueError, OverflowError):  # February 30; January 1 of the year 1, east of Greenwich
        return None


_CONVERT: dict[str, Callable[[str], Any]] = {
    "string": str,
    "integer": _integer,
    "float": _float,
    "boolean": lambda text: _BOOLEANS.get(text.lower()),
    "timestamp": _timestamp,
}
TYPES = tuple(_CONVERT)


@dataclass(frozen=True, slots=True)
class _Field:
    """A column of the pages whose host matches `hosts`."""

    hosts: str
    column: Column
    selector: Css | XPath
    regex: re.Pattern[str] | None

    def covers(self, host: str) -> bool:
        return host == self.hosts or fnmatchcase(host, self.hosts)  # "[::1]" as a pattern would be one character

    def read(self, page: Page) -> tuple[list[Any], str | None]:
        """Give the values found, one at most without `many`, and the first text that is none; never an exception."""
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
        except Exception as error:  # noqa: BLE001 - one page must not end an export of millions
            return [], fold(f"{type(error).__name__}: {error}")[:_SHOWN_CHARS]
        return values, bad

    def _texts(self, page: Page) -> Iterator[str]:
        for raw in self.selector.texts(page):
            text = fold(raw)
            if self.regex is not None:
                found = self.regex.search(text)
                text = (found[min(1, self.regex.groups)] or "").strip() if found else ""
            if text:
                yield text


# The file

_KEYS = ("css", "xpath", "type", "many", "regex")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_BARE_PATTERN = re.compile(r"^[ \t]*\[[ \t]*hosts[ \t]*\.[ \t]*[^\"'\s\]]*[*?]", re.MULTILINE)
_SECTION = '[hosts."docs.python.org"]'


def parse(text: str, where: str = FILE, taken: frozenset[str] = frozenset()) -> Rules:
    """Read the text of a `fields.toml`; `where` names it in errors, `taken` are columns that the dataset has already.

    >>> parse('[hosts."*"]\\ntitle = { css = "h1::text" }').columns
    (Column(name='title', type='string', many=False),)
    >>> parse('[hosts."*"]\\ntitle = { ccs = "h1::text" }')
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: fields.toml: [hosts."*"] title: unknown key ccs; did you mean css?
    """
    fields: list[_Field] = []
    columns: dict[str, tuple[Column, str]] = {}
    for pattern, table in _sections(text, where).items():
        section = f"{where}: [hosts.{_quoted(pattern)}]"
        hosts = _host_pattern(pattern, section)
        for name, keys in table.items():
            at = f"{section} {_shown(name)}"
            if isinstance(keys, dict):
                _check_quoting(pattern, name, keys, where)
            each = _Field(hosts, *_rule(name, keys, at, taken))
            first, there = columns.setdefault(name, (each.column, pattern))
            if first != each.column:
                raise SettingsError(
                    f"{at}: it is {_kind_of(each.column)} here and {_kind_of(first)} in [hosts.{_quoted(there)}];"
                    " a column has one type"
                )
            fields.append(each)
    if not fields:
        raise SettingsError(
            f'{where}: no fields in it; one is written, below {_SECTION}, title = {{ css = "h1::text" }}'
        )
    return Rules(tuple(column for column, _ in columns.values()), tuple(fields))


def _sections(text: str, where: str) -> dict[str, dict[str, Any]]:
    try:
        tables = tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a plain ValueError
        hint = f"; a host pattern is quoted: {_SECTION}" if _BARE_PATTERN.search(text) else ""
        raise SettingsError(f"{where}: not TOML: {error}{hint}") from error
    for name in tables:
        if name != "hosts":
            raise SettingsError(f"{where}: unknown section {_shown(name)}; a section is written {_SECTION}")
    hosts = tables.get("hosts", {})
    if not isinstance(hosts, dict) or not all(isinstance(table, dict) for table in hosts.values()):
        raise SettingsError(f"{where}: hosts: a section is written {_SECTION}")
    return hosts


def _host_pattern(pattern: str, at: str) -> str:
    """Give a pattern as host names are written: small letters, other alphabets in Punycode.

    >>> _host_pattern("*.Bücher.example", "")
    '*.xn--bcher-kva.example'
    """
    labels = [label.lower() if label.isascii() else _ascii(label) for label in pattern.split(".")]
    if not pattern or re.search(r"[/\\@#\s]|\A[^\[]*:", pattern) or None in labels:
        raise SettingsError(
            f'{at}: it takes a host name or a pattern as "*.example.com", without scheme, port and path;'
            ' a part that has both * and other letters than a to z is written "xn--…"'
        )
    return ".".join(label or "" for label in labels)


def _ascii(label: str) -> str | None:
    url = None if re.search(r"[*?\[\]]", label) else normalise(f"http://{label}/")
    return hostname(url) if url else None


def _check_quoting(pattern: str, name: str, keys: dict[str, Any], where: str) -> None:
    """Tell who wrote [hosts.docs.python.org] that TOML takes each dot for a table within a table."""
    path = [pattern, name]
    while not set(keys) & set(_KEYS):
        key = next((key for key, value in keys.items() if isinstance(value, dict)), None)
        if key is None:
            return
        keys = keys[key]
        path.append(key)
    if len(path) > 2:
        host = ".".join(path[:-1])
        raise SettingsError(f"{where}: [hosts.{_shown(host)}]: a host pattern is quoted: [hosts.{_quoted(host)}]")


def _rule(name: str, keys: Any, at: str, taken: frozenset[str]) -> tuple[Column, Css | XPath, re.Pattern[str] | None]:
    if not _NAME.fullmatch(name):
        raise SettingsError(f"{at}: a column's name takes letters a to z, digits and _, and begins with a letter")
    if name in taken:
        raise SettingsError(f"{at}: the dataset has a column {name} already; it takes another name")
    if not isinstance(keys, dict):
        raise SettingsError(f'{at}: it takes a table, as in {name} = {{ css = "h1::text" }}')
    for key in keys:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"did you mean {near[0]}?" if near else "there are " + ", ".join(_KEYS)
            raise SettingsError(f"{at}: unknown key {_shown(key)}; {hint}")
    type_, many = keys.get("type", "string"), keys.get("many", False)
    if not isinstance(type_, str) or type_ not in TYPES:
        raise SettingsError(f"{at}: type: it takes one of " + ", ".join(_quoted(each) for each in TYPES))
    if not isinstance(many, bool):
        raise SettingsError(f"{at}: many: it takes true or false")
    return Column(name, type_, many), _selector(keys, at), _read(keys, "regex", "a regular expression", re.compile, at)


_Read = TypeVar("_Read")


def _selector(keys: dict[str, Any], at: str) -> Css | XPath:
    css = _read(keys, "css", 'a CSS selector, as in "h1::text"', selectors.css, at)
    xpath = _read(keys, "xpath", 'an XPath 1.0 expression, as in "//h1/text()"', selectors.xpath, at)
    if css and xpath:
        raise SettingsError(f"{at}: it takes one of css and xpath, not both")
    found = css or xpath
    if not found:
        raise SettingsError(f"{at}: it takes one of css and xpath")
    return found


def _read(keys: dict[str, Any], key: str, wanted: str, reader: Callable[[str], _Read], at: str) -> _Read | None:
    text = keys.get(key)
    if text is None:
        return None
    if not isinstance(text, str):
        raise SettingsError(f"{at}: {key}: it takes {wanted}, in quotes")
    try:
        return reader(text)
    except (ValueError, re.error, OverflowError, RecursionError) as error:
        raise SettingsError(f"{at}: {key} = {_quoted(text)}: it takes {wanted}: {error}") from error


def _kind_of(column: Column) -> str:
    return f"a list of {column.type}" if column.many else column.type


def _quoted(text: str) -> str:
    """Give a string as TOML writes it, in one line."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _shown(name: str) -> str:
    return name if name.isprintable() else _quoted(name)
