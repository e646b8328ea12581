"""Rows of pages, as dictionaries and as an Arrow table: columns of the dataset's table `pages`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from fscrawl.api.pages import Pages
from fscrawl.errors import UsageError
from fscrawl.util.installed import to_install

if TYPE_CHECKING:
    import pyarrow as pa

# Of the columns of `dataset.schema.PAGES`, those that a page alone has, in the same order.
_OF_BODY = ("content_digest", "text", "html", "rendered_html", "body")
COLUMNS = (
    *("url", "url_surtkey", "url_host_name", "url_host_registered_domain", "key", "page_version", "method"),
    *("request_body", "depth", "referrer", "fetch_time", "fetch_status", "fetch_redirect", "skipped", "rendered"),
    *("content_mime_type", "content_charset", "encoding_source", "sha256", "bytes", "elapsed", "machine", "ip"),
    *("check_time", "check_status", "label", "title", "canonical", "robots", "noindex", "outlinks", "headers", "file"),
)
ALL = (*COLUMNS, *_OF_BODY)
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
    """Give pages as dictionaries, with the values that a column of Arrow takes."""
    for page in pages:
        row = {name: getattr(page, name) for name in columns}
        if row.get("robots") is not None:
            row["robots"] = list(row["robots"])
        if "headers" in row:
            row["headers"] = msgspec.json.encode(row["headers"]).decode()
        yield row


def arrow(pages: Pages, columns: Sequence[str]) -> pa.Table:
    """Make a table. Memory beside it is bounded: rows become columns by the thousand."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - only tables need it
    except ImportError:
        raise UsageError(f"pyarrow is missing, which makes tables; {to_install('merge')}") from None
    from fscrawl.dataset.schema import PAGES  # noqa: PLC0415 - it needs pyarrow, too

    schema = pa.schema([PAGES.field(name) for name in columns])
    found = rows(pages, columns)
    batches = []
    while some := list(_some(found)):
        batches.append(pa.RecordBatch.from_pylist(some, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def _some(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    held = 0
    for row in islice(rows, _BATCH_ROWS):
        yield row
        held += sum(len(value) for value in row.values() if isinstance(value, bytes | str))
        if held > _BATCH_BYTES:  # a column of a batch cannot have 2 GiB
            return
