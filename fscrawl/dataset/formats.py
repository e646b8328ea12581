"""Writers of tables: Parquet, JSON lines, CSV. Each writes record batches into one file."""

from __future__ import annotations

import base64
import csv
import re
from collections.abc import Callable
from datetime import datetime
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from zlib_ng import gzip_ng

from fscrawl.parse.encoding import decode
from fscrawl.storage.records import rfc3339

_ZSTD_LEVEL = 3
_ROW_GROUP_ROWS = 100_000  # of narrow rows; wide ones are bounded by their bytes
_ROW_GROUP_BYTES = 16 << 20
# Pages of a Parquet file end where the data says, so that two versions of a dataset have most pages in common: stores
# that keep equal pieces once need little for the second one. https://huggingface.co/blog/parquet-cdc
# Smaller ones would make the files a quarter larger.
_CHUNKING = {"min_chunk_size": 1 << 20, "max_chunk_size": 4 << 20}
# Columns whose values repeat within a part. For the others a dictionary would cost time and save nothing.
_REPEATED = frozenset(
    """
    url_host_name url_host_registered_domain depth referrer fetch_status skipped rendered content_mime_type
    content_charset content_languages language machine noindex source source_key target target_key class message
    """.split()  # noqa: SIM905 - a list would fill the screen
)


class TableWriter(Protocol):
    rows: int

    def write(self, rows: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


class Parquet:
    """A Parquet file with a page index."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.rows = 0
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = self._waiting_bytes = 0
        self._writer = pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            compression_level=_ZSTD_LEVEL,
            use_dictionary=[name for name in schema.names if name in _REPEATED],
            write_statistics=[
                name for name in schema.names if name not in {"html", "rendered_html", "text", "headers", "body"}
            ],
            write_page_index=True,
            use_content_defined_chunking=_CHUNKING,
        )

    def write(self, rows: pa.RecordBatch) -> None:
        self.rows += rows.num_rows
        self._waiting.append(rows)
        self._waiting_rows += rows.num_rows
        self._waiting_bytes += rows.nbytes
        if self._waiting_rows >= _ROW_GROUP_ROWS or self._waiting_bytes >= _ROW_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting))
            self._waiting = []
            self._waiting_rows = self._waiting_bytes = 0

    def close(self) -> None:
        self._flush()
        self._writer.close()


_GZIP_LEVEL = 6  # of zlib-ng: 1 to 5 % larger than what pyarrow's gzip writes, in a quarter of the time


class JsonLines:
    """One JSON object per line, without empty columns. `html` and `rendered_html` are text, and `body` is base64."""

    def __init__(self, path: Path, compression: Literal["gzip", "zstd"]) -> None:
        self.rows = 0
        self._file = path.open("wb")
        if compression == "gzip":
            self._packed: BufferedIOBase = gzip_ng.GzipNGFile("", "wb", _GZIP_LEVEL, self._file, mtime=0)  # type: ignore[no-untyped-call]
        else:
            self._packed = pa.CompressedOutputStream(self._file, compression)

    def write(self, rows: pa.RecordBatch) -> None:
        self.rows += rows.num_rows
        self._packed.write(msgspec.json.Encoder().encode_lines(list(map(_json_row, rows.to_pylist()))))

    def close(self) -> None:
        self._packed.close()
        self._file.close()


def _json_row(row: dict[str, Any]) -> dict[str, Any]:
    charset = row.get("content_charset")
    body = row.pop("body", None)
    dom = row.pop("rendered_html", None)
    made = {name: _json_value(value, charset) for name, value in row.items() if value is not None}
    if dom is not None:
        made["rendered_html"] = decode(dom, "utf-8")
    return made if body is None else {**made, "body": base64.b64encode(body).decode()}


def _json_value(value: Any, charset: str | None) -> Any:
    if isinstance(value, bytes):
        return decode(value, charset or "utf-8")
    if isinstance(value, datetime):
        return rfc3339(value)
    return [_json_value(each, charset) for each in value] if isinstance(value, list) else value


class Csv:
    """RFC 4180 with a header line, in UTF-8, without `html`, `rendered_html` and `body`: for spreadsheets."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.rows = 0
        self._names = [name for name in schema.names if name not in ("html", "rendered_html", "body")]
        self._file = path.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file)
        self._writer.writerow(self._names)

    def write(self, rows: pa.RecordBatch) -> None:
        self.rows += rows.num_rows
        for row in rows.select(self._names).to_pylist():
            self._writer.writerow([cell(value) for value in row.values()])

    def close(self) -> None:
        self._file.close()


_FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@\uff1d\uff0b\uff0d\uff20]")  # the last four are the full-width forms
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline: no terminal escapes


def cell(value: Any) -> Any:
    """Return a value as a cell; a list is one of JSON. An apostrophe is put before what a spreadsheet would take for
    a formula.

    https://owasp.org/www-community/attacks/CSV_Injection

    >>> cell('=HYPERLINK("http://a.example/")'), cell(-1), cell(["a", "b"]), cell(None)
    ('\\'=HYPERLINK("http://a.example/")', -1, '["a","b"]', '')
    """
    if value is None:
        return ""
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, list):
        texts = [rfc3339(each) if isinstance(each, datetime) else each for each in value]
        value = msgspec.json.encode(texts).decode()
    if not isinstance(value, str):
        return value
    value = _CONTROL.sub("", value)
    return f"'{value}" if _FORMULA.match(value) else value


class TableFormat(NamedTuple):
    """`path`: of a part, with {table} and {part} in it; `writer` opens the file."""

    path: str
    writer: Callable[[Path, pa.Schema], TableWriter]


TABLE_FORMATS = {
    "parquet": TableFormat("{table}/{part}.parquet", Parquet),
    "jsonl": TableFormat("jsonl/{table}/{part}.jsonl.gz", lambda path, _: JsonLines(path, "gzip")),
    "jsonl.zst": TableFormat("jsonl.zst/{table}/{part}.jsonl.zst", lambda path, _: JsonLines(path, "zstd")),
    "csv": TableFormat("csv/{table}/{part}.csv", Csv),
}
