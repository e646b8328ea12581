"""Pages as WARC files (ISO 28500, version 1.1), with an index that says where each record is.

    .merge/run-<run>/group-<n>.warc.gz    a segment: the records of a group, each compressed separately
    .merge/run-<run>/group-<n>.arrow      its index; offsets count from the start of the segment
    warc/<part>.warc.gz                   a warcinfo record, then consecutive segments unchanged, 1 GB at most
    warc/<part>.cdxj                      the index for web archives, sorted
    warc-index/<part>.parquet             the same index as a table

A page is a response record and a metadata record with its outlinks. What its scripts have made of it, and the picture
of that, are records of their own between them: a conversion of the response, and a resource `urn:view:<URL>`. If it was
not asked for by a plain GET, a request record stands behind the response: it has what decides about the answer, and not
every header that was sent. For an exact duplicate, a revisit record takes the place of the response. Bodies are stored
without content encoding. So the headers that are no longer true are named `X-Crawl-…`, as in Common Crawl's files.
Record ids are made of crawl, key and time: the same page gives the same bytes.
"""

from __future__ import annotations

import http
import json
import re
import shutil
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from warcio.statusandheaders import StatusAndHeaders

from fscrawl import __version__, urls
from fscrawl.dataset.asked import GET, parts_of, text_of
from fscrawl.dataset.extract import base32_sha1
from fscrawl.dataset.formats import rfc3339
from fscrawl.dataset.job import Job
from fscrawl.dataset.manifest import Part
from fscrawl.dataset.schema import WARC_INDEX
from fscrawl.dataset.surt import surt
from fscrawl.dataset.tally import pages_done
from fscrawl.request import Request, read, url_of
from fscrawl.storage.render_record import DOM_TYPE

PART_BYTES = 1_000_000_000
_ORDER = ("url_surtkey", "fetch_time", "warc_record_offset")
_LINES = 1000
COLUMNS = ["url", "key", "fetched_at", "status", "headers", "encoding", "depth", "referrer"]
COLUMNS += ["sha1", "mime", "redirect", "skipped", "links", "nofollow", "html", "dom", "picture"]
_UNTRUE_HEADERS = frozenset({"content-encoding", "transfer-encoding", "content-length"})  # wrong for a stored body
_NOT_A_TOKEN = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]")  # RFC 9110, 5.6.2: what no header's name has
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HTTP = "application/http; msgtype={kind}"
_FIELDS = "application/warc-fields"


class SegmentWriter:
    """Writes a segment, and its index with a row for each response or revisit."""

    def __init__(self, path: Path, index: Path, job: Job) -> None:
        self._index: list[dict[str, Any]] = []  # of the rows at hand: a segment has far more than memory should hold
        self._crawl = job.crawl
        self._file = path.open("wb")
        self._index_file = pa.OSFile(str(index), "wb")
        self._index_writer = pa.ipc.new_file(self._index_file, WARC_INDEX)
        self._offset = 0

    def write(self, rows: pa.RecordBatch, verdicts: pa.RecordBatch) -> None:
        for row, verdict in zip(rows.select(COLUMNS).to_pylist(), verdicts.to_pylist(), strict=True):
            self._add(row, verdict)
        self._index_writer.write_table(pa.Table.from_pylist(self._index, schema=WARC_INDEX))
        self._index = []

    def _add(self, row: dict[str, Any], verdict: dict[str, Any]) -> None:
        duplicate = verdict["original_url"] is not None
        request = read(row["url"])
        row["url"] = request.url
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
        beside = "revisit" if duplicate else "response"
        if not request.is_plain:
            self._append(_request(self._crawl, row, request, beside))
        if row["dom"] is not None:
            self._append(_conversion(self._crawl, row, request.address, beside))
        if row["picture"] is not None:
            self._append(_view(self._crawl, row, request.address, beside))
        self._append(_metadata(self._crawl, row, beside))

    def _append(self, record: bytes) -> None:
        data = _compress(record)
        self._file.write(data)
        self._offset += len(data)

    def close(self) -> None:
        self._index_writer.close()
        self._index_file.close()
        self._file.close()


