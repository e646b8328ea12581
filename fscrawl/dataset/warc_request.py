"""The request record of a page: what is surely known of the request that was sent.

That is its method, its target, its Host, and what belongs to this request alone: its headers, its body and the type of
the body. The tree does not keep what goes with every request (User-Agent, Accept, cookies, a login), nor the conditions
of a refresh. The settings may have changed since, so they are not asked either.

Promise: byte for byte what warcio's writer would make of the same.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from ipaddress import ip_address

from fscrawl import urls
from fscrawl.request import Request

NO_BODY = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"  # SHA-1 of nothing, in base 32


def request_record(request: Request, record_id: str, beside: str, moment: str, ip: str | None) -> bytes:
    """Make the record. `record_id`, `beside`: ids of it and of the record of the answer; `moment`: RFC 3339.

    `ip`: as the record of the page has it.
    """
    body = request.body
    block = _head(request).encode() + body
    return (
        f"WARC/1.1\r\nWARC-Record-ID: {record_id}\r\nWARC-Concurrent-To: {beside}\r\nWARC-Date: {moment}\r\n"
        f"{ip_line(ip)}WARC-Type: request\r\nWARC-Target-URI: {request.url}\r\n"
        f"WARC-Payload-Digest: sha1:{_sha1(body) if body else NO_BODY}\r\nWARC-Block-Digest: sha1:{_sha1(block)}\r\n"
        f"Content-Type: application/http; msgtype=request\r\nContent-Length: {len(block)}\r\n\r\n"
    ).encode() + block + b"\r\n\r\n"  # fmt: skip


def _head(request: Request) -> str:
    origin = urls.origin(request.url)
    first = f"{request.method} {request.url[len(origin) :]} HTTP/1.1\r\nHost: {origin.partition('://')[2]}\r\n"
    if request.is_plain:
        return f"{first}\r\n"
    lines = [f"{name}: {value}\r\n" for name, value in request.headers]
    if request.type_:
        lines.append(f"Content-Type: {request.type_}\r\n")
    if request.method != "GET":
        lines.append(f"Content-Length: {len(request.body)}\r\n")
    return f"{first}{''.join(lines)}\r\n"


def ip_line(ip: str | None) -> str:
    """Give the line of a WARC header that names the address; "" if there is none.

    >>> ip_line("2001:DB8::1"), ip_line(None)
    ('WARC-IP-Address: 2001:db8::1\\r\\n', '')
    """
    found = address(ip)
    return f"WARC-IP-Address: {found}\r\n" if found else ""


@lru_cache(1 << 12)
def address(text: str | None) -> str:
    """Give an address in its usual form, without a zone; "" if it is none: somebody may have edited the record.

    >>> address("fe80::1%eth0"), address("127.0.0.1"), address("a.example")
    ('fe80::1', '127.0.0.1', '')
    """
    try:
        return str(ip_address((text or "").partition("%")[0]))
    except ValueError:
        return ""


def _sha1(data: bytes) -> str:
    return base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()
