"""The index for web archives, CDXJ: a line for each response and revisit, sorted by bytes, and compressed in blocks.

    <name>.cdxj.gz    blocks of 3,000 lines, each a gzip member of its own (ZipNum). `zcat` gives all lines
    <name>.idx        a line for each block: its first key and time, and where it is

A reader looks into the small .idx by bisection, and unpacks one block. There are two forms of an .idx: that of Common
Crawl and pywb, with tabs, and that of WACZ, with JSON.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_plus

import pyarrow as pa

from fscrawl.dataset.asked import GET
from fscrawl.dataset.surt import surt

BLOCK_LINES = 3000  # as Common Crawl and cdxj-indexer have it
_ROWS = 1000
_SAFE = "".join(c for c in map(chr, range(0x21, 0x7F)) if c not in "#%")  # what canonical keys leave as it is


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
        packer = zlib.compressobj(6, zlib.DEFLATED, 31)
        data = packer.compress("".join(some).encode()) + packer.flush()
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
    if row["method"] != GET:
        values |= {"method": row["method"], "requestBody": row["request_body"] or ""}
    return f"{_key(row)} {row['fetch_time']:%Y%m%d%H%M%S} {json.dumps(values)}\n"


def _key(row: dict[str, Any]) -> str:
    """Give the key of a line. Method and body of a request are in the query, as pywb has them: it would take it for a
    GET of the same URL otherwise. A form is decoded, and what stands behind a # in it is lost.
    https://pypi.org/project/cdxj-indexer/
    """
    if row["method"] == GET:
        return str(row["url_surtkey"])
    body = row["request_body"] or ""
    body = quote(body if body.startswith(("{", "[")) else unquote_plus(body).partition("#")[0], safe=_SAFE)
    url = row["url"]
    return surt(f"{url}{'&' if '?' in url else '?'}__wb_method={row['method']}{'&' if body else ''}{body}")
