"""The [[site]] tables of `crawl.toml` → rules. Pure: no disk, no socket.

Promise: what is wrong is a SettingsError with file, line and column that names the table, by its number and its first
host, and says what would be right. A header's value is never shown.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from fscrawl import urls
from fscrawl.errors import SettingsError
from fscrawl.hostnames import url_pattern
from fscrawl.parse import fields, items
from fscrawl.parse.columns import OF_PAGES
from fscrawl.request import FORBIDDEN_HEADERS, METHODS, Request, flaw
from fscrawl.sites import matchers, seeds
from fscrawl.sites.rules import Site, too_many
from fscrawl.sites.seeds import SeedTemplate
from fscrawl.util.toml_file import TomlFile
from fscrawl.util.toml_text import one_line
from fscrawl.util.user_text import shown

TABLE = "site"
KEYS = ("hosts", "seeds", "label", "method", "form", "json", "follow", "expect", "headers", "fields", "items")
_HOSTS = 'a list of hosts and patterns, for example ["a.example", "*.b.example"]'
_EXAMPLES = {
    "hosts": '["a.example", "*.b.example"]',
    "seeds": '["https://a.example/list?page={1..10}"]',
    "follow": '["css:a.next"]',
    "expect": '["css:table.result"]',
}
_BRACES = re.compile(r"\{[^{}]*\}")  # of a template: a host with them is no host, and they may stand in a password
_T = TypeVar("_T")


def read_sites(tables: Any, file: TomlFile) -> tuple[Site, ...]:
    """Read the value of `site`. `file`: the text it stands in.

    >>> text = "[[site]]\\nhosts = ['a.example']\\nfolow = []"
    >>> file = TomlFile(text, "crawl.toml")
    >>> read_sites(file.tables()["site"], file)
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: crawl.toml: [[site]] 1 (a.example): unknown key folow; did you mean follow?
    """
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise SettingsError(f"{file.where}: [site]: write it with double brackets, [[site]]: there may be several")
    sites: list[Site] = []
    owners: dict[str, int] = {}
    for number, table in enumerate(tables):
        site = _Reader(number, table, file).site()
        for pattern in site.hosts:
            before = owners.setdefault(pattern, number)
            if before != number:
                raise SettingsError(
                    f"{file.where}: [[site]] {number + 1}: hosts: {pattern} is a host of [[site]] {before + 1}"
                )
        sites.append(site)
    items.joined((site.items for site in sites if site.items is not None), file.where)
    if said := too_many(sites, lambda name: "x"):  # noqa: ARG005 - lists are counted when they are there
        raise SettingsError(f"{file.where}: {said}")
    return tuple(sites)


class _Reader:
    """Reads one table."""

    def __init__(self, number: int, table: Mapping[str, Any], file: TomlFile) -> None:
        self._table = table
        self._file = file
        hosts = table.get("hosts")
        first = hosts[0] if isinstance(hosts, list) and hosts and isinstance(hosts[0], str) else ""
        self._name = f"[[site]] {number + 1}" + (f" ({shown(first)})" if first and "@" not in first else "")

    def site(self) -> Site:
        for key in self._table:
            if key not in KEYS:
                near = difflib.get_close_matches(key, KEYS, 1)
                hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
                raise self._error(f"unknown key {one_line(key)}; {hint}", key)
        self._refuse_logins()
        hosts = self._items("hosts", _host)
        if not hosts:
            raise self._error(f"hosts: must be {_HOSTS}", "hosts")
        return Site(
            self._table,
            tuple(dict.fromkeys(hosts)),
            self._seeds(),
            self._items("follow", matchers.follow) if "follow" in self._table else None,
            self._items("expect", matchers.expectation),
            self._headers(),
            self._fields(hosts),
            self._item_rules(hosts),
        )

    def _refuse_logins(self) -> None:
        """Raise SettingsError if a URL has a user or a password: everybody who mounts the tree could read them."""
        for key in ("hosts", "seeds"):
            values = self._table.get(key, [])
            for value in [values] if isinstance(values, str) else values:
                text = _BRACES.sub("x", value) if isinstance(value, str) else ""
                if urls.without_login(text) != text or (key == "hosts" and "@" in text):
                    said = f"{key}: must have no user and password; write them into fetch.auth, as $FSCRAWL_NAME"
                    raise self._error(said, key)

    def _items(self, key: str, read: Callable[[str], _T]) -> tuple[_T, ...]:
        """Read a list of strings; one string counts as a list of it."""
        values = self._table.get(key, [])
        values = [values] if isinstance(values, str) else values
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise self._error(f"{key}: must be a list of strings, for example {_EXAMPLES[key]}", key)
        return tuple(self._read(read, value, key) for value in values)

    def _read(self, read: Callable[[str], _T], value: str, *path: str) -> _T:
        try:
            return read(value)
        except ValueError as error:
            raise self._error(f"{path[0]}: {shown(value)}: {error}", *path) from None

    def _seeds(self) -> tuple[SeedTemplate, ...]:
        method = self._table.get("method", "")
        if method not in ("", *METHODS) or not isinstance(method, str):
            raise self._error(f"method: must be one of {', '.join(METHODS)}, in capitals", "method")
        label = self._label()
        kinds = [kind for kind in ("form", "json") if kind in self._table]
        if len(kinds) == 2:
            raise self._error("form, json: a request has one body; leave one of them out", "json")
        kind = kinds[0] if kinds else ""
        body = self._body(kind) if kind else None
        found = self._items("seeds", lambda text: seeds.read(text, method, kind, body, label))
        of_seeds = kind or ("method" if method else "label" if label else "")
        if not found and of_seeds:
            raise self._error(f"{of_seeds}: it is for the seeds of this table, and there are none", of_seeds)
        return found

    def _label(self) -> str:
        label = self._table.get("label", "")
        if label == "" and "label" not in self._table:
            return ""
        if not isinstance(label, str):
            raise self._error('label: must be a text, for example "day {1}"', "label")
        return self._read(seeds.read_label, label, "label")

    def _body(self, kind: str) -> Mapping[str, Any]:
        body = self._table[kind]
        flat = kind == "json" or (isinstance(body, dict) and all(isinstance(each, str | int) for each in body.values()))
        if not isinstance(body, dict) or not flat:
            raise self._error(f'{kind}: must be a table of strings, for example {{page = "{{1..10}}"}}', kind)
        if not all(map(_is_json, body.values())):
            raise self._error(f"{kind}: JSON has no dates, infinite numbers and the like; write a string", kind)
        return {name: str(value) for name, value in body.items()} if kind == "form" else body

    def _headers(self) -> Mapping[str, str]:
        headers = self._table.get("headers", {})
        right = 'must be a table of header names and one-line values, for example {"Accept-Language" = "en"}'
        if not isinstance(headers, dict):
            raise self._error(f"headers: {right}", "headers")
        for name, value in headers.items():
            if not isinstance(value, str) or not value.isascii():
                raise self._error(f"headers: {right}", "headers", name)
            if name.lower() in FORBIDDEN_HEADERS - _ALLOWED_HEADERS:
                raise self._error(f"headers: {name} cannot be set", "headers", name)
            if name.lower() not in _ALLOWED_HEADERS and flaw(Request("", headers=((name.lower(), value),))):
                raise self._error(f"headers: {right}", "headers", name)
        return headers

    def _fields(self, hosts: tuple[str, ...]) -> fields.Rules | None:
        table = self._table.get("fields")
        if table is None:
            return None
        if not isinstance(table, dict):
            raise self._error('fields: must be a table, for example [site.fields] with heading = "css:h1"', "fields")

        def place(*_path: str) -> str:
            return f"{self._file.where}: {self._name}: fields"

        return fields.of_site(hosts, table, place, OF_PAGES)

    def _item_rules(self, hosts: tuple[str, ...]) -> items.ItemRules | None:
        if "items" not in self._table:
            return None

        def place(*_path: str) -> str:
            return f"{self._file.where}: {self._name}: items"

        return items.of_site(hosts, self._table["items"], place)

    def _error(self, said: str, *_path: str) -> SettingsError:
        return SettingsError(f"{self._file.where}: {self._name}: {said}")


_ALLOWED_HEADERS = frozenset({"authorization", "cookie"})  # their values may name secrets, as in fetch.headers


def _host(text: str) -> str:
    pattern = url_pattern(text)
    if pattern is None:
        raise ValueError(f"must be {_HOSTS}, without scheme and path")
    return pattern


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    if isinstance(value, list):
        return all(map(_is_json, value))
    return isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= sys.float_info.max)