def _compress(record: bytes) -> bytes:
    packer = zlib.compressobj(4, zlib.DEFLATED, 31)  # 4: 3 % larger than 6, in three quarters of the time; 31: gzip
    return packer.compress(record) + packer.flush()


# -- records


def _response(crawl: str, row: dict[str, Any]) -> bytes:
    body = row["html"]
    headers = {"WARC-Record-ID": _id(crawl, row, "response"), "WARC-Date": rfc3339(row["fetched_at"])}
    if body is None:
        headers["WARC-Truncated"] = "unspecified"  # there may have been a body that the crawl did not store
    else:
        headers["WARC-Payload-Digest"] = f"sha1:{row['sha1']}"
    return _record("response", row["url"], body or b"", headers, _http_head(row, len(body or b"")))


def _revisit(crawl: str, row: dict[str, Any], verdict: dict[str, Any]) -> bytes:
    headers = {
        "WARC-Record-ID": _id(crawl, row, "revisit"),
        "WARC-Date": rfc3339(row["fetched_at"]),
        "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        "WARC-Refers-To-Target-URI": url_of(verdict["original_url"]),
        "WARC-Refers-To-Date": rfc3339(verdict["original_time"]),
        "WARC-Payload-Digest": f"sha1:{row['sha1']}",
    }
    return _record("revisit", row["url"], b"", headers, _http_head(row, len(row["html"])))


def _request(crawl: str, row: dict[str, Any], request: Request, beside: str) -> bytes:
    target = request.url[len(urls.origin(request.url)) :]
    lines = [f"{request.method} {target} HTTP/1.1", f"Host: {urls.origin(request.url).partition('://')[2]}"]
    lines += [f"{name}: {value}" for name, value in request.headers]
    if request.type_:
        lines.append(f"Content-Type: {request.type_}")
    if request.method != "GET":
        lines.append(f"Content-Length: {len(request.body)}")
    headers = {
        "WARC-Record-ID": _id(crawl, row, "request"),
        "WARC-Concurrent-To": _id(crawl, row, beside),
        "WARC-Date": rfc3339(row["fetched_at"]),
    }
    head = "".join(f"{line}\r\n" for line in [*lines, ""]).encode()
    return _record("request", request.url, request.body, headers, head)


def _conversion(crawl: str, row: dict[str, Any], address: str, beside: str) -> bytes:
    """Make the record of the page as its scripts have made it."""
    headers = {
        "WARC-Record-ID": _id(crawl, row, "conversion"),
        "WARC-Refers-To": _id(crawl, row, beside),
        "WARC-Date": rfc3339(row["fetched_at"]),
        "Content-Type": DOM_TYPE,
    }
    return _record("conversion", address, row["dom"], headers)


def _view(crawl: str, row: dict[str, Any], address: str, beside: str) -> bytes:
    """Make the record of the picture, named as Browsertrix has it. https://crawler.docs.browsertrix.com/"""
    headers = {
        "WARC-Record-ID": _id(crawl, row, "view"),
        "WARC-Concurrent-To": _id(crawl, row, beside),
        "WARC-Date": rfc3339(row["fetched_at"]),
        "Content-Type": "image/png",
    }
    return _record("resource", f"urn:view:{address}", row["picture"], headers)


def _metadata(crawl: str, row: dict[str, Any], beside: str) -> bytes:
    """Make the record of what is known besides the exchange. Field names are Heritrix's where it has one."""
    fields = [("pathFromSeed", "L" * min(row["depth"], 1000)), ("fscrawl-key", row["key"])]
    if row["referrer"]:
        fields.append(("fscrawl-referrer-key", row["referrer"]))
    if row["encoding"]:
        fields.append(("charset-detected", row["encoding"]))
    kind = "R" if row["redirect"] else "L a/@href"
    links, nofollow = row["links"] or (), row["nofollow"] or ()
    lines = [_line(*field) for field in fields]
    if _are_plain(links):
        lines += [f"outlink: {link} {kind}\r\n" for link in links]
    else:
        lines += [_line("outlink", f"{parts_of(link)[0] if '#' in link else link} {kind}") for link in links]
    lines += [_line("nofollow", url) for url in nofollow]
    headers = {
        "WARC-Record-ID": _id(crawl, row, "metadata"),
        "WARC-Concurrent-To": _id(crawl, row, beside),
        "WARC-Date": rfc3339(row["fetched_at"]),
        "Content-Type": _FIELDS,
    }
    return _record("metadata", row["url"], "".join(lines).encode(), headers)


