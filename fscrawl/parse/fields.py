"""Values that a user's rules find in stored pages, for typed columns of the dataset. Pure: no disk, no socket.

Vocabulary:
  rules     the file `fields.toml`: sections [hosts."<pattern>"], with lines `<column> = { css = …, … }`. Its sections
            [items."<pattern>"] are read by `parse.items`
  field     one such line: where the value of a column is found on the pages of these hosts, and its type
  column    a name and a type; fields of several sections may fill the same column, in the order of the file
  text      a string that a selector found, with its white space folded; an empty text does not count

Promise: `parse` refuses every mistake that can be seen without a page, in one line. `Rules.extract` raises nothing,
whatever the page. Each value has the type of its column, and texts that cannot be converted are listed as bad.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from fscrawl.errors import SettingsError
from fscrawl.hostnames import pattern_covers, url_pattern
from fscrawl.parse import json_paths, selectors
from fscrawl.parse.json_paths import JsonPath
from fscrawl.parse.selectors import Css, Page, XPath, fold
from fscrawl.util.expressions import compiled
from fscrawl.util.toml_file import TomlFile

FILE = "fields.toml"
Selector = Css | XPath | JsonPath

_SHOWN_CHARS = 80  # of a bad text, in a report


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the dataset. `type` is one of `TYPES`; with `many` the values are lists of this type."""

    name: str
    type: str = "string"
    many: bool = False

    @classmethod
    def of(cls, name: object, kind: object) -> Column | None:
        """Give a column by its name and a word for its type: "float", or "float[]" for a list; None if it is wrong.

        >>> Column.of("tags", "string[]")
        Column(name='tags', type='string', many=True)
        >>> Column.of("tags", "str") is None
        True
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(kind, str):
            return None
        type_ = kind.removesuffix("[]")
        return cls(name, type_, kind != type_) if type_ in TYPES else None


@dataclass(frozen=True, slots=True)
class Extracted:
    """The values of one page.

    values    column → str, int (64 bits), float (finite), bool, datetime (UTC), or a list of them that is not empty
    bad       column → the first text that is not of its type, or an error; at most 80 characters. Such a column may
              have a value as well: from another field, or from other items of its list
    missing   the columns that have a field for the page's host but no value: nothing was found, or only bad texts. So
              `values` and `missing` together are all columns that the rules ask of the page
    """

    values: dict[str, Any]
    bad: dict[str, str]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """The fields of a file in their order, and their columns, each of them once. Rules can be pickled."""

    columns: tuple[Column, ...]
    fields: tuple[Field, ...]

    def failed(self, url: str, why: str) -> Extracted:
        """Give what there is of a page on which the rules did not end: each column for its host is bad."""
        names = dict.fromkeys(each.column.name for each in self.fields if pattern_covers(each.hosts, url))
        return Extracted({}, dict.fromkeys(names, why), tuple(names))

    def extract(self, url: str, html: bytes) -> Extracted:
        """Find the values of a page. `url`: its normal form; `html`: as for `selectors.Page`.

        >>> rules = parse('[hosts."*"]\\nn = { css = "b", type = "integer" }\\nt = { css = "title" }', "fields.toml")
        >>> rules.extract("http://a.example/", b"<b>7</b>")
        Extracted(values={'n': 7}, bad={}, missing=('t',))
        """
        page = Page(html)
        covered: dict[str, None] = {}
        values: dict[str, Any] = {}
        bad: dict[str, str] = {}
        for each in self.fields:
            name = each.column.name
            if name in values or not pattern_covers(each.hosts, url):
                continue
            covered[name] = None
            each.fill(page, values, bad)
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


@dataclass(frozen=True, slots=True)
class Field:
    """One line of the rules: how to fill a column from the pages whose host matches `hosts`."""

    hosts: str
    column: Column
    selector: Selector
    regex: str | None

    def fill(self, page: Page, values: dict[str, Any], bad: dict[str, str]) -> None:
        """Add the value, and the first bad text if there is none of the column yet. Raises nothing."""
        found, wrong = self.read(page)
        if found:
            values[self.column.name] = found if self.column.many else found[0]
        if wrong is not None:
            bad.setdefault(self.column.name, wrong)

    def read(self, page: Page) -> tuple[list[Any], str | None]:
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

    def _texts(self, page: Page) -> Iterator[str]:
        for raw in self.selector.texts(page):
            text = fold(raw)
            if self.regex is not None:
                regex = compiled(self.regex)
                found = regex.search(text)
                text = (found[min(1, regex.groups)] or "").strip() if found else ""
            if text:
                yield text


# The file

_KEYS = ("css", "xpath", "json", "type", "many", "regex")
_SELECTORS = _KEYS[:3]
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_BARE_PATTERN = re.compile(r"^[ \t]*\[[ \t]*hosts[ \t]*\.[ \t]*[^\"'\s\]]*[*?]", re.MULTILINE)
_SECTION = '[hosts."docs.python.org"]'
_SECTIONS = ("hosts", "items")
_NO_PATTERN = (
    'must be a host name or a pattern, for example "*.example.com", without scheme and path;'
    ' a part that has both a * and letters other than a to z must be written as "xn--…"'
)


def parse(text: str, where: str = FILE, taken: frozenset[str] = frozenset()) -> Rules:
    """Read the text of a `fields.toml`. `where` names it in errors; `taken`: names of columns that the dataset has.

    >>> parse('[hosts."*"]\\ntitle = { css = "h1::text" }').columns
    (Column(name='title', type='string', many=False),)
    >>> parse('[hosts."*"]\\ntitle = { ccs = "h1::text" }')
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: fields.toml: [hosts."*"] title: unknown key ccs; did you mean css?
    """
    fields: list[Field] = []
    columns: dict[str, tuple[Column, str]] = {}
    file = TomlFile(text, where)
    for pattern, table in _sections(file, text).items():
        hosts = url_pattern(pattern)
        if hosts is None:
            raise SettingsError(f"{file.where}: [hosts.{_quoted(pattern)}]: {_NO_PATTERN}")
        for name, keys in table.items():
            if isinstance(keys, dict):
                _check_quoting(pattern, name, keys, file)
            try:
                each = Field(hosts, *read_rule(name, keys, taken))
                first, there = columns.setdefault(name, (each.column, pattern))
                check_type(each.column, first, there)
            except RuleError as error:
                said = f"{file.where}: [hosts.{_quoted(pattern)}] {shown_name(name)}: {error}"
                raise SettingsError(said) from error.__cause__
            fields.append(each)
    if not fields and "items" not in file.tables():
        raise SettingsError(
            f'{where}: the file has no fields; write one below {_SECTION}, for example title = {{ css = "h1::text" }}'
        )
    return Rules(tuple(column for column, _ in columns.values()), tuple(fields))


def of_site(
    hosts: Sequence[str], table: Mapping[str, Any], place: Callable[..., str], taken: frozenset[str] = frozenset()
) -> Rules:
    """Read the table [site.fields] of `crawl.toml`: lines as in a file, or in short `<column> = "css:h1"`.

    `hosts`: patterns of the site; `place`: names the place of a key in errors, given the column and the key.
    `taken`: as for `parse`.
    """
    fields: list[Field] = []
    for name, keys in table.items():
        try:
            if isinstance(keys, str) and isinstance(in_full(keys), str):
                raise RuleError(f"must begin with {', '.join(f'{each}:' for each in _SELECTORS)}, for example css:h1")
            rule = read_rule(name, in_full(keys), taken)
        except RuleError as error:
            raise SettingsError(f"{place(name, *error.path)}: {shown_name(name)}: {error}") from error.__cause__
        fields += (Field(each, *rule) for each in hosts)
    return Rules(tuple(dict.fromkeys(each.column for each in fields)), tuple(fields))


def in_full(keys: Any) -> Any:
    """Give the table that a rule in short stands for."""
    kind, colon, text = keys.partition(":") if isinstance(keys, str) else ("", "", "")
    return {kind: text.strip()} if colon and kind in _SELECTORS else keys


class RuleError(Exception):
    """What is wrong with a field. `path`: the key of its table that is wrong, if it is one key."""

    def __init__(self, said: str, *path: str) -> None:
        super().__init__(said)
        self.path = path


def check_type(column: Column, first: Column, there: str) -> None:
    if first != column:
        raise RuleError(
            f"the type is {_kind_of(column)} here and {_kind_of(first)} in [hosts.{_quoted(there)}];"
            " a column must have one type"
        )


def _sections(file: TomlFile, text: str) -> dict[str, dict[str, Any]]:
    tables = file.tables(f"; a host pattern must be in quotes: {_SECTION}" if _BARE_PATTERN.search(text) else "")
    for name in tables:
        if name not in _SECTIONS:
            raise SettingsError(f"{file.where}: unknown section {shown_name(name)}; write a section as {_SECTION}")
    hosts = tables.get("hosts", {})
    if not isinstance(hosts, dict) or not all(isinstance(table, dict) for table in hosts.values()):
        raise SettingsError(f"{file.where}: hosts: write a section as {_SECTION}")
    return hosts


def _check_quoting(pattern: str, name: str, keys: dict[str, Any], file: TomlFile) -> None:
    """Explain the mistake [hosts.docs.python.org]: without quotes, TOML takes each dot for a table in a table."""
    path = [pattern, name]
    while not set(keys) & set(_KEYS):
        key = next((key for key, value in keys.items() if isinstance(value, dict)), None)
        if key is None:
            return
        keys = keys[key]
        path.append(key)
    if len(path) > 2:
        host = ".".join(path[:-1])
        raise SettingsError(
            f"{file.where}: [hosts.{shown_name(host)}]: a host pattern must be in quotes: [hosts.{_quoted(host)}]"
        )


def read_rule(name: str, keys: Any, taken: frozenset[str]) -> tuple[Column, Selector, str | None]:
    if not _NAME.fullmatch(name):
        raise RuleError("a column's name must consist of the letters a to z, digits and _, and begin with a letter")
    if name in taken:
        raise RuleError(f"the dataset already has a column {name}; choose another name")
    if not isinstance(keys, dict):
        raise RuleError(f'must be a table, for example {name} = {{ css = "h1::text" }}')
    for key in keys:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"did you mean {near[0]}?" if near else "the keys are " + ", ".join(_KEYS)
            raise RuleError(f"unknown key {shown_name(key)}; {hint}", key)
    type_, many = keys.get("type", "string"), keys.get("many", False)
    if not isinstance(type_, str) or type_ not in TYPES:
        raise RuleError("type: must be one of " + ", ".join(_quoted(each) for each in TYPES), "type")
    if not isinstance(many, bool):
        raise RuleError("many: must be true or false", "many")
    return Column(name, type_, many), read_selector(keys), _read(keys, "regex", _REGEX, _expression)


def _expression(text: str) -> str:
    compiled(text)
    return text


_Read = TypeVar("_Read")


class _Kind(NamedTuple):
    """What a key's string must be, with an example, for error messages."""

    name: str
    example: str


