"""What a user writes of a site → rules: a [[site]] table, or the attributes of a class. Pure: no disk, no socket.

Promise: a mistake gets one line that names the place and the site, and what would be right. A header's value
is never shown.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from fscrawl import urls
from fscrawl.errors import SettingsError
from fscrawl.hostnames import url_pattern
from fscrawl.parse import selectors
from fscrawl.parse.fields import OF_ITEMS, OF_PAGES, Column, Mistake, read_column, read_fields, read_items
from fscrawl.request import FORBIDDEN_HEADERS, Request, flaw
from fscrawl.sites import seeds
from fscrawl.sites.rules import Expected, Follow, NoRedirect, SiteRules, of_two_types, too_many, twice
from fscrawl.util.user_text import one_line, shown

if TYPE_CHECKING:
    from fscrawl.sites.code import Code

TABLE = "site"
KEYS = ("hosts", "headers", "seeds", "follow", "expect", "fields", "items")
_EXAMPLES = {
    "hosts": '["a.example", "*.b.example"]',
    "seeds": '["https://a.example/list?page={1..10}"]',
    "follow": '["css:a.next"]',
    "expect": '["css:table.result"]',
}
_BRACES = re.compile(r"\{[^{}]*\}")  # of a seed: a host with them is no host, and they may stand in a password
_ALLOWED_HEADERS = frozenset({"authorization", "cookie"})  # their values may name secrets, as in fetch.headers
_T = TypeVar("_T")


def read_sites(tables: Any, where: str) -> tuple[SiteRules, ...]:
    """Read the value of `site`. `where`: the file it stands in, for messages.

    >>> import tomllib
    >>> text = "[[site]]\\nhosts = ['a.example']\\nfolow = []"
    >>> read_sites(tomllib.loads(text)["site"], "crawl.toml")
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: crawl.toml: [[site]] 1 (a.example): unknown key folow; did you mean follow?
    """
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise SettingsError(f"{where}: [site]: write it with double brackets, [[site]]: there may be several")
    sites = tuple(_of_table(number, table, where) for number, table in enumerate(tables))
    for problem in (twice(sites), of_two_types(sites), too_many(sites, lambda name: "x")):  # noqa: ARG005 - later
        if problem:
            raise SettingsError(f"{where}: {problem}")
    return sites


def _of_table(number: int, table: Mapping[str, Any], where: str) -> SiteRules:
    hosts = table.get("hosts")
    first = hosts[0] if isinstance(hosts, list) and hosts else hosts
    is_shown = first and isinstance(first, str) and "@" not in first
    name = f"[[site]] {number + 1}" + (f" ({shown(str(first))})" if is_shown else "")
    try:
        for key in table:
            if key not in KEYS:
                near = difflib.get_close_matches(key, KEYS, 1)
                hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
                raise Mistake(f"unknown key {one_line(key)}; {hint}")
        return read_site(name, table, table=table)
    except Mistake as error:
        raise SettingsError(f"{name}: {error}", where=where) from None


def read_site(
    name: str, given: Mapping[str, Any], *, code: Code | None = None, table: Mapping[str, Any] | None = None
) -> SiteRules:
    """Read what is given of a site, by KEYS; Mistake if it is wrong.

    `code`: its class, whose methods are not among them; its columns are, as `columns` and `item_columns`.
    """
    for key in ("hosts", "seeds"):
        _refuse_logins(key, given.get(key))
    hosts = _list("hosts", given, _host)
    if not hosts:
        raise Mistake(f"hosts: must be a list of hosts and patterns, for example {_EXAMPLES['hosts']}")
    fields = _below("fields", lambda: read_fields(given["fields"], OF_PAGES)) if "fields" in given else ()
    items = _below("items", lambda: read_items(given["items"])) if "items" in given else None
    return SiteRules(
        name,
        tuple(dict.fromkeys(hosts)),
        _headers(given.get("headers", {})),
        _list("seeds", given, seeds.read),
        _list("follow", given, read_follow) if "follow" in given else None,
        _list("expect", given, read_expected),
        fields,
        items,
        _columns("columns", given, OF_PAGES) or tuple(each.column for each in fields),
        _columns("item_columns", given, OF_ITEMS) or tuple(each.column for each in (items.fields if items else ())),
        code,
        table or {},
    )


def _refuse_logins(key: str, values: Any) -> None:
    """Refuse a URL with a user or a password: everybody who mounts the tree could read them."""
    for value in values if isinstance(values, list | tuple) else [values]:
        text = _BRACES.sub("x", value) if isinstance(value, str) else ""
        if urls.without_login(text) != text or (key == "hosts" and "@" in text):
            problem = f"{key}: must have no user and password; write them into fetch.auth, as $FSCRAWL_NAME"
            raise Mistake(problem)


def _below(key: str, read: Callable[[], _T]) -> _T:
    try:
        return read()
    except Mistake as error:
        raise Mistake(f"{key}: {error}") from None


def _list(key: str, given: Mapping[str, Any], read: Callable[[str], _T]) -> tuple[_T, ...]:
    """Read a list of strings; one string counts as a list of it."""
    values = given.get(key, [])
    values = [values] if isinstance(values, str) else values
    if not isinstance(values, list | tuple) or not all(isinstance(each, str) for each in values):
        raise Mistake(f"{key}: must be a list of strings, for example {_EXAMPLES[key]}")
    found = []
    for value in values:
        try:
            found.append(read(value))
        except ValueError as error:
            raise Mistake(f"{key}: {shown(value)}: {error}") from None
    return tuple(found)


def _host(text: str) -> str:
    pattern = url_pattern(text)
    if pattern is None:
        raise ValueError(
            'must be a host or a pattern, for example "a.example" or "*.b.example", without scheme and path'
        )
    return pattern


def _headers(headers: Any) -> Mapping[str, str]:
    right = 'must be a table of header names and one-line values, for example {"Accept-Language" = "en"}'
    if not isinstance(headers, Mapping):
        raise Mistake(f"headers: {right}")
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str) or not value.isascii():
            raise Mistake(f"headers: {right}")
        if name.lower() in FORBIDDEN_HEADERS - _ALLOWED_HEADERS:
            raise Mistake(f"headers: {name} cannot be set")
        if name.lower() not in _ALLOWED_HEADERS and flaw(Request("", headers=((name.lower(), value),))):
            raise Mistake(f"headers: {right}")
    return dict(headers)


def _columns(key: str, given: Mapping[str, Any], reserved: frozenset[str]) -> tuple[Column, ...]:
    columns = given.get(key, {})
    if not isinstance(columns, Mapping):
        raise Mistake(f'{key}: must be a dict, such as {{"heading": "string", "tags": "string[]"}}')
    try:
        return tuple(read_column(name, kind, reserved) for name, kind in columns.items())
    except Mistake as error:
        raise Mistake(f"{key}: {shown(repr(dict(columns)))}: {error}") from None


def read_follow(text: str) -> Follow:
    """Read an entry of `follow`. ValueError with the reason if it is wrong."""
    return Follow(text, selectors.read(text))


def read_expected(text: str) -> Expected | NoRedirect:
    """Read an entry of `expect`. ValueError with the reason if it is wrong."""
    bare = text.removeprefix("!")
    if not bare.lstrip().startswith("redirect:"):
        return Expected(text, selectors.read(bare), is_there=not text.startswith("!"))
    pattern = bare.partition(":")[2]
    if not text.startswith("!"):
        raise ValueError("a redirect can only be unexpected: write !redirect:, for example !redirect:/login")
    if not pattern.strip():
        raise ValueError('behind !redirect: there must be a regular expression, for example "!redirect:/login"')
    selectors.of_kind("re", pattern)
    return NoRedirect(text, pattern)