def _line(name: str, value: str) -> str:
    return f"{name}: {' '.join(value.split())}\r\n"  # one line, whatever somebody has written into a record


def _are_plain(links: Sequence[str]) -> bool:
    """Tell whether links are URLs without white space, and no requests, as nearly always.

    >>> _are_plain(["http://a.example/", "http://b.example/"]), _are_plain(["http://a.example/ b"])
    (True, False)
    """
    text = "".join(links)
    return "#" not in text and text.split(None, 1) == [text]


def _warcinfo(crawl: str, name: str, moment: datetime) -> bytes:
    fields = {
        "software": f"fscrawl/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "isPartOf": crawl,
        "description": "bodies are stored after content decoding; the headers that no longer hold are X-Crawl-*",
    }
    text = "".join(f"{field}: {value}\r\n" for field, value in fields.items())
    headers = {
        "WARC-Record-ID": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{crawl}/{name}')}>",
        "WARC-Date": rfc3339(moment),
        "WARC-Filename": name,
        "Content-Type": _FIELDS,
    }
    return _record("warcinfo", None, text.encode(), headers)


def _record(kind: str, url: str | None, payload: bytes, headers: dict[str, str], head: bytes = b"") -> bytes:
    """Make a record, byte for byte as warcio's writer would, which takes 1.5 times as long.

    `head`: status line and headers of an exchange. Without a head, `headers` must have the Content-Type.
    """
    content_type = _HTTP.format(kind="request" if kind == "request" else "response")
    if not head:
        content_type = headers.pop("Content-Type")
    lines = headers | {"WARC-Type": kind}
    if url is not None:
        lines["WARC-Target-URI"] = url
    block = head + payload if head else payload
    digest = f"sha1:{base32_sha1(block)}"
    if kind not in ("warcinfo", "revisit") and "WARC-Payload-Digest" not in lines:
        lines["WARC-Payload-Digest"] = f"sha1:{base32_sha1(payload)}" if head else digest
    lines["WARC-Block-Digest"] = digest
    lines |= {"Content-Type": content_type, "Content-Length": str(len(block))}
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return b"".join((b"WARC/1.1\r\n", text.encode(), b"\r\n", block, b"\r\n\r\n"))


def _id(crawl: str, row: dict[str, Any], kind: str) -> str:
    name = f"{crawl}/{row['key']}/{rfc3339(row['fetched_at'])}/{kind}"
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}>"


def _http_head(row: dict[str, Any], length: int) -> bytes:
    headers = []
    for name, value in json.loads(row["headers"]).items():
        clean = _CONTROL.sub("", " ".join(value.split()))
        headers.append((f"X-Crawl-{name}" if name in _UNTRUE_HEADERS else _NOT_A_TOKEN.sub("_", name) or "_", clean))
    headers.append(("Content-Length", str(length)))
    lines = [f"HTTP/1.1 {_status_line(row['status'])}", *(f"{name}: {value}" for name, value in headers), "", ""]
    text = "\r\n".join(lines)
    if text.isascii():
        return text.encode()
    head: bytes = StatusAndHeaders(_status_line(row["status"]), headers, protocol="HTTP/1.1").to_ascii_bytes()
    return head


def _status_line(status: int) -> str:
    try:
        return f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} "


# -- parts


