"""Items: rows of which a page has several, such as the rows of a table. Rules say where they are. Pure.

Vocabulary:
  items     the parts of a page that `each` finds, in its order; each becomes a row of the dataset's table `items`
  inside    the fields of an item look inside of it only, so they are of the kind of `each`: css, xpath or json

In a `fields.toml` they stand in sections of their own, and in `crawl.toml` below their site:

    [items."board.example"]
    each   = "css:table.list tr"
    fields = { number = { css = "td:nth-child(1)", type = "integer" }, title = "css:td a" }

Promise: as of `parse.fields`: `parse` refuses mistakes in one line, and `of_page` raises nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from fscrawl.errors import SettingsError
from fscrawl.hostnames import pattern_covers, url_pattern
from fscrawl.parse.columns import OF_ITEMS
from fscrawl.parse.fields import (
    FILE,
    Column,
    Extracted,
    Field,
    RuleError,
    Selector,
    in_full,
    read_rule,
    read_selector,
    shown_name,
)
from fscrawl.parse.selectors import Page, Part, fold, is_absolute
from fscrawl.util.toml_file import TomlFile

TABLE = "items"
MOST = 100_000  # items of one page
KEYS = ("each", "fields")
_RIGHT = 'a table, for example items = {each = "css:tr", fields = {title = "css:td"}}'


@dataclass(frozen=True, slots=True)
class Found:
    """The items of one page. `more`: there were more than MOST. `fault`: why the rest could not be read; at most 80
    characters.
    """

    items: tuple[Extracted, ...] = ()
    more: bool = False
    fault: str = ""


@dataclass(frozen=True, slots=True)
class _Of:
    """The items of the hosts that match a pattern."""

    hosts: str
    each: Selector
    fields: tuple[Field, ...]

    def of_page(self, page: Page) -> Iterator[Extracted]:
        budget = page.budget().times(len(self.fields) + 1)
        for part in self.each.parts(page, budget):
            yield self._item(part)

    def _item(self, part: Part) -> Extracted:
        values: dict[str, Any] = {}
        bad: dict[str, str] = {}
        for each in self.fields:
            each.fill(part, values, bad)
        return Extracted(values, bad, tuple(each.column.name for each in self.fields if each.column.name not in values))


@dataclass(frozen=True, slots=True)
class ItemRules:
    """The rules for items, and their columns, each of them once. Of the patterns that match a page the first counts."""

    columns: tuple[Column, ...] = ()
    rules: tuple[_Of, ...] = ()

    def of_page(self, url: str, html: bytes) -> Found:
        """Find the items of a page. `url`: its normal form; `html`: as for `selectors.Page`.

        >>> rules = parse('[items."*"]\\neach = "css:li"\\nfields = { name = "css:b" }')
        >>> [item.values for item in rules.of_page("http://a.example/", b"<li><b>x</b><li><b>y</b>").items]
        [{'name': 'x'}, {'name': 'y'}]
        """
        rule = next((each for each in self.rules if pattern_covers(each.hosts, url)), None)
        return Found() if rule is None else gathered(rule.of_page(Page(html)))


def gathered(found: Iterator[Extracted]) -> Found:
    """Take items until there are too many, or the rest cannot be read."""
    items: list[Extracted] = []
    try:
        items += islice(found, MOST)
        return Found(tuple(items), more=next(found, None) is not None)
    except Exception as error:  # noqa: BLE001 - one page must not stop an export of millions
        return Found(tuple(items), fault=fold(str(error) or type(error).__name__)[:80])


NO_ITEMS = ItemRules()


def parse(text: str, where: str = FILE) -> ItemRules:
    """Read the sections [items."<pattern>"] of a `fields.toml`; `parse.fields` reads the others.

    >>> parse('[items."*"]\\neach = "css:li"')
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: fields.toml: [items."*"]: fields: must be there, with a column at least
    """
    file = TomlFile(text, where)
    sections = file.tables().get(TABLE, {})
    if not isinstance(sections, dict):
        raise SettingsError(f'{file.where}: items: write a section as [items."board.example"]')
    found = []
    for pattern, table in sections.items():

        def place(*_path: str, pattern: str = pattern) -> str:
            return f'{file.where}: [items."{pattern}"]'

        hosts = url_pattern(pattern)
        if hosts is None:
            raise SettingsError(f"{place()}: must be a host name or a pattern in quotes")
        found.append(of_site([hosts], table, place))
    return joined(found, where)


def of_site(hosts: Sequence[str], table: Any, place: Callable[..., str]) -> ItemRules:
    """Read the table [site.items] of `crawl.toml`. `place`: names the place of a key in errors.

    SettingsError if it is wrong.
    """
    if not isinstance(table, dict):
        raise SettingsError(f"{place()}: must be {_RIGHT}")
    for key in table:
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
            raise SettingsError(f"{place(key)}: unknown key {shown_name(key)}; {hint}")
    kind, each = _each(table, place)
    rules = table.get("fields")
    if not isinstance(rules, dict) or not rules:
        raise SettingsError(f"{_there(table, 'fields', place)}: fields: must be there, with a column at least")
    fields = tuple(_field(kind, name, keys, place) for name, keys in rules.items())
    return ItemRules(tuple(each.column for each in fields), tuple(_Of(host, each, fields) for host in hosts))


def joined(found: Iterable[ItemRules], where: str) -> ItemRules:
    """Give the rules of several tables as one. SettingsError if they have a column with two types."""
    tables = tuple(found)
    columns: dict[str, Column] = {}
    for column in (column for table in tables for column in table.columns):
        if columns.setdefault(column.name, column) != column:
            raise SettingsError(f"{where}: items: {column.name} has two types; a column must have one type")
    return ItemRules(tuple(columns.values()), tuple(rule for table in tables for rule in table.rules))


def _each(table: Mapping[str, Any], place: Callable[..., str]) -> tuple[str, Selector]:
    text = in_full(table.get("each"))
    if not isinstance(text, dict):
        raise SettingsError(f'{_there(table, "each", place)}: each: must be there, for example each = "css:table tr"')
    try:
        return next(iter(text)), read_selector(text)
    except RuleError as error:
        raise SettingsError(f"{place('each')}: each: {error}") from error.__cause__


def _field(kind: str, name: str, keys: Any, place: Callable[..., str]) -> Field:
    try:
        rule = read_rule(name, in_full(keys), OF_ITEMS)
        if kind not in in_full(keys):
            raise RuleError(f"must be found by {kind}, as the items are: {name} = {{ {kind} = … }}")
        if kind == "xpath" and is_absolute(in_full(keys)[kind]):
            raise RuleError("a path that begins with / looks at the whole page; begin it with a dot, as in .//b")
    except RuleError as error:
        raise SettingsError(f"{place('fields', name)}: {shown_name(name)}: {error}") from error.__cause__
    return Field("", *rule)


def _there(table: Mapping[str, Any], key: str, place: Callable[..., str]) -> str:
    return place(key) if key in table else place()
