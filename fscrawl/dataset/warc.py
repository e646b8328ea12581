"""Archives: pages as WARC records (ISO 28500:2017, version 1.1), with an index that says where each one is.

    warc/<part>.warc.gz           a warcinfo record, then those of the pages of a group, each compressed separately
    warc-index/<part>.parquet     WARC_INDEX, a row for each response or revisit, sorted as web archives sort

A page is a response record, its request record, and a metadata record with its outlinks. What its scripts have made of
it, and the picture of that, are records of their own before the last: a conversion of the response, and a resource
`urn:view:<URL>`. For an exact duplicate, a revisit record takes the place of the response. Record ids are made of
crawl, key and time.

Promise: the same pages give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from zlib_ng import zlib_ng

from fscrawl import urls
from fscrawl.dataset.formats import rfc3339
from fscrawl.dataset.schema import WARC_INDEX
from fscrawl.dataset.surt import surt
from fscrawl.request import Request, parts_of, read, text_of, url_of
from fscrawl.storage.records import DOM_TYPE
from fscrawl.storage.warc import (
    FIELDS,
    NO_BODY,
    REQUEST,
    RESPONSE,
    address,
    answer_head,
    base32_sha1,
    http_head,
    lines,
    record,
    record_id,
    warcinfo,
)

COLUMNS = ["url", "key", "fetched_at", "status", "headers", "encoding", "depth", "referrer", "ip", "title", "file"]
COLUMNS += ["sha1", "mime", "redirect", "skipped", "links", "nofollow", "html", "dom", "picture"]
_ORDER = ("url_surtkey", "fetch_time", "warc_record_offset")
_GZIP = 16 + zlib_ng.MAX_WBITS
_GZIP_LEVEL = 4  # 2 % larger than 6, in three quarters of the time


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
            self._append(warcinfo(self._crawl, name, rfc3339(rows["fetched_at"][0].as_py())))
        found = [
            self._add(row, verdict)
            for row, verdict in zip(rows.select(COLUMNS).to_pylist(), verdicts.to_pylist(), strict=True)
        ]
        self._index.append(pa.Table.from_pylist(found, schema=WARC_INDEX))

    def _add(self, row: dict[str, Any], verdict: dict[str, Any]) -> dict[str, Any]:
        """Write the records of a page; return its row of the index."""
        duplicate = verdict["original_url"] is not None
        request = read(row["url"])
        row["url"], row["moment"] = request.url, rfc3339(row["fetched_at"])
        begin = self._offset
        self._append(_revisit(self._crawl, row, verdict) if duplicate else _response(self._crawl, row))
        indexed = {
            "url_surtkey": surt(row["url"]),
            "url": row["url"],
            "key": row["key"],
            "method": request.method,
            "request_body": text_of(request),
            "fetch_time": row["fetched_at"],
            "fetch_status": row["status"],
            "content_mime_type": "warc/revisit" if duplicate else row["mime"],
            "content_digest": row["sha1"],
            "warc_filename": self._name,
            "warc_record_offset": begin,
            "warc_record_length": self._offset - begin,
        }
        beside = "revisit" if duplicate else "response"
        self._append(_request(self._crawl, row, request, beside))
        if row["dom"] is not None:
            self._append(_conversion(self._crawl, row, request.address, beside))
        if row["picture"] is not None:
            self._append(_view(self._crawl, row, request.address, beside))
        self._append(_metadata(self._crawl, row, beside))
        return indexed

    def _append(self, record: bytes) -> None:
        data = gzip_member(record)
        self._file.write(data)
        self._offset += len(data)

    def close(self) -> None:
        with self._file:
            index = pa.concat_tables([WARC_INDEX.empty_table(), *self._index])
            self._index = []
            index = index.sort_by([(name, "ascending") for name in _ORDER])
            pq.write_table(index, self._index_file, compression="zstd")


# -- the records of a page


def _response(crawl: str, row: dict[str, Any]) -> bytes:
    body = row["html"] or b""
    fields = _exchange(crawl, row, "response") | {"WARC-Payload-Digest": f"sha1:{row['sha1'] or NO_BODY}"}
    if row["html"] is None:
        fields["WARC-Truncated"] = "unspecified"  # there may have been a body that the crawl did not store
    return record(
        "response", RESPONSE, fields, answer_head(row["status"], json.loads(row["headers"]), len(body)) + body
    )


def _revisit(crawl: str, row: dict[str, Any], verdict: dict[str, Any]) -> bytes:
    fields = _exchange(crawl, row, "revisit") | {
        "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        "WARC-Refers-To-Target-URI": url_of(verdict["original_url"]),
        "WARC-Refers-To-Date": rfc3339(verdict["original_time"]),
        "WARC-Payload-Digest": f"sha1:{row['sha1']}",
    }
    return record("revisit", RESPONSE, fields, answer_head(row["status"], json.loads(row["headers"]), len(row["html"])))


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
    found = _fields(crawl, row, kind, row["url"])
    return {**found, "WARC-IP-Address": ip} if (ip := address(row["ip"])) else found


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


def _id(crawl: str, row: dict[str, Any], kind: str) -> str:
    return record_id(f"{crawl}/{row['key']}/{row['moment']}/{kind}")


def gzip_member(data: bytes) -> bytes:
    """Return a gzip member (RFC 1952): a piece of a file that can be unpacked without those before it.

    zlib-ng gives members of the size that zlib gives, in two thirds of the time.

    >>> import gzip
    >>> gzip.decompress(gzip_member(b"one") + gzip_member(b"two"))
    b'onetwo'
    """
    packer = zlib_ng.compressobj(_GZIP_LEVEL, zlib_ng.DEFLATED, _GZIP)
    return bytes(packer.compress(data) + packer.flush())
