"""The index for web archives, CDXJ: a line for each response and revisit, sorted by bytes, and compressed in blocks.

    <name>.cdxj.gz    blocks of 3,000 lines, each a gzip member of its own (ZipNum). `zcat` gives all lines
    <name>.idx        a line for each block: its first key and time, and where it is

A reader looks into the small .idx by bisection, and unpacks one block. There are two forms of an .idx: that of Common
Crawl and pywb, with tabs, and that of WACZ, with JSON.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote_plus, urlencode

import pyarrow as pa

from fscrawl.dataset.asked import GET
from fscrawl.dataset.gzip_member import gzip_member
from fscrawl.dataset.surt import surt

_to_json = json.JSONEncoder().encode
BLOCK_LINES = 3000  # as Common Crawl and cdxj-indexer have it
_ROWS = 1000
_QUERY_CHARS = 4096


class Block(NamedTuple):
    """`first`: key and time of its first line; `offset`: from the beginning of the file; `data`: compressed."""

    first: str
    offset: int
    data: bytes


def lines(rows: pa.Table) -> list[str]:
    """Give the sorted lines for the rows of a WARC_INDEX."""
    return sorted(_line(row) for batch in rows.to_batches(_ROWS) for row in batch.to_pylist())  # rows need more memory


def blocks(lines: Iterable[str]) -> Iterator[Block]:
    """Cut sorted lines into compressed blocks, which follow each other in one file."""
    offset, waiting = 0, iter(lines)
    while some := list(itertools.islice(waiting, BLOCK_LINES)):
        data = gzip_member("".join(some).encode())
        yield Block(" ".join(some[0].split(" ", 2)[:2]), offset, data)
        offset += len(data)


def idx_line(block: Block, number: int, name: str) -> str:
    r"""Give the line of a block as Common Crawl and pywb have it. `number`: from 1; `name`: of the file of blocks.

    >>> idx_line(Block("com,example)/ 20261121120000", 0, b"123"), 1, "a.cdxj.gz")
    'com,example)/ 20261121120000\ta.cdxj.gz\t0\t3\t1\n'
    """
    return f"{block.first}\t{name}\t{block.offset}\t{len(block.data)}\t{number}\n"


def wacz_idx_head(name: str) -> str:
    """Give the first line of an .idx of WACZ."""
    return "!meta 0 " + json.dumps({"format": "cdxj-gzip-1.0", "filename": name}) + "\n"


def wacz_idx_line(block: Block) -> str:
    """Give the line of a block as WACZ has it."""
    digest = f"sha256:{hashlib.sha256(block.data).hexdigest()}"
    return f"{block.first} {json.dumps({'offset': block.offset, 'length': len(block.data), 'digest': digest})}\n"


def _line(row: dict[str, Any]) -> str:
    values = {
        "url": row["url"],
        "mime": row["content_mime_type"] or "unk",
        "status": str(row["fetch_status"]),
        "digest": f"sha1:{row['content_digest']}" if row["content_digest"] else "-",
        "length": str(row["warc_record_length"]),
        "offset": str(row["warc_record_offset"]),
        "filename": row["warc_filename"].rpartition("/")[2],
    }
    query = ""
    if row["method"] != GET:
        query = query_of(row["request_body"] or "")
        values |= {"method": row["method"], "requestBody": query}
    return f"{_key(row, query)} {row['fetch_time']:%Y%m%d%H%M%S} {_to_json(values)}\n"


def _key(row: dict[str, Any], query: str) -> str:
    """Give the key of a line. Method and body of a request are in its query: it would be taken for a GET otherwise."""
    if row["method"] == GET:
        return str(row["url_surtkey"])
    url = row["url"]
    return surt(f"{url}{'&' if '?' in url else '?'}__wb_method={row['method']}{'&' if query else ''}{query}")


def query_of(body: str) -> str:
    r"""Give the body of a request as a query, as pywb and cdxj-indexer do. A form is decoded, JSON is made flat.

    https://specs.webrecorder.net/request-body-canonicalization/latest/

    >>> query_of("q=a+b&r=%C3%BC"), query_of('{"q": "a b", "of": [{"n": 1}, {"n": 2}]}')
    ('q=a b&r=ü', 'q=a+b&n=1&n.2_=2')
    """
    if body.startswith(("{", "[", '"')):
        with contextlib.suppress(ValueError, RecursionError):
            return urlencode(_flat(json.loads(body)))[:_QUERY_CHARS]
    return unquote_plus(body)[:_QUERY_CHARS]


def _flat(value: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    counts: dict[str, int] = {}

    def add(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for inner, each in value.items():
                add(each, inner)
        elif isinstance(value, list):
            for each in value:
                add(each, name)
        elif name:
            if name in found:
                counts[name] = counts.get(name, 1) + 1
                name = f"{name}.{counts[name]}_"
            found[name] = str(value)

    add(value, "")
    return found
