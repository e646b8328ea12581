"""A batch: its records and bodies are read from the tree, checked, filtered and parsed, and become a file of rows.

    .merge/run-<run>/batch-<n>.arrow    ROWS, in record batches of some 4 MiB of bodies and texts
    .merge/run-<run>/batch-<n>.json     BatchResult; when this file exists, the batch is done

A row has everything that parts are made of. So the tree is read only once, whatever is exported.

Promise: memory does not grow with the batch. Limits in bytes bound the bodies read ahead and the rows in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import msgspec
import pyarrow as pa

from fscrawl.dataset import pdf_text, similar
from fscrawl.dataset.job import ROWS, Job, pages_done
from fscrawl.dataset.page_files import is_noindex
from fscrawl.dataset.plan import Batch
from fscrawl.dataset.reading import THREADS, ReadPage, pages
from fscrawl.parse import language as languages
from fscrawl.parse import text as page_text
from fscrawl.parse.extensions import TEXTS
from fscrawl.parse.fields import MOST, Extracted, Items
from fscrawl.parse.headers import listed, media_type
from fscrawl.sites.rules import SiteRules
from fscrawl.sites.site import Answer
from fscrawl.storage.records import PageRecord
from fscrawl.storage.warc import base32_sha1
from fscrawl.util.time_limit import time_limit

ITEM_FIELD = "items."  # before the names of the columns of items, where fields are counted
_FLUSH_BYTES = 4 << 20
_OF_USERS_S = 60.0  # of processor time, for the rules or the site file of users on one page; usual are milliseconds
# column of rows → what of a record it has
_OF_RECORDS = {name: name for name in PageRecord.__struct_fields__ if name in ROWS.names} | {
    "fetch_status": "status",
    "fetch_redirect": "redirect",
    "content_charset": "encoding",
    "check_status": "checked_status",
}
ARROW_END = b"ARROW1"
# Without threads, here and where rows are read: there is a process for each processor. With them, compression would
# take half as much again, for waking them.
_WRITING = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)


class BatchResult(msgspec.Struct):
    """What a batch has.

    bytes        of the file of its rows
    left_out     pages left out, by reason
    broken       (host, key, what is wrong with the page)
    found        field → number of pages it was found on, missing on, bad on
    bad          field → the first value of another type, or why there is none
    flaws        what is missing of pages that have a row, and why → of how many pages
    columns      of its rows
    """

    rows: int = 0
    bytes: int = 0
    left_out: dict[str, int] = {}
    broken: list[tuple[str, str, str]] = []
    found: dict[str, list[int]] = {}
    bad: dict[str, str] = {}
    flaws: dict[str, int] = {}
    columns: list[str] = []


def rows_name(index: int) -> str:
    return f"batch-{index:06}.arrow"


def result_name(index: int) -> str:
    return f"batch-{index:06}.json"


def extract_batch(job: Job, batch: Batch) -> BatchResult:
    """Do a batch, unless it was done before the run was interrupted, by a version whose rows have the same columns."""
    name = job.scratch(rows_name(batch.index))
    done = job.directory.read_scratch(job.scratch(result_name(batch.index)), BatchResult)
    if done is not None and done.columns == job.rows.names and job.directory.ends_with(name, ARROW_END):
        pages_done(len(batch))
        return done
    if done is not None or job.directory.size(name) is not None:
        for other in job.directory.files(job.folder):
            if other.rpartition("/")[2].startswith("group-"):  # groups may have been made of its other rows
                job.directory.discard(other)
    result = BatchResult(columns=job.rows.names)
    with (
        job.directory.publish(name) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, job.rows, options=_WRITING) as writer,
        ThreadPoolExecutor(THREADS, thread_name_prefix="merge") as pool,
    ):
        rows = _Rows(job)
        for page in pages(job, batch.names(), pool):
            _add_page(job, page, rows, result)
            pages_done(1)
            if rows.held_bytes >= _FLUSH_BYTES:
                writer.write_batch(rows.flush())
        if len(rows):
            writer.write_batch(rows.flush())
    result.bytes = job.directory.size(name) or 0
    if result.broken:
        job.tree.check_there()
    job.directory.write_json(job.scratch(result_name(batch.index)), result)
    return result


def rows_of(job: Job, index: int, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Read a batch's rows, or only some columns of them."""
    wanted = None if columns is None else sorted(map(job.rows.get_field_index, columns))
    options = pa.ipc.IpcReadOptions(included_fields=wanted, use_threads=False)
    with (
        job.directory.reading(job.scratch(rows_name(index))) as path,
        pa.OSFile(str(path)) as source,
        pa.ipc.open_file(source, options=options) as reader,
    ):
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


