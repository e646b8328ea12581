"""A batch: its records and bodies read from the tree, checked, filtered, understood, and put into a file of rows.

    .merge/run-<run>/batch-<n>.arrow    ROWS, in record batches of some 4 MiB of bodies and texts
    .merge/run-<run>/batch-<n>.json     how many rows, what was left out and why; its existence means "gathered"

A row has all that parts are made of, so that the tree is read once whatever is exported.

Promise: what is in memory does not grow with the batch: bodies are read ahead, and rows kept, by their bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from fscrawl import fields as field_rules
from fscrawl import links, urls
from fscrawl import text as page_text
from fscrawl.dataset import similar
from fscrawl.dataset.options import Filters, Options
from fscrawl.dataset.plan import Batch, Name, directory
from fscrawl.dataset.schema import TIME
from fscrawl.dataset.shelf import Shelf
from fscrawl.errors import RecordError, TreeBusyError, TreeError
from fscrawl.records import ErrorRecord, PageRecord
from fscrawl.store import Tree
from fscrawl.turns import READERS, in_turn

_FLUSH_BYTES = 4 << 20
_AHEAD_BYTES = 8 << 20  # of bodies, read before their turn; one more may come on top
_CHUNK_PAGES = 8  # that a thread reads in one go
_CHUNK_BYTES = 1 << 20
_BUSY_TRIES = 4
_BUSY_S = 0.25

ROWS = pa.schema(
    [
        ("host", pa.string()),
        ("key", pa.string()),
        ("url", pa.string()),
        ("depth", pa.int32()),
        ("referrer", pa.string()),
        ("fetched_at", TIME),
        ("machine", pa.string()),
        ("status", pa.int32()),
        ("headers", pa.string()),
        ("elapsed", pa.float64()),
        ("encoding", pa.string()),
        ("bytes", pa.int64()),
        ("sha256", pa.string()),
        ("sha1", pa.string()),
        ("title", pa.string()),
        ("redirect", pa.string()),
        ("skipped", pa.string()),
        ("canonical", pa.string()),
        ("mime", pa.string()),
        ("robots", pa.list_(pa.string())),
        ("noindex", pa.bool_()),
        ("links", pa.list_(pa.string())),
        ("nofollow", pa.list_(pa.string())),
        ("language", pa.string()),
        ("text", pa.string()),
        ("signature", pa.binary(similar.SIGNATURE_BYTES)),
        ("html", pa.binary()),
    ]
)
_FIELD_TYPES = {
    "string": pa.string(),
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


@dataclass(frozen=True)
class Job:
    """What the steps of a run must know; it can be pickled, and its parts are made once in a process."""

    root: Path
    out: Path
    run: int
    options: Options
    crawl: str = ""

    @cached_property
    def shelf(self) -> Shelf:
        return Shelf(self.out)

    @cached_property
    def tree(self) -> Tree:
        return Tree(self.root, "merge")

    @cached_property
    def filters(self) -> Filters:
        return Filters(self.options)

    @cached_property
    def rules(self) -> field_rules.Rules | None:
        return field_rules.parse(self.options.fields, "--fields") if self.options.fields else None

    @cached_property
    def field_columns(self) -> list[pa.Field]:
        columns = self.rules.columns if self.rules else ()
        types = {column.name: _FIELD_TYPES[column.type] for column in columns}
        return [pa.field(each.name, pa.list_(types[each.name]) if each.many else types[each.name]) for each in columns]

    @cached_property
    def rows(self) -> pa.Schema:
        """ROWS and the fields, which have names of their own there."""
        return pa.schema([*ROWS, *(pa.field(f"field.{each.name}", each.type) for each in self.field_columns)])

    def scratch(self, name: str) -> str:
        return f"{directory(self.run)}/{name}"

    def __getstate__(self) -> tuple[Any, ...]:
        return self.root, self.out, self.run, self.options, self.crawl

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(("root", "out", "run", "options", "crawl"), state, strict=True):
            object.__setattr__(self, name, value)


@dataclass
class Gathered:
    """What came of a batch: `rows` are in its file; `raw_bytes` of bodies; `left_out` by reason; `broken` pages."""

    rows: int = 0
    raw_bytes: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[str, str, str]] = field(default_factory=list)  # host, key, what is wrong
    found: dict[str, list[int]] = field(default_factory=dict)  # field → pages it was found on, missing on, bad on

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Gathered:
        left_out = Counter(values["left_out"])
        return cls(values["rows"], values["raw_bytes"], left_out, [tuple(b) for b in values["broken"]], values["found"])


def name(index: int) -> str:
    return f"batch-{index:06}"


def gather(job: Job, batch: Batch) -> Gathered:
    """Do a batch, unless an earlier try of the run did it."""
    done = job.shelf.read_json(job.scratch(f"{name(batch.index)}.json"))
    if done is not None:
        return Gathered.from_json(done)
    facts = Gathered()
    with (
        job.shelf.publish(job.scratch(f"{name(batch.index)}.arrow")) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, job.rows, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer,
        ThreadPoolExecutor(READERS, thread_name_prefix="merge") as pool,
    ):
        rows = _Rows(job)
        for page in _pages(job, batch.names(), pool):
            _take(job, page, rows, facts)
            if rows.held_bytes >= _FLUSH_BYTES:
                writer.write_batch(rows.flush())
        if len(rows):
            writer.write_batch(rows.flush())
    if facts.broken:
        job.tree.check_there()
    job.shelf.write_json(job.scratch(f"{name(batch.index)}.json"), vars(facts))
    return facts


def rows_of(job: Job, index: int, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Read a batch's rows, or some columns of them."""
    wanted = None if columns is None else sorted(map(job.rows.get_field_index, columns))
    options = pa.ipc.IpcReadOptions(included_fields=wanted)
    path = job.shelf.path(job.scratch(f"{name(index)}.arrow"))
    with pa.OSFile(str(path)) as source, pa.ipc.open_file(source, options=options) as reader:
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


