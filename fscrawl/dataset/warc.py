"""Pages as WARC records (ISO 28500, version 1.1), with an index that says where each one is. `archives` joins them.

    .merge/run-<run>/group-<n>.warc.gz    a segment: the records of a group, each compressed separately
    .merge/run-<run>/group-<n>.arrow      its index; offsets count from the start of the segment
    .merge/run-<run>/group-<n>.pages.jsonl   for a WACZ: its pages (`wacz`)

A page is a response record, its request record, and a metadata record with its outlinks. What its scripts have made of
it, and the picture of that, are records of their own before the last: a conversion of the response, and a resource
`urn:view:<URL>`. For an exact duplicate, a revisit record takes the place of the response. Bodies are stored without
content encoding. So the headers that are no longer true are named `X-Crawl-…`, as in Common Crawl's files. Record ids
are made of crawl, key and time: the same page gives the same bytes.
"""

from __future__ import annotations

import contextlib
import http
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from fscrawl import __version__, urls
from fscrawl.dataset.formats import rfc3339
from fscrawl.dataset.gzip_member import gzip_member
from fscrawl.dataset.job import Job
from fscrawl.dataset.schema import WARC_INDEX
from fscrawl.dataset.surt import surt
from fscrawl.dataset.wacz import page_line
from fscrawl.dataset.warc_record import (
    FIELDS,
    NO_BODY,
    REQUEST,
    RESPONSE,
    address_field,
    base32_sha1,
    http_head,
    lines,
    record,
    record_id,
)
from fscrawl.request import Request, parts_of, read, text_of, url_of
from fscrawl.storage.records import DOM_TYPE

COLUMNS = ["url", "key", "fetched_at", "status", "headers", "encoding", "depth", "referrer", "ip", "title", "file"]
COLUMNS += ["sha1", "mime", "redirect", "skipped", "links", "nofollow", "html", "dom", "picture"]
_UNTRUE_HEADERS = frozenset({"content-encoding", "transfer-encoding", "content-length"})  # wrong for a stored body


class SegmentWriter:
    """Writes a segment, its index with a row for each response or revisit, and for a WACZ the lines of its pages.

    All of it is written as it comes: a segment has more rows than memory should hold.
    """

    def __init__(self, path: Path, index: Path, job: Job, pages: Path | None = None) -> None:
        """`index`, `pages`: files to be written; no pages if None."""
        self._index: list[dict[str, Any]] = []  # of the rows at hand
        self._crawl = job.crawl
        self._offset = 0
        with contextlib.ExitStack() as files:  # each of them is closed, also if the disk is full when another one is
            self._file = files.enter_context(path.open("wb"))
            self._pages = files.enter_context(pages.open("w", encoding="utf-8")) if pages is not None else None
            index_file = files.enter_context(pa.OSFile(str(index), "wb"))
            self._index_writer = files.enter_context(pa.ipc.new_file(index_file, WARC_INDEX))
            self._files = files.pop_all()

    def write(self, rows: pa.RecordBatch, verdicts: pa.RecordBatch) -> None:
        for row, verdict in zip(rows.select(COLUMNS).to_pylist(), verdicts.to_pylist(), strict=True):
            self._add(row, verdict)
        self._index_writer.write_table(pa.Table.from_pylist(self._index, schema=WARC_INDEX))
        self._index = []

    def _add(self, row: dict[str, Any], verdict: dict[str, Any]) -> None:
        duplicate = verdict["original_url"] is not None
        request = read(row["url"])
        row["url"], row["moment"] = request.url, rfc3339(row["fetched_at"])
        begin = self._offset
        self._append(_revisit(self._crawl, row, verdict) if duplicate else _response(self._crawl, row))
        self._index.append(
            {
                "url_surtkey": surt(row["url"]),
                "url": row["url"],
                "key": row["key"],
                "method": request.method,
                "request_body": text_of(request),
                "fetch_time": row["fetched_at"],
                "fetch_status": row["status"],
                "content_mime_type": "warc/revisit" if duplicate else row["mime"],
                "content_digest": row["sha1"],
                "warc_record_offset": begin,
                "warc_record_length": self._offset - begin,
            }
        )
        if self._pages is not None:
            self._pages.write(page_line(row, request))
        beside = "revisit" if duplicate else "response"
        self._append(_request(self._crawl, row, request, beside))
        if row["dom"] is not None:
            self._append(_conversion(self._crawl, row, request.address, beside))
        if row["picture"] is not None:
            self._append(_view(self._crawl, row, request.address, beside))
        self._append(_metadata(self._crawl, row, beside))

    def _append(self, record: bytes) -> None:
        data = gzip_member(record)
        self._file.write(data)
        self._offset += len(data)

    def close(self) -> None:
        self._files.close()


