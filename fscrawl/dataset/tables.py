"""Makes the columns of the tables from rows and verdicts, and reads the failures of the tree."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.compute as pc

from fscrawl import urls
from fscrawl.dataset import schema
from fscrawl.dataset.job import Job
from fscrawl.dataset.plan import hosts_of
from fscrawl.dataset.reading import encodable, is_sound, read_retrying
from fscrawl.dataset.surt import surt
from fscrawl.errors import RecordError
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.storage.records import ErrorRecord
from fscrawl.util.parallel import READERS, in_turn

_ERROR_ROWS = 5000

_key = lru_cache(1 << 16)(urls.key)


def pages_schema(job: Job) -> pa.Schema:
    return schema.pages(job.field_columns, text=job.options.text != "none", html=job.options.html)


def schemas(job: Job) -> dict[str, pa.Schema]:
    """Return the schema of each table of the dataset."""
    return {**schema.TABLES, "pages": pages_schema(job)}


# columns of pages that have another name in the rows of a run
_RENAMED = {
    "fetch_time": "fetched_at",
    "fetch_status": "status",
    "fetch_redirect": "redirect",
    "content_mime_type": "mime",
    "content_charset": "encoding",
    "content_languages": "language",
    "content_digest": "sha1",
}


def pages(job: Job, rows: pa.RecordBatch, verdicts: pa.RecordBatch) -> pa.RecordBatch:
    """Make the table of pages from `rows`, all of which are kept."""
    addresses = rows["url"].to_pylist()
    names = [urls.hostname(url) for url in addresses]
    made = {
        "url_surtkey": pa.array(map(surt, addresses), pa.string(), size=len(addresses)),
        "url_host_name": pa.array(names, pa.string()),
        "url_host_registered_domain": pa.array(map(urls.site, names), pa.string(), size=len(names)),
        "outlinks": _count(rows["links"], rows["nofollow"]),
        "duplicate_of": verdicts["duplicate_of"],
        "near_duplicate_of": verdicts["near_duplicate_of"],
        **{each.name: rows[f"field.{each.name}"] for each in job.field_columns},
    }
    wanted = pages_schema(job)
    columns = [made[name] if name in made else rows[_RENAMED.get(name, name)] for name in wanted.names]
    return pa.record_batch(columns, schema=wanted)


def _count(*lists: pa.Array) -> pa.Array:
    total = pa.scalar(0, pa.int32())
    for each in lists:
        total = pc.add(total, pc.fill_null(pc.list_value_length(each), 0))
    return total


def links(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Make the table of links from `rows`: first the followed links, then the nofollow ones, in the order of pages."""
    parts = [_edges(rows, "links", nofollow=False), _edges(rows, "nofollow", nofollow=True)]
    both = pa.Table.from_batches(parts).combine_chunks()
    return both.to_batches()[0] if both.num_rows else parts[0]


def _edges(rows: pa.RecordBatch, column: str, *, nofollow: bool) -> pa.RecordBatch:
    sources = pc.list_parent_indices(rows[column])
    targets = pc.list_flatten(rows[column]).dictionary_encode()
    keys = pa.array(map(_key, targets.dictionary.to_pylist()), pa.string(), size=len(targets.dictionary))
    columns = [
        rows["url"].take(sources),
        rows["key"].take(sources),
        targets.dictionary_decode(),
        keys.take(targets.indices),
        pa.repeat(pa.scalar(nofollow), len(sources)),
        pc.is_valid(rows["redirect"]).take(sources),
    ]
    return pa.record_batch(columns, schema=schema.LINKS)


# -- failures


def errors(job: Job) -> Iterator[pa.RecordBatch]:
    """Read the current failures of URLs that are not stored. Records that cannot be read are left out."""
    with ThreadPoolExecutor(READERS, thread_name_prefix="merge") as pool:
        rows = []
        for record in in_turn(pool, (partial(_failure, job, host, key) for host, key in _failed(job))):
            if record is not None:
                rows.append(_error_row(record))
            if len(rows) == _ERROR_ROWS:
                yield pa.RecordBatch.from_pylist(rows, schema=schema.ERRORS)
                rows = []
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=schema.ERRORS)


def _failed(job: Job) -> Iterator[tuple[str, str]]:
    for host in hosts_of(job.tree, ERRS, job.filters):
        stored = frozenset(job.tree.keys(LINKS, host))
        yield from ((host, key) for key in sorted(job.tree.keys(ERRS, host)) if key not in stored)


def _failure(job: Job, host: str, key: str) -> ErrorRecord | None:
    try:
        data = read_retrying(job, ERRS, host, key) or b""
        record = encodable(ErrorRecord.from_json(data), data)
    except RecordError:
        return None
    sound = is_sound(record, (host, key)) and 0 <= record.attempts < 2**31
    return record if sound and job.filters.takes_failure(record) else None


def _error_row(record: ErrorRecord) -> dict[str, object]:
    name = urls.hostname(record.url)
    return {
        "url": record.url,
        "url_host_name": name,
        "url_host_registered_domain": urls.site(name),
        "key": record.key,
        "depth": record.depth,
        "referrer": record.referrer or None,
        "fetch_time": datetime.fromisoformat(record.failed_at),
        "machine": record.machine,
        "class": record.class_,
        "message": record.message,
        "attempts": record.attempts,
        "fetch_status": record.status,
    }
