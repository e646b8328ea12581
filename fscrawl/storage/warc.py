"""WARC (ISO 28500:2017, version 1.1): how records are put together, for packs and for archives. Pure.

Promise: whatever a text holds, a field is one line, in UTF-8, without control characters. So no header, URL or address
of a page makes a field of its own, or a record that readers cannot read.

Bodies are stored without content encoding. So the headers that are no longer true are named `X-Crawl-…`, as in Common
Crawl's files.
"""

from __future__ import annotations

import base64
import hashlib
import http
import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple

from zlib_ng import zlib_ng

from fscrawl import __version__
from fscrawl.storage.records import DOM_TYPE, rfc3339

FIELDS = "application/warc-fields"
REQUEST, RESPONSE = (f"application/http; msgtype={kind}" for kind in ("request", "response"))
_REVISIT = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_UNTRUE_HEADERS = frozenset({"content-encoding", "transfer-encoding", "content-length"})  # wrong for a stored body
_GZIP = 16 + zlib_ng.MAX_WBITS
_GZIP_LEVEL = 4  # 2 % larger than 6, in three quarters of the time
_HEADERS_BYTES = 28 << 10  # FastWARC reads no head of more than 32 KiB
# C0, DEL and C1, and the two ends of lines that Unicode has beside them: `str.splitlines` cuts there.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_NOT_A_TOKEN = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]")  # RFC 9110, 5.6.2: what no header's name has

Fields = Iterable[tuple[str, str]]


def warcinfo(crawl: str, name: str, date: str) -> bytes:
    """Make the record that a file begins with. `name`: of the file; `date`: RFC 3339."""
    known = {
        "software": f"fscrawl/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "isPartOf": crawl,
        "description": "bodies are stored after content decoding; the headers that no longer hold are X-Crawl-*",
    }
    fields = {"WARC-Record-ID": record_id(f"{crawl}/{name}"), "WARC-Date": date, "WARC-Filename": name}
    return record("warcinfo", FIELDS, fields, lines(known.items()))


class Original(NamedTuple):
    """A record that has the body which another answer had, too. `digest`: of this body, as WARC writes it."""

    url: str
    date: str
    digest: str

    @classmethod
    def read(cls, start: bytes) -> Original | None:
        r"""Read what a record begins with; None if it does not say all of this.

        >>> Original.read(b"WARC/1.1\r\nWARC-Target-URI: u\r\nWARC-Date: d\r\nWARC-Payload-Digest: sha1:A\r\n\r\n")
        Original(url='u', date='d', digest='sha1:A')
        """
        head, end, _ = start.partition(b"\r\n\r\n")
        fields = dict(line.partition(": ")[::2] for line in head.decode("utf-8", "replace").split("\r\n"))
        found = [fields.get(f"WARC-{name}", "") for name in ("Target-URI", "Date", "Payload-Digest")]
        return cls(*found) if end and all(found) else None


class Capture(NamedTuple):
    """A page as it was fetched once: what all of its records say.

    url    where the request went
    page   the address of the page, which may have a fragment
    date   RFC 3339, in UTC
    ip     where the answer came from; None behind a proxy
    """

    crawl: str
    key: str
    url: str
    page: str
    date: str
    ip: str | None = None

    def id(self, kind: str) -> str:
        return record_id(f"{self.crawl}/{self.key}/{self.date}/{kind}")

    def made(self, what: str, status: int, headers: Mapping[str, str], data: bytes) -> bytes:
        """Make the record of a body of a page whose answer has a response. `what`: "body", "dom" or "picture"."""
        if what == "body":
            return self.response(status, headers, data)
        return self.conversion(data, "response") if what == "dom" else self.view(data, "response")

    def response(self, status: int, headers: Mapping[str, str], body: bytes | None, sha1: str | None = None) -> bytes:
        """Make the record of the answer. `body` is None if it was not stored; there may have been one.

        `sha1`: its digest in base 32, if it is known.
        """
        fields = {**self._exchange("response"), "WARC-Payload-Digest": f"sha1:{sha1 or base32_sha1(body or b'')}"}
        if body is None:
            fields["WARC-Truncated"] = "unspecified"
        return record("response", RESPONSE, fields, answer_head(status, headers, len(body or b"")) + (body or b""))

    def revisit(self, status: int, headers: Mapping[str, str], length: int, original: Original) -> bytes:
        """Make the record of an answer whose body another record has. `length`: of the body, in bytes."""
        fields = {
            **self._exchange("revisit"),
            "WARC-Profile": _REVISIT,
            "WARC-Refers-To-Target-URI": original.url,
            "WARC-Refers-To-Date": original.date,
            "WARC-Payload-Digest": original.digest,
        }
        return record("revisit", RESPONSE, fields, answer_head(status, headers, length))

    def request(self, head: bytes, body: bytes, beside: str) -> bytes:
        """Make the record of the request. `beside`: the kind of the record of its answer."""
        fields = {**self._exchange("request"), "WARC-Concurrent-To": self.id(beside)}
        fields["WARC-Payload-Digest"] = f"sha1:{base32_sha1(body)}"
        return record("request", REQUEST, fields, head + body)

    def conversion(self, dom: bytes, beside: str) -> bytes:
        """Make the record of the page as its scripts have made it."""
        fields = {**self._of_all("conversion", self.page), "WARC-Refers-To": self.id(beside)}
        return record("conversion", DOM_TYPE, fields, dom)

    def view(self, picture: bytes, beside: str) -> bytes:
        """Make the record of the picture, named as Browsertrix has it. https://crawler.docs.browsertrix.com/"""
        fields = {**self._of_all("view", f"urn:view:{self.page}"), "WARC-Concurrent-To": self.id(beside)}
        return record("resource", "image/png", fields, picture)

    def metadata(self, known: Fields, beside: str) -> bytes:
        """Make the record of what is known besides the exchange."""
        fields = {**self._of_all("metadata", self.url), "WARC-Concurrent-To": self.id(beside)}
        return record("metadata", FIELDS, fields, lines(known))

    def _exchange(self, kind: str) -> dict[str, str]:
        fields = self._of_all(kind, self.url)
        return {**fields, "WARC-IP-Address": ip} if (ip := address(self.ip)) else fields

    def _of_all(self, kind: str, target: str) -> dict[str, str]:
        return {"WARC-Record-ID": self.id(kind), "WARC-Date": self.date, "WARC-Target-URI": target}


