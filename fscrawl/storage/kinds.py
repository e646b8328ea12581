"""How large a file of a tree may be, by its kind. A larger one was not written by fscrawl, and is not read.

A machine's memory must not depend on what somebody puts into the tree: a sparse file of 50 GB costs nothing to make.
Each limit is above the largest file that a machine writes of that kind, and each file has one. Files that are read by
ranges (logs, snapshots) have limits because a damaged one is searched through, or read whole for its digest.
"""

from __future__ import annotations

from fscrawl.storage.layout import (
    ERRS,
    FILES,
    GENERATIONS,
    HTMLS,
    LEASES,
    LINKS,
    MACHINERY,
    MACHINES,
    PAGE_DIRECTORIES,
    ROBOTS,
    SEEDS,
    SETTINGS,
    is_pack,
)

_KIB = 1 << 10
_MIB = 1 << 20
_GIB = 1 << 30

_LIST = 64 * _MIB  # of values for seeds
_RULES = 256 * _MIB  # of a generation: the hosts of all seeds
_BEATS = 16 * _GIB  # years of heartbeats; only the beginning and the end are read
_SMALL = 1 * _MIB  # tree.json and others beside the tree's directories, and what fscrawl does not make
_PACK = 8 * _GIB  # a segment, of which ranges are read; it ends with the page that takes it over its limit
MOST_BYTES = {
    SETTINGS: 4 * _MIB,
    SEEDS: 256 * _MIB,
    HTMLS: 2 * _GIB,  # `fetch.max_bytes` is the user's choice; readers who know the record take its size
    FILES: 2 * _GIB,
    LINKS: 40 * _MIB,  # of a sitemap: URLs of 16 million characters, in which each one may be escaped
    ERRS: 4 * _MIB,
    ROBOTS: 4 * _MIB,  # 500 KiB of text, in which each character may be escaped
    LEASES: 64 * _KIB,
    GENERATIONS: 64 * _GIB,  # logs and snapshots
    MACHINES: 8 * _MIB,  # a status file: 5,000 labels, of four bytes a letter at most
}


def most_bytes(path: str) -> int:
    """Give how many bytes a file may have, by its path in the tree. One of no known kind is as small as a small one.

    >>> most_bytes("links/a.example/599370d5687c3fd078c314ad.json") == MOST_BYTES["links"]
    True
    >>> most_bytes("names.txt") == _LIST
    True
    >>> most_bytes(".fscrawl/leases/1.1") == MOST_BYTES[".fscrawl/leases"]
    True
    >>> [most_bytes(f".fscrawl/machines/m-1-aa.{end}") == _BEATS for end in ("log", "status.json")]
    [True, False]
    >>> most_bytes(".fscrawl/tree.json") == most_bytes("notes") == most_bytes(".fscrawl/x/y") == _SMALL
    True
    """
    first, _, rest = path.partition("/")
    if not rest and first.endswith(".txt"):
        return MOST_BYTES.get(first, _LIST)
    if first in PAGE_DIRECTORIES and is_pack(rest.partition("/")[0]):
        return _PACK
    directory = f"{MACHINERY}/{rest.partition('/')[0]}" if first == MACHINERY else first
    if directory == MACHINES and path.endswith(".log"):
        return _BEATS
    if directory == GENERATIONS and path.endswith(".json"):
        return _RULES
    return MOST_BYTES.get(directory, _SMALL)
