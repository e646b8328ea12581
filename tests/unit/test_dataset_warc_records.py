"""WARC records written by hand: equal to warcio's, and found sound by warcio and FastWARC."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest
from fastwarc.warc import ArchiveIterator
from warcio.checker import Checker
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from fscrawl.dataset import warc
from fscrawl.dataset.extract import base32_sha1
from fscrawl.dataset.formats import rfc3339
from fscrawl.dataset.gzip_member import gzip_member
from fscrawl.dataset.warc_request import request_record
from fscrawl.request import Request

_MOMENT = datetime(2026, 11, 21, 12, 0, 0, 5000, tzinfo=UTC)
_BODY = b"<p>\xe9\x00</p>\r\n\r\n"


def _row(**values):
    body = values.get("html", _BODY)
    row = {
        "url": "http://a.example/",
        "key": "0" * 24,
        "fetched_at": _MOMENT,
        "moment": rfc3339(_MOMENT),
        "status": 200,
        "headers": json.dumps({"content-type": "text/html", "content-length": "9"}),
        "encoding": "utf-8",
        "depth": 2,
        "referrer": "1" * 24,
        "sha1": None if body is None else base32_sha1(body),
        "mime": "text/html",
        "redirect": None,
        "skipped": None,
        "links": ["http://a.example/b", "http://b.example/"],
        "nofollow": None,
        "html": body,
        "ip": "192.0.2.7",
    }
    return row | values


_REQUESTS = [
    Request("https://a.example:8443/b?x=1"),
    Request("http://a.example/", "POST", "text/plain; charset=utf-8", "ü".encode(), {"x-a": "é", "x-b": "1"}),
    Request("http://a.example/", "PUT"),
    Request("http://a.example/", headers={"x-a": "1"}, session="s", fragment="/r"),
]
_ROWS = [
    _row(),
    _row(html=b"", ip=None),
    _row(html=None, status=301, redirect="http://b.example/"),
    _row(html=None, skipped="type application/pdf"),
    _row(headers=json.dumps({"x-name": "sch\u00f6n \u2603", "content-encoding": "gzip"}), status=599),
    _row(links=None, nofollow=["http://n.example/"], referrer=None, encoding=None, depth=0),
]
_ORIGINAL = {"original_url": "http://o.example/", "original_time": _MOMENT}


def _records(row):
    records = [warc._response("c", row), warc._metadata("c", row, "response"), _request(Request(row["url"]), row["ip"])]
    return [*records, warc._revisit("c", row, _ORIGINAL)] if row["html"] is not None else records


def _request(request, ip):
    return request_record(request, "<urn:uuid:1>", "<urn:uuid:2>", "2026-11-21T12:00:00.005Z", ip)


@pytest.mark.parametrize("ip", ["192.0.2.7", None])
@pytest.mark.parametrize("request_", _REQUESTS)
def test_request_as_warcio(request_, ip):
    """A request record is byte for byte what warcio's writer makes of the same."""
    ours = _request(request_, ip)
    head, _, rest = ours.partition(b"\r\n\r\n")
    names = ("WARC-Record-ID", "WARC-Concurrent-To", "WARC-Date", "WARC-IP-Address")
    said = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    http, _, body = rest.removesuffix(b"\r\n\r\n").partition(b"\r\n\r\n")
    first, *lines = http.decode().split("\r\n")
    headers = StatusAndHeaders(
        first.partition(" ")[2], [tuple(line.split(": ", 1)) for line in lines], protocol=request_.method
    )
    buffer = io.BytesIO()
    writer = WARCWriter(buffer, gzip=False, warc_version="WARC/1.1")
    record = writer.create_warc_record(
        request_.url,
        "request",
        payload=io.BytesIO(body),
        length=len(body),
        warc_content_type="application/http; msgtype=request",
        warc_headers_dict={name: said[name] for name in names if name in said},
        http_headers=headers,
    )
    headers.to_ascii_bytes = lambda _=None: http + b"\r\n\r\n"  # it would quote what is not ASCII
    writer.write_record(record)
    assert ours == buffer.getvalue()


def _by_warcio(kind, url, payload, headers, head=b""):
    """Do what `_record` does with warcio's writer; `head` is taken apart again for it."""
    first, *lines = head.decode().split("\r\n")[:-2] if head else [""]
    http = StatusAndHeaders(
        first.partition(" ")[2], [tuple(line.split(": ", 1)) for line in lines], protocol="HTTP/1.1"
    )
    buffer = io.BytesIO()
    writer = WARCWriter(buffer, gzip=False, warc_version="WARC/1.1")
    record = writer.create_warc_record(
        url,
        kind,
        payload=io.BytesIO(payload),
        length=len(payload),
        warc_content_type="application/http; msgtype=response" if head else headers.pop("Content-Type"),
        warc_headers_dict=headers,
        http_headers=http if head else None,
    )
    writer.write_record(record)
    return buffer.getvalue()


@pytest.mark.parametrize("row", _ROWS)
def test_as_warcio(row, monkeypatch):
    """A record is byte for byte what warcio's writer makes of the same."""
    ours = [*_records(row), warc.warcinfo("c", "part.warc.gz", _MOMENT)]
    monkeypatch.setattr(warc, "_record", _by_warcio)
    assert ours == [*_records(row), warc.warcinfo("c", "part.warc.gz", _MOMENT)]


@pytest.mark.parametrize("row", _ROWS)
def test_fastwarc_verifies(row):
    """FastWARC finds every block digest, and the payload digest of a response, to be that of the bytes."""
    data = b"".join(map(gzip_member, _records(row)))
    blocks = [each.verify_block_digest() for each in ArchiveIterator(io.BytesIO(data), parse_http=False)]
    response = next(iter(ArchiveIterator(io.BytesIO(data), parse_http=True)))
    assert (blocks, response.verify_payload_digest()) == ([True] * len(_records(row)), True)


def test_warcio_check(tmp_path, capsys):
    """`warcio check` has nothing to say of an archive of them."""
    path = tmp_path / "part.warc.gz"
    path.write_bytes(b"".join(gzip_member(record) for row in _ROWS for record in _records(row)))

    class Command:
        verbose = False
        inputs = (str(path),)

    checker = Checker(Command())
    checker.process_all()
    assert (checker.exit_value, capsys.readouterr().out) == (0, "")
