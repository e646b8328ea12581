"""What was asked for each row: records have the spelling of a request (`request`), tables its URL, method and body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote_from_bytes

import pyarrow as pa

from fscrawl.request import Request, read, url_of

GET = "GET"


class Asked(NamedTuple):
    """Columns of equal length. `urls`: with a fragment that scripts see. `bodies`: null where a request has none."""

    urls: pa.Array
    methods: pa.Array
    bodies: pa.Array


def columns(spellings: Sequence[str]) -> Asked:
    """Give the columns for the spellings of requests.

    >>> [each.to_pylist() for each in columns(["http://a.example/", "http://a.example/s#method=POST&body=q"])]
    [['http://a.example/', 'http://a.example/s'], ['GET', 'POST'], [None, 'q']]
    """
    if "#" not in "".join(spellings):  # all are plain URLs, as nearly always
        urls = pa.array(spellings, pa.string())
        return Asked(urls, pa.repeat(pa.scalar(GET), len(urls)), pa.nulls(len(urls), pa.string()))
    plain = list(map(url_of, spellings))
    methods = [GET] * len(plain)
    bodies: list[str | None] = [None] * len(plain)
    for number, text in enumerate(spellings):
        if len(text) != len(plain[number]):
            plain[number], methods[number], bodies[number] = parts_of(text)
    return Asked(pa.array(plain, pa.string()), pa.array(methods, pa.string()), pa.array(bodies, pa.string()))


def parts_of(text: str) -> tuple[str, str, str | None]:
    """Give the address of a request, its method, and its body as `text_of` does.

    What is no spelling counts as a plain GET.

    >>> parts_of("http://a.example/s#method=POST&body=q"), parts_of("http://a.example/#method=GET&fragment=/item/3")
    (('http://a.example/s', 'POST', 'q'), ('http://a.example/#/item/3', 'GET', None))
    """
    try:
        request = read(text)
    except ValueError:  # the target of a link in a record that somebody has edited
        return url_of(text), GET, None
    return request.address, request.method, text_of(request)


def text_of(request: Request) -> str | None:
    r"""Give the body of a request as text, None without one. Bytes that are no UTF-8 are percent-encoded.

    >>> text_of(Request("http://a.example/", "POST", "", b"q=\xc3\xa9&r=\xff"))
    'q=é&r=%FF'
    """
    if not request.body:
        return None
    text = request.body.decode("utf-8", "surrogateescape")
    if text.isascii():
        return text
    return "".join(quote_from_bytes(bytes([ord(c) - 0xDC00])) if "\udc80" <= c <= "\udcff" else c for c in text)