def cut_into_parts(sizes: Iterable[int]) -> list[range]:
    """Cut segments into parts of at most PART_BYTES; a single larger segment is a part of its own.

    >>> cut_into_parts([600_000_000, 300_000_000, 600_000_000])
    [range(0, 2), range(2, 3)]
    """
    found: list[range] = []
    begin = total = end = 0
    for end, size in enumerate(sizes, 1):
        if end - 1 > begin and total + size > PART_BYTES:
            found.append(range(begin, end - 1))
            begin, total = end - 1, 0
        total += size
    return [*found, range(begin, end)] if end else found


def join_segments(job: Job, part: str, segments: list[str]) -> list[Part]:
    """Make one archive of segments (names, in order), and its two indexes."""
    archive, cdxj, table = f"warc/{part}.warc.gz", f"warc/{part}.cdxj", f"warc-index/{part}.parquet"
    indexes = [_read_index(job, segment) for segment in segments]
    latest = max(pc.max(index["fetch_time"]).as_py() for index in indexes)
    offset = 0
    moved = []
    with job.directory.publish(archive) as temporary, temporary.open("wb") as file:
        offset += file.write(_compress(_warcinfo(job.crawl, archive.rpartition("/")[2], latest)))
        for segment, index in zip(segments, indexes, strict=True):
            moved.append(_moved(index, archive, offset))
            offset += _copy(job.directory.path(job.scratch(f"{segment}.warc.gz")), file)
            pages_done(len(index))
    rows = pa.concat_tables(moved).sort_by([(name, "ascending") for name in _ORDER]).combine_chunks()
    with job.directory.publish(cdxj) as temporary, temporary.open("w", encoding="utf-8") as lines:
        lines.writelines(sorted(_cdxj_lines(rows)))
    with job.directory.publish(table) as temporary:
        pq.write_table(rows, temporary, compression="zstd")
    return [job.directory.part(name, len(rows)) for name in (archive, cdxj, table)]


def _read_index(job: Job, segment: str) -> pa.Table:
    with pa.OSFile(str(job.directory.path(job.scratch(f"{segment}.arrow")))) as source:
        return pa.ipc.open_file(source).read_all()


def _moved(index: pa.Table, archive: str, offset: int) -> pa.Table:
    """Change a segment's index into that of its archive, where the segment begins at `offset`."""
    made = {
        "warc_filename": pa.repeat(pa.scalar(archive), len(index)),
        "warc_record_offset": pc.add(index["warc_record_offset"], offset),
    }
    return pa.table([made.get(name, index[name]) for name in WARC_INDEX.names], schema=WARC_INDEX)


def _copy(path: Path, file: BinaryIO) -> int:
    with path.open("rb") as source:
        shutil.copyfileobj(source, file, 1 << 20)
        return source.tell()


def _cdxj_lines(rows: pa.Table) -> Iterator[str]:
    """Yield the lines of an index. Only 1000 rows at a time become Python values, which need far more memory."""
    return (_cdxj_line(row) for batch in rows.to_batches(_LINES) for row in batch.to_pylist())


def _cdxj_line(row: dict[str, Any]) -> str:
    values = {
        "url": row["url"],
        "mime": row["content_mime_type"] or "unk",
        "status": str(row["fetch_status"]),
        "digest": f"sha1:{row['content_digest']}" if row["content_digest"] else "-",
        "length": str(row["warc_record_length"]),
        "offset": str(row["warc_record_offset"]),
        "filename": row["warc_filename"].rpartition("/")[2],
    }
    if row["method"] != GET:
        values |= {"method": row["method"], "requestBody": row["request_body"] or ""}
    return f"{_cdxj_key(row)} {row['fetch_time']:%Y%m%d%H%M%S} {json.dumps(values)}\n"


def _cdxj_key(row: dict[str, Any]) -> str:
    """Give the key of a line. Method and body of a request are in the query, as pywb has them: it would take it for a
    GET of the same URL otherwise. https://pypi.org/project/cdxj-indexer/
    """
    if row["method"] == GET:
        return str(row["url_surtkey"])
    body = quote(row["request_body"] or "", safe="=&+%")
    url = row["url"]
    return surt(f"{url}{'&' if '?' in url else '?'}__wb_method={row['method']}{'&' if body else ''}{body}")
