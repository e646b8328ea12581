"""Pages as WARC records (ISO 28500, version 1.1), with an index that says where each one is. `archives` joins them.

    .merge/run-<run>/group-<n>.warc.gz    a segment: the records of a group, each compressed separately
    .merge/run-<run>/group-<n>.arrow      its index; offsets count from the start of the segment
    .merge/run-<run>/group-<n>.pages.jsonl   for a WACZ: its pages (`wacz`)

A page is a response record, its request record (`warc_request`), and a metadata record with its outlinks. What its
scripts have made of it, and the picture of that, are records of their own before the last: a conversion of the
response, and a resource `urn:view:<URL>`. For an exact duplicate, a revisit record takes the place of the response.
Bodies are stored without content encoding. So the headers that are no longer true are named `X-Crawl-…`, as in Common
Crawl's files. Record ids are made of crawl, key and time: the same page gives the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import http
import json
import re
import uuid
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from fscrawl import __version__
from fscrawl.dataset.asked import parts_of, text_of
from fscrawl.dataset.extract import base32_sha1
from fscrawl.dataset.formats import rfc3339
from fscrawl.dataset.gzip_member import gzip_member
from fscrawl.dataset.job import Job
from fscrawl.dataset.schema import WARC_INDEX
from fscrawl.dataset.surt import surt
from fscrawl.dataset.wacz import page_line
from fscrawl.dataset.warc_request import address, request_record
from fscrawl.parse.headers import pairs
from fscrawl.request import read, url_of
from fscrawl.storage.render_record import DOM_TYPE

COLUMNS = ["url", "key", "fetched_at", "status", "headers", "encoding", "depth", "referrer", "ip", "title", "file"]
COLUMNS += ["sha1", "mime", "redirect", "skipped", "links", "nofollow", "html", "dom", "picture"]
_UNTRUE_HEADERS = frozenset({"content-encoding", "transfer-encoding", "content-length"})  # wrong for a stored body
_NOT_A_TOKEN = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]")  # RFC 9110, 5.6.2: what no header's name has
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HTTP = "application/http; msgtype=response"
_FIELDS = "application/warc-fields"
_NAMESPACE = uuid.NAMESPACE_URL.bytes
_VARIANT = {digit: "89ab"[number % 4] for number, digit in enumerate("0123456789abcdef")}  # RFC 9562, 4.1


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
        ids = _id(self._crawl, row, "request"), _id(self._crawl, row, beside)
        self._append(request_record(request, *ids, row["moment"], row["ip"]))
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
    body = row["html"]
    headers = {"WARC-Record-ID": _id(crawl, row, "response"), "WARC-Date": row["moment"]}
    headers |= _ip(row)
    if body is None:
        headers["WARC-Truncated"] = "unspecified"  # there may have been a body that the crawl did not store
    else:
        headers["WARC-Payload-Digest"] = f"sha1:{row['sha1']}"
    return _record("response", row["url"], body or b"", headers, _http_head(row, len(body or b"")))


def _revisit(crawl: str, row: dict[str, Any], verdict: dict[str, Any]) -> bytes:
    headers = {
        "WARC-Record-ID": _id(crawl, row, "revisit"),
        "WARC-Date": row["moment"],
        **_ip(row),
        "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        "WARC-Refers-To-Target-URI": url_of(verdict["original_url"]),
        "WARC-Refers-To-Date": rfc3339(verdict["original_time"]),
        "WARC-Payload-Digest": f"sha1:{row['sha1']}",
    }
    return _record("revisit", row["url"], b"", headers, _http_head(row, len(row["html"])))


def _conversion(crawl: str, row: dict[str, Any], address: str, beside: str) -> bytes:
    """Make the record of the page as its scripts have made it."""
    headers = {
        "WARC-Record-ID": _id(crawl, row, "conversion"),
        "WARC-Refers-To": _id(crawl, row, beside),
        "WARC-Date": row["moment"],
        "Content-Type": DOM_TYPE,
    }
    return _record("conversion", address, row["dom"], headers)


def _view(crawl: str, row: dict[str, Any], address: str, beside: str) -> bytes:
    """Make the record of the picture, named as Browsertrix has it. https://crawler.docs.browsertrix.com/"""
    headers = {
        "WARC-Record-ID": _id(crawl, row, "view"),
        "WARC-Concurrent-To": _id(crawl, row, beside),
        "WARC-Date": row["moment"],
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
        "WARC-Date": row["moment"],
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


def warcinfo(crawl: str, name: str, moment: datetime) -> bytes:
    fields = {
        "software": f"fscrawl/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "isPartOf": crawl,
        "description": "bodies are stored after content decoding; the headers that no longer hold are X-Crawl-*",
    }
    text = "".join(f"{field}: {value}\r\n" for field, value in fields.items())
    headers = {
        "WARC-Record-ID": record_id(f"{crawl}/{name}"),
        "WARC-Date": rfc3339(moment),
        "WARC-Filename": name,
        "Content-Type": _FIELDS,
    }
    return _record("warcinfo", None, text.encode(), headers)


def _record(kind: str, url: str | None, payload: bytes, headers: dict[str, str], head: bytes = b"") -> bytes:
    """Make a record, byte for byte as warcio's writer would, which takes 1.5 times as long.

    `head`: status line and headers of an exchange. Without a head, `headers` must have the Content-Type.
    """
    content_type = _HTTP if head else headers.pop("Content-Type")
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
    return record_id(f"{crawl}/{row['key']}/{row['moment']}/{kind}")


def record_id(name: str) -> str:
    """Give the id of a record: the UUID of version 5 of its name, in a fifth of the time that `uuid.uuid5` takes.

    >>> record_id("a") == f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, 'a')}>"
    True
    """
    h = hashlib.sha1(_NAMESPACE + name.encode(), usedforsecurity=False).hexdigest()
    return f"<urn:uuid:{h[:8]}-{h[8:12]}-5{h[13:16]}-{_VARIANT[h[16]]}{h[17:20]}-{h[20:32]}>"


def _ip(row: dict[str, Any]) -> dict[str, str]:
    found = address(row["ip"])
    return {"WARC-IP-Address": found} if found else {}


def _http_head(row: dict[str, Any], length: int) -> bytes:
    headers = []
    for name, value in pairs(json.loads(row["headers"])):
        clean = _CONTROL.sub("", " ".join(value.split()))
        headers.append((f"X-Crawl-{name}" if name in _UNTRUE_HEADERS else _NOT_A_TOKEN.sub("_", name) or "_", clean))
    headers.append(("Content-Length", str(length)))
    lines = [f"HTTP/1.1 {_status_line(row['status'])}", *(f"{name}: {value}" for name, value in headers), "", ""]
    text = "\r\n".join(lines)
    if text.isascii():
        return text.encode()
    from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415 - it is seldom needed, and slow to load

    head: bytes = StatusAndHeaders(_status_line(row["status"]), headers, protocol="HTTP/1.1").to_ascii_bytes()
    return head


def _status_line(status: int) -> str:
    try:
        return f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} "