# -- reading


@dataclass(frozen=True, slots=True)
class _Page:
    """A page as read; `record` is None if it is not for the dataset, and `why` tells the reason."""

    name: Name
    record: PageRecord | None = None
    body: bytes | None = None
    why: str = ""
    broken: str = ""


def _pages(job: Job, names: Iterator[Name], pool: ThreadPoolExecutor) -> Iterator[_Page]:
    """Read pages, in their order: their records ahead of their bodies, since they tell how large these are."""
    cut = iter(lambda: list(islice(names, _CHUNK_PAGES)), [])
    records = in_turn(pool, (partial(_read_records, job, each) for each in cut), READERS)
    waiting: deque[tuple[Future[list[_Page]], int]] = deque()
    ahead_bytes = 0
    for pages, size in _chunks(chain.from_iterable(records)):
        waiting.append((pool.submit(_read_bodies, job, pages), size))
        ahead_bytes += size
        while ahead_bytes > _AHEAD_BYTES or len(waiting) > READERS:
            future, size_of_first = waiting.popleft()
            yield from future.result()
            ahead_bytes -= size_of_first
    for future, _ in waiting:
        yield from future.result()


def _chunks(pages: Iterable[_Page]) -> Iterator[tuple[list[_Page], int]]:
    """Cut pages whose bodies are to be read into chunks, each with the bytes of its bodies."""
    chunk: list[_Page] = []
    size = 0
    for page in pages:
        chunk.append(page)
        size += page.record.bytes if page.record is not None else 0
        if len(chunk) == _CHUNK_PAGES or size >= _CHUNK_BYTES:
            yield chunk, size
            chunk, size = [], 0
    if chunk:
        yield chunk, size


def _read_records(job: Job, names: list[Name]) -> list[_Page]:
    return [_read_record(job, name) for name in names]


def _read_bodies(job: Job, pages: list[_Page]) -> list[_Page]:
    return [_read_body(job, page.name, page.record) if page.record is not None else page for page in pages]


def _read_record(job: Job, name: Name) -> _Page:
    host, key = name
    try:
        data = patiently(job, "links", host, key)
        record = None if data is None else encodable(PageRecord.from_json(data), data)
    except RecordError as error:
        return _Page(name, why="broken", broken=f"its record cannot be read: {error}")
    if record is None:
        return _Page(name, why="broken", broken="its record is gone")
    if not is_sound(record, name) or not _fits(record):
        return _Page(name, why="broken", broken="its record does not say what a record should")
    if not job.filters.takes(record):
        return _Page(name, why="filtered")
    if not job.options.noindex and is_noindex(record):
        return _Page(name, why="noindex")
    return _Page(name, record)


def _read_body(job: Job, name: Name, record: PageRecord) -> _Page:
    if not record.sha256:
        return _Page(name, record)
    try:
        body = patiently(job, "htmls", *name)
    except RecordError as error:
        return _Page(name, why="broken", broken=f"its body cannot be read: {error}")
    if body is None:
        return _Page(name, why="broken", broken="its body is missing")
    if len(body) != record.bytes or hashlib.sha256(body).hexdigest() != record.sha256:
        return _Page(name, why="broken", broken="its body is not what its record says")
    return _Page(name, record, body)


def patiently(job: Job, room: str, host: str, key: str) -> bytes | None:
    """Read a page's file in spite of passing faults; None if it is not there, RecordError if it is no file."""
    place = job.tree.path_of(room, host, key).removeprefix(f"{job.root}/")
    for _ in range(_BUSY_TRIES - 1):
        try:
            return job.tree.read(place)
        except TreeBusyError:
            time.sleep(_BUSY_S)
        except TreeError as error:
            if isinstance(error.__cause__, IsADirectoryError | PermissionError):  # this one alone, not the share
                raise RecordError(str(error.__cause__.strerror).lower()) from error
            raise
    return job.tree.read(place)


