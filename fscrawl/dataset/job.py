"""What every step of a run must know, and the columns of the rows that it works with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from fscrawl.dataset import similar
from fscrawl.dataset.dataset_dir import STATE, DatasetDir
from fscrawl.dataset.options import Filters, Options, sites_of
from fscrawl.dataset.schema import LANGUAGE, PAGES
from fscrawl.errors import UsageError
from fscrawl.parse.fields import Column
from fscrawl.sites.code import load
from fscrawl.sites.rules import SiteFile, SiteRules, Sites, of_two_types
from fscrawl.store import Tree

# Columns of the table of pages that are made from others of a row when a part is written.
_MADE_LATE = frozenset(
    """
    url_surtkey url_host_name url_host_registered_domain method request_body outlinks duplicate_of near_duplicate_of
    body
    """.split()  # noqa: SIM905 - a list would fill the screen
)
# The others, and what else parts are made of. `url` and `fetch_redirect` are spellings of requests, and `html` is the
# body, of whatever type.
ROWS = pa.schema(
    [
        *(each.remove_metadata() for each in PAGES if each.name not in _MADE_LATE),
        ("host", pa.string()),
        ("links", pa.list_(pa.string())),
        ("nofollow", pa.list_(pa.string())),
        ("signature", pa.binary(similar.SIGNATURE_BYTES)),
        ("identity", pa.string()),  # SHA-256 of what makes two pages duplicates: the body, and the DOM if there is one
        ("picture", pa.binary()),  # only for archives
        ("members", pa.struct([(name, pa.binary()) for name in ("body", "dom", "picture")])),  # these as WARC records
    ]
)
_FIELD_TYPES = {
    "string": pa.string(),
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


def _fields_of(columns: Iterable[Column]) -> list[pa.Field]:
    types = {each: _FIELD_TYPES[each.type] for each in columns}
    return [pa.field(each.name, pa.list_(type_) if each.many else type_) for each, type_ in types.items()]


@dataclass(frozen=True)
class Job:
    """One run: tree, dataset, number, options, site file. It can be pickled; each process makes cached parts once."""

    root: Path
    directory: DatasetDir
    run: int
    options: Options
    crawl: str = ""
    site: SiteFile | None = None

    @cached_property
    def tree(self) -> Tree:
        return Tree(self.root, "merge")

    @cached_property
    def filters(self) -> Filters:
        return Filters(self.options)

    @cached_property
    def all_sites(self) -> tuple[SiteRules, ...]:
        """The classes of the site file, which is run in this process, and the tables that the dataset keeps."""
        return (*(load(self.site) if self.site is not None else ()), *sites_of(self.options.fields))

    @cached_property
    def sites(self) -> Sites:
        return Sites(self.all_sites)

    @cached_property
    def field_columns(self) -> list[pa.Field]:
        return _fields_of(column for site in self.all_sites for column in site.columns)

    @cached_property
    def item_columns(self) -> list[pa.Field]:
        """The columns of items, beside those that all items have; empty if the dataset has no items."""
        return _fields_of(column for site in self.all_sites for column in site.item_columns)

    @cached_property
    def rows(self) -> pa.Schema:
        """ROWS, what was detected, a column for each field, named `field.<name>`, and if there are items a list."""
        fields = [pa.field(f"field.{each.name}", each.type) for each in self.field_columns]
        items = [pa.field("items", pa.list_(pa.struct(self.item_columns)))] if self.item_columns else []
        language = [pa.field(each.name, each.type) for each in LANGUAGE] if self.options.language else []
        return pa.schema([*ROWS, *language, *fields, *items])

    def check_columns(self) -> None:
        """Raise UsageError if two sites have a column of two types, or one has a column that --language makes.

        The site file is run here.
        """
        reserved = set(LANGUAGE.names) if self.options.language else set()
        for column in self.field_columns:
            if column.name in reserved:
                raise UsageError(f"--language makes a column {column.name}: choose another name for the field")
        if problem := of_two_types(self.all_sites):
            raise UsageError(problem)

    @property
    def folder(self) -> str:
        """The directory of the files of this run that are not part of the dataset, relative to it."""
        return f"{STATE}/run-{self.run:04}"

    def scratch(self, name: str) -> str:
        """Return the path of a file in it."""
        return f"{self.folder}/{name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Job, (self.root, self.directory, self.run, self.options, self.crawl, self.site)


# -- how many pages the running task has worked on

# A task says it for each few pages, so that a progress line moves while a batch of five hundred is under way. Processes
# of this machine add it to a number that they share with the merge; a cluster's tell nobody.
Report = Callable[[int], object]
_report: list[Report] = []


def pages_done(number: int) -> None:
    """The running task has worked on so many more pages."""
    for report in _report:
        report(number)


def report_to(*reports: Report) -> None:
    """Whatever runs in this process from now on reports to these."""
    _report[:] = reports