# -- one page


def _add_page(job: Job, page: ReadPage, rows: _Rows, result: BatchResult) -> None:
    if page.record is None:
        _add(result.left_out, page.why)
        if page.broken:
            result.broken.append((*page.name, page.broken))
        return
    result.rows += 1
    record, seen = page.record, page.body
    if page.dom is not None:  # what the scripts have made is what the page says
        record, seen = record.as_seen, page.dom
    answer = None
    if seen is not None and job.options.reads_text:
        answer = Answer(
            record.url,
            seen,
            status=record.status,
            headers=record.headers,
            encoding=record.encoding if record.file is None else None,
            query_encoding=page.record.encoding or "",
        )
    found: dict[str, Any] = {}
    if answer is not None:
        is_html = page.record.file is None
        found = _parse(job, answer) if is_html else _parse_document(job, record, answer, result)
        if (site := job.sites.of(record.url)) is not None:
            found.update(_of_site(site, answer, record, result))
    rows.add(page, page.record, found)


def _add(counts: dict[str, int], reason: str) -> None:
    counts[reason] = counts.get(reason, 0) + 1


def _of_site(site: SiteRules, page: Answer, record: PageRecord, result: BatchResult) -> dict[str, Any]:
    """Return the columns that a site fills, and the items of the page. Selectors look into pages and texts only."""
    methods = site.code.methods if site.code is not None else ()
    is_text = record.file is None or record.file in TEXTS
    found: dict[str, Any] = {}
    if site.columns and (is_text or "fields" in methods):
        try:
            with time_limit(_OF_USERS_S, of_processor=True):
                extracted = site.values_of(page)
        except TimeoutError:
            names = tuple(column.name for column in site.columns)
            extracted = Extracted({}, dict.fromkeys(names, "too long"), names)
        _count(extracted, result)
        found.update((f"field.{name}", value) for name, value in extracted.values.items())
    if site.item_columns and (is_text or "items" in methods):
        try:
            with time_limit(_OF_USERS_S, of_processor=True):
                items = site.items_of(page)
        except TimeoutError:
            items = Items(fault="too long")
        found["items"] = _items(items, result)
    return found


def _items(found: Items, result: BatchResult) -> list[dict[str, Any]]:
    """Count what was found, and return the values of the items."""
    for item in found.items:
        _count(item, result, ITEM_FIELD)
    if found.fault:
        _add(result.flaws, f"its items could not all be read: {found.fault}")
    if found.more:
        _add(result.flaws, f"more than {MOST:,} items: the others are left out")
    return [item.values for item in found.items]


def _parse_document(job: Job, record: PageRecord, page: Answer, result: BatchResult) -> dict[str, Any]:
    """Return the columns that need the body of a document that is not HTML: text, language, signature."""
    text = None
    if record.file == "pdf":
        text, why = pdf_text.text_of(page.body)
        if why:
            _add(result.flaws, why if why == pdf_text.NO_PYPDF else f"its text is missing or incomplete: {why}")
    elif record.file in TEXTS:
        text = page.text.encode("utf-8", "replace").decode()
    return _of_text(job, text) if text else {}


