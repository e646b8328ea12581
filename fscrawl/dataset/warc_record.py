"""How a WARC record is written (ISO 28500:2017, 4 and 5): its head, the HTTP head in it, its digests, its id. Pure.

Promise: whatever a text holds, a field is one line, in UTF-8, without control characters. So no header, URL or address
of a page makes a field of its own, or a record that readers cannot read.
"""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address

FIELDS = "application/warc-fields"
REQUEST, RESPONSE = (f"application/http; msgtype={kind}" for kind in ("request", "response"))
_HEADERS_BYTES = 28 << 10  # FastWARC reads no head of more than 32 KiB
NO_BODY = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"  # SHA-1 of nothing, in base 32
Fields = Iterable[tuple[str, str]]
# C0, DEL and C1, and the two ends of lines that Unicode has beside them: `str.splitlines` cuts there.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_NOT_A_TOKEN = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]")  # RFC 9110, 5.6.2: what no header's name has
_NAMESPACE = uuid.NAMESPACE_URL.bytes
_VARIANT = {digit: "89ab"[number % 4] for number, digit in enumerate("0123456789abcdef")}  # RFC 9562, 4.1


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
    said = lines([(_token(name), value) for name, value in headers])
    if len(said) > _HEADERS_BYTES:
        room, kept = _HEADERS_BYTES, []
        for line in said.splitlines(keepends=True):
            if len(line) <= room:
                room -= len(line)
                kept.append(line)
        said = b"".join(kept)
    return f"{_one_line(first)}\r\n".encode("utf-8", "replace") + said + b"\r\n"


@lru_cache(1 << 12)
def _token(name: str) -> str:
    return _NOT_A_TOKEN.sub("_", name) or "_"


def record(kind: str, content_type: str, fields: dict[str, str], block: bytes) -> bytes:
    """Write a record. `fields`: those that not every record has."""
    said = {
        "WARC-Type": kind,
        **fields,
        "WARC-Block-Digest": f"sha1:{base32_sha1(block)}",
        "Content-Type": content_type,
        "Content-Length": str(len(block)),
    }
    return b"".join((b"WARC/1.1\r\n", lines(said.items()), b"\r\n", block, b"\r\n\r\n"))


def base32_sha1(data: bytes) -> str:
    """Return the digest of a body as Common Crawl's index and WARC files write it.

    >>> base32_sha1(b"")
    '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    return base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()


def record_id(name: str) -> str:
    """Give the id of a record: the UUID of version 5 of its name, in a fifth of the time that `uuid.uuid5` takes.

    >>> record_id("a") == f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, 'a')}>"
    True
    """
    h = hashlib.sha1(_NAMESPACE + name.encode(), usedforsecurity=False).hexdigest()
    return f"<urn:uuid:{h[:8]}-{h[8:12]}-5{h[13:16]}-{_VARIANT[h[16]]}{h[17:20]}-{h[20:32]}>"


def address_field(ip: str | None) -> dict[str, str]:
    """Give the field for the address that a page came from; none if that is no address.

    >>> address_field("2001:DB8::1"), address_field(None)
    ({'WARC-IP-Address': '2001:db8::1'}, {})
    """
    found = _address(ip)
    return {"WARC-IP-Address": found} if found else {}


@lru_cache(1 << 12)
def _address(text: str | None) -> str:
    """Give an address in its usual form, without a zone; "" if it is none: somebody may have edited the record.

    >>> _address("fe80::1%eth0"), _address("127.0.0.1"), _address("a.example")
    ('fe80::1', '127.0.0.1', '')
    """
    try:
        return str(ip_address((text or "").partition("%")[0]))
    except ValueError:
        return ""
