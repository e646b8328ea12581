"""What was asked for each row: records have the spelling of a request (`request`), tables its URL, method and body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from fscrawl.request import parts_of, url_of

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
