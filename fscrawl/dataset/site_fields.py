"""The fields of [[site]] tables, as rules of a dataset: they are put below those of `--fields`.

Promise: a dataset keeps the rules that it was made with. If the tables say something else later, one line tells so.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fscrawl.dataset.options import Options
from fscrawl.errors import SettingsError, UsageError
from fscrawl.parse import fields as field_rules
from fscrawl.parse import items as item_rules
from fscrawl.parse.columns import OF_PAGES
from fscrawl.parse.fields import Column
from fscrawl.sites.code import CodeSite, load
from fscrawl.sites.read import TABLE, read_sites
from fscrawl.storage.layout import SETTINGS
from fscrawl.util.toml_file import TomlFile
from fscrawl.util.toml_text import to_toml

if TYPE_CHECKING:
    from fscrawl.dataset.job import Job

_FROM_TABLES = "# from [[site]] tables alone\n"


def with_sites(
    given: Mapping[str, Any], kept: Options | None, crawl_toml: str | None, root: Path, warn: Callable[[str], None]
) -> dict[str, Any]:
    """Give the options that the user chose, with the fields of all tables.

    `kept`: those of the dataset; None: it is new. SettingsError if the tables are wrong, or do not fit `--fields`.
    """
    where = f"{root}/{SETTINGS}"
    try:
        found = combined(given.get("fields"), crawl_toml or "", where)
    except SettingsError as error:
        if kept is None or "fields" in given:
            raise
        warn(f"{error}; the dataset keeps the fields that it has")
        return dict(given)
    if kept is not None and "fields" not in given:
        if _differ(found, kept.fields):
            warn(f"{where}: the fields of [[site]] are not those that the dataset was made with; --rebuild takes them")
        return dict(given)
    return {**given, "fields": found} if found else dict(given)


def _differ(found: str | None, kept: str | None) -> bool:
    """Tell whether the tables say something else than the rules of a dataset. `found`: of the tables alone.

    Where a file was given for the dataset, it may have taken the place of some fields: those count as the same.
    """
    if not kept or kept.startswith(_FROM_TABLES):
        return (found or "") != (kept or "")
    there, tables = tomllib.loads(kept), tomllib.loads(found or "")
    return any(
        not table.keys() <= there.get(kind, {}).get(pattern, {}).keys()
        for kind in ("hosts", "items")
        for pattern, table in tables.get(kind, {}).items()
    )


def check_columns(job: Job) -> None:
    """Raise UsageError if the site file names a column of the rules, or either one that --language makes.

    The site file is run here.
    """
    from fscrawl.dataset.schema import LANGUAGE  # noqa: PLC0415 - the fields of tables need no pyarrow

    taken = set(LANGUAGE.names) if job.options.language else set()
    for column in job.field_columns:
        if column.name in taken:
            raise UsageError(f"--language makes a column {column.name}: choose another name for the field")
    sites = load(job.site) if job.site is not None else ()
    of_rules = job.rules.columns if job.rules is not None else ()
    _check("columns", [(site, site.columns) for site in sites], of_rules)
    _check("item_columns", [(site, site.item_columns) for site in sites], job.item_rules.columns)


def _check(kind: str, given: Sequence[tuple[CodeSite, Sequence[Column]]], of_rules: Iterable[Column]) -> None:
    named = {column.name for column in of_rules}
    for site, columns in given:
        for column in columns:
            if column.name in named:
                where = f"{site.file.path}: class {site.name}: {kind}: {column.name}"
                raise UsageError(f"{where} is a column of the rules for fields; choose another name")


def combined(of_file: str | None, crawl_toml: str, where: str) -> str | None:
    """Give the text of a `fields.toml` with the fields of a file, and those of the tables that it does not have.

    `where`: names the `crawl.toml` in errors. None: there are no fields.

    >>> print(combined(None, "[[site]]\\nhosts = ['a.example']\\nfields = {heading = 'css:h1'}", "crawl.toml"))
    # from [[site]] tables alone
    [hosts."a.example"]
    "heading" = {"css" = "h1"}
    """
    file = TomlFile(crawl_toml, where)
    tables = file.tables()
    sites = [site for site in read_sites(tables.get(TABLE, []), file) if site.columns or site.items]
    if not sites:
        return of_file
    given = tomllib.loads(of_file or "")
    hosts: dict[str, dict[str, Any]] = given.get("hosts", {})
    items: dict[str, dict[str, Any]] = given.get("items", {})
    for site in sites:
        for pattern in site.hosts:
            for name, keys in site.table.get("fields", {}).items():
                hosts.setdefault(pattern, {}).setdefault(name, field_rules.in_full(keys))
            if site.items is not None:
                items.setdefault(pattern, site.table["items"])
    head = _FROM_TABLES if of_file is None else ""
    lines = [line for pattern, table in hosts.items() for line in _section("hosts", pattern, table)]
    lines += [line for pattern, table in items.items() for line in _section("items", pattern, table)]
    text = head + "\n".join(lines)
    said = f"--fields, with [site.fields] of {where}" if of_file else where
    field_rules.parse(text, said, OF_PAGES)
    item_rules.parse(text, said)
    return text


def _section(kind: str, pattern: str, table: Mapping[str, Any]) -> Iterator[str]:
    yield f"[{kind}.{to_toml(pattern)}]"
    yield from (f"{to_toml(name)} = {to_toml(keys)}" for name, keys in table.items())