def answer_head(status: int, headers: Mapping[str, str], length: int) -> bytes:
    """Write the head of an answer. `headers`: as in a record of a page; `length`: of the stored body, in bytes."""
    found = [("Content-Length", str(length))]
    for name, text in headers.items():
        kept = f"X-Crawl-{name}" if name.lower() in _UNTRUE_HEADERS else name
        found += [(kept, value) for value in text.split("\n")]  # a header that was there several times
    return http_head(f"HTTP/1.1 {_status_line(status)}", found)


def _status_line(status: int) -> str:
    try:
        return f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} "


# -- what every record is made of


def lines(fields: Fields) -> bytes:
    r"""Write fields, one a line. Half of a surrogate pair, which has no bytes, becomes a question mark.

    >>> lines([("title", "a\r\nb"), ("x", "\ud800")])
    b'title: a b\r\nx: ?\r\n'
    """
    return "".join([f"{name}: {_one_line(value)}\r\n" for name, value in fields]).encode("utf-8", "replace")


def _one_line(text: str) -> str:
    return text if text.isprintable() else _CONTROL.sub(" ", text).strip()


def http_head(first: str, headers: Fields) -> bytes:
    """Write the head of a request or of an answer. RFC 9110, 5.5 lets values have bytes beyond ASCII, as servers do.

    Headers behind the first 28 KiB are left out, if they do not fit.
    """
    head = lines([(_token(name), value) for name, value in headers])
    if len(head) > _HEADERS_BYTES:
        budget, kept = _HEADERS_BYTES, []
        for line in head.splitlines(keepends=True):
            if len(line) <= budget:
                budget -= len(line)
                kept.append(line)
        head = b"".join(kept)
    return f"{_one_line(first)}\r\n".encode("utf-8", "replace") + head + b"\r\n"


@lru_cache(1 << 12)
def _token(name: str) -> str:
    return _NOT_A_TOKEN.sub("_", name) or "_"


def record(kind: str, content_type: str, fields: dict[str, str], block: bytes) -> bytes:
    """Write a record. `fields`: those that not every record has."""
    headers = {
        "WARC-Type": kind,
        **fields,
        "WARC-Block-Digest": f"sha1:{base32_sha1(block)}",
        "Content-Type": content_type,
        "Content-Length": str(len(block)),
    }
    return b"".join((b"WARC/1.1\r\n", lines(headers.items()), b"\r\n", block, b"\r\n\r\n"))


def date_of(text: str) -> str:
    """Give a time as WARC has it: in UTC, to the millisecond; as it is, if it is none: somebody may have edited it.

    >>> date_of("2026-11-29T00:00:00+02:00"), date_of("yesterday")
    ('2026-11-28T22:00:00.000Z', 'yesterday')
    """
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return text
    return rfc3339(moment)


def record_id(name: str) -> str:
    return f"<{uuid.uuid5(uuid.NAMESPACE_URL, name).urn}>"


@lru_cache(1 << 12)
def address(text: str | None) -> str:
    """Give an address in its usual form, without a zone; "" if it is none: somebody may have edited the record.

    >>> address("FE80::1%eth0"), address("127.0.0.1"), address("a.example")
    ('fe80::1', '127.0.0.1', '')
    """
    try:
        return str(ip_address((text or "").partition("%")[0]))
    except ValueError:
        return ""


def base32_sha1(data: bytes) -> str:
    """Return the digest of a body as Common Crawl's index and WARC files write it.

    >>> base32_sha1(b"")
    '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    return base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()


def gzip_member(data: bytes) -> bytes:
    """Return a gzip member (RFC 1952): a piece of a file that can be unpacked without those before it.

    zlib-ng gives members of the size that zlib gives, in two thirds of the time.

    >>> import gzip
    >>> gzip.decompress(gzip_member(b"one") + gzip_member(b"two"))
    b'onetwo'
    """
    packer = zlib_ng.compressobj(_GZIP_LEVEL, zlib_ng.DEFLATED, _GZIP)
    return bytes(packer.compress(data) + packer.flush())
