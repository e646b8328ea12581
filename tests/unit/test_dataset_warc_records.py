"""WARC records, whatever a page, a server or somebody's record says: read back whole by warcio and FastWARC."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import fastwarc.warc
import pytest
import warcio.archiveiterator
from warcio.checker import Checker

from fscrawl.dataset import warc
from fscrawl.request import Request
from fscrawl.storage.records import rfc3339
from fscrawl.storage.warc import Capture, base32_sha1, gzip_member

_MOMENT = datetime(2026, 11, 21, 12, 0, 0, 5000, tzinfo=UTC)
_BODY = b"<p>\xe9\x00</p>\r\n\r\nWARC/1.1\r\n"
_URL = "http://a.example/"


def _row(**values):
    body = values.get("html", _BODY)
    headers = json.dumps(values.pop("headers", {"content-type": "text/html", "content-length": "9"}))
    row = {
        "url": _URL,
        "key": "0" * 24,
        "fetch_time": _MOMENT,
        "fetch_status": 200,
        "headers": headers,
        "content_charset": "utf-8",
        "depth": 2,
        "referrer": "1" * 24,
        "content_digest": None if body is None else base32_sha1(body),
        "content_mime_type": "text/html",
        "fetch_redirect": None,
        "skipped": None,
        "links": [f"{_URL}b", "http://b.example/"],
        "nofollow": None,
        "html": body,
        "bytes": len(body or b""),
        "ip": "192.0.2.7",
        "rendered_html": "<p>\u2028é".encode(),
        "picture": b"\x89PNG\r\n\r\n",
    }
    return row | values


_EVIL = "a\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n"
_ROWS = [
    _row(),
    _row(html=b"", ip=None),
    _row(html=None, fetch_status=301, fetch_redirect="http://b.example/"),
    _row(html=None, skipped="type application/pdf"),
    _row(links=None, nofollow=["http://n.example/"], referrer=None, content_charset=None, depth=0),
    *(_row(headers={}, fetch_status=status) for status in (0, 99, 599, 2**31 - 1)),
    *(
        _row(headers={"link": value})
        for value in (
            "</caf\u00e9>; rel=next",  # warcio#128
            "\u2603; \U0001f600",
            "\ud800; x",
            "a\nb\n\nc",
            _EVIL,
            "\x00\x01\x1b[31m\x7f\x85\x9f\u2028\u2029\v\f",
            "",
            "é" * 300_000,
            "\n" * 8000,
            "x\n" * 2000 + "é" * 4000,
        )
    ),
    *(
        _row(headers={name: "é;"})
        for name in ("", ":", "ä b:c\r\nset-cookie: evil", "\ud800", "Content-LENGTH", "\0", "n" * 40_000)
    ),
    _row(
        links=[f"{_URL}\r\nfscrawl-key: evil", f"{_URL}\x00\ud800é"],
        nofollow=[_EVIL],
        encoding=_EVIL,
        referrer=_EVIL,
        ip=_EVIL,
    ),
]
_REQUESTS = [
    Request(_URL),
    Request("https://a.example:8443/b?x=1"),
    Request(_URL, "POST", "text/plain; charset=utf-8", "ü".encode(), {"x-a": "é; \u2603", "x-b": "1"}),
    Request(_URL, "POST", "", b"\xff\x00\r\n\r\nWARC/1.1\r\n"),
    Request(_URL, "PUT"),
    Request(_URL, headers={"x-a": "1"}, session="s", fragment="/r"),
]
_ORIGINAL = {"original_url": "http://o.example/\r\nx: y\u00e9", "original_time": _MOMENT}


def _capture(row):
    return Capture("c", row["key"], row["url"], row["url"], rfc3339(row["fetch_time"]), row["ip"])


def _records(row, request):
    capture = _capture(row)
    yield "response", warc._response(capture, row)
    yield "request", warc._request(capture, request, "response")
    yield "conversion", capture.conversion(row["rendered_html"], "response")
    yield "resource", capture.view(row["picture"], "response")
    yield "metadata", capture.metadata(warc._known(row), "response")
    if row["html"] is not None:
        yield "revisit", warc._revisit(capture, row, _ORIGINAL)


@pytest.mark.parametrize("row", _ROWS, ids=range(len(_ROWS)))
def test_read_whole(row):
    """Two readers find each record, its digests right, and the bodies as they were."""
    made = [(request, *each) for request in _REQUESTS for each in _records(row, request)]
    data = b"".join(gzip_member(record) for _, _, record in made)
    bodies = {"response": row["html"] or b"", "revisit": b""}
    bodies |= {"conversion": row["rendered_html"], "resource": row["picture"]}
    found = warcio.archiveiterator.ArchiveIterator(io.BytesIO(data), check_digests="raise")
    for (request, kind, _), each in zip(made, found, strict=True):
        assert each.rec_type == kind
        body = each.raw_stream.read()
        assert kind == "metadata" or body == {**bodies, "request": request.body}[kind]
        names = [name for name, _ in each.rec_headers.headers]
        assert len(set(names)) == len(names)
    blocks = [each.verify_block_digest() for each in fastwarc.warc.ArchiveIterator(io.BytesIO(data), parse_http=False)]
    assert blocks == [True] * len(made)
    for each in fastwarc.warc.ArchiveIterator(io.BytesIO(data)):
        assert not each.is_http or each.headers["WARC-Type"] == "revisit" or each.verify_payload_digest()


def _answer(**headers):
    """Read the head of a response as HTTP has it: bytes, line by line."""
    _, _, block = _capture(_row()).response(200, headers, _BODY).partition(b"\r\n\r\n")
    return block.partition(b"\r\n\r\n")[0].split(b"\r\n")[2:]


def test_lines_of_an_answer():
    """Each line that a server sent is a line again, in UTF-8; control characters are blanks."""
    assert _answer(link="a\nb é\n") == [b"link: a", "link: b é".encode(), b"link: "]
    assert _answer(x="\x00\t1\x1b\x852\u2028", y="\ud800") == [b"x: 1 2", b"y: ?"]


def test_a_head_that_is_too_long():
    """FastWARC reads heads of 32 KiB: what does not fit is left out, and what fits is there."""
    assert _answer(a="1", b="é" * 20_000, c="3") == [b"a: 1", b"c: 3"]


def test_warcio_check(tmp_path, capsys):
    """`warcio check` has nothing to say of an archive of them."""
    path = tmp_path / "part.warc.gz"
    path.write_bytes(b"".join(gzip_member(record) for row in _ROWS for _, record in _records(row, _REQUESTS[2])))

    class Command:
        verbose = False
        inputs = (str(path),)

    checker = Checker(Command())
    checker.process_all()
    assert (checker.exit_value, capsys.readouterr().out) == (0, "")