# -- records


def _response(crawl: str, row: dict[str, Any]) -> bytes:
    body = row["html"] or b""
    fields = _exchange(crawl, row, "response") | {"WARC-Payload-Digest": f"sha1:{row['sha1'] or NO_BODY}"}
    if row["html"] is None:
        fields["WARC-Truncated"] = "unspecified"  # there may have been a body that the crawl did not store
    return record("response", RESPONSE, fields, _answer_head(row, len(body)) + body)


def _revisit(crawl: str, row: dict[str, Any], verdict: dict[str, Any]) -> bytes:
    fields = _exchange(crawl, row, "revisit") | {
        "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        "WARC-Refers-To-Target-URI": url_of(verdict["original_url"]),
        "WARC-Refers-To-Date": rfc3339(verdict["original_time"]),
        "WARC-Payload-Digest": f"sha1:{row['sha1']}",
    }
    return record("revisit", RESPONSE, fields, _answer_head(row, len(row["html"])))


def _request(crawl: str, row: dict[str, Any], request: Request, beside: str) -> bytes:
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
    fields = _exchange(crawl, row, "request") | {"WARC-Concurrent-To": _id(crawl, row, beside)}
    fields["WARC-Payload-Digest"] = f"sha1:{base32_sha1(request.body) if request.body else NO_BODY}"
    head = http_head(f"{request.method} {request.url[len(origin) :]} HTTP/1.1", headers)
    return record("request", REQUEST, fields, head + request.body)


def _exchange(crawl: str, row: dict[str, Any], kind: str) -> dict[str, str]:
    return _fields(crawl, row, kind, row["url"]) | address_field(row["ip"])


def _fields(crawl: str, row: dict[str, Any], kind: str, target: str) -> dict[str, str]:
    return {"WARC-Record-ID": _id(crawl, row, kind), "WARC-Date": row["moment"], "WARC-Target-URI": target}


def _conversion(crawl: str, row: dict[str, Any], address: str, beside: str) -> bytes:
    """Make the record of the page as its scripts have made it."""
    fields = _fields(crawl, row, "conversion", address) | {"WARC-Refers-To": _id(crawl, row, beside)}
    return record("conversion", DOM_TYPE, fields, row["dom"])


def _view(crawl: str, row: dict[str, Any], address: str, beside: str) -> bytes:
    """Make the record of the picture, named as Browsertrix has it. https://crawler.docs.browsertrix.com/"""
    fields = _fields(crawl, row, "view", f"urn:view:{address}") | {"WARC-Concurrent-To": _id(crawl, row, beside)}
    return record("resource", "image/png", fields, row["picture"])


def _metadata(crawl: str, row: dict[str, Any], beside: str) -> bytes:
    """Make the record of what is known besides the exchange. Field names are Heritrix's where it has one."""
    fields = _fields(crawl, row, "metadata", row["url"]) | {"WARC-Concurrent-To": _id(crawl, row, beside)}
    return record("metadata", FIELDS, fields, lines(_known(row)))


def _known(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "pathFromSeed", "L" * min(row["depth"], 1000)
    yield "fscrawl-key", row["key"]
    if row["referrer"]:
        yield "fscrawl-referrer-key", row["referrer"]
    if row["encoding"]:
        yield "charset-detected", row["encoding"]
    kind = "R" if row["redirect"] else "L a/@href"
    for link in row["links"] or ():
        yield "outlink", f"{parts_of(link)[0] if '#' in link else link} {kind}"
    for url in row["nofollow"] or ():
        yield "nofollow", url


def warcinfo(crawl: str, name: str, moment: datetime) -> bytes:
    known = {
        "software": f"fscrawl/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "isPartOf": crawl,
        "description": "bodies are stored after content decoding; the headers that no longer hold are X-Crawl-*",
    }
    fields = {
        "WARC-Record-ID": record_id(f"{crawl}/{name}"),
        "WARC-Date": rfc3339(moment),
        "WARC-Filename": name,
    }
    return record("warcinfo", FIELDS, fields, lines(known.items()))


def _id(crawl: str, row: dict[str, Any], kind: str) -> str:
    return record_id(f"{crawl}/{row['key']}/{row['moment']}/{kind}")


def _answer_head(row: dict[str, Any], length: int) -> bytes:
    headers = [("Content-Length", str(length))]
    for name, text in json.loads(row["headers"]).items():
        kept = f"X-Crawl-{name}" if name.lower() in _UNTRUE_HEADERS else name
        headers += [(kept, value) for value in text.split("\n")]  # a header that was there several times
    return http_head(f"HTTP/1.1 {_status_line(row['status'])}", headers)


def _status_line(status: int) -> str:
    try:
        return f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} "
