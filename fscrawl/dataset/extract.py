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
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

from fscrawl.dataset import similar
from fscrawl.dataset.job import Job
from fscrawl.dataset.plan import Batch
from fscrawl.dataset.reading import Page, is_noindex, pages
from fscrawl.parse import fields as field_rules
from fscrawl.parse import links
from fscrawl.parse import text as page_text
from fscrawl.storage.records import PageRecord
from fscrawl.util.parallel import READERS

_FLUSH_BYTES = 4 << 20


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
        for page in pages(job, batch.names(), pool):
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


# -- one page


def _take(job: Job, page: Page, rows: _Rows, facts: Gathered) -> None:
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
