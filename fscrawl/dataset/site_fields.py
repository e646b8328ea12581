"""The fields and items of sites in a dataset: which tables it was made with, and which columns there are.

Promise: a dataset keeps the rules of the tables that it was made with. If the tables say something else later, one line
says so. A site file is not kept: what stands in a dataset is never run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fscrawl.dataset.options import Options
from fscrawl.errors import SettingsError, UsageError
from fscrawl.sites.read import TABLE, read_sites
from fscrawl.sites.rules import SiteRules, of_two_types
from fscrawl.storage.layout import SETTINGS
from fscrawl.util.user_text import TomlFile

if TYPE_CHECKING:
    from fscrawl.dataset.job import Job

_KEPT = ("hosts", "fields", "items")


def with_sites(
    given: Mapping[str, Any], kept: Options | None, crawl_toml: str | None, root: Path, warn: Callable[[str], None]
) -> dict[str, Any]:
    """Give the options that the user chose, with the fields and items of all tables.

    `kept`: those of the dataset; None: it is new. SettingsError if the tables are wrong.
    """
    where = f"{root}/{SETTINGS}"
    try:
        found = tables_as_text(crawl_toml or "", where)
    except SettingsError as error:
        if kept is None:
            raise
        warn(f"{error}; the dataset keeps the fields that it has")
        return dict(given)
    if kept is None:
        return {**given, "fields": found}
    if found != kept.fields:
        warn(f"{where}: the fields of [[site]] are not those that the dataset was made with; --rebuild takes them")
    return dict(given)


def tables_as_text(crawl_toml: str, where: str) -> str:
    """Give what tables say of fields and items, as JSON; "" if they say nothing. `where`: names the file in errors.

    >>> tables_as_text("[[site]]\\nhosts = ['a.example']\\nfields = {heading = 'css:h1'}", "crawl.toml")
    '[{"hosts": ["a.example"], "fields": {"heading": "css:h1"}}]'
    """
    file = TomlFile(crawl_toml, where)
    sites = read_sites(file.tables().get(TABLE, []), file)
    if not any(site.columns or site.item_columns for site in sites):
        return ""
    return json.dumps([{key: site.table[key] for key in _KEPT if key in site.table} for site in sites])


def sites_of(text: str) -> tuple[SiteRules, ...]:
    """Read what `tables_as_text` gave; SettingsError or ValueError if it is something else."""
    return read_sites(json.loads(text), TomlFile("", "the fields of the dataset")) if text else ()


def check_columns(job: Job) -> None:
    """Raise UsageError if two sites have a column of two types, or one has a column that --language makes.

    The site file is run here.
    """
    from fscrawl.dataset.schema import LANGUAGE  # noqa: PLC0415 - the fields of tables need no pyarrow

    reserved = set(LANGUAGE.names) if job.options.language else set()
    for column in job.field_columns:
        if column.name in reserved:
            raise UsageError(f"--language makes a column {column.name}: choose another name for the field")
    if problem := of_two_types(job.all_sites):
        raise UsageError(problem)
