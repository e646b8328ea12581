"""Pages in packs, read from a disk of the model without the product's code: as if each had its files.

The lines of `links` and `errs` become records under the names that they would have, bodies are unpacked from where the
line that counts says they are.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.power.disk import Survivors

LINES = re.compile(r"(?P<tree>.+/|)(?P<directory>links|errs)/[^/]+\+[0-9a-f]{8}/[0-9]+\.jsonl\Z")


def shown(survivors: Survivors) -> Survivors:
    """Give a disk with the pages of its packs as files beside all that is there."""
    newest: dict[str, tuple[tuple[int, str, int], bytes, dict[str, Any], str]] = {}
    for path, data in survivors.items():
        match = LINES.match(path)
        if match is None or data is None:
            continue
        for offset, line, said in whole_lines(data):
            name = path_of(match["tree"], match["directory"], said)
            rank = said["version"], path, offset
            if name not in newest or newest[name][0] < rank:
                newest[name] = rank, line, said, match["tree"]
    found = dict(survivors)
    for name, (rank, line, said, tree) in newest.items():
        page = newest.get(path_of(tree, "links", said))
        if said.get("gone") or (page is not None and "/errs/" in f"/{name}" and page[0][0] >= rank[0]):
            continue
        found[name] = line
        if page is not None and page[1] is line:
            found |= body_of(tree, said, survivors)
    return found


def whole_lines(data: bytes, begin: int = 0) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    """Give the lines that are whole, from an offset on: offset, bytes, content."""
    offset = begin
    for line in data[begin:].split(b"\n")[:-1]:
        with contextlib.suppress(ValueError):
            yield offset, line, json.loads(line)
        offset += len(line) + 1


def path_of(tree: str, directory: str, said: Mapping[str, Any]) -> str:
    return f"{tree}{directory}/{said['host']}/{said['key']}.json"


def body_of(tree: str, said: Mapping[str, Any], disk: Survivors) -> Survivors:
    """Give the body that a line names, under its name; nothing if it is not there, or cannot be unpacked."""
    at = said.get("at") or {}
    if "body" not in at:
        return {}
    offset, length = at["body"]
    member = (disk.get(f"{tree}{at['pack']}") or b"")[offset : offset + length]
    body = _unpacked(member) if len(member) == length else None
    return {} if body is None else {f"{tree}htmls/{said['host']}/{said['key']}.html": body}


@functools.lru_cache(maxsize=1_000)
def _unpacked(member: bytes) -> bytes | None:
    try:
        record = zlib.decompress(member, 16 + zlib.MAX_WBITS)
    except zlib.error:
        return None
    return record.removesuffix(b"\r\n\r\n").split(b"\r\n\r\n", 2)[2]