_CSS = _Kind("a CSS selector", "h1::text")
_XPATH = _Kind("an XPath 1.0 expression", "//h1/text()")
_JSON = _Kind("a JSON path", "$.title")
_REGEX = _Kind("a regular expression", "[0-9]+")


def read_selector(keys: dict[str, Any]) -> Selector:
    css = _read(keys, "css", _CSS, selectors.css)
    xpath = _read(keys, "xpath", _XPATH, selectors.xpath)
    json_path = _read(keys, "json", _JSON, json_paths.json_path)
    found = [each for each in (css, xpath, json_path) if each is not None]
    if len(found) != 1:
        raise RuleError("must have css, xpath or json" + (", and one of them only" if found else ""))
    return found[0]


def _read(keys: dict[str, Any], key: str, kind: _Kind, reader: Callable[[str], _Read]) -> _Read | None:
    text = keys.get(key)
    if text is None:
        return None
    if not isinstance(text, str):
        raise RuleError(f"{key}: must be {kind.name} in quotes, for example {_quoted(kind.example)}", key)
    try:
        return reader(text)
    except selectors.MissingPackageError as error:
        raise RuleError(f"{key}: {error}", key) from error
    except (ValueError, OverflowError, RecursionError) as error:
        raise RuleError(f"{key} = {_quoted(text)}: must be {kind.name}: {error}", key) from error


def _kind_of(column: Column) -> str:
    return f"a list of {column.type}" if column.many else column.type


def _quoted(text: str) -> str:
    """Return a string as TOML writes it, in one line."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def shown_name(name: str) -> str:
    return name if name.isprintable() else _quoted(name)