R = TypeVar("R", PageRecord, ErrorRecord)


def encodable(record: R, data: bytes) -> R:
    """Give a record that was read from `data` without halves of surrogate pairs, which no dataset can hold."""
    try:
        suspect = b"\\u" in data or b"\0" in data or not data.decode()  # json reads UTF-16, and encoded halves, too
    except UnicodeDecodeError:
        suspect = True
    return type(record).from_json(record.to_json()) if suspect else record


def is_sound(record: PageRecord | ErrorRecord, name: Name) -> bool:
    """Tell whether a record is of the place where it was found, and what both kinds have fits the columns."""
    moment = record.fetched_at if isinstance(record, PageRecord) else record.failed_at
    status = record.status or 0
    return (
        urls.normalise(record.url) == record.url
        and (urls.host(record.url), urls.key(record.url), record.key) == (*name, name[1])
        and is_time(moment)
        and 0 <= record.depth < 2**31
        and 0 <= status < 2**31
    )


def _fits(record: PageRecord) -> bool:
    return 0 <= record.bytes < 2**63 and 0 <= record.elapsed < 2**31  # which no infinity is


def is_time(text: str) -> bool:
    """Tell whether a text is a time, in any zone, of the years that all calendars of computers know.

    >>> is_time("2026-11-21T10:00:00.000Z"), is_time("0001-01-01T00:00:00+14:00"), is_time("today")
    (True, False, False)
    """
    try:
        datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True


def is_noindex(record: PageRecord) -> bool:
    """Tell whether a page asks not to be indexed.

    https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
    """
    return not {"noindex", "none"}.isdisjoint(record.robots or ())


# -- one page


def _take(job: Job, page: _Page, rows: _Rows, facts: Gathered) -> None:
    if page.record is None:
        facts.left_out[page.why] += 1
        if page.broken:
            facts.broken.append((*page.name, page.broken))
        return
    facts.rows += 1
    facts.raw_bytes += len(page.body or b"")
    rows.add(page.name[0], page.record, page.body, _understand(job, page.record, page.body, facts))


def _understand(job: Job, record: PageRecord, body: bytes | None, facts: Gathered) -> dict[str, Any]:
    """Give what only the body tells: text, language, signature, fields."""
    if body is None or not job.options.reads_text:
        return {"language": _header_language(record)}
    html = links.readable(body, record.encoding or "utf-8")
    read = page_text.read(html, main=job.options.text == "main")
    found: dict[str, Any] = {"language": read.language or _header_language(record)}
    if job.options.text != "none":
        found["text"] = read.text
    found["signature"] = similar.signature(read.text)
    if job.rules is not None:
        extracted = job.rules.extract(record.url, html)
        _count(extracted, facts)
        found.update({f"field.{name}": value for name, value in extracted.values.items()})
    return found


def _count(extracted: field_rules.Extracted, facts: Gathered) -> None:
    for number, columns in enumerate((extracted.values, extracted.missing, extracted.bad)):
        for column in columns:
            facts.found.setdefault(column, [0, 0, 0])[number] += 1


def _header_language(record: PageRecord) -> str | None:
    """Content-Language, if it names one language."""
    value = record.headers.get("content-language", "").strip().lower()
    return value if value and "," not in value and len(value) <= 35 and value.isprintable() else None


class _Rows:
    """Rows on their way into a record batch."""

    def __init__(self, job: Job) -> None:
        self._schema = job.rows
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema.names}
        self.held_bytes = 0

    def __len__(self) -> int:
        return len(self._columns["key"])

    def add(self, host: str, record: PageRecord, body: bytes | None, found: dict[str, Any]) -> None:
        values = {
            "host": host,
            "fetched_at": datetime.fromisoformat(record.fetched_at),
            "headers": json.dumps(record.headers, ensure_ascii=False, separators=(",", ":")),
            "sha1": None if body is None else base32_sha1(body),
            "sha256": record.sha256 or None,
            "referrer": record.referrer or None,
            "html": body,
            "mime": record.headers.get("content-type", "").partition(";")[0].strip().lower() or None,
            "noindex": is_noindex(record),
            **found,
        }
        for name, column in self._columns.items():
            column.append(values[name] if name in values else getattr(record, name, None))
        self.held_bytes += len(body or b"") + len(values.get("text") or "") + 200 * len(record.links)

    def flush(self) -> pa.RecordBatch:
        arrays = [pa.array(self._columns[each.name], each.type) for each in self._schema]
        self._columns = {name: [] for name in self._schema.names}
        self.held_bytes = 0
        return pa.record_batch(arrays, schema=self._schema)


def base32_sha1(data: bytes) -> str:
    """Give the digest that Common Crawl's index and WARC files name a payload by.

    >>> base32_sha1(b"")
    '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    return base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()
