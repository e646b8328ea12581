"""Rows of pages, as dictionaries, as an Arrow table, and as a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from fscrawl.api.page import Page
from fscrawl.api.pages import Pages
from fscrawl.errors import RecordError, UsageError
from fscrawl.util.installed import to_install

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

COLUMNS = (
    *("url", "key", "host", "kind", "status", "title", "fetched_at", "mime"),
    *("encoding", "encoding_source", "bytes", "sha256"),
    *("depth", "referrer", "redirect", "canonical", "label", "ip", "machine", "elapsed", "checked_at"),
)
_LISTS = ("links", "nofollow", "robots")
_OF_BODY = ("body", "html", "text", "fields")
ALL = (*COLUMNS, *_LISTS, "headers", "file", *_OF_BODY)
_BATCH_ROWS = 2000
_BATCH_BYTES = 32 << 20


def columns_of(columns: Iterable[str] | None) -> tuple[str, ...]:
    """Read the names of columns; UsageError if one is unknown.

    >>> columns_of(["url", "text"])
    ('url', 'text')
    """
    if not isinstance(columns, Iterable | None):
        raise UsageError(f'columns={columns!r}: must be names of attributes, like ["url", "text"]')
    found = COLUMNS if columns is None else tuple([columns] if isinstance(columns, str) else columns)
    for name in found:
        if name not in ALL:
            raise UsageError(f"columns: {name!r} is unknown; there are {', '.join(ALL)}")
    return found


def need_bodies(columns: Sequence[str]) -> bool:
    """Tell whether bodies must be read for these columns."""
    return not set(_OF_BODY).isdisjoint(columns)


def rows(pages: Pages, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Give pages as dictionaries. Lists are lists: a tuple is none to libraries for data."""
    for row in of_each(pages, lambda page: {name: getattr(page, name) for name in columns}):
        yield {name: list(value) if type(value) is tuple else value for name, value in row.items()}


def of_each(pages: Pages, read: Callable[[Page], T]) -> Iterator[T]:
    """Give what is read of each page. One of which it cannot be read is left out."""
    for page in pages:
        try:
            found = read(page)
        except RecordError as error:
            pages._skip(page, error)
            continue
        yield found


def arrow(pages: Pages, columns: Sequence[str]) -> pa.Table:
    """Make a table. Memory beside it is bounded: rows become columns by the thousand."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - only tables need it
    except ImportError:
        raise UsageError(f"pyarrow is missing, which makes tables; {to_install('merge')}") from None
    schema = pa.schema([(name, _type(pa, name)) for name in columns])
    found = rows(pages, columns)
    batches = []
    while some := list(_some(found)):
        batches.append(pa.RecordBatch.from_pylist(list(map(_fit, some)), schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def _some(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    held = 0
    for row in islice(rows, _BATCH_ROWS):
        yield row
        held += sum(len(value) for value in row.values() if isinstance(value, bytes | str))
        if held > _BATCH_BYTES:
            return


def _fit(row: dict[str, Any]) -> dict[str, Any]:
    """Give the values that a column of Arrow takes."""
    if "fields" in row:
        import json  # noqa: PLC0415

        row["fields"] = json.dumps(row["fields"], ensure_ascii=False, default=str)
    if "headers" in row:
        row["headers"] = list(row["headers"].items())
    return row


def _type(pa: Any, name: str) -> Any:
    texts = pa.large_string() if name in ("html", "text") else pa.string()
    return {
        "status": pa.int32(),
        "depth": pa.int32(),
        "bytes": pa.int64(),
        "elapsed": pa.float64(),
        "body": pa.large_binary(),
        "headers": pa.map_(pa.string(), pa.string()),
        **dict.fromkeys(("fetched_at", "checked_at"), pa.timestamp("ms", tz="UTC")),
        **dict.fromkeys(_LISTS, pa.list_(pa.string())),
    }.get(name, texts)
