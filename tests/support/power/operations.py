"""A recording of the pass-through file system, read: the calls that matter to a power loss, in their order."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass

MATTERS = frozenset(
    {"create", "open", "write", "truncate", "mkdir", "rmdir", "unlink", "rename", "link", "fsync", "fsyncdir"},
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One call that succeeded. Paths are from the mount point, without a slash before; "" is the mount point.

    `path2`: the new name of `rename` and `link`; `data`, `offset` are of `write`, `size` of `truncate`.
    """

    name: str
    path: str
    path2: str = ""
    offset: int = 0
    data: bytes = b""
    size: int = 0


def read_operations(lines: Iterable[str]) -> list[Operation]:
    """Read a recording, without what failed and what changes nothing (closing). An opening cut the file: a truncation.

    >>> read_operations(['{"seq": 1, "op": "write", "path": "/a/b", "offset": 2, "data": "aGk=", "ok": true}'])
    [Operation(name='write', path='a/b', path2='', offset=2, data=b'hi', size=0)]
    >>> read_operations(['{"seq": 2, "op": "unlink", "path": "/a/b", "ok": false}'])
    []
    """
    found = [json.loads(line) for line in lines if line.strip()]
    found.sort(key=lambda each: int(each["seq"]))
    return [_operation(each) for each in found if each.get("ok") and each["op"] in MATTERS]


def _operation(line: dict[str, object]) -> Operation:
    name = "truncate" if line["op"] == "open" else str(line["op"])
    data = base64.b64decode(str(line.get("data") or ""))
    return Operation(
        name,
        str(line["path"]).strip("/"),
        str(line.get("path2") or "").strip("/"),
        int(str(line.get("offset") or 0)),
        data,
        int(str(line.get("size") or 0)) if name == "truncate" else 0,
    )
