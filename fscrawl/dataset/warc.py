"""Archives: pages as WARC records (ISO 28500:2017, version 1.1), with an index that says where each one is.

    warc/<part>.warc.gz           a warcinfo record, then those of the pages of a group, each compressed separately
    warc-index/<part>.parquet     WARC_INDEX, a row for each response or revisit, sorted as web archives sort

A page is a response record, its request record, and a metadata record with its outlinks. What its scripts have made of
it, and the picture of that, are records of their own before the last: a conversion of the response, and a resource
`urn:view:<URL>`. For an exact duplicate, a revisit record takes the place of the response. Record ids are made of
crawl, key and time.

Bodies that stand in packs as such records are copied.

Promise: the same tree gives the same bytes; the same pages give the same records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fscrawl import urls
from fscrawl.dataset.schema import WARC_INDEX
from fscrawl.dataset.surt import surt
from fscrawl.request import Request, parts_of, read, text_of, url_of
from fscrawl.storage.records import rfc3339
from fscrawl.storage.warc import Capture, Original, gzip_member, http_head, warcinfo

COLUMNS = """
url key fetch_time fetch_status headers content_charset depth referrer ip content_digest content_mime_type
fetch_redirect links nofollow bytes html rendered_html picture members
""".split()  # noqa: SIM905 - a list would fill the screen
_ORDER = ("url_surtkey", "fetch_time", "warc_record_offset")


class ArchiveWriter:
    """Writes an archive, and its index. Of the pages, only their rows of the index stay in memory until the end."""

    def __init__(self, path: Path, index: Path, name: str, crawl: str) -> None:
        """`index`: the file to be written; `name`: of the archive, from the dataset's directory."""
        self._file = path.open("wb")
        self._index_file = index
        self._index: list[pa.Table] = []
        self._name = name
        self._crawl = crawl
        self._offset = 0

    def write(self, rows: pa.RecordBatch, verdicts: pa.RecordBatch) -> None:
        if not self._offset:
            name = self._name.rpartition("/")[2]
            self._write(gzip_member(warcinfo(self._crawl, name, rfc3339(rows["fetch_time"][0].as_py()))))
        found = [
            self._add(row, verdict)
            for row, verdict in zip(rows.select(COLUMNS).to_pylist(), verdicts.to_pylist(), strict=True)
        ]
        self._index.append(pa.Table.from_pylist(found, schema=WARC_INDEX))

    def _add(self, row: dict[str, Any], verdict: dict[str, Any]) -> dict[str, Any]:
        """Write the records of a page; return its row of the index."""
        request = read(row["url"])
        capture = Capture(
            self._crawl, row["key"], request.url, request.address, rfc3339(row["fetch_time"]), ip=row["ip"]
        )
        duplicate = verdict["original_url"] is not None
        made = {} if duplicate else row["members"] or {}  # those of a duplicate name a response that is not there
        begin = self._offset
        if duplicate:
            self._write(gzip_member(_revisit(capture, row, verdict)))
        else:
            self._write(made.get("body") or gzip_member(_response(capture, row)))
        indexed = {
            "url_surtkey": surt(request.url),
            "url": request.url,
            "key": row["key"],
            "method": request.method,
            "request_body": text_of(request),
            "fetch_time": row["fetch_time"],
            "fetch_status": row["fetch_status"],
            "content_mime_type": "warc/revisit" if duplicate else row["content_mime_type"],
            "content_digest": row["content_digest"],
            "warc_filename": self._name,
            "warc_record_offset": begin,
            "warc_record_length": self._offset - begin,
        }
        beside = "revisit" if duplicate else "response"
        self._write(gzip_member(_request(capture, request, beside)))
        if row["rendered_html"] is not None:
            self._write(made.get("dom") or gzip_member(capture.conversion(row["rendered_html"], beside)))
        if row["picture"] is not None:
            self._write(made.get("picture") or gzip_member(capture.view(row["picture"], beside)))
        self._write(gzip_member(capture.metadata(_known(row), beside)))
        return indexed

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._offset += len(data)

    def close(self) -> None:
        with self._file:
            index = pa.concat_tables([WARC_INDEX.empty_table(), *self._index])
            self._index = []
            index = index.sort_by([(name, "ascending") for name in _ORDER])
            pq.write_table(index, self._index_file, compression="zstd")


# -- the records of a page


def _response(capture: Capture, row: dict[str, Any]) -> bytes:
    return capture.response(row["fetch_status"], json.loads(row["headers"]), row["html"], row["content_digest"])


def _revisit(capture: Capture, row: dict[str, Any], verdict: dict[str, Any]) -> bytes:
    url, date = url_of(verdict["original_url"]), rfc3339(verdict["original_time"])
    original = Original(url, date, f"sha1:{row['content_digest']}")
    return capture.revisit(row["fetch_status"], json.loads(row["headers"]), row["bytes"], original)


def _request(capture: Capture, request: Request, beside: str) -> bytes:
    """Make the record of what is surely known of the request: method, target, Host, and what belongs to it alone.

    The tree does not keep what goes with every request (User-Agent, Accept, cookies, a login), nor the conditions of a
    refresh. The settings may have changed since, so they are not asked either.
    """
    origin = urls.origin(request.url)
    headers = [("Host", origin.partition("://")[2]), *request.headers]
    if request.type_:
        headers.append(("Content-Type", request.type_))
    if request.method != "GET":
        headers.append(("Content-Length", str(len(request.body))))
    head = http_head(f"{request.method} {request.url[len(origin) :]} HTTP/1.1", headers)
    return capture.request(head, request.body, beside)


def _known(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Give what is known besides the exchange. Names are Heritrix's where it has one."""
    yield "pathFromSeed", "L" * min(row["depth"], 1000)
    yield "fscrawl-key", row["key"]
    if row["referrer"]:
        yield "fscrawl-referrer-key", row["referrer"]
    if row["content_charset"]:
        yield "charset-detected", row["content_charset"]
    kind = "R" if row["fetch_redirect"] else "L a/@href"
    for link in row["links"] or ():
        yield "outlink", f"{parts_of(link)[0] if '#' in link else link} {kind}"
    for url in row["nofollow"] or ():
        yield "nofollow", url