def _parse(job: Job, page: Answer) -> dict[str, Any]:
    """Return the columns that need the body: text, languages, signature."""
    how = "visible" if job.options.text == "none" else job.options.text
    read = page_text.read(page.document.html, how)
    found = _of_text(job, read.text)
    return {**found, "content_languages": read.language} if read.language else found


def _of_text(job: Job, text: str) -> dict[str, Any]:
    """Return the columns that a text has: itself and its language, if they are wanted, and its signature."""
    found: dict[str, Any] = {"signature": similar.values(text)}
    if job.options.text != "none":
        found["text"] = text
    if job.options.language and (language := languages.language(text)) is not None:
        found |= {"language": language.code, "language_score": language.score}
    return found


def _count(extracted: Extracted, result: BatchResult, prefix: str = "") -> None:
    """Count the columns of a page, or with a prefix those of one of its items."""
    for number, columns in enumerate((extracted.values, extracted.missing, extracted.bad)):
        for column in columns:
            result.found.setdefault(prefix + column, [0, 0, 0])[number] += 1
    for column, problem in extracted.bad.items():
        result.bad.setdefault(prefix + column, problem)


def _header_language(record: PageRecord) -> str | None:
    """Return Content-Language if it names one language."""
    values = {*listed(record.headers.get("content-language", ""))}
    value = values.pop() if len(values) == 1 else ""
    return value if value and len(value) <= 35 and value.isprintable() else None


class _Rows:
    """Rows that wait to become a record batch. `signature` has MinHash values until then: see `similar`."""

    def __init__(self, job: Job) -> None:
        self._schema = job.rows
        self._only_archives = job.options.only_archives
        self._path = job.tree.body_path
        self._rows: list[dict[str, Any]] = []
        self.held_bytes = 0

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, page: ReadPage, record: PageRecord, found: dict[str, Any]) -> None:
        (host, _), body = page.name, page.body
        row = {
            **{column: getattr(record, name) for column, name in _OF_RECORDS.items()},
            "host": host,
            "page_version": page.version,
            "fetch_time": datetime.fromisoformat(record.fetched_at),
            "check_time": record.checked_at and datetime.fromisoformat(record.checked_at),
            "headers": msgspec.json.encode(record.headers).decode(),
            "content_digest": None if body is None else base32_sha1(body),
            "sha256": record.sha256 or None,
            "referrer": record.referrer or None,
            "html": None if self._only_archives and "body" in page.members else body,
            "identity": _identity(record, page.dom),
            "rendered": record.rendered.ended if record.rendered is not None else None,
            "rendered_html": page.dom,
            "picture": page.picture,
            "members": page.members or None,
            "file": None if record.file is None else self._path(host, record.key, record.file),
            "content_mime_type": media_type(record.headers) or None,
            "content_languages": _header_language(record),
            "noindex": is_noindex(record),
            "links": tuple(dict.fromkeys([*record.links, *record.requests])) if record.requests else record.links,
            **found,
        }
        self._rows.append(row)
        texts = (row["html"], page.dom, page.picture, *page.members.values(), row.get("text"), *(record.requests or ()))
        self.held_bytes += sum(len(each or "") for each in texts)
        self.held_bytes += 200 * (len(record.links) + len(row.get("items") or ()))

    def flush(self) -> pa.RecordBatch:
        signatures = similar.signatures([row.get("signature") for row in self._rows])
        for row, signature in zip(self._rows, signatures, strict=True):
            row["signature"] = signature
        batch = pa.RecordBatch.from_pylist(self._rows, schema=self._schema)
        self._rows, self.held_bytes = [], 0
        return batch


def _identity(record: PageRecord, dom: bytes | None) -> str | None:
    """Give what two pages have in common if they are duplicates. All pages of an application may have one body."""
    if dom is None:
        return record.sha256 or None
    return hashlib.sha256(record.sha256.encode() + dom).hexdigest()
